import Platform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON

extension AccountStore {
    /// Who signed in, as far as it is known.
    struct Identity {
        var issuer: String?
        var subject: String?
        var claims: JSONObject?

        init(claims: JSONObject? = nil) { self.claims = claims }

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

    /// Who signed in, by the ID token of an answer; nobody known when there is none.
    ///
    /// - Parameter checks: what else the ID token is held to.
    func identity(
        _ answer: ProviderClient.Answer, _ connection: ProviderClient,
        checks: (inout IDTokenValidation) -> Void = { _ in }
    ) async throws -> Identity {
        guard let idToken = answer.response.idToken else { return Identity() }
        var validation = validation(connection)
        validation.accessToken = answer.response.accessToken
        checks(&validation)
        return Identity(try await validate(idToken, validation, connection))
    }

    /// The checks of an ID token that hold for every grant.
    nonisolated func validation(_ connection: ProviderClient) -> IDTokenValidation {
        var validation = IDTokenValidation(
            issuer: connection.server.issuer ?? "", clientID: connection.type.clientID)
        validation.algorithms =
            connection.type.idTokenSigningAlgorithm.map { [$0] } ?? Set(connection.server.idTokenSigningAlgorithms)
        return validation
    }

    private func validate(
        _ idToken: Secret, _ validation: IDTokenValidation, _ connection: ProviderClient
    ) async throws -> IDToken {
        let secret = try connection.verifyingSecret()
        do throws(IDTokenError) {
            let keys: JWKSet
            do {
                keys = try await self.keys(for: idToken, secret, connection)
            } catch {
                // Of two failures the one about the token is told; without keys there is only this one.
                guard (try? JWT(parsing: idToken.value)) != nil else { throw .malformed }
                throw .keyNotFound
            }
            return try validation.validateByEitherClock(idToken, keys: keys, clientSecret: secret, connection)
        } catch {
            guard error.suggestsNewKeys else { throw error }
            // The provider may have new keys (OpenID Connect Core 1.0 section 10.1.1).
            let keys = try await self.keys(for: idToken, secret, connection, afterUnknownKey: true)
            return try validation.validateByEitherClock(idToken, keys: keys, clientSecret: secret, connection)
        }
    }

    /// The keys that a JWT may be signed with: the provider's, or none when it is the client's own secret.
    private func keys(
        for token: Secret, _ secret: Secret?, _ connection: ProviderClient, afterUnknownKey: Bool = false
    ) async throws -> JWKSet {
        if secret != nil, (try? JWT(parsing: token.value))?.algorithm?.isSymmetric == true { return JWKSet() }
        return try await providers.keys(
            of: connection.server, type: connection.type, afterUnknownKey: afterUnknownKey)
    }

    /// Saves what a sign-in brought: in the account that the person has, else in a new one.
    ///
    /// - Parameters:
    ///   - asked: the scope that was asked for.
    ///   - consented: what the person was asked for in all; nil: the same.
    ///   - senderKey: the key that the tokens are bound to.
    ///   - renewal: how to get tokens again, where there is no person; nil: with the refresh token.
    func keep(
        _ answer: ProviderClient.Answer, asked: Scope, consented: Scope? = nil, _ found: Identity,
        _ connection: ProviderClient, senderKey: SigningKey? = nil, renewal: AccountRecord.Renewal? = nil
    ) async throws -> Account {
        let type = connection.type
        var identity = found
        if renewal == nil, identity.userName == nil || identity.displayName == nil {
            await complete(&identity, answer.response, connection, senderKey)
        }
        // Where a provider says in its own way who signed in, and did not, another person's account would be taken for theirs.
        if renewal == nil, identity.subject == nil, !(type.userinfoClaims.isEmpty && type.tokenClaims.isEmpty) {
            throw OAuth2Error.invalidResponse(member: "sub", reason: "the provider did not say who signed in")
        }
        let tokens = TokenSet(answer.response, asked: asked, received: answer.received)
        let issuer = identity.issuer ?? connection.server.issuer
        // What is consented to beyond the first token is not in its scope.
        let grant = tokens.scope.union(Scope((consented ?? []).tokens.filter { !asked.contains($0) }))
        let homeAccountID = ClientInfo.homeAccountID(answer.response)
        let senderKeyText = try senderKey.map { try DPoPKey.text($0) }
        // Two sign-ins of the same person at a time must not make two accounts.
        let lock = try await storage.lock("type:\(type.name)", timeout: .seconds(120))
        defer { lock.release() }
        // Without a subject there is no telling people apart: such a type has one account, beside the client's own.
        var known = try await knownAccount(
            of: type, issuer: issuer, subject: identity.subject, isClient: renewal != nil)
        if renewal == nil, known == nil {
            known = try await unverifiedAccount(of: type, identity, issuer: issuer, homeAccountID: homeAccountID)
        }
        if renewal == nil, known == nil { try await refuseSecondPerson(tokens, connection) }
        func fill(_ record: inout AccountRecord) {
            record.claims = identity.claims ?? record.claims
            record.userName = identity.userName ?? (renewal == nil ? record.userName : type.clientID)
            record.displayName = identity.displayName ?? record.displayName
            record.homeAccountID = homeAccountID ?? record.homeAccountID
            record.signedIn = answer.received
            // A policy that only changes the profile may give no refresh token: then the sign-in that is there stays.
            if type.policy != record.policy, tokens.refreshToken == nil, record.tokens.refreshToken != nil { return }
            record.policy = type.policy
            record.tokens = tokens
            record.grant = grant
            // They belong to the former grant, and to the former key.
            record.further = nil
            record.issuer = issuer
            record.subject = identity.subject
            record.clientID = type.clientID
            record.tokenOrigin = connection.server.tokenEndpoint?.origin
            record.senderKey = senderKeyText
            record.renewal = renewal
            record.signInNeeded = nil
        }
        var account: Account?
        if let known {
            account = try await update(known, .profile, fill).map {
                Account(record: $0.record, position: $0.position)
            }
        }
        if account == nil {
            var record = AccountRecord(
                id: try .unused(dependencies.random), type: type.name,
                issuer: issuer, subject: identity.subject, clientID: type.clientID, tokens: tokens,
                created: answer.received)
            fill(&record)
            account = try await insert(record)
        }
        guard let account else { throw CancellationError() }
        unsaved[account.id] = nil
        try await setCurrentLocked(account)
        return account
    }

    /// Asks the provider for the names that the ID token does not have. Without them the sign-in is as good.
    private func complete(
        _ identity: inout Identity, _ answer: TokenResponse, _ connection: ProviderClient,
        _ senderKey: SigningKey?
    ) async {
        if identity.subject == nil, let claims = IdentityMapping.claims(answer, type: connection.type) {
            identity.subject = claims.text("sub")
            identity.claims = claims
        }
        guard let request = UserInfo.request(server: connection.server, accessToken: answer.accessToken),
            let response = try? await connection.resource(request, answer.accessToken, boundTo: senderKey),
            let claims = try? await userInfo(response, identity.subject, connection)
        else { return }
        if identity.subject == nil { identity.subject = claims["sub"]?.string }
        var merged = identity.claims ?? JSONObject()
        for member in claims.members where merged[member.name]?.isNull ?? true { merged[member.name] = member.value }
        identity.claims = merged
    }

    /// The claims of a userinfo answer, plain or signed. Where the client registered for signed ones, no other is believed.
    private func userInfo(
        _ response: HTTPResponse, _ subject: String?, _ connection: ProviderClient
    ) async throws -> JSONObject {
        let registered = connection.type.userinfoSigningAlgorithm
        let contentType = response.fields["Content-Type"]?.lowercased() ?? ""
        guard registered != nil || contentType.hasPrefix("application/jwt") else {
            return try IdentityMapping.claims(response, subject: subject, type: connection.type)
        }
        guard let subject else {
            throw OAuth2Error.invalidResponse(
                member: "sub", reason: "the userinfo answer is signed, and there is no ID token to compare it with")
        }
        var validation = validation(connection)
        if let registered { validation.algorithms = [registered] }
        let secret = try connection.verifyingSecret()
        let token = Secret(String(decoding: response.body.prefix(JWT.maximumByteCount), as: UTF8.self))
        let keys = try await keys(for: token, secret, connection)
        return try UserInfo.readSigned(
            response, subject: subject, validation: validation, keys: keys, clientSecret: secret)
    }
}

extension ProviderClient {
    /// Sends a request with an access token, and once more when the server wants its nonce in the proof.
    func resource(
        _ request: HTTPRequest, _ accessToken: Secret, boundTo key: SigningKey?
    ) async throws -> HTTPResponse {
        guard key != nil else { return try await send(request) }
        let response = try await send(authorized(request, accessToken, boundTo: key))
        let decision = ResourceResponse.decide(response, tokenType: "dpop", hasRefreshToken: false, isRetry: false)
        guard case .retryWithNonce = decision else { return response }
        return try await send(authorized(request, accessToken, boundTo: key))
    }

    /// A request with an access token: bound to a key with a proof, else as a Bearer token.
    func authorized(
        _ request: HTTPRequest, _ accessToken: Secret, boundTo key: SigningKey?
    ) throws -> HTTPRequest {
        guard let key else {
            return try ResourceRequest.authorized(request, accessToken: accessToken, allowsLoopbackHTTP: true)
        }
        return try DPoP.signed(
            request, key: key, accessToken: accessToken, nonce: memory.nonce(for: request.url),
            now: serverTime(of: request.url), allowsLoopbackHTTP: true, random: dependencies.random)
    }
}

extension IDTokenValidation {
    /// Validates by this machine's clock and, when that says that the token is too old or too new, by the provider's: a clock that
    /// is off keeps nobody out.
    func validateByEitherClock(
        _ token: Secret, keys: JWKSet, clientSecret: Secret?, _ connection: ProviderClient
    ) throws(IDTokenError) -> IDToken {
        let now = connection.dependencies.now().timeIntervalSince1970
        do throws(IDTokenError) {
            return try validate(token, keys: keys, clientSecret: clientSecret, now: now)
        } catch {
            let theirs = connection.serverTime(of: connection.server.tokenEndpoint)
            guard error.isAboutTime, theirs != now else { throw error }
            return try validate(token, keys: keys, clientSecret: clientSecret, now: theirs)
        }
    }
}

extension IDTokenError {
    /// Whether another clock could see it otherwise.
    fileprivate var isAboutTime: Bool {
        [.expired, .issuedAtInFuture, .issuedAtTooOld, .notYetValid, .authenticationTimeTooOld].contains(self)
    }
}
