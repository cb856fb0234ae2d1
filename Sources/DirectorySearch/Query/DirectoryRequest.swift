import StrictJSON

/// The request of a query in a directory other than Microsoft Graph. To print it, use ``description(base:)``.
package struct DirectoryRequest: Sendable, Equatable {
    /// The URL below the service's base, percent-encoded: `Users?filter=…`.
    package var target: String
    /// The content, sent by POST, or `nil` for a GET.
    package var body: JSONValue?
    /// The media type of the response and of ``body``.
    package var accept: String
    /// The filter in the directory's own language, not percent-encoded; `nil` for all users.
    package var filter: String?
    /// Additional notes, each a sentence without a full stop.
    package var notes: [String] = []
    /// The permissions, one of which is required; empty if the protocol defines none.
    package var permissions: [String] = []

    /// Returns the request line, the header fields and the notes, one per line, without the access token.
    ///
    /// - Parameter base: The directory's URL without a trailing slash, such as `https://id.example/scim/v2`.
    package func description(base: String) -> String {
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

extension DirectoryRequest {
    /// Returns the request for the page at a cursor; `nil` for the first page.
    func page(at cursor: String?, option: String) -> DirectoryRequest {
        guard let cursor else { return self }
        var request = self
        if case .object(var body)? = body {
            body.append(option, Int64(cursor).map { .number(JSONNumber($0)) } ?? .string(cursor))
            request.body = .object(body)
        } else {
            request.target += "&\(option)=" + ODataEscaping.queryValue(cursor)
        }
        return request
    }
}

/// The parts of a query that directories other than Graph treat in the same way.
extension UserQuery {
    /// The maximum number of comparisons in a filter and its maximum depth.
    static let maximumComparisons = 200
    static let maximumNesting = 32

    /// Returns the filter and the search as one filter.
    ///
    /// - Parameter words: Returns the filter that is equivalent to words of the display name.
    func wholeFilter(
        _ words: (String) throws(DirectoryError) -> UserFilter
    ) throws(DirectoryError) -> UserFilter? {
        guard let search else { return filter }
        let found = try Self.filter(search.expression, depth: 0, words)
        return filter.map { $0 && found } ?? found
    }

    private static func filter(
        _ expression: UserSearch.Expression, depth: Int, _ words: (String) throws(DirectoryError) -> UserFilter
    ) throws(DirectoryError) -> UserFilter {
        guard depth <= maximumNesting else {
            throw .invalidQuery("the search nests deeper than \(maximumNesting) levels")
        }
        switch expression {
        case .clause(.displayName, let text): return try words(text)
        case .clause(let property, let text): return .property(property, startsWith: text)
        case .raw: throw .invalidQuery("a raw search is only for Microsoft Graph; use a filter")
        case .all(let parts), .any(let parts):
            var filters: [UserFilter] = []
            for part in parts { filters.append(try filter(part, depth: depth + 1, words)) }
            if case .all = expression { return .all(of: filters) }
            return .any(of: filters)
        }
    }

    /// Throws for options that only Graph supports.
    func checkOptions(of service: String) throws(DirectoryError) {
        if isAmongDeleted {
            throw .invalidQuery("\(service) does not list deleted people; ask without isAmongDeleted")
        }
        if let expand, expand.relation != "manager" {
            throw .invalidQuery(
                "\(service) does not expand \(expand.relation.visible(limit: 100)); ask for each person's detail")
        }
        guard !select.isEmpty else { throw .invalidQuery("no property is selected") }
        for name in select where name.isBlank || name.utf8.count > 256 {
            throw .noProperty(name)
        }
        if let limit, limit < 0 { throw .invalidQuery("the limit is \(limit); it is 0 or more") }
        if let pageSize, !(1...999).contains(pageSize) {
            throw .invalidQuery("the page size is \(pageSize); 1 to 999 are taken")
        }
    }

    /// Returns the page size, at most the number of users to read.
    func pageCount(atMost maximum: Int) -> Int { max(1, min(pageSize ?? 100, limit ?? maximum, maximum)) }
}
