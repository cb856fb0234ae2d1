import LodgePlatform
import JOSE
import StrictJSON

/// A JWT that authenticates a client.
///
/// [RFC 7523 section 3](https://www.rfc-editor.org/rfc/rfc7523#section-3), OpenID Connect Core 1.0 section 9
package enum ClientAssertion {
    /// The value of `client_assertion_type`.
    package static let type = ClientAuthentication.assertionType
    /// The lifetime of an assertion in seconds.
    package static let lifetime: Int64 = 60

    /// Signs an assertion. Every request needs a new one, even a repeated request.
    ///
    /// - Parameters:
    ///   - audience: The provider's issuer; some older providers require the URL of their token endpoint.
    ///   - now: Seconds since 1970.
    ///   - random: Returns the given number of unpredictable bytes.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the secret is shorter than the digest or the key does not fit;
    ///   any error that `random` throws.
    package static func sign(
        clientID: String, audience: String, key: JWK, algorithm: JWSAlgorithm, now: Double,
        random: (Int) throws -> [UInt8] = SecureRandom.bytes
    ) throws -> Secret {
        let claims: JSONObject = ["iss": .string(clientID), "sub": .string(clientID), "aud": .string(audience)]
        return Secret(
            try JWT.issue(
                "the client assertion", claims, lifetime: lifetime, key: key, algorithm: algorithm, now: now,
                random: random))
    }
}

extension Client {
    /// Returns this client, with an assertion for one request if it authenticates with a JWT.
    ///
    /// - Parameters:
    ///   - audience: The audience of the assertion. The default is the provider's issuer, as the current specifications
    ///     require. Some older providers require the URL of the endpoint.
    ///   - now: Seconds since 1970.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if it cannot be signed, or the provider has no issuer; any error
    ///   that `random` throws.
    package func prepared(
        for server: AuthorizationServer, audience: String? = nil, now: Double,
        random: (Int) throws -> [UInt8] = SecureRandom.bytes
    ) throws -> Client {
        let key: JWK
        let algorithm: JWSAlgorithm
        switch authentication {
        case .secretJWT(let secret):
            guard secret.value.utf8.count >= SHA2.sha256.byteCount, let symmetric = try? JWK(secret: secret.value.utf8)
            else {
                throw OAuth2Error.configuration(
                    "the client secret is too short for client_secret_jwt; HS256 needs 32 bytes (RFC 7518 section 3.2)")
            }
            (key, algorithm) = (symmetric, .hs256)
        case .privateKeyJWT(let own): (key, algorithm) = (own.key, own.algorithm)
        default: return self
        }
        guard let audience = audience ?? server.issuer ?? server.tokenEndpoint?.absoluteString else {
            throw OAuth2Error.configuration("the provider has no issuer for the audience of the client assertion")
        }
        var client = self
        client.authentication = .assertion(
            try ClientAssertion.sign(
                clientID: id, audience: audience, key: key, algorithm: algorithm, now: now, random: random))
        return client
    }
}
