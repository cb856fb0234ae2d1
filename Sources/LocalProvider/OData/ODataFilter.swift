/// A `$filter` expression over users, read from its text.
///
/// This reader is written from the OData ABNF and Graph's documentation, apart from any code that builds filters, so that
/// the one can test the other.
indirect enum ODataFilter: Equatable, Sendable {
    case and(ODataFilter, ODataFilter)
    case or(ODataFilter, ODataFilter)
    case not(ODataFilter)
    case compare(Operand, Operator, ODataLiteral)
    case oneOf(Operand, [ODataLiteral])
    case startsWith(Operand, String)
    case endsWith(Operand, String)

    /// What is compared: a property, or any element of a list property.
    struct Operand: Equatable, Sendable {
        var property: UserProperty
        var isAnyElement = false
    }

    enum Operator: String, Sendable {
        case eq, ne, gt, ge, lt, le
    }
}

/// A constant in a filter.
enum ODataLiteral: Equatable, Sendable {
    case string(String)
    case bool(Bool)
    case null
    /// A date, a number or an identifier, which have no quotes.
    case bare(String)
}

/// Why a filter is refused.
struct ODataError: Error, Equatable {
    enum Kind: Equatable {
        /// The text is no filter.
        case syntax
        /// The text is a filter that the service cannot answer.
        case unsupported
    }
    var kind: Kind
    var message: String

    static func unsupported(_ message: String) -> ODataError { ODataError(kind: .unsupported, message: message) }
}

// MARK: What the service can answer

extension ODataFilter {
    /// The first thing in the filter that needs an advanced query, in Graph's words; nil when none does.
    ///
    /// - Throws: ``ODataError`` when not even an advanced query can answer.
    func advancedReason() throws(ODataError) -> String? {
        switch self {
        case .and(let left, let right), .or(let left, let right):
            if let reason = try left.advancedReason() { return reason }
            return try right.advancedReason()
        case .not(let inner):
            _ = try inner.advancedReason()
            return Self.reason("not")
        case .startsWith(let operand, _): return try Self.check(operand, operand.property.startsWith, "startsWith")
        case .endsWith(let operand, _): return try Self.check(operand, operand.property.endsWith, "endsWith")
        case .oneOf(let operand, _): return try Self.check(operand, operand.property.equality, "in")
        case .compare(let operand, let comparison, let literal):
            let isOrder = comparison != .eq && comparison != .ne
            let support =
                isOrder
                ? operand.property.order : literal == .null ? operand.property.nullTest : operand.property.equality
            let reason = try Self.check(operand, support, comparison.rawValue)
            return reason ?? (comparison == .ne ? Self.reason("ne") : nil)
        }
    }

    /// How many comparisons the filter has.
    var clauseCount: Int {
        switch self {
        case .and(let left, let right), .or(let left, let right): left.clauseCount + right.clauseCount
        case .not(let inner): inner.clauseCount
        case .oneOf(_, let literals): literals.count
        case .compare, .startsWith, .endsWith: 1
        }
    }

    private static func check(
        _ operand: Operand, _ support: UserProperty.Support, _ name: String
    ) throws(ODataError) -> String? {
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

// MARK: Whom it matches

extension ODataFilter {
    /// Whether the person matches. Text is compared without case.
    func matches(_ person: Person) -> Bool {
        switch self {
        case .and(let left, let right): return left.matches(person) && right.matches(person)
        case .or(let left, let right): return left.matches(person) || right.matches(person)
        case .not(let inner): return !inner.matches(person)
        case .startsWith(let operand, let prefix):
            return operand.texts(person).contains { Folding.starts($0, with: prefix) }
        case .endsWith(let operand, let suffix):
            return operand.texts(person).contains { $0.lowercased().hasSuffix(suffix.lowercased()) }
        case .oneOf(let operand, let literals):
            return literals.contains { Self.isEqual(operand, person, $0) }
        case .compare(let operand, let comparison, let literal):
            switch comparison {
            case .eq: return Self.isEqual(operand, person, literal)
            case .ne: return !Self.isEqual(operand, person, literal)
            case .gt, .ge, .lt, .le: return Self.isOrdered(operand, person, comparison, literal)
            }
        }
    }

    private static func isEqual(_ operand: Operand, _ person: Person, _ literal: ODataLiteral) -> Bool {
        switch literal {
        case .null: return person.json(operand.property).isNull
        case .bool(let value): return person.json(operand.property) == .bool(value)
        case .string(let value), .bare(let value):
            return operand.texts(person).contains { Folding.areEqual($0, value) }
        }
    }

    /// Dates of one layout, so the order of the texts is the order of the times.
    private static func isOrdered(
        _ operand: Operand, _ person: Person, _ comparison: Operator, _ literal: ODataLiteral
    ) -> Bool {
        guard case .bare(let limit) = literal, let value = person.text(operand.property) else { return false }
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
    fileprivate func texts(_ person: Person) -> [String] {
        if property == .businessPhones { return person.businessPhones }
        return person.text(property).map { [$0] } ?? []
    }
}

/// Comparison without case.
enum Folding {
    static func areEqual(_ left: String, _ right: String) -> Bool {
        if left.utf8.elementsEqual(right.utf8) { return true }
        return left.lowercased() == right.lowercased()
    }

    static func starts(_ text: String, with prefix: String) -> Bool {
        // Bytes decide while both are ASCII, which is nearly always.
        var (texts, prefixes) = (text.utf8.makeIterator(), prefix.utf8.makeIterator())
        while let wanted = prefixes.next() {
            guard wanted < 0x80 else { return slowlyStarts(text, with: prefix) }
            guard let found = texts.next() else { return false }
            guard found < 0x80 else { return slowlyStarts(text, with: prefix) }
            guard lower(found) == lower(wanted) else { return false }
        }
        // The next byte may join the last character, as a combining accent does.
        guard let next = texts.next(), next >= 0x80 else { return true }
        return slowlyStarts(text, with: prefix)
    }

    private static func lower(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

    /// By scalars: half of an emoji sequence is a prefix of it, as it is for the service.
    private static func slowlyStarts(_ text: String, with prefix: String) -> Bool {
        text.lowercased().unicodeScalars.starts(with: prefix.lowercased().unicodeScalars)
    }
}
