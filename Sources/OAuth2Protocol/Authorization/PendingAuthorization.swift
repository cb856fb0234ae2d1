import JOSE
public import Platform

/// What a client keeps while the person signs in. One-shot: when its redirect has been taken, it is gone.
public struct PendingAuthorization: Sendable, Equatable {
    /// The value that comes back with the redirect and finds this.
    public let state: String
    /// The value that comes back in the ID token, when `openid` was asked for.
    public let nonce: String?
    /// Proves at the token endpoint that the code is used by the one who asked for it.
    public let verifier: CodeVerifier
    /// Where the redirect must arrive.
    public let redirectURI: RedirectURI
    /// The issuer that was asked.
    public let issuer: String?
    /// Whether the redirect must name the issuer.
    public let expectsIssuer: Bool
    /// The scope that was asked for.
    public let scope: Scope
    /// The age of the person's log-in that was asked for, in seconds.
    public let maximumAge: Int?

    /// What is kept for one sign-in.
    public init(
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

    /// What is kept for a new sign-in: fresh state and verifier, and a nonce when `openid` is asked for.
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
    public var description: String { "sign-in pending at \(issuer ?? "a provider") for \(scope.text)" }
}
