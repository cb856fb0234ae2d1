import Platform
public import StrictJSON

/// An object of the service, as a value: what it said is kept as it was said, and properties read it.
///
/// Setting a property to nil takes the member away. Two objects are equal when they say the same: the order of their members, and
/// whether a value is `null` or missing, make no difference. As `Codable` it is the service's own JSON, every member included.
public protocol GraphObject: Sendable, Equatable, Codable {
    /// What the service says.
    var json: JSONObject { get set }

    /// Reads an object of the service. Anything can be read.
    init(json: JSONObject)

    /// The member of this name, by the service's spelling; nil when there is none.
    subscript(name: String) -> JSONValue? { get set }
}

extension GraphObject {
    /// Reads an object of the service; a value that is no object gives one that says nothing.
    public init(json value: JSONValue) { self.init(json: value.object ?? JSONObject()) }

    /// The member of this name, by the service's spelling; nil when there is none.
    public subscript(name: String) -> JSONValue? {
        get { json[name] }
        set { json[name] = newValue }
    }

    /// Whether both say the same.
    public static func == (left: Self, right: Self) -> Bool { left.json.saysTheSame(as: right.json) }

    /// Reads what ``encode(to:)`` wrote, or any other JSON object.
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
    func truth(_ name: String) -> Bool? { self[name]?.bool }
    func number(_ name: String) -> Int? { self[name]?.number?.int64.flatMap { Int(exactly: $0) } }
    func object(_ name: String) -> JSONObject? { self[name]?.object }
    func identifier(_ name: String) -> UUID? { text(name).flatMap { UUID(uuidString: $0) } }

    /// A moment; nil also for the year 1, which is the service's word for never.
    func date(_ name: String) -> Date? {
        guard let text = text(name), !text.hasPrefix("0001-01-01") else { return nil }
        return ServerDate.graph(text)
    }

    /// A list of texts; empty when it is missing or holds anything else.
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
    /// Whether both have the same members, whatever their order; `null`, an empty list and a missing member are no difference.
    /// Where a name stands twice, the last counts.
    func saysTheSame(as other: JSONObject) -> Bool {
        let mine = saying
        let theirs = other.saying
        return mine.count == theirs.count
            && mine.allSatisfy { name, value in theirs[name].map { $0.saysTheSame(as: value) } ?? false }
    }

    private var saying: [String: JSONValue] {
        var result: [String: JSONValue] = [:]
        for member in members { result[member.name] = member.value }
        return result.filter { $0.value != .null && $0.value != .array([]) }
    }
}

extension JSONValue {
    fileprivate func saysTheSame(as other: JSONValue) -> Bool {
        switch (self, other) {
        case (.object(let left), .object(let right)): left.saysTheSame(as: right)
        case (.array(let left), .array(let right)):
            left.count == right.count && zip(left, right).allSatisfy { $0.saysTheSame(as: $1) }
        default: self == other
        }
    }
}

/// A group, a role, a unit or somebody, as lists of mixed objects have them. Of a kind that may not be read only identifier and type
/// come.
public struct DirectoryObject: GraphObject, Identifiable {
    /// What the service says.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// The identifier.
    public var id: String? { text("id") }
    /// The name.
    public var displayName: String? { text("displayName") }
    /// What it is for, in the organization's words.
    public var objectDescription: String? { text("description") }
    /// The mail address.
    public var mail: String? { text("mail") }
    /// What it is, such as `group`, `directoryRole`, `administrativeUnit` or `user`; nil when the answer does not say.
    public var kind: String? {
        guard let type = text("@odata.type") else { return nil }
        return type.hasPrefix("#microsoft.graph.") ? String(type.dropFirst(17)) : type
    }
}

/// The fifteen attributes that an organization gives a meaning of its own.
public struct OnPremisesExtensionAttributes: GraphObject {
    /// What the service says.
    public var json: JSONObject

    /// Reads an object of the service.
    public init(json: JSONObject) { self.json = json }

    /// The attribute of this number, 1 to 15; nil when it has no value.
    public subscript(number: Int) -> String? {
        get { text("extensionAttribute\(number)") }
        set { if (1...15).contains(number) { set("extensionAttribute\(number)", newValue) } }
    }
}
