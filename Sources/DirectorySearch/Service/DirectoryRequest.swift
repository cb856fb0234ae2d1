public import StrictJSON

/// What a query becomes in a directory of another kind than Microsoft Graph. It prints itself: ``description(base:)``.
public struct DirectoryRequest: Sendable, Equatable {
    /// The request's address below the service's base, percent-encoded: `Users?filter=…`.
    public var target: String
    /// What is sent, by POST; nil for a GET.
    public var body: JSONValue?
    /// The media type that is asked for, and that of ``body``.
    public var accept: String
    /// Who is looked for, in the directory's own words, not percent-encoded; nil for everybody.
    public var words: String?
    /// What else is worth knowing, a sentence each without a full stop.
    public var notes: [String] = []
    /// The permissions of which one must be granted; empty when the protocol names none.
    public var permissions: [String] = []

    /// The request line, the header fields and the notes: a line each. The access token is not in it.
    ///
    /// - Parameter base: the directory's address without a slash at the end, such as `https://id.example/scim/v2`.
    public func description(base: String) -> String {
        var lines = [
            "\(body == nil ? "GET" : "POST") \(base)/\(target)", "Accept: \(accept)", "Authorization: Bearer ***",
        ]
        if let body { lines += ["Content-Type: \(accept)", "", body.text()] }
        lines.append("")
        lines += notes
        if !permissions.isEmpty { lines.append("Permission: \(permissions.joined(separator: " or "))") }
        if lines.last == "" { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}

/// What directories of other kinds share when they read a query.
extension UserQuery {
    /// The most comparisons of a filter, and how deep it may nest.
    static let maximumComparisons = 200
    static let maximumNesting = 32

    /// The filter with what the search says beside it.
    ///
    /// - Parameter filter: what a search means as a filter.
    func wholeFilter(
        _ searching: (UserSearch.Expression) throws(DirectoryError) -> UserFilter
    ) throws(DirectoryError) -> UserFilter? {
        guard let search else { return filter }
        let found = try searching(search.expression)
        return filter.map { $0 && found } ?? found
    }

    /// What no directory but Graph can do.
    func checkPlainness(of service: String) throws(DirectoryError) {
        if isAmongDeleted {
            throw DirectoryError(.invalidQuery("\(service) does not list deleted people; ask without isAmongDeleted"))
        }
        if let expand, expand.relation != "manager" {
            throw DirectoryError(
                .invalidQuery(
                    "\(service) does not expand \(expand.relation.visible(limit: 100)); ask for each person's detail"))
        }
        guard !select.isEmpty else { throw DirectoryError(.invalidQuery("no property is asked for")) }
        for name in select where name.isBlank || name.utf8.count > 256 {
            throw DirectoryError(.invalidQuery("\"\(name.visible(limit: 100))\" is no property's name"))
        }
        if let limit, limit < 0 { throw DirectoryError(.invalidQuery("the limit is \(limit); it is 0 or more")) }
        if let pageSize, !(1...999).contains(pageSize) {
            throw DirectoryError(.invalidQuery("the page size is \(pageSize); 1 to 999 are taken"))
        }
    }

    /// How many people to ask for at once: no more than will be read.
    func pageCount(atMost greatest: Int) -> Int { max(1, min(pageSize ?? 100, limit ?? greatest, greatest)) }
}
