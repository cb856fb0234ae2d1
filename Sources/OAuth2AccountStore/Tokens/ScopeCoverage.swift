import LodgePlatform
import OAuth2Protocol

/// Decides whether an access token covers a scope, given how the provider of a type spells scope tokens.
///
/// Scope tokens are compared verbatim, with these exceptions:
///
/// * `openid`, `profile` and `offline_access` do not count. They request an ID token and a refresh token, not a
///   permission, and some providers omit them from their responses.
/// * Google's responses have URLs instead of `email` and `profile`.
/// * Microsoft's platform ignores case, and a scope token without a resource is a permission of Microsoft Graph:
///   `User.Read` is `https://graph.microsoft.com/User.Read`. Its responses have either form.
struct ScopeCoverage {
    private static let uncounted: Set<String> = ["openid", "profile", "offline_access"]
    private static let synonyms = [
        "https://www.googleapis.com/auth/userinfo.email": "email",
        "https://www.googleapis.com/auth/userinfo.profile": "profile",
    ]
    private static let graphHosts = [
        "graph.microsoft.com", "graph.microsoft.us", "dod-graph.microsoft.us", "microsoftgraph.chinacloudapi.cn",
    ]

    private let isMicrosoft: Bool
    /// The prefixes of Microsoft Graph's scope tokens, in lower case.
    private let prefixes: [String]
    /// The resources of the settings. The main token covers them.
    private let resources: [String]

    init(_ type: AccountType) {
        resources = type.resources
        if case .authority = type.provider { isMicrosoft = true } else { isMicrosoft = type.isMicrosoft }
        let own = type.graphAPI?.host(percentEncoded: false)?.lowercased()
        prefixes = isMicrosoft ? (Self.graphHosts + (own.map { [$0] } ?? [])).map { "https://\($0)/" } : []
    }

    /// Returns the canonical spelling of a scope token, or `nil` if it does not count.
    private func common(_ token: String) -> String? {
        var token = isMicrosoft ? token.lowercased() : Self.synonyms[token] ?? token
        if let prefix = prefixes.first(where: { token.hasPrefix($0) }) { token.removeFirst(prefix.count) }
        return Self.uncounted.contains(token) ? nil : token
    }

    /// Returns the requested scope tokens that are not granted, in their original spelling.
    func missing(_ requested: Scope, in granted: Scope) -> [String] {
        let have = Set(granted.tokens.compactMap(common))
        return requested.tokens.filter { common($0).map { !have.contains($0) } ?? false }
    }

    /// Returns the key under which the token of a request is saved: with the canonical spelling of its scope, and
    /// without claims.
    func key(_ requested: TokenKey) -> TokenKey {
        TokenKey(
            scope: Scope(Set(requested.scope?.tokens.compactMap(common) ?? []).sorted()), resource: requested.resource)
    }

    /// Returns the request without the parts that every main token covers: a resource of the settings, and scope tokens
    /// that do not count.
    func plain(_ requested: TokenKey) -> TokenKey {
        var key = requested
        if let resource = key.resource, resources.contains(resource) { key.resource = nil }
        if key.scope?.tokens.compactMap(common).isEmpty ?? true { key.scope = nil }
        return key
    }

    /// Returns whether the main token of a record covers a request.
    func isForMain(_ requested: TokenKey, of record: AccountRecord) -> Bool {
        requested.resource == nil && missing(requested.scope ?? [], in: record.tokens.scope).isEmpty
    }

    /// Returns the tokens of a record that cover a request, or `nil` if there aren't any. Ignores the claims of the
    /// request.
    func tokens(for requested: TokenKey, in record: AccountRecord) -> TokenSet? {
        if isForMain(requested, of: record) { return record.tokens }
        let scope = requested.scope ?? [], key = key(requested)
        return record.additionalTokens?.all.last { token in
            // The scope of a response does not contain `.default` and similar tokens.
            guard token.key != key else { return true }
            return token.key.resource == requested.resource && !scope.isEmpty && missing(scope, in: token.scope).isEmpty
        }
    }

    /// Returns the requested scope tokens that a token with this scope does not cover. `.default` stands for any
    /// granted scope.
    func unmet(_ requested: TokenKey, by granted: Scope) -> [String] {
        missing(requested.scope ?? [], in: granted).filter { !$0.hasSuffix("/.default") && $0 != ".default" }
    }
}
