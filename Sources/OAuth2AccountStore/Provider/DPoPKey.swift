import Platform
import JOSE
import OAuth2Protocol
import StrictJSON

/// The key that an account's tokens are bound to, and its form in the sealed record.
///
/// [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)
enum DPoPKey {
    /// A new key for an algorithm that the provider takes; ES256 when it does not say.
    ///
    /// - Throws: `OAuth2Error` when the provider takes none that is known here; `JOSEError` when libcrypto fails.
    static func make(for server: AuthorizationServer) throws -> SigningKey {
        let preferred: [JWSAlgorithm] = [.es256, .edDSA, .es384, .es512, .ps256, .rs256]
        let announced = server.dpopSigningAlgorithms
        guard let algorithm = preferred.first(where: { announced?.contains($0.rawValue) ?? true }) else {
            throw OAuth2Error.configuration(
                "the provider takes DPoP proofs signed with \((announced ?? []).joined(separator: ", ")) only, and none "
                    + "of these is known here")
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
