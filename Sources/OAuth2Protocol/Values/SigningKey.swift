import JOSE
import StrictJSON

/// A private key and the algorithm it signs with: for client assertions, signed requests and DPoP proofs.
package struct SigningKey: Sendable, Equatable {
    /// The private key. Its `kid` goes into the header of each JWT.
    package let key: JWK
    /// The algorithm.
    package let algorithm: JWSAlgorithm

    /// Creates a key for signing.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the key cannot sign with the algorithm: it is public, of another type,
    ///   or symmetric.
    package init(_ key: JWK, algorithm: JWSAlgorithm) throws(OAuth2Error) {
        guard key.isPrivate, !algorithm.isSymmetric, key.canSign(with: algorithm) else {
            throw .configuration("the key cannot sign with \(algorithm); expected a private key for that algorithm")
        }
        self.key = key
        self.algorithm = algorithm
    }

    /// Returns whether both have the same public key and algorithm.
    package static func == (left: SigningKey, right: SigningKey) -> Bool {
        left.algorithm == right.algorithm && left.key.publicJSON == right.key.publicJSON
    }

    /// Returns the first key whose algorithm the provider announces, or the first key if it announces no algorithms.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if no key has such an algorithm.
    package static func first(of keys: [SigningKey], announced: [String]?) throws(OAuth2Error) -> SigningKey {
        guard let key = keys.first(where: { announced?.contains($0.algorithm.rawValue) ?? true }) else {
            throw .configuration(
                "no key signs with an algorithm that the provider supports; it supports "
                    + (announced ?? []).joined(separator: ", "))
        }
        return key
    }
}

extension JWT {
    /// Signs a JWT of the client, with a random identifier and the time of issue.
    ///
    /// - Parameters:
    ///   - name: The name of the JWT in errors.
    ///   - lifetime: The seconds until it expires; `nil` for no expiry.
    ///   - now: Seconds since 1970.
    static func issue(
        _ name: String, _ claims: JSONObject, lifetime: Int64? = nil, key: JWK, algorithm: JWSAlgorithm,
        header: JSONObject = [:], now: Double, random: (Int) throws -> [UInt8]
    ) throws -> String {
        let claims = try issued(claims, lifetime: lifetime, now: now, random: random)
        do {
            return try JWT.sign(claims, with: key, algorithm: algorithm, header: header)
        } catch {
            throw OAuth2Error.configuration("\(name) cannot be signed: \(error)")
        }
    }

    /// Returns claims with a new identifier and the times.
    static func issued(
        _ claims: JSONObject, lifetime: Int64?, now: Double, random: (Int) throws -> [UInt8]
    ) throws -> JSONObject {
        guard now.isFinite, abs(now) < 1e15 else { throw OAuth2Error.configuration("the time is out of range") }
        let issuedAt = Int64(now)
        var claims = claims
        claims.append("jti", .string(Base64URL.encode(try random(16))))
        claims.append("iat", .number(JSONNumber(issuedAt)))
        if let lifetime { claims.append("exp", .number(JSONNumber(issuedAt + lifetime))) }
        return claims
    }
}
