/// A search for users: the conditions, the properties, the order and the page size.
///
/// ```swift
/// var query = UserQuery(.department(startsWith: "Sales") && !.property(.userType, equals: "Guest"))
/// query.select = ["displayName", "mail", "manager.displayName"]
/// query.orderBy = [.ascending(.displayName)]
/// ```
public struct UserQuery: Sendable, Equatable {
    /// The condition; `nil` for all users.
    public var filter: UserFilter?
    /// The words to search for. Users match both the filter and the search.
    public var search: UserSearch?
    /// The properties to load, by Graph's names; `manager.displayName` is a property of a related user.
    ///
    /// It must not be empty: Graph would return more properties at twice the cost. Properties beyond
    /// ``basicProperties`` require the permission `User.Read.All`; with `User.ReadBasic.All` they are empty or missing.
    public var select: [String]
    /// A relation to load with each user, in addition to the relations in ``select``.
    public var expand: UserExpansion?
    /// The sort order; empty for the order of the service.
    public var orderBy: [UserOrder] = []
    /// Whether the first page contains the total number of results. An advanced query.
    public var countsTotal = false
    /// The page size, 1 to 999. If `nil`, the default of the service, 100.
    public var pageSize: Int?
    /// The maximum number of users, counted by the client; `nil` for all.
    public var limit: Int?
    /// Whether to search users deleted in the last 30 days.
    public var isAmongDeleted = false
    /// Whether to always send an advanced query, for raw filters that need one.
    public var isAdvanced: Bool

    /// The default properties for a list and a detail view.
    public static let defaultProperties = [
        "id", "displayName", "givenName", "surname", "mail", "userPrincipalName", "jobTitle", "department",
        "officeLocation", "businessPhones", "mobilePhone", "preferredLanguage",
    ]

    /// The properties covered by `User.ReadBasic.All`.
    public static let basicProperties = ["id", "displayName", "givenName", "surname", "mail", "userPrincipalName"]

    /// Creates a search for the users of a filter.
    public init(
        _ filter: UserFilter, select: [String] = UserQuery.defaultProperties, pageSize: Int? = nil, limit: Int? = nil,
        isAdvanced: Bool = false
    ) {
        self.init(everyone: filter, select, pageSize, limit, isAdvanced)
    }

    /// Creates a search for words.
    public init(
        search: UserSearch, select: [String] = UserQuery.defaultProperties, pageSize: Int? = nil, limit: Int? = nil
    ) {
        self.init(everyone: nil, select, pageSize, limit, false)
        self.search = search
    }

    /// Returns a query for all users in the directory, in pages of 999. An empty string never creates such a query.
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
    /// Whether the request has `ConsistencyLevel: eventual` and `$count=true`. `false` for an invalid query.
    package var needsAdvancedQuery: Bool { (try? plan())?.isAdvanced == true }

    /// Returns the request's URL below the service's base, percent-encoded: `users?$filter=…&$select=…&$top=…`.
    ///
    /// - Throws: The same errors as ``plan()``.
    package func requestTarget() throws(DirectoryError) -> String { try plan().target }

    /// The permissions, one of which is required, the least privileged first.
    ///
    /// With `User.ReadBasic.All` the service returns only ``basicProperties``, and rejects filters for other
    /// properties.
    package var permissions: [String] {
        if select.contains("signInActivity") { return ["AuditLog.Read.All"] }
        let filtered = (try? filter?.written())?.properties ?? []
        if !filtered.isSubset(of: UserProperty.basic) { return ["User.Read.All"] }
        return Self.permissions(toRead: select)
    }

    /// Returns the permissions, one of which is required to read these properties of other users.
    static func permissions(toRead select: [String]) -> [String] {
        select.allSatisfy(UserProperty.basic.contains)
            ? ["User.ReadBasic.All"] : ["User.ReadBasic.All", "User.Read.All"]
    }
}
