import StrictJSON

/// A `$filter` expression over users.
///
/// The parser follows the OData ABNF and Graph's documentation and shares no code with the client, so that each tests
/// the other.
indirect enum ODataFilter: Equatable, Sendable {
    case and(ODataFilter, ODataFilter)
    case or(ODataFilter, ODataFilter)
    case not(ODataFilter)
    case compare(Operand, Operator, ODataLiteral)
    case oneOf(Operand, [ODataLiteral])
    case startsWith(Operand, String)
    case endsWith(Operand, String)
    /// For other protocols: Graph does not support it for users.
    case contains(Operand, String)
    /// Whether a list has an element, or an element that matches the condition.
    case any(UserProperty, ODataFilter?)

    /// The compared value: a property, a member of one, an element of a list or the number of its elements.
    struct Operand: Equatable, Sendable {
        var property: UserProperty
        /// Whether it is the element of `any`.
        var isAnyElement = false
        var member: String?
        /// Whether it is the number of the list's elements.
        var isCount = false
    }

    enum Operator: String, Sendable {
        case eq, ne, gt, ge, lt, le
    }
}

enum ODataLiteral: Equatable, Sendable {
    case string(String)
    case bool(Bool)
    case null
    /// An unquoted literal: a date, a number or an identifier.
    case bare(String)
}

// MARK: Support by the service

extension ODataFilter {
    /// Returns Graph's message about the first part that needs an advanced query, or `nil` if no part does.
    ///
    /// - Throws: ``FilterError`` if advanced queries do not support the filter either.
    func advancedReason() throws(FilterError) -> String? {
        switch self {
        case .and(let left, let right), .or(let left, let right):
            let reason = try left.advancedReason()
            let other = try right.advancedReason()
            return reason ?? other
        case .not(let inner):
            _ = try inner.advancedReason()
            return Self.reason("not")
        case .startsWith(let operand, _): return try Self.check(operand, operand.startsWith, "startsWith")
        case .contains: throw .unsupported("Function 'contains' is not supported for resource 'User'.")
        case .endsWith(let operand, _): return try Self.check(operand, operand.property.endsWith, "endsWith")
        case .oneOf(let operand, _): return try Self.check(operand, operand.property.equality, "in")
        case .any(let property, let inner):
            guard let inner else { return try Self.check(Operand(property: property), property.equality, "any") }
            return try inner.advancedReason()
        case .compare(let operand, let comparison, let literal):
            if operand.isCount {
                guard comparison == .eq || comparison == .ne else {
                    throw .unsupported("Only 'eq 0' and 'ne 0' are supported for '$count' in a filter.")
                }
                return Self.reason("$count")
            }
            let isOrder = comparison != .eq && comparison != .ne
            let support =
                isOrder
                ? operand.property.order : literal == .null ? operand.property.nullTest : operand.property.equality
            let reason = try Self.check(operand, support, comparison.rawValue)
            return reason ?? (comparison == .ne ? Self.reason("ne") : nil)
        }
    }

    /// The maximum length of a literal of `eq` in characters.
    var longestEqualLiteral: Int {
        switch self {
        case .and(let left, let right), .or(let left, let right):
            max(left.longestEqualLiteral, right.longestEqualLiteral)
        case .not(let inner): inner.longestEqualLiteral
        case .any(_, let inner): inner?.longestEqualLiteral ?? 0
        case .compare(_, .eq, .string(let text)): text.count
        case .oneOf(_, let literals):
            literals.map { if case .string(let text) = $0 { text.count } else { 0 } }.max() ?? 0
        case .compare, .startsWith, .endsWith, .contains: 0
        }
    }

    var clauseCount: Int {
        switch self {
        case .and(let left, let right), .or(let left, let right): left.clauseCount + right.clauseCount
        case .not(let inner): inner.clauseCount
        case .oneOf(_, let literals): literals.count
        case .any(_, let inner): inner?.clauseCount ?? 1
        case .compare, .startsWith, .endsWith, .contains: 1
        }
    }

    private static func check(
        _ operand: Operand, _ support: UserProperty.Support, _ name: String
    ) throws(FilterError) -> String? {
        switch support {
        case .always: return nil
        case .advanced: return reason(name)
        case .never:
            throw .unsupported(
                "Unsupported or invalid query filter clause specified for property '\(operand.property.rawValue)' of"
                    + " resource 'User'.")
        }
    }

    private static func reason(_ name: String) -> String {
        "Operator '\(name)' is not supported because the required parameters might be missing. Try adding $count=true"
            + " query parameter and ConsistencyLevel:eventual header. Refer to https://aka.ms/graph-docs/advanced-queries"
            + " for more information"
    }
}

// MARK: Matching

extension ODataFilter {
    /// Returns whether the user matches. String comparison ignores case.
    func matches(_ user: some UserValues) -> Bool { holds(user, nil) }

    private func holds(_ user: some UserValues, _ element: JSONValue?) -> Bool {
        switch self {
        case .and(let left, let right): return left.holds(user, element) && right.holds(user, element)
        case .or(let left, let right): return left.holds(user, element) || right.holds(user, element)
        case .not(let inner): return !inner.holds(user, element)
        case .any(let property, let inner):
            guard let inner else { return Self.elementCount(property, user) > 0 }
            if property.kind == .objects {
                return user.objects(property).contains { inner.holds(user, .object($0)) }
            }
            return user.texts(property).contains { inner.holds(user, .string($0)) }
        case .startsWith(let operand, let prefix):
            return operand.text(user, element).map { Folding.starts($0, with: prefix) } ?? false
        case .endsWith(let operand, let suffix):
            return operand.text(user, element)?.lowercased().hasSuffix(suffix.lowercased()) ?? false
        case .contains(let operand, let part):
            return part.isEmpty || operand.text(user, element)?.lowercased().contains(part.lowercased()) ?? false
        case .oneOf(let operand, let literals):
            return literals.contains { Self.isEqual(operand, user, element, $0) }
        case .compare(let operand, let comparison, let literal):
            switch comparison {
            case .eq: return Self.isEqual(operand, user, element, literal)
            case .ne: return !Self.isEqual(operand, user, element, literal)
            case .gt, .ge, .lt, .le:
                return Self.isOrdered(operand.text(user, element), comparison, literal)
            }
        }
    }

    private static func elementCount(_ property: UserProperty, _ user: some UserValues) -> Int {
        property.kind == .objects ? user.objects(property).count : user.texts(property).count
    }

    private static func isEqual(
        _ operand: Operand, _ user: some UserValues, _ element: JSONValue?, _ literal: ODataLiteral
    ) -> Bool {
        if operand.isCount {
            guard case .bare(let digits) = literal, let number = Int(digits) else { return false }
            return elementCount(operand.property, user) == number
        }
        switch literal {
        case .null:
            if operand.isAnyElement || operand.member != nil { return operand.text(user, element) == nil }
            switch operand.property.kind {
            case .text, .date: return user.text(operand.property) == nil
            default: return user.json(operand.property).isNull
            }
        case .bool(let value): return user.flag(operand.property) == value
        case .string(let value), .bare(let value):
            return operand.text(user, element).map { Folding.areEqual($0, value) } ?? false
        }
    }

    /// Compares dates as strings, which all have the same format.
    private static func isOrdered(_ value: String?, _ comparison: Operator, _ literal: ODataLiteral) -> Bool {
        guard case .bare(let limit) = literal, let value else { return false }
        let full = limit.utf8.count == 10 ? limit + "T00:00:00Z" : limit
        switch comparison {
        case .gt: return value > full
        case .ge: return value >= full
        case .lt: return value < full
        case .le: return value <= full
        case .eq, .ne: return false
        }
    }
}

extension ODataFilter.Operand {
    /// Members of objects support only comparison as a whole.
    fileprivate var startsWith: UserProperty.Support { member == nil ? property.startsWith : .never }

    fileprivate func text(_ user: some UserValues, _ element: JSONValue?) -> String? {
        guard isAnyElement else {
            return member.map { user.text(property, member: $0) } ?? user.text(property)
        }
        guard let member else { return element?.string }
        return element?.object?.members.first { $0.name.lowercased() == member.lowercased() }?.value.string
    }
}

/// Case-insensitive comparison.
enum Folding {
    static func areEqual(_ left: String, _ right: String) -> Bool {
        if left.utf8.elementsEqual(right.utf8) { return true }
        return left.lowercased() == right.lowercased()
    }

    static func starts(_ text: String, with prefix: String) -> Bool {
        // Compare bytes while both are ASCII, which is nearly always the case.
        var (texts, prefixes) = (text.utf8.makeIterator(), prefix.utf8.makeIterator())
        while let expected = prefixes.next() {
            guard expected < 0x80 else { return slowlyStarts(text, with: prefix) }
            guard let found = texts.next() else { return false }
            guard found < 0x80 else { return slowlyStarts(text, with: prefix) }
            guard lower(found) == lower(expected) else { return false }
        }
        // The next byte may combine with the last character, like a combining accent.
        guard let next = texts.next(), next >= 0x80 else { return true }
        return slowlyStarts(text, with: prefix)
    }

    private static func lower(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

    /// Compares scalars: half of an emoji sequence is a prefix of it, as in the service.
    private static func slowlyStarts(_ text: String, with prefix: String) -> Bool {
        text.lowercased().unicodeScalars.starts(with: prefix.lowercased().unicodeScalars)
    }
}
