import Platform
import OAuth2Protocol

/// Decides whether an access token covers a scope, given how the provider of a type spells scope tokens.
///
/// Scope tokens are compared verbatim, with these exceptions:
///
/// * `openid`, `profile` and `offline_access` never count: they request an ID token and a refresh token, not a permission,
///   and some providers omit them from their responses.
/// * Google's responses have URLs instead of `email` and `profile`. * Microsoft's platform ignores case, and a token
/// without a resource means Microsoft Graph: `User.Read` is
///   `https://graph.microsoft.com/User.Read`. Its responses have either.
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
    /// The resources of the settings, which the main token covers.
    private let resources: [String]

    init(_ type: AccountType) {
        resources = type.resources
        if case .authority = type.provider { isMicrosoft = true } else { isMicrosoft = type.isMicrosoft }
        let own = type.graphAPI?.host(percentEncoded: false)?.lowercased()
        prefixes = isMicrosoft ? (Self.graphHosts + (own.map { [$0] } ?? [])).map { "https://\($0)/" } : []
    }

    /// Returns the common spelling of a scope token, or `nil` if it does not count.
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

    /// Returns the key of the token that is stored for a request: its scope has the common spelling, and no claims.
    func key(_ requested: TokenKey) -> TokenKey {
        TokenKey(
            scope: Scope(Set(requested.scope?.tokens.compactMap(common) ?? []).sorted()), resource: requested.resource)
    }

    /// Returns the request without what every main token has: a resource of the settings, scope tokens that do not count.
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

    /// Returns the tokens that a record has for a request, whatever its claims.
    func tokens(for requested: TokenKey, in record: AccountRecord) -> TokenSet? {
        if isForMain(requested, of: record) { return record.tokens }
        let scope = requested.scope ?? [], key = key(requested)
        return record.additionalTokens?.all.last { token in
            // The scope of a response does not have `.default` and similar tokens.
            guard token.key != key else { return true }
            return token.key.resource == requested.resource && !scope.isEmpty && missing(scope, in: token.scope).isEmpty
        }
    }

    /// Returns the requested scope tokens that a token with this scope does not cover. `.default` means any granted scope.
    func unmet(_ requested: TokenKey, by granted: Scope) -> [String] {
        missing(requested.scope ?? [], in: granted).filter { !$0.hasSuffix("/.default") && $0 != ".default" }
    }
}
