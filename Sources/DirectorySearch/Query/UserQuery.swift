/// One search for people: who, which properties, in which order, and how many at a time.
///
/// ```swift
/// var query = UserQuery(.department(startsWith: "Sales") && !.property(.userType, equals: "Guest"))
/// query.select = ["displayName", "mail", "manager.displayName"]
/// query.orderBy = [.ascending(.displayName)]
/// ```
public struct UserQuery: Sendable, Equatable {
    /// Who is looked for by comparing properties; nil for everybody.
    public var filter: UserFilter?
    /// Who is looked for by words. With a filter too, both must apply.
    public var search: UserSearch?
    /// The properties to ask for, by Graph's own names; `manager.displayName` asks for one of a related person. Never empty: Graph
    /// then answers more than is needed, at twice the price. Properties beyond ``basicProperties`` need the permission
    /// `User.Read.All`; with `User.ReadBasic.All` they come back empty or not at all.
    public var select: [String]
    /// A relation to be answered with each person, beside those that ``select`` names.
    public var expand: UserExpansion?
    /// What the list is sorted by; empty for the service's own order.
    public var orderBy: [UserOrder] = []
    /// Whether the number of all people found is wanted, on the first page. An advanced query.
    public var countsTotal = false
    /// How many people a page holds, 1 to 999; nil for the service's own choice, 100.
    public var pageSize: Int?
    /// How many people to give at most; nil for all. Counted here, not by the service.
    public var limit: Int?
    /// Whether the people looked for are those deleted in the last 30 days.
    public var isAmongDeleted = false
    /// Whether to ask for an advanced query even if nothing seems to need one. For raw filters in which the need cannot be seen.
    public var isAdvanced: Bool

    /// The properties of a list and of a detail view.
    public static let defaultProperties = [
        "id", "displayName", "givenName", "surname", "mail", "userPrincipalName", "jobTitle", "department",
        "officeLocation", "businessPhones", "mobilePhone", "preferredLanguage",
    ]

    /// The properties that `User.ReadBasic.All` is enough for.
    public static let basicProperties = ["id", "displayName", "givenName", "surname", "mail", "userPrincipalName"]

    /// A search for the people of this filter.
    public init(
        _ filter: UserFilter, select: [String] = UserQuery.defaultProperties, pageSize: Int? = nil, limit: Int? = nil,
        isAdvanced: Bool = false
    ) {
        self.init(everyone: filter, select, pageSize, limit, isAdvanced)
    }

    /// A search for the people of these words.
    public init(
        search: UserSearch, select: [String] = UserQuery.defaultProperties, pageSize: Int? = nil, limit: Int? = nil
    ) {
        self.init(everyone: nil, select, pageSize, limit, false)
        self.search = search
    }

    /// Everybody in the directory, in pages of 999. To be asked for by this name, never by an empty text.
    public static func everyone(
        select: [String] = UserQuery.defaultProperties, pageSize: Int? = 999, limit: Int? = nil
    ) -> UserQuery {
        UserQuery(everyone: nil, select, pageSize, limit, false)
    }

    private init(everyone filter: UserFilter?, _ select: [String], _ pageSize: Int?, _ limit: Int?, _ advanced: Bool) {
        self.filter = filter
        self.select = select
        self.pageSize = pageSize
        self.limit = limit
        isAdvanced = advanced
    }
}

extension UserQuery {
    /// Whether the request carries `ConsistencyLevel: eventual` and `$count=true`. False also for a query that cannot be sent.
    public var needsAdvancedQuery: Bool { (try? plan())?.isAdvanced == true }

    /// The request's address below the service's base, percent-encoded: `users?$filter=…&$select=…&$top=…`.
    ///
    /// - Throws: ``DirectoryError`` as ``plan()`` does.
    public func requestTarget() throws(DirectoryError) -> String { try plan().target }

    /// The permissions of which one must be granted for this, the least first.
    ///
    /// With `User.ReadBasic.All` the service answers, but leaves out what is not in ``basicProperties``. To filter by
    /// anything else it is not enough.
    public var permissions: [String] {
        if select.contains("signInActivity") { return ["AuditLog.Read.All"] }
        let filtered = (try? filter?.written())?.properties ?? []
        if !filtered.isSubset(of: UserProperty.basic) { return ["User.Read.All"] }
        return Self.permissions(toRead: select)
    }

    /// The permissions of which one is needed to read these properties of other people.
    static func permissions(toRead select: [String]) -> [String] {
        select.allSatisfy(UserProperty.basic.contains)
            ? ["User.ReadBasic.All"] : ["User.ReadBasic.All", "User.Read.All"]
    }
}
