import StrictJSON

/// The query options of a request, read and checked.
struct GraphQuery: Sendable {
    var select: [UserProperty] = UserProperty.defaults
    var isSelected = false
    var filter: ODataFilter?
    var search: ODataSearch?
    var order: [(property: UserProperty, descending: Bool)] = []
    var top = 100
    var countsTotal = false
    /// Where the page begins.
    var offset = 0
    var expand: [Expansion] = []

    /// `manager($select=…)` or `directReports($select=…)`.
    struct Expansion: Sendable {
        var relation: String
        var select: [UserProperty]
    }

    /// The options that a resource takes, and whether it is one user or a list.
    enum Shape { case one, list, count }

    init(_ request: GraphRequest, _ shape: Shape) throws(GraphFailure) {
        guard let fields = FormFields(parsing: request.query ?? "") else {
            throw .malformed("The query string is not percent-encoded UTF-8.")
        }
        var options: [String: String] = [:]
        for field in fields.fields {
            var name = field.name.lowercased()
            if !name.hasPrefix("$") {
                // Graph takes the system options with and without the dollar sign and passes over everything else.
                guard Self.known.contains("$" + name) else { continue }
                name = "$" + name
            }
            guard Self.known.contains(name) else {
                throw .malformed("The query parameter '\(field.name)' is not supported.")
            }
            guard options.updateValue(field.value, forKey: name) == nil else {
                throw .malformed(
                    "Query option '\(name)' was specified more than once, but it must be specified at most once.")
            }
        }
        try readShape(options, shape)
        try readSearching(options)
        try checkAdvanced(request, shape)
        countsTotal = options["$count"]?.lowercased() == "true" && request.isEventual && offset == 0
        if let token = options["$skiptoken"] {
            guard let place = Self.offset(of: token, for: Self.identity(request.query)) else {
                throw GraphFailure(
                    status: 400, code: "Directory_ExpiredPageToken",
                    message: "The specified page token value has expired and can not be included in your request.")
            }
            offset = place
            countsTotal = false
        }
    }

    private static let known: Set<String> = [
        "$select", "$filter", "$search", "$orderby", "$top", "$count", "$skiptoken", "$expand", "$skip", "$format",
    ]

    private mutating func readShape(_ options: [String: String], _ shape: Shape) throws(GraphFailure) {
        if let text = options["$select"], !text.isEmpty {
            select = try Self.selection(text, isList: shape == .list)
            isSelected = true
        }
        if let text = options["$top"] {
            guard let number = Int(text), (1...999).contains(number) else {
                throw .badRequest("Invalid page size specified: '\(text)'. Must be between 1 and 999 inclusive.")
            }
            top = number
        }
        if options["$skip"] != nil { throw .badRequest("'$skip' is not supported by the service.") }
        if let text = options["$count"], text.lowercased() != "true", text.lowercased() != "false" {
            throw .malformed(
                "Invalid value '\(text)' for $count query option found. Valid values are 'true' and 'false'.")
        }
        if let text = options["$expand"], !text.isEmpty { expand = [try Self.expansion(text)] }
    }

    private mutating func readSearching(_ options: [String: String]) throws(GraphFailure) {
        if let text = options["$filter"] {
            do throws(ODataError) {
                filter = try ODataFilter(parsing: text)
            } catch {
                throw error.kind == .syntax ? .malformed(error.message) : .unsupported(error.message)
            }
        }
        if let text = options["$search"] {
            guard let read = ODataSearch(parsing: text) else {
                throw .malformed(
                    "Syntax error: character sequence is not valid in $search. Each clause stands in double quotes.")
            }
            search = read
        }
        if let text = options["$orderby"] {
            for part in text.split(separator: ",") {
                let words = part.split(separator: " ")
                let direction = words.count > 1 ? words[1].lowercased() : "asc"
                guard let name = words.first, words.count <= 2, direction == "asc" || direction == "desc" else {
                    throw .malformed("Syntax error in $orderby '\(text)'.")
                }
                guard let property = UserProperty(name: name) else { throw Self.unknown(name) }
                order.append((property, direction == "desc"))
            }
        }
    }

    /// What needs `ConsistencyLevel: eventual` and `$count=true`.
    private func checkAdvanced(_ request: GraphRequest, _ shape: Shape) throws(GraphFailure) {
        if search != nil, !request.isEventual {
            throw .unsupported(
                "Request with $search query parameter only works through MSGraph with a special request header:"
                    + " 'ConsistencyLevel: eventual'")
        }
        let counts =
            shape == .count
            || FormFields(parsing: request.query ?? "")?.fields.contains {
                ["$count", "count"].contains($0.name.lowercased()) && $0.value.lowercased() == "true"
            } ?? false
        let isAdvanced = request.isEventual && counts
        if let filter {
            do throws(ODataError) {
                if let reason = try filter.advancedReason(), !isAdvanced { throw ODataError.unsupported(reason) }
            } catch {
                throw .unsupported(error.message)
            }
            if !isAdvanced, filter.clauseCount > 15 {
                throw .unsupported(
                    "Too many child clauses specified in search filter expression containing 'OR' operators:"
                        + " \(filter.clauseCount). Max allowed: 15.")
            }
        }
        for (property, _) in order {
            switch property {
            case .displayName, .userPrincipalName: if isAdvanced || filter == nil { continue }
            case .createdDateTime: if isAdvanced { continue }
            default: throw .unsupported("Sorting not supported for property '\(property.rawValue)' of resource 'User'.")
            }
            throw .unsupported("Sorting not supported for current query.")
        }
        if !expand.isEmpty, shape == .list, isAdvanced {
            throw .unsupported("$expand is not supported with advanced query parameters.")
        }
    }

    private static func selection(_ text: String, isList: Bool) throws(GraphFailure) -> [UserProperty] {
        var selected: [UserProperty] = []
        for part in text.split(separator: ",") {
            let name = part.filter { $0 != " " }
            if UserProperty.singleOnly.contains(name.lowercased()) {
                guard !isList else {
                    throw GraphFailure(
                        status: 501, code: "NotImplemented", message: "This operation target is not yet supported.")
                }
                continue
            }
            if name == "*" { return UserProperty.allCases }
            guard let property = UserProperty(name: name) else { throw unknown(name) }
            if !selected.contains(property) { selected.append(property) }
        }
        return selected
    }

    private static func expansion(_ text: String) throws(GraphFailure) -> Expansion {
        let name = text.prefix { $0 != "(" }
        guard let relation = ["manager", "directReports"].first(where: { $0.lowercased() == name.lowercased() }) else {
            throw GraphFailure(
                status: 400, code: "ExpandNotSupported", message: "Expand is not allowed for '\(name)' property.")
        }
        var select = UserProperty.defaults
        if name.endIndex < text.endIndex {
            guard text.hasSuffix(")") else { throw .malformed("Syntax error in $expand '\(text)'.") }
            let inner = text[text.index(after: name.endIndex)...].dropLast()
            for option in inner.split(separator: ";") {
                if option.lowercased().hasPrefix("$select=") {
                    select = try selection(String(option.dropFirst(8)), isList: false)
                }
            }
        }
        return Expansion(relation: relation, select: select)
    }

    private static func unknown(_ name: some StringProtocol) -> GraphFailure {
        .malformed("Could not find a property named '\(name)' on type 'microsoft.graph.user'.")
    }

    // MARK: Page tokens

    /// What a page token belongs to: the query without the token.
    static func identity(_ query: String?) -> String { pieces(query).joined(separator: "&") }

    /// The raw options but the page token.
    private static func pieces(_ query: String?) -> [Substring] {
        (query ?? "").split(separator: "&").filter { piece in
            let name = PercentCoding.decode(piece.prefix { $0 != "=" })?.lowercased() ?? ""
            return name != "$skiptoken" && name != "skiptoken"
        }
    }

    /// The link to the page that begins at this place, with the other options as they were sent.
    static func link(_ request: GraphRequest, offset: Int) -> String {
        let token = "$skiptoken=\(token(offset, for: identity(request.query)))"
        let query = (pieces(request.query).map { String($0) } + [token]).joined(separator: "&")
        return "\(request.base)\(request.path)?\(query)"
    }

    /// Opaque to clients: the place and a check value over place and query, in hexadecimal digits.
    private static func token(_ offset: Int, for identity: String) -> String {
        let place = String(UInt64(offset) ^ 0x5DEE_CE66_D1CE_4E5B, radix: 16, uppercase: true)
        return "RFNwdAoAAQ" + String(check("\(offset)|\(identity)"), radix: 16, uppercase: true) + "-" + place
    }

    private static func offset(of token: String, for identity: String) -> Int? {
        guard let dash = token.lastIndex(of: "-"), let masked = UInt64(token[token.index(after: dash)...], radix: 16),
            let place = Int(exactly: masked ^ 0x5DEE_CE66_D1CE_4E5B), self.token(place, for: identity) == token
        else { return nil }
        return place
    }

    /// FNV-1a. Not for secrets: whoever forges a page token gets a page of the same list.
    private static func check(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
