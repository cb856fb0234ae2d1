import HTTPExchange
import JOSE
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import StrictJSON

/// Identifies the user from the ID token, the token response and userinfo.
struct IdentityVerifier: StoreCollaborator {
    let context: StoreContext

    /// Returns the identity in the ID token of a response. The identity is empty if the response has no ID token.
    ///
    /// - Parameter checks: Sets additional requirements for the ID token. By default there are no additional ones.
    func identity(
        _ response: TokenResponse, _ connection: ProviderClient,
        checks: (inout IDTokenValidation) -> Void = { _ in }
    ) async throws -> Identity {
        guard let idToken = response.idToken else { return Identity() }
        var validation = connection.idTokenValidation()
        validation.accessToken = response.accessToken
        checks(&validation)
        return Identity(try await validate(idToken, validation, connection))
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
                // For a malformed token, this error is more precise than a missing key.
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

    /// Returns the provider's keys, or an empty set if the JWT is signed with the client's secret.
    private func keys(
        for token: Secret, _ secret: Secret?, _ connection: ProviderClient, afterUnknownKey: Bool = false
    ) async throws -> JWKSet {
        if secret != nil, (try? JWT(parsing: token.value))?.algorithm?.isSymmetric == true { return JWKSet() }
        return try await providers.keys(
            of: connection.server, type: connection.type, afterUnknownKey: afterUnknownKey)
    }

    /// Returns an identity with the claims that the ID token does not have. If they cannot be loaded, the sign-in
    /// continues without them.
    ///
    /// - Throws: `OAuth2Error` if the claims belong to another user (OpenID Connect Core 1.0 section 5.3.2).
    func completed(
        _ verified: Identity, _ response: TokenResponse, _ connection: ProviderClient, _ senderKey: SigningKey?
    ) async throws -> Identity {
        var identity = verified
        if identity.subject == nil, let claims = IdentityMapping.claims(response, type: connection.type) {
            identity.subject = claims.text("sub")
            identity.claims = claims
        }
        guard let request = UserInfo.request(server: connection.server, accessToken: response.accessToken),
            let userInfo = try? await connection.send(
                to: request.url, boundTo: senderKey, accessToken: response.accessToken, { request })
        else { return identity }
        let claims: JSONObject
        do {
            claims = try await self.userInfo(userInfo, identity.subject, connection)
        } catch let error as OAuth2Error {
            if case .invalidResponse("sub_mismatch", _) = error { throw error }
            return identity
        } catch {
            return identity
        }
        if identity.subject == nil { identity.subject = claims["sub"]?.string }
        var merged = identity.claims ?? JSONObject()
        for member in claims.members where merged[member.name]?.isNull ?? true { merged[member.name] = member.value }
        identity.claims = merged
        return identity
    }

    /// Returns the claims of a userinfo response. If the client registered for signed responses, it rejects an unsigned
    /// one.
    func userInfo(
        _ response: HTTPResponse, _ subject: String?, _ connection: ProviderClient
    ) async throws -> JSONObject {
        let registered = connection.type.userinfoSigningAlgorithm
        let contentType = response.fields["Content-Type"]?.lowercased() ?? ""
        guard registered != nil || contentType.hasPrefix("application/jwt") else {
            return try IdentityMapping.claims(response, subject: subject, type: connection.type)
        }
        guard let subject else {
            throw OAuth2Error.invalidResponse(
                member: "sub", reason: "the userinfo response is signed, and there is no ID token to compare it with")
        }
        var validation = connection.idTokenValidation()
        if let registered { validation.algorithms = [registered] }
        let secret = try connection.verifyingSecret()
        let token = Secret(String(decoding: response.body.prefix(JWT.maximumByteCount), as: UTF8.self))
        let keys = try await keys(for: token, secret, connection)
        return try UserInfo.readSigned(
            response, subject: subject, validation: validation, keys: keys, clientSecret: secret)
    }
}
