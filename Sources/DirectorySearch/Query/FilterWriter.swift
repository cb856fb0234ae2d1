/// A filter as a string with its requirements.
struct WrittenFilter: Sendable, Equatable {
    /// The value of `$filter`, not percent-encoded.
    var text: String
    /// The reasons for an advanced query; empty for a default query.
    var reasons: [String]
    /// The number of comparisons.
    var clauses: Int
    /// The compared properties; empty for a raw filter.
    var properties: Set<String>
}

/// Writes a filter in OData syntax. Rejects a filter that the service would reject.
///
/// See [OData 4.01 URL Conventions, section
/// 5.1.1](https://docs.oasis-open.org/odata/odata/v4.01/odata-v4.01-part2-url-conventions.html).
struct FilterWriter: LogicWriter {
    typealias Expression = UserFilter.Expression
    private typealias Level = PropertySupport.Level

    private static let maximumDepth = 32
    private static let maximumClauses = 500
    /// The maximum number of comparisons of a default query.
    private static let defaultClauses = 15
    /// The maximum length of a value of `eq` in a default query, in UTF-16 code units.
    private static let defaultLiteral = 120
    /// The name of an element of a list.
    private static let variable = "e"

    private var reasons: [String] = []
    private var clauses = 0
    private var properties: Set<String> = []
    /// Inside `any`: the list whose element has the properties.
    private var list: String?

    mutating func write(_ filter: UserFilter) throws(DirectoryError) -> WrittenFilter {
        let text = try write(filter.expression, depth: 0, isNested: false)
        if clauses > Self.defaultClauses {
            need("\(clauses) comparisons are more than \(Self.defaultClauses)")
        }
        return WrittenFilter(text: text, reasons: reasons, clauses: clauses, properties: properties)
    }

    private mutating func need(_ reason: String) {
        if !reasons.contains(reason) { reasons.append(reason) }
    }

    mutating func write(
        _ expression: UserFilter.Expression, depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String {
        guard depth <= Self.maximumDepth else {
            throw .invalidQuery("the filter nests deeper than \(Self.maximumDepth) levels")
        }
        switch expression {
        case .startsWith(let property, let text): return try startsWith(property, text)
        case .endsWith(let property, let text): return try endsWith(property, text)
        case .compare(let property, let comparison, let value):
            return try compare(property, comparison, value)
        case .oneOf(let property, let values): return try oneOf(property, values, depth: depth, isNested: isNested)
        case .count(let property, let comparison, let number): return try count(property, comparison, number)
        case .element(let property, let inner): return try element(property, inner, depth: depth)
        case .not(let inner):
            need("not needs one")
            return "not(\(try write(inner, depth: depth + 1, isNested: false)))"
        case .all(let parts): return try write(parts, joinedBy: " and ", depth: depth, isNested: isNested)
        case .any(let parts): return try write(parts, joinedBy: " or ", depth: depth, isNested: isNested)
        case .text(let text):
            return try write(text.expression(), depth: depth + 1, isNested: isNested)
        case .raw(let text):
            guard !text.isBlank else { throw DirectoryError(.emptySearch) }
            try addClause()
            for reason in RawFilter.reasons(text) { need(reason) }
            return isNested ? "(\(text))" : text
        }
    }

    // MARK: Comparisons

    private mutating func startsWith(_ property: UserProperty, _ text: String) throws(DirectoryError) -> String {
        guard !text.isBlank else { throw DirectoryError(.emptySearch) }
        let operand = try operand(property)
        try check(operand, "startsWith", operand.support.map { $0.startsWith ?? .never })
        return operand.wrapped("startswith(\(operand.name),\(ODataEscaping.literal(text)))")
    }

    private mutating func endsWith(_ property: UserProperty, _ text: String) throws(DirectoryError) -> String {
        guard !text.isBlank else { throw DirectoryError(.emptySearch) }
        let operand = try operand(property)
        guard PropertySupport.endsWith.contains(operand.path) else {
            throw .invalidQuery(
                "the service compares the end of \(PropertySupport.endsWith.sorted().joined(separator: ", ")) only, not of "
                    + "\(operand.path)")
        }
        need("endsWith needs one")
        return operand.wrapped("endswith(\(operand.name),\(ODataEscaping.literal(text)))")
    }

    private mutating func compare(
        _ property: UserProperty, _ comparison: UserFilter.Comparison, _ value: FilterValue
    ) throws(DirectoryError) -> String {
        if case .text(let text) = value, text.isBlank { throw DirectoryError(.emptySearch) }
        let operand = try operand(property)
        switch comparison {
        case .eq, .ne:
            let support = operand.support
            if value == .null {
                try check(operand, "a test for null", support.map { $0.null ?? .never })
            } else {
                try check(operand, "eq", support?.equals)
            }
            if comparison == .ne { need("ne needs one") }
        case .ge, .le, .gt, .lt:
            guard value != .null else { throw .invalidQuery("null cannot be compared with lt, le, gt or ge") }
            try check(operand, comparison.rawValue, operand.support.map { $0.ordered ?? .never })
        }
        if case .text(let text) = value, text.utf16.count > Self.defaultLiteral {
            need("a string of more than \(Self.defaultLiteral) characters needs one")
        }
        let literal = try value.literal(for: operand.path)
        // `ne` on a list means that no element has this value.
        if comparison == .ne, operand.isList {
            return "not(\(operand.wrapped("\(operand.name) eq \(literal)")))"
        }
        return operand.wrapped("\(operand.name) \(comparison.rawValue) \(literal)")
    }

    private mutating func oneOf(
        _ property: UserProperty, _ values: [FilterValue], depth: Int, isNested: Bool
    ) throws(DirectoryError) -> String {
        guard !values.isEmpty else { throw DirectoryError(.emptySearch) }
        let path = try operand(property, counts: false)
        // `in` requires default support of `eq`, and does not allow null. Otherwise `or` is equivalent.
        guard path.support?.equals == .byDefault, !values.contains(.null) else {
            return try write(
                values.map { .compare(property, .eq, $0) }, joinedBy: " or ", depth: depth, isNested: isNested)
        }
        var literals: [String] = []
        for value in values {
            if case .text(let text) = value, text.isBlank { throw DirectoryError(.emptySearch) }
            if case .text(let text) = value, text.utf16.count > Self.defaultLiteral {
                need("a string of more than \(Self.defaultLiteral) characters needs one")
            }
            try addClause()
            literals.append(try value.literal(for: path.path))
        }
        return path.wrapped("\(path.name) in (\(literals.joined(separator: ",")))")
    }

    private mutating func count(
        _ property: UserProperty, _ comparison: UserFilter.Comparison, _ number: Int
    ) throws(DirectoryError) -> String {
        guard property.isWellFormed else { throw .noProperty(property.rawValue) }
        guard list == nil else { throw .invalidQuery("the elements of an element cannot be counted") }
        // The service indexes only whether there are elements.
        guard number == 0 || number == 1 else {
            throw .invalidQuery("the service compares the length of a list with 0 or 1 only, not with \(number)")
        }
        try addClause()
        properties.insert(property.rawValue)
        need("the length of a list needs one")
        return "\(property)/$count \(comparison.rawValue) \(number)"
    }

    private mutating func element(
        _ property: UserProperty, _ inner: Expression, depth: Int
    ) throws(DirectoryError) -> String {
        guard property.isWellFormed else { throw .noProperty(property.rawValue) }
        guard list == nil else { throw .invalidQuery("the service does not look into a list within a list") }
        list = property.rawValue
        defer { list = nil }
        return "\(property)/any(\(Self.variable):\(try write(inner, depth: depth + 1, isNested: false)))"
    }

    // MARK: Properties

    private struct Operand {
        /// The path in the support table.
        var path: String
        /// The text in the filter.
        var name: String
        /// The list that `wrapped` adds around a comparison.
        var list: String?
        var support: PropertySupport?

        var isList: Bool { list != nil }

        func wrapped(_ comparison: String) -> String {
            list.map { "\($0)/any(\(FilterWriter.variable):\(comparison))" } ?? comparison
        }
    }

    private mutating func operand(_ property: UserProperty, counts: Bool = true) throws(DirectoryError) -> Operand {
        if counts { try addClause() }
        let variable = Self.variable
        if let list {
            guard property == .element || property.isWellFormed else { throw .noProperty(property.rawValue) }
            let path = property == .element ? list : "\(list)/\(property)"
            properties.insert(list)
            return Operand(
                path: path, name: property == .element ? variable : "\(variable)/\(property)",
                support: PropertySupport.known(path))
        }
        guard property.isWellFormed else { throw .noProperty(property.rawValue) }
        let path = property.rawValue
        let first = String(path.prefix { $0 != "/" })
        properties.insert(first)
        guard PropertySupport.isList(first) else {
            return Operand(path: path, name: path, support: PropertySupport.known(path))
        }
        return Operand(
            path: path, name: variable + path.dropFirst(first.count), list: first, support: PropertySupport.known(path))
    }

    /// Checks the operator.
    ///
    /// - Parameter level: The support for the operator, or `nil` for an unknown property, which is tried with an
    ///   advanced query.
    private mutating func check(_ operand: Operand, _ name: String, _ level: Level?) throws(DirectoryError) {
        switch level {
        case .byDefault?: return
        case .advanced?: need("\(operand.path) takes \(name) only so")
        case nil: need("the property \(operand.path) is unknown")
        case .never?:
            throw .invalidQuery(
                "the service does not take \(name) on \(operand.path); \(Self.alternatives(operand.support))")
        }
    }

    /// Returns a list of the operators that a property supports.
    private static func alternatives(_ support: PropertySupport?) -> String {
        var works: [String] = []
        if support?.equals != .never { works.append("eq") }
        if let level = support?.startsWith, level != .never { works.append("startsWith") }
        if let level = support?.ordered, level != .never { works += ["ge", "le"] }
        if let level = support?.null, level != .never { works.append("a test for null") }
        return works.isEmpty ? "nothing else works there either" : "it takes \(works.joined(separator: ", "))"
    }

    private mutating func addClause() throws(DirectoryError) {
        clauses += 1
        guard clauses <= Self.maximumClauses else {
            throw .invalidQuery("the filter has more than \(Self.maximumClauses) comparisons; ask in several queries")
        }
    }
}
