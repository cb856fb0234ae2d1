import Platform
import OAuth2Protocol

/// An access token that an account has beside its main one: for other scopes, or for another resource.
struct CachedAccessToken: Codable, Sendable, Equatable {
    /// How many of them an account has at most.
    static let maximumCount = 16

    /// Which token it is: what was asked for.
    struct Key: Codable, Sendable, Hashable {
        /// The scope tokens that count, sorted, in their common spelling.
        var scope: [String]
        /// The resource (RFC 8707).
        var resource: String?
    }

    var key: Key
    /// The scope as it was asked for.
    var asked: Scope
    /// The token. Neither refresh token nor ID token: those are the account's.
    var tokens: TokenSet
}

/// What a caller wants a token for.
struct SilentTokenParameters: Sendable, Hashable {
    /// The scope; nil: whatever was granted.
    var scope: Scope?
    /// The service (RFC 8707); nil: those of the settings.
    var resource: String?
    /// Claims that a resource demands: no kept token has them.
    var claims: String?

    /// The access token that an account has from its sign-in.
    static let main = SilentTokenParameters()

    var isMain: Bool { scope == nil && resource == nil && claims == nil }
}

/// Identifies an access token: the key of the token cache and of the refreshes in progress.
struct TokenKey: Hashable, Sendable {
    let account: Account.ID
    let parameters: SilentTokenParameters
}
