import StrictJSON

extension UserQuery {
    /// Returns the request for this query's first page in a SCIM directory.
    ///
    /// A raw filter is in SCIM's language. A search for words of the display name becomes an equivalent filter: each
    /// word is a prefix of a word of the name.
    ///
    /// See RFC 7644 sections 3.4.2 and 3.9.
    ///
    /// - Throws: ``DirectoryError`` of the kind `emptySearch` if a value is empty, `invalidQuery` with an alternative
    ///   if SCIM does not support the query.
    package func scimRequest() throws(DirectoryError) -> DirectoryRequest {
        try checkOptions(of: "SCIM")
        var options: [(name: String, value: String)] = []
        let filter = try wholeFilter(Self.filter(words:)).map(SCIMFilterWriter.text)
        if let filter { options.append(("filter", filter)) }
        options.append(("attributes", try SCIMAttribute.selection(select)))
        guard orderBy.count <= 1 else {
            throw .invalidQuery("SCIM sorts by one attribute only")
        }
        if let order = orderBy.first {
            guard let attribute = SCIMAttribute.known(order.property.rawValue), attribute.type == nil else {
                throw .invalidQuery(
                    "SCIM does not sort by \"\(order.property.rawValue.visible(limit: 100))\"; it sorts by "
                        + SCIMAttribute.names)
            }
            options.append(("sortBy", attribute.path))
            options.append(("sortOrder", order.isDescending ? "descending" : "ascending"))
        }
        options.append(("count", String(pageCount(atMost: 999))))
        var request = DirectoryRequest(
            target: "Users?"
                + options.map { "\($0.name)=\(ODataEscaping.queryValue($0.value))" }.joined(separator: "&"),
            accept: SCIMDirectory.mediaType, filter: filter)
        if request.target.utf8.count > Self.maximumSCIMTarget {
            request.target = "Users/.search"
            request.body = Self.searchRequest(options)
            request.notes.append("By POST: the address would have more than \(Self.maximumSCIMTarget) bytes")
        }
        return request
    }

    /// The maximum length of the URL below the base in bytes, which every server and proxy accepts.
    private static let maximumSCIMTarget = 6000

    /// Returns the options as the content of a POST. See RFC 7644 section 3.4.3.
    private static func searchRequest(_ options: [(name: String, value: String)]) -> JSONValue {
        var body: JSONObject = ["schemas": ["urn:ietf:params:scim:api:messages:2.0:SearchRequest"]]
        for (name, value) in options {
            switch name {
            case "attributes": body.append(name, .array(value.split(separator: ",").map { .string(String($0)) }))
            case "count": body.append(name, .number(JSONNumber(Int64(value) ?? 1)))
            default: body.append(name, .string(value))
            }
        }
        return .object(body)
    }

    private static func filter(words text: String) throws(DirectoryError) -> UserFilter {
        let words = text.unicodeScalars.split { $0.properties.isWhitespace }.map { String($0) }
        guard !words.isEmpty else { throw DirectoryError(.emptySearch) }
        return .all(
            of: words.map { word in
                .displayName(startsWith: word) || .raw("displayName co \(SCIMEscaping.string(" " + word))")
            })
    }
}
