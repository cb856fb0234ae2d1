import LodgePlatform
import OAuth2Protocol

/// A token from a token exchange. The store does not save it.
public struct ExchangedToken: Sendable, Equatable {
    /// The token.
    public let secret: Secret
    /// The kind of the token (RFC 8693 section 3), or `nil` if the provider did not send it.
    public let issuedType: String?
    /// The token type in lower case: `bearer`, or `n_a` for a token that is not an access token and is not sent in a
    /// header field.
    public let tokenType: String
    /// The expiry of the token, or `nil` if the provider did not send it.
    public let expiry: Date?
    /// The granted scope.
    public let scope: Scope
    /// The refresh token, or `nil` if the provider did not issue one.
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
