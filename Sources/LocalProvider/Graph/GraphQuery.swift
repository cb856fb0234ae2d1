import HTTPExchange
import StrictJSON

/// The parsed and validated query options of a request.
struct GraphQuery: Sendable {
    var select: [UserProperty] = UserProperty.defaults
    var isSelected = false
    var filter: ODataFilter?
    var search: ODataSearch?
    var order: [(property: UserProperty, descending: Bool)] = []
    var top = 100
    var countsTotal = false
    /// The start of the page.
    var position = UserSelection.Position()
    var expand: Expansion?
    var deltaToken: String?

    /// `manager($select=…)`, `manager($levels=max;$select=…)` or `directReports($select=…)`.
    struct Expansion: Sendable {
        var relation: String
        var select: [UserProperty]
        /// The number of manager levels, or `nil` without `$levels`.
        var levels: Int?
    }

    /// The kind of resource, which determines the allowed options.
    enum Shape { case one, list, count, delta, groups }

    /// Creates a query from the options. Rejects page tokens of another generation.
    init(_ request: GraphRequest, _ shape: Shape, generation: Int = 0) throws(GraphFailure) {
        guard let fields = request.options else {
            throw .malformed("The query string is not percent-encoded UTF-8.")
        }
        var options: [String: String] = [:]
        for field in fields.fields {
            var name = field.name.lowercased()
            if !name.hasPrefix("$") {
                // Graph accepts the system options with and without the dollar sign and ignores all others.
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
        countsTotal = options["$count"]?.lowercased() == "true" && request.isEventual
        deltaToken = options["$deltatoken"]
        if let token = options["$skiptoken"], shape != .delta {
            guard let read = PageToken(token, for: RawQuery.identity(request, generation)), read.kind == .page,
                read.numbers.count == 2
            else { throw .expiredPageToken }
            position = .init(sample: read.numbers[0], irregular: read.numbers[1])
            countsTotal = false
        }
    }

    /// Returns the link to the page that starts at this position, with the other options unchanged.
    static func link(_ request: GraphRequest, _ position: UserSelection.Position, generation: Int) -> String {
        let token = PageToken(kind: .page, numbers: [position.sample, position.irregular])
            .encoded(for: RawQuery.identity(request, generation))
        let query = RawQuery.without(["skiptoken"], request.query) + ["$skiptoken=\(token)"]
        return "\(request.base)\(request.path)?" + query.joined(separator: "&")
    }

    private static let known: Set<String> = [
        "$select", "$filter", "$search", "$orderby", "$top", "$count", "$skiptoken", "$expand", "$skip", "$format",
        "$deltatoken",
    ]

    private mutating func readShape(_ options: [String: String], _ shape: Shape) throws(GraphFailure) {
        if shape != .groups, let text = options["$select"], !text.isEmpty {
            select = try Self.selection(text, isList: shape == .list || shape == .delta)
            isSelected = true
        }
        if shape == .delta {
            for name in ["$top", "$orderby", "$search", "$count", "$expand"] where options[name] != nil {
                throw .badRequest("The query option '\(name)' is not supported with the delta function.")
            }
        } else if options["$deltatoken"] != nil {
            throw .malformed("The query parameter '$deltatoken' is not supported.")
        }
        if let text = options["$top"] {
            guard let number = Int(text), (1...999).contains(number) else {
                throw .badRequest("Invalid page size specified: '\(text)'. Must be between 1 and 999 inclusive.")
            }
            top = number
        }
        // Graph limits pages with signInActivity.
        if select.contains(.signInActivity) { top = min(top, 500) }
        if options["$skip"] != nil { throw .badRequest("'$skip' is not supported by the service.") }
        if let text = options["$count"], text.lowercased() != "true", text.lowercased() != "false" {
            throw .malformed(
                "Invalid value '\(text)' for $count query option found. Valid values are 'true' and 'false'.")
        }
        if let text = options["$expand"], !text.isEmpty { expand = try Self.expansion(text) }
    }

    private mutating func readSearching(_ options: [String: String]) throws(GraphFailure) {
        if let text = options["$filter"] {
            do throws(FilterError) {
                filter = try ODataFilter(parsing: text)
            } catch {
                throw error.kind == .syntax ? .malformed(error.message) : .unsupported(error.message)
            }
        }
        if let text = options["$search"] {
            guard let read = ODataSearch(parsing: text) else {
                throw .malformed(
                    "Syntax error: character sequence is not valid in $search. Each clause must be in double quotes.")
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

    /// Checks the conditions that need `ConsistencyLevel: eventual` and `$count=true`.
    private func checkAdvanced(_ request: GraphRequest, _ shape: Shape) throws(GraphFailure) {
        if search != nil, !request.isEventual {
            throw .unsupported(
                "Request with $search query parameter only works through MSGraph with a special request header:"
                    + " 'ConsistencyLevel: eventual'")
        }
        let counts =
            shape == .count
            || request.options?.option("count")?.lowercased() == "true"
        let isAdvanced = request.isEventual && counts
        if let filter {
            do throws(FilterError) {
                if let reason = try filter.advancedReason(), !isAdvanced { throw FilterError.unsupported(reason) }
            } catch {
                throw .unsupported(error.message)
            }
            if !isAdvanced, filter.clauseCount > 15 {
                throw .unsupported(
                    "Too many child clauses specified in search filter expression containing 'OR' operators:"
                        + " \(filter.clauseCount). Max allowed: 15.")
            }
            if !isAdvanced, filter.longestEqualLiteral > 120 {
                throw .unsupported(
                    "Invalid filter clause: a literal of \(filter.longestEqualLiteral) characters. Max allowed: 120.")
            }
        }
        for (property, _) in order {
            switch property {
            case .displayName, .userPrincipalName: if isAdvanced || filter == nil { continue }
            case .createdDateTime, .deletedDateTime: if isAdvanced { continue }
            default: throw .unsupported("Sorting not supported for property '\(property.rawValue)' of resource 'User'.")
            }
            throw .unsupported("Sorting not supported for current query.")
        }
        if isAdvanced, let query = request.query, query.utf8.count > 2_048 {
            throw GraphFailure(status: 414, code: "UriTooLong", message: "The request URI is too long.")
        }
        guard let expand else { return }
        if expand.levels != nil, !isAdvanced {
            throw .unsupported(
                "The $levels option needs the $count=true query parameter and the ConsistencyLevel:eventual header.")
        }
        if expand.levels == nil, shape != .one, isAdvanced {
            throw .unsupported("$expand is not supported with advanced query parameters.")
        }
    }

    private static func selection(_ text: String, isList: Bool) throws(GraphFailure) -> [UserProperty] {
        var selected: [UserProperty] = []
        for part in text.split(separator: ",") {
            let name = part.filter { $0 != " " }
            if name == "*" { return UserProperty.allCases.filter { !$0.isSingleOnly && $0 != .signInActivity } }
            guard let property = UserProperty(name: name) else { throw unknown(name) }
            if property.isSingleOnly, isList {
                throw .notImplemented
            }
            if !selected.contains(property) { selected.append(property) }
        }
        return selected
    }

    private static func expansion(_ text: String) throws(GraphFailure) -> Expansion {
        let name = text.prefix { $0 != "(" && $0 != "," }
        guard
            let relation = ["manager", "directReports", "memberOf", "transitiveMemberOf"]
                .first(where: { $0.lowercased() == name.lowercased() })
        else {
            throw GraphFailure(
                status: 400, code: "ExpandNotSupported",
                message: "Expand is not allowed for property '\(name)' according to the entity schema.")
        }
        var expansion = Expansion(relation: relation, select: UserProperty.defaults)
        guard name.endIndex < text.endIndex else { return expansion }
        guard text[name.endIndex] == "(", text.hasSuffix(")"), !text.dropLast().contains(")") else {
            throw .badRequest("Only one property can be expanded: '\(text)'.")
        }
        for option in text[text.index(after: name.endIndex)...].dropLast().split(separator: ";") {
            let folded = option.lowercased().filter { $0 != " " }
            if folded.hasPrefix("$select=") {
                expansion.select = try selection(String(option.drop { $0 != "=" }.dropFirst()), isList: true)
            } else if folded.hasPrefix("$levels="), relation == "manager" {
                let value = folded.dropFirst(8)
                guard let levels = value == "max" ? 1_000 : Int(value), (1...1_000).contains(levels) else {
                    throw .malformed("Invalid value '\(value)' for $levels.")
                }
                expansion.levels = levels
            } else {
                throw .badRequest("The option '\(option)' is not supported within $expand.")
            }
        }
        return expansion
    }

    private static func unknown(_ name: some StringProtocol) -> GraphFailure {
        .malformed("Could not find a property named '\(name)' on type 'microsoft.graph.user'.")
    }
}

/// The options of a query, still percent-encoded.
enum RawQuery {
    /// Returns the options, except those with one of these names, with and without `$`.
    static func without(_ names: Set<String>, _ query: String?) -> [String] {
        (query ?? "").split(separator: "&").filter { piece in
            var name = (PercentEncoding.decode(piece.utf8.prefix { $0 != UInt8(ascii: "=") }) ?? "").lowercased()
            if name.hasPrefix("$") { name.removeFirst() }
            return !names.contains(name)
        }.map { String($0) }
    }

    /// Returns the query to which a page token belongs: all options except the token.
    static func identity(_ request: GraphRequest, _ generation: Int) -> String {
        "\(generation) \(request.path.lowercased())?"
            + without(["skiptoken", "again"], request.query).joined(separator: "&")
    }
}
