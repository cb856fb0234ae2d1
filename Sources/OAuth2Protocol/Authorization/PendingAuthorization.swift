import JOSE
import LodgePlatform

/// The values that a client saves while the user signs in. They are valid for one redirect.
package struct PendingAuthorization: Sendable, Equatable {
    /// The value that the redirect repeats.
    package let state: String
    /// The value that the ID token repeats, if `openid` was requested.
    package let nonce: String?
    /// The proof at the token endpoint that this client requested the code.
    package let verifier: CodeVerifier
    /// The redirect URI.
    package let redirectURI: RedirectURI
    /// The issuer of the request, or `nil` without one: then any issuer in the redirect is accepted.
    package let issuer: String?
    /// Whether the redirect must name the issuer.
    package let expectsIssuer: Bool
    /// The scope that was requested.
    package let scope: Scope
    /// The requested maximum age of the user's sign-in, in seconds.
    package let maximumAge: Int?

    /// Creates the values of one sign-in.
    package init(
        state: String, nonce: String?, verifier: CodeVerifier, redirectURI: RedirectURI, issuer: String?,
        expectsIssuer: Bool, scope: Scope, maximumAge: Int? = nil
    ) {
        self.state = state
        self.nonce = nonce
        self.verifier = verifier
        self.redirectURI = redirectURI
        self.issuer = issuer
        self.expectsIssuer = expectsIssuer
        self.scope = scope
        self.maximumAge = maximumAge
    }

    /// Creates a random state and verifier, and a nonce if `openid` is requested.
    init(
        server: AuthorizationServer, redirectURI: RedirectURI, scope: Scope, maximumAge: Int?,
        random: (Int) throws -> [UInt8]
    ) throws {
        let isOpenID = scope.contains("openid")
        self.init(
            state: Base64URL.encode(try random(32)), nonce: isOpenID ? Base64URL.encode(try random(32)) : nil,
            verifier: CodeVerifier(random: try random(32)), redirectURI: redirectURI, issuer: server.issuer,
            expectsIssuer: server.sendsIssuerInRedirect, scope: scope, maximumAge: maximumAge)
    }
}

extension PendingAuthorization: Redacted {
    /// The issuer and the scope; no secrets.
    package var description: String { "sign-in pending at \(issuer ?? "a provider") for \(scope.text)" }
}
