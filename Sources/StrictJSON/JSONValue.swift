/// A JSON value (RFC 8259).
///
/// It preserves the order of an object's members and the digits of a number, so that JSON can be written unchanged.
public enum JSONValue: Sendable, Equatable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number with its original digits.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

/// A number with its original digits. Large identifiers keep all their digits.
public struct JSONNumber: Sendable, Equatable, Hashable {
    /// The digits, a valid JSON number.
    public let literal: String

    init(validLiteral: String) { literal = validLiteral }

    /// Creates an integer.
    package init(_ value: Int64) { literal = String(value) }

    /// Creates a number, or returns `nil` for infinity and NaN, which JSON does not support.
    package init?(_ value: Double) {
        guard value.isFinite else { return nil }
        literal = value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }

    /// The value as an integer, or `nil` if it has another form or exceeds 64 bits.
    public var int64: Int64? { Int64(literal) }

    /// The nearest `Double`, or `nil` if the number is too large.
    public var double: Double? {
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }
}

/// An object with ordered members. Names are compared byte by byte, without Unicode normalization.
public struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// A name and its value.
    public struct Member: Sendable, Equatable {
        /// The name.
        public var name: String
        /// The value.
        public var value: JSONValue

        /// Creates a member.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }

        /// Returns whether two members are equal. Names are compared byte by byte.
        public static func == (left: Member, right: Member) -> Bool {
            left.isNamed(right.name) && left.value == right.value
        }

        /// Returns whether this is the name, byte by byte.
        ///
        /// Compares the lengths first, because they are fast and usually differ.
        func isNamed(_ other: String) -> Bool {
            name.utf8.count == other.utf8.count && name.utf8.elementsEqual(other.utf8)
        }
    }

    /// The members in order, including duplicates.
    public private(set) var members: [Member]

    /// Creates an object with these members.
    public init(_ members: [Member] = []) { self.members = members }

    /// Creates an object with these members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = elements.map { Member(name: $0.0, value: $0.1) }
    }

    /// The last member with a name. Setting replaces its value or appends it; `nil` removes all members with the name.
    public subscript(name: String) -> JSONValue? {
        get { members.last { $0.isNamed(name) }?.value }
        set {
            guard let newValue else {
                members.removeAll { $0.isNamed(name) }
                return
            }
            if let index = members.lastIndex(where: { $0.isNamed(name) }) {
                members[index].value = newValue
            } else {
                members.append(Member(name: name, value: newValue))
            }
        }
    }

    /// Appends a member without searching for the same name.
    public mutating func append(_ name: String, _ value: JSONValue) {
        members.append(Member(name: name, value: value))
    }

    /// The duplicate names.
    ///
    /// If it matters for security, reject an object with duplicates, because RFC 8259 section 4 does not define which
    /// one counts.
    package var duplicatedNames: [String] {
        guard members.count > 1 else { return [] }
        // For few names, comparing is faster than a set.
        if members.count <= 24 {
            return members.indices.compactMap { index in
                members[..<index].contains { $0.isNamed(members[index].name) } ? members[index].name : nil
            }
        }
        var seen = Set<[UInt8]>(minimumCapacity: members.count)
        var found: [String] = []
        for member in members where !seen.insert(Array(member.name.utf8)).inserted { found.append(member.name) }
        return found
    }
}

extension JSONValue {
    /// The string, or `nil` for any other value.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }
    /// The Boolean, or `nil` for any other value.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
    /// The number, or `nil` for any other value.
    public var number: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }
    /// The elements, or `nil` if this is not an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }
    /// The object, or `nil` for any other value.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }
    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The kind of value, for messages: "a string", "an object".
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an integer.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Creates an object.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { JSONObject.Member(name: $0.0, value: $0.1) }))
    }
    /// Creates `null`.
    public init(nilLiteral: ()) { self = .null }
}
