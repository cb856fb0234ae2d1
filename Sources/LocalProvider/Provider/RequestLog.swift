/// A request that the provider answered. It holds no token, code or secret.
public struct LoggedRequest: Sendable, Equatable {
    /// The method.
    public let method: String
    /// The path, percent-encoded.
    public let path: String
    /// The query, percent-encoded. Only of directory requests: those of the provider itself may hold secrets.
    public let query: String?
    /// The grant type of a token request, when it is one that the provider knows.
    public let grantType: String?
    /// The status of the answer; nil when a fault gave none.
    public let status: Int?
    /// The fault that played.
    public let fault: InjectedErrors.Name?

    /// What kind of request it was: method and path without what differs from person to person, such as
    /// `GET /users/{key}/manager`. There are few: every path that the provider does not know is `other`.
    public var kind: String {
        guard let path = Self.pattern(path) else { return "other" }
        return "\(method) \(path)"
    }

    private static let methods: Set<String> = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE"]
    private static let words: Set<String> = [
        "me", "users", "$count", "delta", "manager", "directreports", "memberof", "transitivememberof", "photo",
        "photos", "$value", "directory", "deleteditems", "restore", "$batch", "microsoft.graph.group",
        "microsoft.graph.user", "scim", "v2", "v1", "admin", "serviceproviderconfig", "resourcetypes", "schemas",
        "token", "authorize", "userinfo", "jwks", "revoke", "logout", "device", "device_authorization", ".well-known",
        "openid-configuration", "oauth-authorization-server", ".search",
    ]

    private static func pattern(_ path: String) -> String? {
        var parts: [String] = []
        var keys = 0
        for part in path.split(separator: "/").dropFirst(path.hasPrefix("/v1.0/") || path.hasPrefix("/beta/") ? 1 : 0) {
            let word = (PercentCoding.decode(part) ?? "").lowercased()
            if words.contains(word) {
                parts.append(word)
            } else {
                if word.hasPrefix("users('") { parts.append("users") }
                parts.append("{key}")
                keys += 1
            }
        }
        guard parts.count <= 5, keys <= 2, keys < 2 || parts.first == "users" else { return nil }
        guard parts.first != "{key}" else { return nil }
        return "/" + parts.joined(separator: "/")
    }
}

/// The last requests, and how many there were.
struct RequestLog: Sendable {
    static let limit = 10_000
    private(set) var entries: [LoggedRequest] = []
    private(set) var tokenRequests: [String: Int] = [:]
    private(set) var total = 0
    private(set) var kinds: [String: Int] = [:]
    private static let kindLimit = 1_000

    mutating func add(_ entry: LoggedRequest) {
        total += 1
        let kind = entry.kind
        if kinds[kind] != nil || kinds.count < Self.kindLimit { kinds[kind, default: 0] += 1 }
        if let grantType = entry.grantType { tokenRequests[grantType, default: 0] += 1 }
        // Half at once, so that a full log does not move for every request.
        if entries.count >= Self.limit { entries.removeFirst(Self.limit / 2) }
        entries.append(entry)
    }
}
