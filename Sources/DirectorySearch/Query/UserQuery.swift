/// One search for people: who, which properties, and how many at a time.
public struct UserQuery: Sendable, Equatable {
    /// Who is looked for; nil for everybody.
    public var filter: UserFilter?
    /// The properties to ask for, by Graph's own names. Never empty: Graph then answers more than is needed, at twice the
    /// price. Properties beyond ``basicProperties`` need the permission `User.Read.All`; with `User.ReadBasic.All` they
    /// come back empty or not at all.
    public var select: [String]
    /// How many people a page holds, 1 to 999; nil for the service's own choice, 100.
    public var pageSize: Int?
    /// How many people to give at most; nil for all. Counted here, not by the service.
    public var limit: Int?
    /// Whether to ask for an advanced query even if the filter does not seem to need one. For raw filters with `endsWith`,
    /// `ne` or `not`.
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
    /// Whether the request carries `ConsistencyLevel: eventual` and `$count=true`.
    public var needsAdvancedQuery: Bool { isAdvanced || filter?.needsAdvancedQuery == true }

    /// The request's address below the service's base, percent-encoded: `users?$filter=…&$select=…&$top=…`.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` when the filter has an empty text, `invalidQuery` when a
    ///   property, the page size or the limit cannot be.
    public func requestTarget() throws(DirectoryError) -> String {
        var options: [String] = []
        if let filter { options.append("$filter=" + ODataEscaping.queryValue(try filter.odata())) }
        options.append(try Self.selectOption(select))
        if let limit, limit < 0 { throw DirectoryError(.invalidQuery("the limit is \(limit); it is 0 or more")) }
        if let pageSize {
            guard (1...999).contains(pageSize) else {
                throw DirectoryError(.invalidQuery("the page size is \(pageSize); the service takes 1 to 999"))
            }
            // No more than will be read: a page is the unit of work on both sides.
            options.append("$top=\(max(1, min(pageSize, limit ?? pageSize)))")
        } else if let limit, limit < 100 {
            options.append("$top=\(max(1, limit))")
        }
        if needsAdvancedQuery { options.append("$count=true") }
        return "users?" + options.joined(separator: "&")
    }

    /// The permissions of which one must be granted for this, the least first.
    ///
    /// With `User.ReadBasic.All` the service answers, but leaves out what is not in ``basicProperties``. To filter by
    /// anything else it is not enough.
    public var permissions: [String] {
        if select.contains("signInActivity") { return ["AuditLog.Read.All"] }
        if filter?.looksBeyondBasicProperties == true { return ["User.Read.All"] }
        return Self.permissions(toRead: select)
    }

    /// The permissions of which one is needed to read these properties of other people.
    static func permissions(toRead select: [String]) -> [String] {
        select.allSatisfy(UserProperty.basic.contains)
            ? ["User.ReadBasic.All"] : ["User.ReadBasic.All", "User.Read.All"]
    }

    /// `$select=…`, each name checked.
    static func selectOption(_ select: [String]) throws(DirectoryError) -> String {
        guard !select.isEmpty else { throw DirectoryError(.invalidQuery("no property is asked for")) }
        for name in select where !UserProperty(rawValue: name).isWellFormed {
            throw DirectoryError(.invalidQuery("\"\(name.visible())\" is no property's name"))
        }
        return "$select=" + ODataEscaping.queryValue(select.joined(separator: ","))
    }
}
