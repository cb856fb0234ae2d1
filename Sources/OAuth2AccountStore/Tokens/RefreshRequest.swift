import HTTPExchange
import JOSE
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import StrictJSON

/// A request for new tokens of an account.
///
/// It prepares everything before it sends the request. The time between the response and its save must be short: if the
/// process ends in between, a rotated refresh token is lost.
struct RefreshRequest: Sendable {
    let record: AccountRecord
    let key: TokenKey
    let client: ProviderClient
    /// The key that the tokens are bound to.
    private let dpopKey: SigningKey?
    /// The keys that can verify a new ID token, or `nil` if they are not available.
    private let keys: JWKSet?
    /// The client secret that can verify a new ID token.
    private let secret: Secret?
    private let providers: ProviderCache

    init(
        _ record: AccountRecord, _ key: TokenKey, _ client: ProviderClient, _ providers: ProviderCache
    ) async throws {
        self.record = record
        self.key = key
        self.client = client
        self.providers = providers
        dpopKey = record.senderKey.flatMap(DPoPKey.key)
        if dpopKey == nil, record.senderKey != nil || record.tokens.type == "dpop" {
            throw AccountStoreError.dpopKeyMissing(record.id)
        }
        secret = try client.verifyingSecret()
        // A provider that issued an ID token at the sign-in usually issues another one. Without the keys, the store
        // ignores only the new ID token.
        keys =
            record.serviceGrant == nil && record.tokens.idToken != nil
            ? try? await providers.keys(of: client.server, type: client.type) : nil
    }

    /// Sends the request and returns the tokens of the response, without saving them.
    ///
    /// The result has only the tokens that the response has, and an ID token only if it is valid.
    ///
    /// - Throws: `OAuth2Error` if the provider rejects the request, or responds with the tokens of another user; the
    ///   errors of the transport.
    func send() async throws -> TokenSet {
        let coverage = ScopeCoverage(client.type)
        // A request that differs only in claims is for the main token.
        let isForMain = key.isMain || coverage.isForMain(key, of: record)
        let response = try await sendOnce(isForMain ? TokenKey(claims: key.claims) : key)
        let received = client.dependencies.now()
        let requested: Scope
        if isForMain {
            requested = record.serviceGrant?.scope ?? record.tokens.scope
        } else {
            // A response without a scope means the requested scope (RFC 6749 section 5.1), but a server that ignores
            // the parameter responds in the same way. So this accepts the requested scope only if it was granted
            // before.
            let scope = key.scope ?? []
            let isWithin = record.serviceGrant != nil || coverage.missing(scope, in: record.granted).isEmpty
            requested = isWithin && !scope.isEmpty ? scope : record.granted
        }
        var tokens = TokenSet(response, requested: requested, received: received)
        tokens.key = isForMain ? .main : coverage.key(key)
        tokens.claims = key.claims
        if try await !hasValidIDToken(response) { tokens.idToken = nil }
        return tokens
    }

    private func sendOnce(_ key: TokenKey) async throws -> TokenResponse {
        let type = client.type
        let claims = key.claims.map { ["claims": $0] } ?? [:]
        let resources = key.resource.map { [$0] } ?? type.resources
        if var grant = record.serviceGrant {
            if grant.source != nil { try RefreshTokenBinding.check(record, type, try await client.application()) }
            grant.scope = key.scope ?? grant.scope
            grant.parameters.merge(claims) { $1 }
            return try await client.clientTokens(grant, resources: resources, boundTo: dpopKey)
        }
        guard let refreshToken = record.tokens.refreshToken else {
            throw AccountStoreError.signInNeeded(.noRefreshToken, nil)
        }
        // Add the scope tokens that request a refresh token and an ID token, as at the sign-in.
        let scope = key.scope?.union(
            Scope(["openid", "profile", "offline_access"].filter(type.scope.contains)))
        return try await client.tokens(
            for: .refreshToken(refreshToken, scope: scope),
            parameters: type.refreshParameters.merging(claims) { $1 }, resources: resources, boundTo: dpopKey)
    }

    /// Returns whether the response has an ID token that can replace the previous one (OpenID Connect Core 1.0 section
    /// 12.2).
    ///
    /// The store ignores an ID token that it cannot verify because the provider's key is unavailable. With the quirk
    /// `invalidRefreshedIDToken`, it also ignores an ID token that fails a check other than issuer and subject.
    ///
    /// - Throws: `OAuth2Error` for any other invalid ID token. The store then rejects the other tokens of the response
    ///   too.
    private func hasValidIDToken(_ response: TokenResponse) async throws -> Bool {
        guard record.serviceGrant == nil, let idToken = response.idToken else { return false }
        let claims = (try? JWT(parsing: idToken.value))?.unverifiedClaims
        if let subject = record.subject, let found = claims?["sub"]?.string, !found.utf8.elementsEqual(subject.utf8) {
            throw OAuth2Error.idToken(
                IDTokenError(.subjectMismatch, claim: "sub", expected: subject, received: found))
        }
        if let issuer = record.issuer, let found = claims?["iss"]?.string,
            !AuthorizationResponse.isIssuer(found, of: issuer)
        {
            throw OAuth2Error.idToken(IDTokenError(.issuerMismatch, claim: "iss", expected: issuer, received: found))
        }
        guard keys != nil || secret != nil else { return false }
        var validation = client.idTokenValidation()
        validation.accessToken = response.accessToken
        validation.expectedSubject = record.subject
        if let issuer = record.issuer, let subject = record.subject,
            let previous = record.tokens.idToken.flatMap({ try? JWT(parsing: $0.value) })
        {
            validation.original = IDToken(
                issuer: issuer, subject: subject, claims: previous.unverifiedClaims.members)
        }
        // The previous ID token can be from a refresh, without the nonce of the sign-in.
        validation.allowsUnaskedNonce = validation.original?.claims.text("nonce") == nil
        func check(_ keys: JWKSet?) throws(IDTokenError) {
            _ = try validation.validateByEitherClock(idToken, keys: keys ?? JWKSet(), clientSecret: secret, client)
        }
        do throws(IDTokenError) {
            try check(keys)
            return true
        } catch {
            var failure = error
            // The provider may have replaced a key without changing its identifier (`kid`).
            if failure.kind == .signature {
                guard
                    let keys = try? await providers.keys(
                        of: client.server, type: client.type, afterUnknownKey: true)
                else { return false }
                do throws(IDTokenError) {
                    try check(keys)
                    return true
                } catch {
                    failure = error
                }
            }
            guard failure.kind != .keyNotFound, !client.type.quirks.contains(.invalidRefreshedIDToken) else {
                return false
            }
            throw OAuth2Error.idToken(failure)
        }
    }
}
