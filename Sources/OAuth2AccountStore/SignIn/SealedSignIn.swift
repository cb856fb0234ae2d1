import JOSE
import OAuth2Protocol
import LodgePlatform
import ProviderSettings

/// A sign-in as sealed text, in a cookie of the visitor's browser. Any process with the same key can finish it.
struct SealedSignIn: Codable, Sendable {
    let type: String
    let policy: String?
    let clientID: String
    /// The scheme, host and port of the token endpoint. The code must not go to another one.
    let tokenOrigin: String?
    let state: String
    let nonce: String?
    let verifier: Secret
    let redirectURI: String
    let issuer: String?
    let expectsIssuer: Bool
    let consent: Scope
    let maximumAge: Int?
    let senderKey: Secret?
    let contextClasses: [String]
    let scope: Scope
    /// The expiry, in seconds since 1970.
    let expires: Double

    private static let purpose = "sign-in-1"
    /// The maximum length of the text. Browsers accept at least 4,096 bytes for a cookie with its name and attributes
    /// (RFC 6265 section 6.1).
    static let maximumSize = 3_800

    init(_ sign: PendingSignIn) throws {
        let connection = sign.connection, authorization = sign.authorization
        type = connection.type.name
        policy = connection.type.policy
        clientID = connection.type.clientID
        tokenOrigin = connection.server.tokenEndpoint?.origin
        state = authorization.state
        nonce = authorization.nonce
        verifier = authorization.verifier.secret
        redirectURI = authorization.redirectURI.text
        issuer = authorization.issuer
        expectsIssuer = authorization.expectsIssuer
        consent = authorization.scope
        maximumAge = authorization.maximumAge
        senderKey = try sign.senderKey.map { try DPoPKey.text($0) }
        contextClasses = sign.contextClasses
        scope = sign.scope
        expires = sign.expires.timeIntervalSince1970
    }

    /// Returns the sealed text, in base64url so that a cookie needs no quotes.
    func text(_ seal: RecordSeal) throws -> String {
        let text = Base64URL.encode(try seal.seal(Array(try JSONEncoder().encode(self)), for: Self.purpose))
        guard text.utf8.count <= Self.maximumSize else {
            throw AccountStoreError(
                .settings, what: "cannot seal the sign-in",
                reason: "it has \(text.utf8.count) bytes, and at most \(Self.maximumSize) fit into a cookie",
                remedy: .nothing, hint: "request fewer scopes, or keep the sign-in in memory")
        }
        return text
    }

    /// Creates the sign-in from a sealed text.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `redirectRefused` if the text was changed, or is not from a store
    ///   with this key.
    init(_ text: String, _ seal: RecordSeal) throws {
        guard text.utf8.count <= Self.maximumSize, let sealed = Base64URL.decode(text),
            let plain = seal.open(sealed, for: Self.purpose),
            let sign = try? JSONDecoder().decode(Self.self, from: Data(plain))
        else {
            throw AccountStoreError(
                .redirectRefused, what: "cannot sign in",
                reason: "the sealed sign-in is damaged, or a store with another key sealed it", remedy: .signInAgain)
        }
        self = sign
    }

    /// Returns the values against which the redirect is checked.
    func authorization() throws -> PendingAuthorization {
        guard let verifier = CodeVerifier(verifier.value) else { throw OAuth2Error.redirect(.noPendingRequest) }
        return PendingAuthorization(
            state: state, nonce: nonce, verifier: verifier, redirectURI: try RedirectURI(redirectURI), issuer: issuer,
            expectsIssuer: expectsIssuer, scope: consent, maximumAge: maximumAge)
    }

    /// Returns the sign-in at its provider.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `settings` if this process has other settings than the process that
    ///   sealed it.
    func pending(_ connection: ProviderClient) throws -> PendingSignIn {
        guard clientID == connection.type.clientID, issuer == connection.server.issuer,
            tokenOrigin == connection.server.tokenEndpoint?.origin
        else {
            throw AccountStoreError(
                .settings, what: "cannot finish the sign-in",
                reason: "the settings of \(type) name another client or provider than at its start",
                remedy: .changeSettings, hint: "give all processes the same settings")
        }
        return PendingSignIn(
            connection: connection, authorization: try authorization(), senderKey: senderKey.flatMap(DPoPKey.key),
            contextClasses: contextClasses, scope: scope, expires: Date(timeIntervalSince1970: expires))
    }
}

extension SignInCoordinator {
    /// Returns a waiting sign-in as sealed text, and no longer waits for it in memory.
    func seal(_ signIn: PreparedSignIn) throws -> String {
        do {
            let sign = try pending.withLock { pending in
                guard let sign = pending[signIn.id], sign.expires > dependencies.now() else {
                    throw OAuth2Error.redirect(.noPendingRequest)
                }
                return sign
            }
            let text = try SealedSignIn(sign).text(seal)
            cancel(signIn)
            return text
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot seal the sign-in")
        }
    }

    /// Finishes a sealed sign-in, in any process with the same storage and key.
    func handleRedirect(_ address: String, sealed text: String) async throws -> Account {
        try await publishingFailure { typeName in
            let response = try AuthorizationResponse(redirect: address)
            let sealed = try SealedSignIn(text, seal)
            guard sealed.expires > dependencies.now().timeIntervalSince1970 else {
                throw AccountStoreError(
                    .timedOut, what: "the sign-in was not finished", reason: "the redirect came too late",
                    remedy: .signInAgain, hint: "start the sign-in again")
            }
            if let state = response.state, state != sealed.state { throw OAuth2Error.redirect(.differentSignIn) }
            let redirect = try ReceivedRedirect(response, for: sealed.authorization())
            let sign = try sealed.pending(
                try await client(of: context.type(sealed.type, policy: sealed.policy)))
            // From here on, no process accepts this sign-in again.
            try await FinishedSignIns(context).add(sealed)
            typeName = sealed.type
            return try await finish(sign, try redirect.code.get(), redirectIssuer: redirect.issuer)
        }
    }
}
