import Platform
import JOSE
import OAuth2Protocol
import StrictJSON

/// What the renewal of an account's tokens needs. It is gathered before the request: between the answer and its saving nothing
/// may take time, or a process that ends there loses a rotated refresh token.
struct PreparedRefresh: Sendable {
    let connection: ProviderClient
    /// The key that the tokens are bound to.
    let senderKey: SigningKey?
    /// The keys that a new ID token may be signed with; nil when they could not be had.
    let keys: JWKSet?
    /// The secret that it may be signed with.
    let secret: Secret?
}

/// What a renewal brought, to be saved before anyone sees it.
struct RefreshResult: Sendable {
    let unsaved: AccountStore.PendingTokenUpdate
    /// The tokens that were wished for.
    let wished: TokenSet
    /// What of the wish they are not good for.
    var unmet: [String] = []
}

extension AccountRecord {
    /// Takes the claims of a new ID token in the place of those of the former one. What the user info had beside them stays.
    mutating func renew(claims new: JSONObject) {
        let former = tokens.idToken.flatMap { try? JWT(parsing: $0.value) }?.unverifiedClaims.members
        var merged = new
        for member in claims?.members ?? [] where former?[member.name] == nil && new[member.name] == nil {
            merged.append(member.name, member.value)
        }
        claims = merged
        let identity = AccountStore.Identity(claims: merged)
        userName = identity.userName ?? userName
        displayName = identity.displayName ?? displayName
    }
}

extension AccountStore {
    func prepareRenewal(_ record: AccountRecord, _ connection: ProviderClient) async throws -> PreparedRefresh {
        let senderKey = record.senderKey.flatMap(DPoPKey.key)
        if senderKey == nil, record.senderKey != nil || record.tokens.type == "dpop" {
            throw Self.senderKeyMissing(record.id)
        }
        var keys: JWKSet?
        let secret = try connection.verifyingSecret()
        // Who gave an ID token at the sign-in will give another one. Without the keys it is left out, and nothing else is lost.
        if record.renewal == nil, record.tokens.idToken != nil {
            keys = try? await providers.keys(of: connection.server, type: connection.type)
        }
        return PreparedRefresh(connection: connection, senderKey: senderKey, keys: keys, secret: secret)
    }

    /// Asks the provider for new tokens. They are not saved yet.
    ///
    /// - Throws: `OAuth2Error` when it refuses, or answers with the tokens of somebody else; what the transport throws.
    func renewed(_ record: AccountRecord, _ wish: SilentTokenParameters, _ prepared: PreparedRefresh) async throws
        -> RefreshResult
    {
        let type = prepared.connection.type, coverage = ScopeCoverage(type)
        // Claims alone are for the token that the account has.
        let isForMain = wish.isMain || coverage.isForMain(wish, of: record)
        let answer = try await sendRenewal(
            record, isForMain ? SilentTokenParameters(claims: wish.claims) : wish, prepared)
        var tokens = record.tokens, idToken: IDToken?
        if record.renewal == nil {
            idToken = try self.idToken(answer.response, record, prepared)
        }
        if isForMain {
            let asked = record.renewal?.scope ?? record.tokens.scope
            tokens =
                record.renewal == nil
                ? record.tokens.refreshed(by: answer.response, received: answer.received)
                : TokenSet(answer.response, asked: asked, received: answer.received)
        } else {
            tokens.refreshToken = answer.response.refreshToken ?? tokens.refreshToken
        }
        tokens.idToken = idToken == nil ? record.tokens.idToken : answer.response.idToken
        let claims = idToken?.claims
        let saved = PendingTokenUpdate(tokens: tokens, sent: record.tokens.refreshToken, claims: claims)
        guard !isForMain else { return RefreshResult(unsaved: saved, wished: tokens) }
        // An answer without a scope means the one that was asked for (section 5.1). That is believed as far as it was granted
        // before: a server that does not read the parameter answers the same.
        let asked = wish.scope ?? []
        let isWithin = record.renewal != nil || coverage.missing(asked, in: record.granted).isEmpty
        var token = TokenSet(
            answer.response, asked: isWithin && !asked.isEmpty ? asked : record.granted, received: answer.received)
        token.refreshToken = nil
        token.idToken = nil
        let unmet = coverage.unmet(wish, by: token.scope)
        guard unmet.isEmpty else { return RefreshResult(unsaved: saved, wished: token, unmet: unmet) }
        let further = CachedAccessToken(key: coverage.key(wish), asked: asked, tokens: token)
        return RefreshResult(
            unsaved: PendingTokenUpdate(tokens: tokens, sent: saved.sent, further: further, claims: claims),
            wished: token)
    }

    /// Sends the request for new tokens. Every renewal of an account's tokens goes through here, with the account's lock held.
    private func sendRenewal(
        _ record: AccountRecord, _ wish: SilentTokenParameters, _ prepared: PreparedRefresh
    ) async throws -> ProviderClient.Answer {
        let connection = prepared.connection, type = connection.type
        let claims = wish.claims.map { ["claims": $0] } ?? [:]
        let resources = wish.resource.map { [$0] } ?? type.resources
        if let renewal = record.renewal {
            var renewal = renewal
            renewal.scope = wish.scope ?? renewal.scope
            renewal.parameters.merge(claims) { $1 }
            return try await clientTokens(connection, renewal, resources: resources, boundTo: prepared.senderKey)
        }
        guard let refreshToken = record.tokens.refreshToken else { throw signInNeeded(.noRefreshToken) }
        // With the scope tokens that bring a refresh token and an ID token, as at the sign-in.
        let scope = wish.scope?.union(Scope(["openid", "profile", "offline_access"].filter(type.scope.contains)))
        return try await connection.tokens(
            for: .refreshToken(refreshToken, scope: scope),
            parameters: type.refreshParameters.merging(claims) { $1 }, resources: resources,
            boundTo: prepared.senderKey)
    }

    /// The ID token of a refresh, when it can take the place of the former one (OpenID Connect Core 1.0 section 12.2). One that is
    /// only odd, such as expired or signed with an unknown key, is nil and costs nobody the sign-in.
    ///
    /// - Throws: `OAuth2Error` when it names another person: then the other tokens are not this account's either.
    private func idToken(
        _ answer: TokenResponse, _ record: AccountRecord, _ prepared: PreparedRefresh
    ) throws -> IDToken? {
        guard let idToken = answer.idToken, let token = try? JWT(parsing: idToken.value) else { return nil }
        if let subject = record.subject, let found = token.unverifiedClaims["sub"]?.string,
            !found.utf8.elementsEqual(subject.utf8)
        {
            throw OAuth2Error.idToken(.subjectMismatch)
        }
        if let issuer = record.issuer, let found = token.unverifiedClaims["iss"]?.string,
            !AuthorizationResponse.isIssuer(found, of: issuer)
        {
            throw OAuth2Error.idToken(.issuerMismatch)
        }
        guard prepared.keys != nil || prepared.secret != nil else { return nil }
        var validation = validation(prepared.connection)
        validation.accessToken = answer.accessToken
        validation.expectedSubject = record.subject
        if let issuer = record.issuer, let subject = record.subject,
            let former = record.tokens.idToken.flatMap({ try? JWT(parsing: $0.value) })
        {
            validation.original = IDToken(
                issuer: issuer, subject: subject, claims: former.unverifiedClaims.members)
        }
        return try? validation.validateByEitherClock(
            idToken, keys: prepared.keys ?? JWKSet(), clientSecret: prepared.secret, prepared.connection)
    }
}
