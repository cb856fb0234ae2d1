public import StrictJSON

/// A person in the directory.
///
/// Every property may be missing: it was not asked for, is not set, or may not be read. What the service said is kept as it came and
/// read when a property is asked for, so that a hundred thousand people can be handed on without being taken apart; a person of a
/// list keeps the page that it came with in memory, hundreds of kilobytes: who keeps single people for long keeps ``detached()`` ones.
public struct User: GraphObject, Identifiable {
    private enum Content: Sendable {
        case text(JSONSlice)
        case object(JSONObject)
    }

    private var content: Content

    /// A person about whom nothing is known yet.
    public init() { content = .object(JSONObject()) }

    /// Reads a person from an object of the service. Where a name stands twice, the last counts.
    public init(json object: JSONObject) { content = .object(object) }

    /// Reads a person from a part of an answer. A value that is no object gives a person about whom nothing is known.
    public init(json slice: JSONSlice) { content = slice.isObject ? .text(slice) : .object(JSONObject()) }

    /// The same person, without the page that they came with: only their own bytes, hundreds where a page has hundreds of thousands.
    ///
    /// Costs as much as reading these bytes once. Worth it where some people of many pages are kept, as in a list that grows while
    /// somebody scrolls; not for people who are handed on or written and forgotten.
    public func detached() -> User {
        guard case .text(let slice) = content, let own = try? JSONSlice(parsing: slice.rawBytes) else { return self }
        return User(json: own)
    }

    /// What the service says, in its order.
    public var json: JSONObject {
        get {
            switch content {
            case .text(let slice): slice.value.object ?? JSONObject()
            case .object(let object): object
            }
        }
        set { content = .object(newValue) }
    }

    /// The member of this name, by Graph's own spelling; nil when there is none.
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

    /// The sign-in name. The same as ``userPrincipalName``.
    public var upn: String? {
        get { userPrincipalName }
        set { userPrincipalName = newValue }
    }

    /// The name. The same as ``displayName``.
    public var name: String? {
        get { displayName }
        set { displayName = newValue }
    }

    /// What has no property here, and what came with an unexpected type, in its order.
    public var additional: JSONObject {
        get { JSONObject(json.members.filter(Self.isAdditional)) }
        set { json = JSONObject(json.members.filter { !Self.isAdditional($0) } + newValue.members) }
    }

    private static func isAdditional(_ member: JSONObject.Member) -> Bool {
        kinds[member.name].map { !$0.fits(member.value) } ?? true
    }

    /// Whether this is somebody of another organization.
    public var isGuest: Bool { userType == "Guest" }

    /// Appends the person as JSON on one line, without the notes of Graph's protocol (`@odata.…`).
    ///
    /// What could steer a terminal is escaped, as by `JSONValue`.
    public func writeJSON(to output: inout [UInt8]) {
        if case .text(let slice) = content, !slice.hasAnnotations, let bytes = slice.plainBytes {
            output += bytes
        } else {
            JSONValue.object(jsonWithoutAnnotations).write(to: &output)
        }
    }

    /// What the service says, without the notes of its protocol (`@odata.…`).
    public var jsonWithoutAnnotations: JSONObject {
        JSONObject(json.members.filter { !$0.name.hasPrefix("@odata.") })
    }

    /// A number for this person's identifier, to know them again by; nil without an identifier.
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
    /// The display name, else the sign-in name or the identifier, with control characters made visible.
    public var description: String { (displayName ?? userPrincipalName ?? id ?? "somebody").visible() }
}
