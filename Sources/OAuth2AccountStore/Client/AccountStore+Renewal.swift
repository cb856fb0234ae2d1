import JOSE
import OAuth2
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What the renewal of an account's tokens needs. It is gathered before the request: between the answer and its saving nothing
/// may take time, or a process that ends there loses a rotated refresh token.
struct PreparedRenewal: Sendable {
    let connection: ProviderConnection
    /// The key that the tokens are bound to.
    let senderKey: SigningKey?
    /// The keys that a new ID token may be signed with; nil when they could not be had.
    let keys: JWKSet?
    /// The secret that it may be signed with.
    let secret: Secret?
}

extension AccountStore {
    func prepareRenewal(_ record: AccountRecord, _ connection: ProviderConnection) async throws -> PreparedRenewal {
        let senderKey = record.senderKey.flatMap(SenderKey.key)
        if senderKey == nil, record.senderKey != nil || record.tokens.type == "dpop" {
            throw Self.senderKeyMissing(record.id)
        }
        var keys: JWKSet?
        let secret = try connection.verifyingSecret()
        // Who gave an ID token at the sign-in will give another one. Without the keys it is left out, and nothing else is lost.
        if record.renewal == nil, record.tokens.idToken != nil {
            keys = try? await providers.keys(of: connection.server, type: connection.type)
        }
        return PreparedRenewal(connection: connection, senderKey: senderKey, keys: keys, secret: secret)
    }

    /// Asks the provider for new tokens. They are not saved yet.
    ///
    /// - Throws: `OAuth2Error` when it refuses, or answers with the tokens of somebody else; what the transport throws.
    func renewedTokens(_ record: AccountRecord, _ prepared: PreparedRenewal) async throws -> Tokens {
        let connection = prepared.connection
        if let renewal = record.renewal {
            let answer = try await clientTokens(connection, renewal, boundTo: prepared.senderKey)
            return Tokens(answer.response, asked: renewal.scope, received: answer.received)
        }
        guard let refreshToken = record.tokens.refreshToken else { throw signInNeeded(.noRefreshToken) }
        let answer = try await connection.tokens(
            for: .refreshToken(refreshToken, scope: nil), parameters: connection.type.refreshParameters,
            resources: connection.type.resources, boundTo: prepared.senderKey)
        var tokens = record.tokens.refreshed(by: answer.response, received: answer.received)
        tokens.idToken = try idToken(answer.response, record, prepared) ?? record.tokens.idToken
        return tokens
    }

    /// The ID token of a refresh, when it can take the place of the former one (OpenID Connect Core 1.0 section 12.2). One that is
    /// only odd, such as expired or signed with an unknown key, is nil and costs nobody the sign-in.
    ///
    /// - Throws: `OAuth2Error` when it names another person: then the other tokens are not this account's either.
    private func idToken(
        _ answer: TokenResponse, _ record: AccountRecord, _ prepared: PreparedRenewal
    ) throws -> Secret? {
        guard let idToken = answer.idToken, let token = try? JWT(parsing: idToken.value) else { return nil }
        if let subject = record.subject, let found = token.unverifiedClaims["sub"]?.string,
            !found.utf8.elementsEqual(subject.utf8)
        {
            throw OAuth2Error.idToken(.subjectMismatch)
        }
        if let issuer = record.issuer, let found = token.unverifiedClaims["iss"]?.string,
            !found.utf8.elementsEqual(issuer.utf8)
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
        let isValid =
            (try? validation.validateByEitherClock(
                idToken, keys: prepared.keys ?? JWKSet(), clientSecret: prepared.secret, prepared.connection)) != nil
        return isValid ? idToken : nil
    }
}
