import Platform
import OAuth2Protocol

/// A token that another was exchanged for. It is not kept.
public struct ExchangedToken: Sendable, Equatable {
    /// The token.
    public let secret: Secret
    /// What kind of token it is (RFC 8693 section 3); nil when the provider did not say.
    public let issuedType: String?
    /// How it is used, in lower case: `bearer`, or `n_a` for a token that is no access token and goes into no header.
    public let tokenType: String
    /// When it expires; nil when the provider did not say.
    public let expiry: Date?
    /// The scope that was granted.
    public let scope: Scope
    /// A refresh token, where the provider gave one.
    public let refreshToken: Secret?

    init(_ response: TokenResponse, received: Date, requested: Scope) {
        secret = response.accessToken
        issuedType = response.additional["issued_token_type"]?.string
        tokenType = response.tokenType
        expiry = response.expiresIn.map { received.addingTimeInterval($0 / .seconds(1)) }
        scope = response.grantedScope(requested: requested)
        refreshToken = response.refreshToken
    }
}
