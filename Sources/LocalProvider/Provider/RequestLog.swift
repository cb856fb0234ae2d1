import HTTPExchange

/// A request and its status, without tokens, codes and secrets.
public struct LoggedRequest: Sendable, Equatable {
    /// The method.
    public let method: String
    /// The path, percent-encoded.
    public let path: String
    /// The query of a directory request, percent-encoded. Other queries can contain secrets.
    public let query: String?
    /// The grant type of a token request, or `nil` if the provider does not support it.
    public let grantType: String?
    /// The status of the response, or `nil` if an injected error prevented it.
    public let status: Int?
    /// The injected error.
    package let injectedError: InjectedErrors.Name?

    /// The kind of the request: method and path without keys, such as `GET /users/{key}/manager`.
    ///
    /// An unknown path is `other`.
    public var kind: String {
        guard let path = Self.pattern(path) else { return "other" }
        return "\(method) \(path)"
    }

    private static let words: Set<String> = [
        "me", "users", "$count", "delta", "manager", "directreports", "memberof", "transitivememberof", "photo",
        "photos", "$value", "directory", "deleteditems", "restore", "$batch", "microsoft.graph.group",
        "microsoft.graph.user", "scim", "v2", "v1", "admin", "serviceproviderconfig", "resourcetypes", "schemas",
        "token", "authorize", "userinfo", "jwks", "revoke", "logout", "device", "device_authorization", ".well-known",
        "openid-configuration", "oauth-authorization-server", ".search", "introspect", "register", "par", "github",
    ]

    private static func pattern(_ path: String) -> String? {
        if let (_, policy, endpoint) = ProviderAuthority.tenantPath(path) {
            return "/{tenant}" + (policy == nil ? "" : "/{policy}") + endpoint
        }
        var parts: [String] = []
        var keys = 0
        for part in path.split(separator: "/").dropFirst(path.hasPrefix("/v1.0/") || path.hasPrefix("/beta/") ? 1 : 0) {
            let word = (PercentEncoding.decode(part.utf8) ?? "").lowercased()
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

/// The latest requests, and the counts of all requests.
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
        // Delete half, so that a full log does not move for every request.
        if entries.count >= Self.limit { entries.removeFirst(Self.limit / 2) }
        entries.append(entry)
    }
}
