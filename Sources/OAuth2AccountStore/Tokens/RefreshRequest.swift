import HTTPExchange
import JOSE
import OAuth2Protocol
import Platform
import ProviderSettings
import StrictJSON

/// A request for new tokens of an account.
///
/// Everything that it needs is collected before it is sent: between the response and its save nothing may take time, or a process
/// that ends there loses a rotated refresh token.
struct RefreshRequest: Sendable {
    let record: AccountRecord
    let parameters: SilentTokenParameters
    let client: ProviderClient
    /// The key that the tokens are bound to.
    private let dpopKey: SigningKey?
    /// The keys that a new ID token can be signed with; `nil` if they are not available.
    private let keys: JWKSet?
    /// The secret that it can be signed with.
    private let secret: Secret?

    init(
        _ record: AccountRecord, _ parameters: SilentTokenParameters, _ client: ProviderClient,
        _ providers: ProviderCache
    ) async throws {
        self.record = record
        self.parameters = parameters
        self.client = client
        dpopKey = record.senderKey.flatMap(DPoPKey.key)
        if dpopKey == nil, record.senderKey != nil || record.tokens.type == "dpop" {
            throw AccountStoreError.dpopKeyMissing(record.id)
        }
        secret = try client.verifyingSecret()
        // A provider that issued an ID token at the sign-in issues another one. Without the keys only the new ID token is lost.
        keys =
            record.renewal == nil && record.tokens.idToken != nil
            ? try? await providers.keys(of: client.server, type: client.type) : nil
    }

    /// Sends the request. The tokens of the result are not saved yet.
    ///
    /// - Throws: `OAuth2Error` if the provider rejects the request, or responds with the tokens of another user; the errors of the
    ///   transport.
    func send() async throws -> TokenUpdate {
        let coverage = ScopeCoverage(client.type)
        // A request with claims alone is for the main token.
        let isForMain = parameters.isMain || coverage.isForMain(parameters, of: record)
        let response = try await sendOnce(isForMain ? SilentTokenParameters(claims: parameters.claims) : parameters)
        let received = client.dependencies.now()
        var tokens = record.tokens
        let idToken = record.renewal == nil ? try self.idToken(response) : nil
        if isForMain {
            tokens =
                record.renewal.map { TokenSet(response, asked: $0.scope, received: received) }
                ?? record.tokens.refreshed(by: response, received: received)
        } else {
            tokens.refreshToken = response.refreshToken ?? tokens.refreshToken
        }
        tokens.idToken = idToken == nil ? record.tokens.idToken : response.idToken
        var update = TokenUpdate(
            tokens: tokens, sent: record.tokens.refreshToken, claims: idToken?.claims, requested: tokens)
        guard !isForMain else { return update }
        // A response without a scope means the requested one (RFC 6749 section 5.1). The store believes that as far as the scope was
        // granted before: a server that ignores the parameter responds in the same way.
        let asked = parameters.scope ?? []
        let isWithin = record.renewal != nil || coverage.missing(asked, in: record.granted).isEmpty
        var token = TokenSet(
            response, asked: isWithin && !asked.isEmpty ? asked : record.granted, received: received)
        token.refreshToken = nil
        token.idToken = nil
        update.requested = token
        update.unmet = coverage.unmet(parameters, by: token.scope)
        if update.unmet.isEmpty {
            update.additional = CachedAccessToken(key: coverage.key(parameters), asked: asked, tokens: token)
        }
        return update
    }

    private func sendOnce(_ parameters: SilentTokenParameters) async throws -> TokenResponse {
        let type = client.type
        let claims = parameters.claims.map { ["claims": $0] } ?? [:]
        let resources = parameters.resource.map { [$0] } ?? type.resources
        if var grant = record.renewal {
            grant.scope = parameters.scope ?? grant.scope
            grant.parameters.merge(claims) { $1 }
            return try await client.clientTokens(grant, resources: resources, boundTo: dpopKey)
        }
        guard let refreshToken = record.tokens.refreshToken else {
            throw AccountStoreError.signInNeeded(.noRefreshToken, nil)
        }
        // With the scope tokens that bring a refresh token and an ID token, as at the sign-in.
        let scope = parameters.scope?.union(
            Scope(["openid", "profile", "offline_access"].filter(type.scope.contains)))
        return try await client.tokens(
            for: .refreshToken(refreshToken, scope: scope),
            parameters: type.refreshParameters.merging(claims) { $1 }, resources: resources, boundTo: dpopKey)
    }

    /// The ID token of a refresh, when it can take the place of the former one (OpenID Connect Core 1.0 section 12.2). One that is
    /// only odd, such as expired or signed with an unknown key, is nil and costs nobody the sign-in.
    ///
    /// - Throws: `OAuth2Error` when it names another person: then the other tokens are not this account's either.
    private func idToken(_ response: TokenResponse) throws -> IDToken? {
        guard let idToken = response.idToken, let token = try? JWT(parsing: idToken.value) else { return nil }
        if let subject = record.subject, let found = token.unverifiedClaims["sub"]?.string,
            !found.utf8.elementsEqual(subject.utf8)
        {
            throw OAuth2Error.idToken(
                IDTokenError(.subjectMismatch, claim: "sub", expected: subject, received: found))
        }
        if let issuer = record.issuer, let found = token.unverifiedClaims["iss"]?.string,
            !AuthorizationResponse.isIssuer(found, of: issuer)
        {
            throw OAuth2Error.idToken(IDTokenError(.issuerMismatch, claim: "iss", expected: issuer, received: found))
        }
        guard keys != nil || secret != nil else { return nil }
        var validation = client.idTokenValidation()
        validation.accessToken = response.accessToken
        validation.expectedSubject = record.subject
        if let issuer = record.issuer, let subject = record.subject,
            let former = record.tokens.idToken.flatMap({ try? JWT(parsing: $0.value) })
        {
            validation.original = IDToken(
                issuer: issuer, subject: subject, claims: former.unverifiedClaims.members)
        }
        return try? validation.validateByEitherClock(
            idToken, keys: keys ?? JWKSet(), clientSecret: secret, client)
    }
}

extension AccountRecord {
    /// Takes the claims of a new ID token in the place of those of the former one. What the user info had beside them stays.
    mutating func replaceClaims(with new: JSONObject) {
        let former = tokens.idToken.flatMap { try? JWT(parsing: $0.value) }?.unverifiedClaims.members
        var merged = new
        for member in claims?.members ?? [] where former?[member.name] == nil && new[member.name] == nil {
            merged.append(member.name, member.value)
        }
        claims = merged
        let identity = Identity(claims: merged)
        userName = identity.userName ?? userName
        displayName = identity.displayName ?? displayName
    }
}
