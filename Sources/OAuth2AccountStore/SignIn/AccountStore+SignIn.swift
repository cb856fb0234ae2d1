import HTTPTransport
import JOSE
import OAuth2
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension AccountStore {
    /// The most sign-ins that wait at a time; the oldest gives way.
    private static let maximumPending = 100

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
            let type = try self.type(type)
            let server = try await providers.server(for: type)
            // Nobody is to sign in for nothing.
            try await storage.checkWritable()
            var request = AuthorizationRequest.Options()
            request.prompt = options.prompt
            request.loginHint = options.loginHint
            request.claims = options.claims
            request.parameters = type.authorizationParameters.merging(options.parameters) { _, asked in asked }
            let authorization = try AuthorizationRequest(
                server: server, client: Client(id: type.clientID), redirectURI: redirectURI ?? type.redirectURI,
                scope: options.scope ?? type.scope, options: request, random: surroundings.random)
            let now = surroundings.now()
            let sign = PendingSignIn(
                type: type, server: server, authorization: authorization.pending,
                expires: now.addingTimeInterval(options.timeout / .seconds(1)))
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
            typeName = sign.type.name
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
        let now = surroundings.now()
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

    private func finish(_ sign: PendingSignIn, _ code: Secret) async throws -> Account {
        let type = sign.type
        let client = try ClientCredentials(type: type, environment: surroundings.environment).client(for: sign.server)
        let request = try TokenRequest(
            .authorizationCode(code, sign.authorization), server: sign.server, client: client,
            method: type.tokenRequestMethod, parameters: type.tokenParameters, headers: type.tokenHeaders)
        let response = try await providers.transport(for: type).send(request.request)
        let first: TokenResponse
        do throws(OAuth2Error) {
            first = try TokenResponse.read(response)
        } catch {
            throw error.hiding([code, client.secret])
        }
        let answer = try await longLived(first, type, sign.server, client)
        let received = surroundings.now()
        var identity = Identity()
        if let idToken = answer.idToken {
            var validation = validation(type, sign.server, answer)
            validation.nonce = sign.authorization.nonce
            validation.maximumAge = sign.authorization.maximumAge
            identity = Identity(try await validate(idToken, validation, type, sign.server))
        } else if sign.authorization.scope.contains("openid") {
            throw OAuth2Error.idToken(.missing)
        }
        return try await keep(
            answer, asked: sign.authorization.scope, received: received, identity, type, sign.server)
    }

    /// Adds an account from a token answer that one already has, as the token endpoint gave it.
    ///
    /// - Throws: ``AccountStoreError``, also when there is an ID token that is not this provider's for this client.
    public func add(_ answer: TokenResponse, toType type: String) async throws -> Account {
        try await failing("cannot add the account") {
            let type = try self.type(type)
            let server = try await providers.server(for: type)
            var identity = Identity()
            if let idToken = answer.idToken {
                var validation = validation(type, server, answer)
                validation.allowsUnaskedNonce = true
                // It may be old: it only says who it is, and the provider's answers decide about the rest.
                validation.clockSkew = .greatestFiniteMagnitude
                identity = Identity(try await validate(idToken, validation, type, server))
            }
            return try await keep(
                answer, asked: answer.scope ?? type.scope, received: surroundings.now(), identity, type, server)
        }
    }

    private nonisolated func validation(
        _ type: AccountType, _ server: AuthorizationServer, _ answer: TokenResponse
    ) -> IDTokenValidation {
        var validation = IDTokenValidation(issuer: server.issuer ?? "", clientID: type.clientID)
        validation.algorithms = Set(server.idTokenSigningAlgorithms)
        validation.accessToken = answer.accessToken
        return validation
    }

    private func validate(
        _ idToken: Secret, _ validation: IDTokenValidation, _ type: AccountType, _ server: AuthorizationServer
    ) async throws -> IDToken {
        let now = surroundings.now().timeIntervalSince1970
        do throws(IDTokenRejection) {
            let keys: JWKSet
            do {
                keys = try await providers.keys(of: server, type: type)
            } catch {
                throw .keyNotFound
            }
            return try validation.validate(idToken, keys: keys, now: now)
        } catch {
            guard error == .keyNotFound else { throw error }
            // The provider may have new keys (OpenID Connect Core 1.0 section 10.1.1).
            let keys = try await providers.keys(of: server, type: type, afterUnknownKey: true)
            return try validation.validate(idToken, keys: keys, now: now)
        }
    }

    /// Who signed in, as far as it is known.
    private struct Identity {
        var issuer: String?
        var subject: String?
        var claims: JSONObject?

        init() {}

        init(_ token: IDToken) {
            issuer = token.issuer
            subject = token.subject
            claims = token.claims
        }

        func text(_ names: String...) -> String? {
            for name in names {
                if let text = claims?[name]?.string, !text.isEmpty { return text }
            }
            return nil
        }

        /// The name that the person signs in with: Entra's, then the standard claims.
        var userName: String? { text("preferred_username", "email", "upn") }
        var displayName: String? { text("name") }
    }

    /// Saves what a sign-in brought: in the account that the person has, else in a new one.
    private func keep(
        _ answer: TokenResponse, asked: Scope, received: Date, _ found: Identity, _ type: AccountType,
        _ server: AuthorizationServer
    ) async throws -> Account {
        var identity = found
        if identity.userName == nil || identity.displayName == nil {
            await complete(&identity, answer, type, server)
        }
        let tokens = Tokens(answer, asked: asked, received: received)
        let issuer = identity.issuer ?? server.issuer
        // Two sign-ins of the same person at a time must not make two accounts.
        let lock = try await storage.lock("type:\(type.name)", timeout: .seconds(120))
        defer { lock.release() }
        // Without a subject there is no telling people apart: such a type has one account.
        let known = try await accounts(ofType: type.name).first {
            $0.subject == identity.subject && (identity.subject == nil || $0.issuer == issuer)
        }
        var account: Account?
        if let known {
            let saved = try await update(known.id, .profile) { record in
                record.tokens = tokens
                record.issuer = issuer
                record.clientID = type.clientID
                record.tokenOrigin = server.tokenEndpoint?.origin
                record.signInNeeded = nil
                record.claims = identity.claims ?? record.claims
                record.userName = identity.userName ?? record.userName
                record.displayName = identity.displayName ?? record.displayName
            }
            account = saved.map { Account(record: $0.record, position: $0.position) }
        }
        if account == nil {
            var record = AccountRecord(
                id: Account.ID(rawValue: Base64URL.encode(try surroundings.random(12))), type: type.name,
                issuer: issuer,
                subject: identity.subject, userName: identity.userName, displayName: identity.displayName,
                clientID: type.clientID, tokenOrigin: server.tokenEndpoint?.origin, tokens: tokens, created: received)
            record.claims = identity.claims
            account = try await insert(record)
        }
        guard let account else { throw CancellationError() }
        unsaved[account.id] = nil
        try await storage.setValue(Array(account.id.rawValue.utf8), for: "current:\(type.name)")
        return account
    }

    /// Asks the provider for the names that the ID token does not have. Without them the sign-in is as good.
    private func complete(
        _ identity: inout Identity, _ answer: TokenResponse, _ type: AccountType, _ server: AuthorizationServer
    ) async {
        if identity.subject == nil, let claims = MappedIdentity.claims(answer, type: type) {
            identity.subject = claims.text("sub")
            identity.claims = claims
        }
        guard let request = UserInfo.request(server: server, accessToken: answer.accessToken),
            let response = try? await providers.transport(for: type).send(request),
            let claims = try? MappedIdentity.claims(response, subject: identity.subject, type: type)
        else { return }
        if identity.subject == nil { identity.subject = claims["sub"]?.string }
        var merged = identity.claims ?? JSONObject()
        for member in claims.members where merged[member.name]?.isNull ?? true { merged[member.name] = member.value }
        identity.claims = merged
    }
}
