import LodgePlatform
import StrictJSON

/// An object of the service as a value. It contains the members as received, and its properties read them.
///
/// To remove a member, set its property to `nil`. Two objects are equal if they have the same members in any order; a
/// member that is `null` equals a missing one. As `Codable` it is the service's JSON with every member.
public protocol GraphObject: Sendable, Equatable, Codable {
    /// All members.
    var json: JSONObject { get set }

    /// Creates an object with any members.
    init(json: JSONObject)

    /// The member with this name in the service's spelling, or `nil` without one.
    subscript(name: String) -> JSONValue? { get set }
}

extension GraphObject {
    /// Creates an object from a value. It has no members if the value is not an object.
    public init(json value: JSONValue) { self.init(json: value.object ?? JSONObject()) }

    /// The member with this name in the service's spelling, or `nil` without one.
    public subscript(name: String) -> JSONValue? {
        get { json[name] }
        set { json[name] = newValue }
    }

    /// Returns whether both have the same members.
    public static func == (left: Self, right: Self) -> Bool { left.json.hasSameMembers(as: right.json) }

    /// Creates an object from any JSON object.
    public init(from decoder: any Decoder) throws {
        guard case .object(let object) = try CodableJSON(from: decoder).value else {
            throw DecodingError.typeMismatch(
                Self.self, .init(codingPath: decoder.codingPath, debugDescription: "an object is expected"))
        }
        self.init(json: object)
    }

    /// Writes every member.
    public func encode(to encoder: any Encoder) throws { try CodableJSON(value: .object(json)).encode(to: encoder) }
}

// MARK: Reading members

extension GraphObject {
    func text(_ name: String) -> String? { self[name]?.string }
    func bool(_ name: String) -> Bool? { self[name]?.bool }
    func number(_ name: String) -> Int? { self[name]?.number?.int64.flatMap { Int(exactly: $0) } }
    func object(_ name: String) -> JSONObject? { self[name]?.object }
    func identifier(_ name: String) -> UUID? { text(name).flatMap { UUID(uuidString: $0) } }

    /// Returns a date, or `nil` for the year 1, with which the service means "never".
    func date(_ name: String) -> Date? {
        guard let text = text(name), !text.hasPrefix("0001-01-01") else { return nil }
        return ServerDate.graph(text)
    }

    /// Returns a list of strings; empty if the member is missing or has other elements.
    func texts(_ name: String) -> [String] {
        guard let elements = self[name]?.array else { return [] }
        let texts = elements.compactMap(\.string)
        return texts.count == elements.count ? texts : []
    }

    func part<Part: GraphObject>(_ name: String) -> Part? { object(name).map { Part(json: $0) } }

    func parts<Part: GraphObject>(_ name: String) -> [Part] {
        self[name]?.array?.compactMap { $0.object.map { Part(json: $0) } } ?? []
    }
}

// MARK: Writing members

extension GraphObject {
    mutating func set(_ name: String, _ value: String?) { self[name] = value.map { .string($0) } }
    mutating func set(_ name: String, _ value: Bool?) { self[name] = value.map { .bool($0) } }
    mutating func set(_ name: String, _ value: Int?) { self[name] = value.map { .number(JSONNumber(Int64($0))) } }
    mutating func set(_ name: String, _ value: Date?) { self[name] = value.map { .string($0.rfc3339) } }
    mutating func set(_ name: String, _ value: UUID?) { self[name] = value.map { .string($0.uuidString.lowercased()) } }
    mutating func set(_ name: String, _ value: JSONObject?) { self[name] = value.map { .object($0) } }
    mutating func set(_ name: String, _ value: [String]) { self[name] = .array(value.map { .string($0) }) }
    mutating func set(_ name: String, _ value: (some GraphObject)?) { self[name] = value.map { .object($0.json) } }
    mutating func set(_ name: String, _ value: [some GraphObject]) {
        self[name] = .array(value.map { .object($0.json) })
    }
}

extension JSONObject {
    /// Returns whether both have the same members in any order.
    ///
    /// `null` and an empty list equal a missing member. The last member with a name counts.
    func hasSameMembers(as other: JSONObject) -> Bool {
        let mine = significantMembers
        let theirs = other.significantMembers
        return mine.count == theirs.count
            && mine.allSatisfy { name, value in theirs[name].map { $0.hasSameMembers(as: value) } ?? false }
    }

    private var significantMembers: [String: JSONValue] {
        var result: [String: JSONValue] = [:]
        for member in members { result[member.name] = member.value }
        return result.filter { $0.value != .null && $0.value != .array([]) }
    }
}

extension JSONValue {
    fileprivate func hasSameMembers(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let left), .object(let right)): left.hasSameMembers(as: right)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.hasSameMembers(as: $1) }
        default: self == other
        }
    }
}

/// A group, role, unit or user in a list of mixed objects.
///
/// An object without read permission has only its identifier and type.
public struct DirectoryObject: GraphObject, Identifiable {
    /// All members.
    public var json: JSONObject

    /// Creates an object with these members.
    public init(json: JSONObject) { self.json = json }

    /// The identifier.
    public var id: String? { text("id") }
    /// The name.
    public var displayName: String? { text("displayName") }
    /// The description.
    public var objectDescription: String? { text("description") }
    /// The mail address.
    public var mail: String? { text("mail") }
    /// The kind, such as `group`, `directoryRole`, `administrativeUnit` or `user`.
    ///
    /// `nil` if the response does not contain it.
    public var kind: String? {
        guard let type = text("@odata.type") else { return nil }
        return type.hasPrefix("#microsoft.graph.") ? String(type.dropFirst(17)) : type
    }
}

/// The fifteen attributes whose meaning the organization defines.
public struct OnPremisesExtensionAttributes: GraphObject {
    /// All members.
    public var json: JSONObject

    /// Creates an object with these members.
    public init(json: JSONObject) { self.json = json }

    /// The attribute with this number, 1 to 15, or `nil` without a value.
    public subscript(number: Int) -> String? {
        get { text("extensionAttribute\(number)") }
        set { if (1...15).contains(number) { set("extensionAttribute\(number)", newValue) } }
    }
}
