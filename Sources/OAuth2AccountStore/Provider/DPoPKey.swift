import LodgePlatform
import JOSE
import OAuth2Protocol
import StrictJSON

/// The key that an account's tokens are bound to, and its text in the sealed record.
///
/// See [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449).
enum DPoPKey {
    /// Creates a key for an algorithm that the provider supports. The default is ES256.
    ///
    /// - Throws: `OAuth2Error` if the provider supports no algorithm of this library; `JOSEError` if libcrypto fails.
    static func make(for server: AuthorizationServer) throws -> SigningKey {
        let preferred: [JWSAlgorithm] = [.es256, .edDSA, .es384, .es512, .ps256, .rs256]
        let announced = server.dpopSigningAlgorithms
        guard let algorithm = preferred.first(where: { announced?.contains($0.rawValue) ?? true }) else {
            throw OAuth2Error.configuration(
                "the provider accepts only DPoP proofs signed with \((announced ?? []).joined(separator: ", ")), and "
                    + "none of these algorithms is supported")
        }
        return try SigningKey(try JWK.generate(for: algorithm), algorithm: algorithm)
    }

    static func text(_ key: SigningKey) throws -> Secret { Secret(JSONValue.object(try key.key.privateJSON()).text()) }

    static func key(_ text: Secret) -> SigningKey? {
        guard let key = try? JWK(parsing: text.value.utf8), let name = key.algorithm,
            let algorithm = JWSAlgorithm(name: name)
        else { return nil }
        return try? SigningKey(key, algorithm: algorithm)
    }
}
