/// A JSON value, as RFC 8259 defines it.
///
/// It preserves the order of an object's members and the digits of a number, so that a text can be written unchanged.
public enum JSONValue: Sendable, Equatable {
    /// `null`
    case null
    /// `true` or `false`
    case bool(Bool)
    /// A number, as its digits.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)
}

/// A number as it was written. Large identifiers keep all their digits.
public struct JSONNumber: Sendable, Equatable, Hashable {
    /// The digits, a valid JSON number.
    public let literal: String

    init(validLiteral: String) { literal = validLiteral }

    /// A whole number.
    public init(_ value: Int64) { literal = String(value) }

    /// A number; nil for infinities and "not a number", which JSON does not have.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        literal = value == value.rounded() && abs(value) < 1e15 ? String(Int64(value)) : "\(value)"
    }

    /// The value as a whole number, when it is written as one and fits in 64 bits.
    public var int64: Int64? { Int64(literal) }

    /// The nearest double; nil when the number is too large for one.
    public var double: Double? {
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }
}

/// An object: its members in order. Names are compared byte by byte, without Unicode normalization.
public struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    /// One name and its value.
    public struct Member: Sendable, Equatable {
        /// The name.
        public var name: String
        /// The value.
        public var value: JSONValue

        /// A member.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }

        /// Names are compared byte by byte.
        public static func == (left: Member, right: Member) -> Bool {
            left.isNamed(right.name) && left.value == right.value
        }

        /// Whether this is the name, byte by byte. Lengths are compared first: they are known and mostly differ.
        func isNamed(_ other: String) -> Bool {
            name.utf8.count == other.utf8.count && name.utf8.elementsEqual(other.utf8)
        }
    }

    /// The members in their order, including duplicates.
    public private(set) var members: [Member]

    /// An object with these members.
    public init(_ members: [Member] = []) { self.members = members }

    /// An object with these members.
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

    /// Adds a member at the end without looking for one of the same name.
    public mutating func append(_ name: String, _ value: JSONValue) {
        members.append(Member(name: name, value: value))
    }

    /// The names that occur more than once. Reject an object that repeats a member if it matters for security, because
    /// RFC 8259 section 4 does not define which one counts.
    public var duplicatedNames: [String] {
        guard members.count > 1 else { return [] }
        // Few names are compared faster than they are put into a set.
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
    /// The string, if this is one.
    public var string: String? {
        if case .string(let value) = self { value } else { nil }
    }
    /// The Boolean, if this is one.
    public var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }
    /// The number, if this is one.
    public var number: JSONNumber? {
        if case .number(let value) = self { value } else { nil }
    }
    /// The elements, if this is an array.
    public var array: [JSONValue]? {
        if case .array(let value) = self { value } else { nil }
    }
    /// The object, if this is one.
    public var object: JSONObject? {
        if case .object(let value) = self { value } else { nil }
    }
    /// Whether this is `null`.
    public var isNull: Bool { self == .null }

    /// The kind of value, for messages: "a string", "an object".
    public var kind: String {
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
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { JSONObject.Member(name: $0.0, value: $0.1) }))
    }
    /// `null`
    public init(nilLiteral: ()) { self = .null }
}
