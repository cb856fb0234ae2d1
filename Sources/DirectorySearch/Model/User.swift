import StrictJSON

/// A user in a directory.
///
/// Every property can be missing: the query did not select it, it has no value, or you may not read it. A user stores
/// the bytes of the service and parses a property when you use it. A user of a list keeps its whole page in memory,
/// hundreds of kilobytes: to store single users, use ``detached()``.
public struct User: GraphObject, Identifiable {
    private enum Content: Sendable {
        case text(JSONSlice)
        case object(JSONObject)
    }

    private var content: Content

    /// Creates a user without properties.
    public init() { content = .object(JSONObject()) }

    /// Creates a user from an object of the service. The last member with a name counts.
    public init(json object: JSONObject) { content = .object(object) }

    /// Creates a user from a part of a response. Without an object, the user has no properties.
    package init(json slice: JSONSlice) { content = slice.isObject ? .text(slice) : .object(JSONObject()) }

    /// Returns the same user with a copy of its bytes, without its page.
    ///
    /// Takes one pass over these bytes. Use it to store a few users of many pages, not for users that you print and
    /// release.
    public func detached() -> User {
        guard case .text(let slice) = content, let own = try? JSONSlice(parsing: slice.rawBytes) else { return self }
        return User(json: own)
    }

    /// All members, in the order of the service.
    public var json: JSONObject {
        get {
            switch content {
            case .text(let slice): slice.value.object ?? JSONObject()
            case .object(let object): object
            }
        }
        set { content = .object(newValue) }
    }

    /// The member with this name in Graph's spelling, or `nil` without one.
    public subscript(name: String) -> JSONValue? {
        get {
            switch content {
            case .text(let slice): slice[name]?.value
            case .object(let object): object[name]
            }
        }
        set {
            var object = json
            object[name] = newValue
            content = .object(object)
        }
    }

    func text(_ name: String) -> String? {
        switch content {
        case .text(let slice): slice[name]?.string
        case .object(let object): object[name]?.string
        }
    }

    /// The sign-in name. Equal to ``userPrincipalName``.
    public var upn: String? {
        get { userPrincipalName }
        set { userPrincipalName = newValue }
    }

    /// The name. Equal to ``displayName``.
    public var name: String? {
        get { displayName }
        set { displayName = newValue }
    }

    /// The members without a property here, and members of an unexpected type, in the order of the service.
    public var additional: JSONObject {
        get { JSONObject(json.members.filter(Self.isAdditional)) }
        set { json = JSONObject(json.members.filter { !Self.isAdditional($0) } + newValue.members) }
    }

    private static func isAdditional(_ member: JSONObject.Member) -> Bool {
        kinds[member.name].map { !$0.fits(member.value) } ?? true
    }

    /// Whether the user belongs to another organization.
    public var isGuest: Bool { userType == "Guest" }

    /// Appends the user as JSON on one line, without annotations of Graph's protocol (`@odata.…`).
    ///
    /// Escapes characters that could control a terminal, like `JSONValue`.
    public func writeJSON(to output: inout [UInt8]) {
        if case .text(let slice) = content, !slice.hasAnnotations, let bytes = slice.plainBytes {
            output += bytes
        } else {
            JSONValue.object(jsonWithoutAnnotations).write(to: &output)
        }
    }

    /// All members without annotations of the protocol (`@odata.…`).
    public var jsonWithoutAnnotations: JSONObject {
        JSONObject(json.members.filter { !$0.name.hasPrefix("@odata.") })
    }

    /// A hash of the identifier for recognizing the user, or `nil` without an identifier.
    var identity: Int? {
        switch content {
        case .text(let slice):
            guard let id = slice["id"], id.string != nil else { return nil }
            var hasher = Hasher()
            id.rawBytes.withUnsafeBytes { hasher.combine(bytes: $0) }
            return hasher.finalize()
        case .object: return id.map { ("\"" + $0 + "\"").utf8.reduce(into: Hasher()) { $0.combine($1) }.finalize() }
        }
    }
}

extension User: CustomStringConvertible {
    /// The display name, the sign-in name or the identifier, with control characters escaped.
    public var description: String { (displayName ?? userPrincipalName ?? id ?? "somebody").visible() }
}
