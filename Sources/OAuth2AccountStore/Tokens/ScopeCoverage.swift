import Platform
import OAuth2Protocol

/// Whether an access token is good for a scope, given how the provider of a type spells scope tokens.
///
/// Scope tokens are compared as they are, with these exceptions:
///
/// * `openid`, `profile` and `offline_access` never count: they ask for an ID token and a refresh token, not for a permission,
///   and some providers leave them out of their answers.
/// * Google answers `email` and `profile` with addresses that mean the same.
/// * Microsoft's platform does not tell upper from lower case, and means Microsoft Graph by a token without a resource:
///   `User.Read` is `https://graph.microsoft.com/User.Read`, and its answers have either.
struct ScopeCoverage {
    private static let uncounted: Set<String> = ["openid", "profile", "offline_access"]
    private static let synonyms = [
        "https://www.googleapis.com/auth/userinfo.email": "email",
        "https://www.googleapis.com/auth/userinfo.profile": "profile",
    ]
    private static let graphHosts = [
        "graph.microsoft.com", "graph.microsoft.us", "dod-graph.microsoft.us", "microsoftgraph.chinacloudapi.cn",
    ]

    /// Whether the provider is Microsoft's.
    private let isMicrosoft: Bool
    /// What Microsoft Graph's scope tokens may begin with, in lower case.
    private let prefixes: [String]
    /// The resources of the settings: the main token is good for these.
    private let resources: [String]

    init(_ type: AccountType) {
        resources = type.resources
        if case .authority = type.provider { isMicrosoft = true } else { isMicrosoft = type.isMicrosoft }
        let own = type.graphAPI?.host(percentEncoded: false)?.lowercased()
        prefixes = isMicrosoft ? (Self.graphHosts + (own.map { [$0] } ?? [])).map { "https://\($0)/" } : []
    }

    /// The common spelling of a scope token; nil for one that does not count.
    private func common(_ token: String) -> String? {
        var token = isMicrosoft ? token.lowercased() : Self.synonyms[token] ?? token
        if let prefix = prefixes.first(where: { token.hasPrefix($0) }) { token.removeFirst(prefix.count) }
        return Self.uncounted.contains(token) ? nil : token
    }

    /// What of `asked` is not in `granted`, as it was asked.
    func missing(_ asked: Scope, in granted: Scope) -> [String] {
        let have = Set(granted.tokens.compactMap(common))
        return asked.tokens.filter { common($0).map { !have.contains($0) } ?? false }
    }

    /// The name under which the token for a wish is kept.
    func key(_ wish: SilentTokenParameters) -> CachedAccessToken.Key {
        CachedAccessToken.Key(scope: Set(wish.scope?.tokens.compactMap(common) ?? []).sorted(), resource: wish.resource)
    }

    /// The wish without what the main token has anyway: a resource of the settings, scope tokens that do not count.
    func plain(_ wish: SilentTokenParameters) -> SilentTokenParameters {
        var wish = wish
        if let resource = wish.resource, resources.contains(resource) { wish.resource = nil }
        if wish.scope?.tokens.compactMap(common).isEmpty ?? true { wish.scope = nil }
        return wish
    }

    /// Whether the main token of a record is the one for a wish.
    func isForMain(_ wish: SilentTokenParameters, of record: AccountRecord) -> Bool {
        wish.resource == nil && missing(wish.scope ?? [], in: record.tokens.scope).isEmpty
    }

    /// The tokens that a record has for a wish. Claims are not looked at.
    func tokens(for wish: SilentTokenParameters, in record: AccountRecord) -> (
        tokens: TokenSet, further: CachedAccessToken.Key?
    )? {
        let asked = wish.scope ?? []
        if isForMain(wish, of: record) { return (record.tokens, nil) }
        let key = key(wish)
        let found = (record.further ?? []).last { further in
            // `.default` and its like are not in the answer's scope.
            guard further.key != key else { return true }
            return further.key.resource == wish.resource && !asked.isEmpty
                && missing(asked, in: further.tokens.scope).isEmpty
        }
        return found.map { ($0.tokens, $0.key) }
    }

    /// What of a wish a token of this scope is not good for. `.default` stands for whatever was granted.
    func unmet(_ wish: SilentTokenParameters, by granted: Scope) -> [String] {
        missing(wish.scope ?? [], in: granted).filter { !$0.hasSuffix("/.default") && $0 != ".default" }
    }
}
