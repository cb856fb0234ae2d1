import Platform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

extension AccountStore {
    /// The most sign-ins that wait at a time; the oldest gives way.
    private static let maximumPending = 100
    /// How long the person has with the browser, unless told.
    static let standardTimeout = Duration.seconds(300)

    /// Prepares a sign-in: send the person to the address, and give the redirect to ``handleRedirect(_:)``. No user interface
    /// takes part. Many sign-ins may wait at a time, of one type too.
    ///
    /// - Parameters:
    ///   - type: the name of the account type.
    ///   - options: what to ask for, and how.
    ///   - redirectURI: where the redirect arrives, when it differs from the type's in its port.
    /// - Throws: ``AccountStoreError``
    public func prepareSignIn(
        to type: String, options: SignInOptions = .init(), redirectURI: RedirectURI? = nil
    ) async throws -> PreparedSignIn {
        try await failing("cannot begin the sign-in") {
            let connection = try await connection(to: self.type(type, policy: options.policy))
            // Nobody is to sign in for nothing.
            try await storage.checkWritable()
            var wishes = try AuthorizationParameters(options, connection.type)
            try await expectSignedInPerson(in: &wishes, connection.type)
            let senderKey = try connection.newSenderKey()
            // The code too is bound to the key (RFC 9449 section 10).
            wishes.request.dpopKeyThumbprint = senderKey?.key.thumbprint()
            let authorization = try await connection.authorizationRequest(
                wishes, redirectURI: redirectURI ?? connection.type.redirectURI)
            let now = dependencies.now()
            let sign = PendingSignIn(
                connection: connection, authorization: authorization.pending, senderKey: senderKey,
                contextClasses: wishes.requiredContextClasses, scope: wishes.scope,
                expires: now.addingTimeInterval((options.timeout ?? Self.standardTimeout) / .seconds(1)))
            pending.withLock { pending in
                pending = pending.filter { $0.value.expires > now }
                if pending.count >= Self.maximumPending,
                    let oldest = pending.min(by: { $0.value.expires < $1.value.expires })
                {
                    pending[oldest.key] = nil
                }
                pending[authorization.pending.state] = sign
            }
            return PreparedSignIn(
                url: authorization.url, id: authorization.pending.state,
                redirectURI: authorization.pending.redirectURI)
        }
    }

    /// Forgets a prepared sign-in. Its redirect is refused from now on.
    public nonisolated func cancel(_ signIn: PreparedSignIn) {
        pending.withLock { _ = $0.removeValue(forKey: signIn.id) }
    }

    /// Whether an address is the redirect of a sign-in that waits. Quick, and takes nothing.
    public nonisolated func isRedirect(_ url: URL) -> Bool {
        let text = url.absoluteString
        return pending.withLock { $0.values.contains { $0.authorization.redirectURI.matches(text) } }
    }

    /// Takes the redirect of a prepared sign-in: finds it by its state, redeems the code, checks the ID token and saves the
    /// account. The same person signing in again updates their account in its place.
    ///
    /// - Throws: ``AccountStoreError``. After `redirectRefused` the sign-in goes on waiting; after anything else it is over.
    public func handleRedirect(_ url: URL) async throws -> Account {
        try await handleRedirect(url.absoluteString)
    }

    /// Takes a redirect as it was received, byte for byte.
    func handleRedirect(_ address: String) async throws -> Account {
        var typeName: String?
        do {
            let (sign, answer) = try take(address)
            typeName = sign.connection.type.name
            return try await finish(sign, try answer.get())
        } catch {
            let failure = AccountStoreError.wrapping(error, what: "cannot sign in")
            if let typeName { tell(.signInFailed(type: typeName, failure)) }
            throw failure
        }
    }

    /// Takes the sign-in out of those that wait, if the redirect is its answer: the code, or the provider's refusal. A redirect
    /// that is not its answer leaves it waiting.
    private nonisolated func take(_ address: String) throws -> (PendingSignIn, Result<Secret, OAuth2Error>) {
        let response = try AuthorizationResponse(redirect: address)
        let now = dependencies.now()
        return try pending.withLock { pending in
            guard let state = response.state, let sign = pending[state] else {
                let candidates = pending.values.filter { $0.authorization.redirectURI.matches(address) }
                guard let candidate = candidates.first else { throw OAuth2Error.redirect(.noPendingRequest) }
                // Says what is wrong with it: the state is missing, there twice, or another one.
                _ = try response.code(for: candidate.authorization)
                throw OAuth2Error.redirect(.stateMismatch)
            }
            guard sign.expires > now else {
                pending[state] = nil
                throw OAuth2Error.redirect(.noPendingRequest)
            }
            do throws(OAuth2Error) {
                let code = try response.code(for: sign.authorization)
                pending[state] = nil
                return (sign, .success(code))
            } catch {
                if case .redirect = error { throw error }
                pending[state] = nil
                return (sign, .failure(error))
            }
        }
    }

    func finish(_ sign: PendingSignIn, _ code: Secret) async throws -> Account {
        let connection = sign.connection, type = connection.type
        let consented = sign.authorization.scope
        var answer = try await connection.tokens(
            for: .authorizationCode(code, sign.authorization), parameters: type.signInParameters,
            resources: type.resources, idToken: consented.contains("openid"), boundTo: sign.senderKey)
        answer.response = try await connection.longLived(answer.response)
        let identity = try await identity(answer, connection) { validation in
            validation.nonce = sign.authorization.nonce
            validation.code = code
            validation.maximumAge = sign.authorization.maximumAge
            validation.requiredContextClasses = sign.contextClasses
        }
        return try await keep(
            answer, asked: sign.scope, consented: consented, identity, connection, senderKey: sign.senderKey)
    }

    /// Adds an account from a token answer that one already has, as the token endpoint gave it.
    ///
    /// - Throws: ``AccountStoreError``, also when there is an ID token that is not this provider's for this client.
    public func add(_ answer: TokenResponse, toType type: String) async throws -> Account {
        try await failing("cannot add the account") {
            let connection = try await connection(to: self.type(type))
            let answer = ProviderClient.Answer(response: answer, received: dependencies.now())
            let identity = try await identity(answer, connection) { validation in
                validation.allowsUnaskedNonce = true
                // It may be old: it only says who it is, and the provider's answers decide about the rest.
                validation.clockSkew = .greatestFiniteMagnitude
            }
            return try await keep(answer, asked: answer.response.scope ?? connection.type.scope, identity, connection)
        }
    }
}
