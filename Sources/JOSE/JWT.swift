import LodgePlatform
import StrictJSON

/// A signed JSON Web Token in its compact form. Do not trust its claims before verification.
///
/// See [RFC 7519](https://www.rfc-editor.org/rfc/rfc7519) and [RFC 8725](https://www.rfc-editor.org/rfc/rfc8725).
package struct JWT: Sendable {
    /// A token with a valid signature. The caller must check the claims: issuer, audience, times and type.
    package struct Verified: Sendable {
        /// The signed header.
        package let header: JSONObject
        /// The claims.
        package let claims: JWTClaims
        /// The algorithm of the signature.
        package let algorithm: JWSAlgorithm
        /// The key of the signature, possibly a secret.
        package let key: JWK
    }

    /// The maximum size of a token in bytes.
    package static let maximumByteCount = 256 << 10

    /// The header before verification.
    package let header: JSONObject
    /// The claims before verification. Use them to choose keys and for messages, not for decisions.
    package let unverifiedClaims: JWTClaims
    private let jws: JWS

    /// Creates a token from a string of at most ``maximumByteCount`` bytes.
    ///
    /// Encrypted tokens, which have five parts, are rejected.
    ///
    /// - Throws: ``JOSEError/malformed(_:)``, ``JOSEError/header(_:)``, or ``JOSEError/claims(_:)`` if the content is
    ///   not a UTF-8 JSON object with unique members.
    package init(parsing text: String) throws(JOSEError) {
        guard text.utf8.count <= Self.maximumByteCount else {
            throw .malformed("it has \(text.utf8.count) bytes, and at most \(Self.maximumByteCount) are read")
        }
        let jws = try JWS(compact: text)
        guard let claims = strictObject(jws.unverifiedPayload) else {
            throw .claims("the content is not a JSON object in UTF-8 with each member once")
        }
        self.jws = jws
        header = jws.signatures.first?.protectedHeader ?? JSONObject()
        unverifiedClaims = JWTClaims(claims)
    }

    /// The algorithm of the header, or `nil` for `none` and unsupported algorithms.
    package var algorithm: JWSAlgorithm? { jws.signatures.first?.algorithmName.flatMap(JWSAlgorithm.init(name:)) }

    /// The key ID, `kid`.
    package var keyID: String? { jws.signatures.first?.keyID }

    /// Returns the token if it is signed with one of these algorithms and keys. HMAC never verifies with a set.
    ///
    /// See ``JWS`` for the selection of keys by `kid`.
    ///
    /// - Throws: ``JOSEError/algorithmNotAllowed(_:)``, ``JOSEError/criticalUnsupported``, ``JOSEError/keyNotFound``,
    ///   ``JOSEError/signature``, or ``JOSEError/header(_:)``.
    package func verified(with keys: JWKSet, algorithms: Set<JWSAlgorithm>) throws(JOSEError) -> Verified {
        verified(try jws.verified(with: keys, algorithms: algorithms))
    }

    /// Returns the token if it is signed with one of these algorithms and this key. Ignores `kid`.
    ///
    /// - Throws: The errors of verifying with a set, and ``JOSEError/unfitKey(_:)`` or ``JOSEError/weakKey(_:)`` if the
    ///   key cannot verify.
    package func verified(with key: JWK, algorithms: Set<JWSAlgorithm>) throws(JOSEError) -> Verified {
        verified(try jws.verified(with: key, algorithms: algorithms))
    }

    /// Returns the token if it is signed with HMAC and this secret, such as a client secret in UTF-8.
    ///
    /// - Parameters:
    ///   - secret: The secret, at least as long as the digest: 32 bytes for HS256.
    ///   - algorithms: The allowed algorithms. Algorithms other than HMAC are ignored.
    /// - Throws: ``JOSEError/algorithmNotAllowed(_:)``, ``JOSEError/criticalUnsupported``, ``JOSEError/signature``,
    ///   ``JOSEError/header(_:)``, or ``JOSEError/weakKey(_:)`` if the secret is too short.
    package func verified(
        withSecret secret: some Collection<UInt8>, algorithms: Set<JWSAlgorithm>
    ) throws(JOSEError) -> Verified {
        verified(
            try jws.verified(with: JWK(secret: secret), algorithms: algorithms.filter(\.isSymmetric)))
    }

    /// Returns the token, verified with the secret if it is signed with HMAC, otherwise with the set.
    ///
    /// Each is used only for its own algorithms.
    ///
    /// - Throws: The errors of both; ``JOSEError/keyNotFound`` for HMAC without a secret.
    package func verified(
        with keys: JWKSet, secret: [UInt8]?, algorithms: Set<JWSAlgorithm>
    ) throws(JOSEError) -> Verified {
        guard let secret, let algorithm, algorithm.isSymmetric, algorithms.contains(algorithm) else {
            return try verified(with: keys, algorithms: algorithms)
        }
        return try verified(withSecret: secret, algorithms: algorithms)
    }

    private func verified(_ content: JWS.Verified) -> Verified {
        Verified(header: header, claims: unverifiedClaims, algorithm: content.algorithm, key: content.key)
    }

    /// Returns signed claims in the compact form.
    ///
    /// - Parameters:
    ///   - claims: The claims, written in this order.
    ///   - key: A private key or a secret. Its `kid`, if any, is added to the header.
    ///   - algorithm: An algorithm that the key supports.
    ///   - header: Additional header members, such as `typ`. Not `alg`, `crit` or `b64`.
    /// - Throws: ``JOSEError/unfitKey(_:)``, ``JOSEError/weakKey(_:)``, ``JOSEError/header(_:)``, or
    ///   ``JOSEError/claims(_:)`` for a duplicate claim.
    package static func sign(
        _ claims: JSONObject, with key: JWK, algorithm: JWSAlgorithm, header: JSONObject = ["typ": "JWT"]
    ) throws(JOSEError) -> String {
        guard claims.duplicatedNames.isEmpty else { throw .claims("duplicate claim") }
        let jws = try JWS(
            signing: JSONValue.object(claims).serialized(), with: key, algorithm: algorithm, header: header)
        guard let text = jws.compact() else { throw .malformed("the compact form cannot hold it") }
        return text
    }

    /// Returns a JWT with a signature of the caller, such as of a key in a device.
    ///
    /// - Parameter sign: Returns the signature of bytes in the form of RFC 7518 section 3.
    package static func sign(
        _ claims: JSONObject, algorithm: JWSAlgorithm, header: JSONObject, by sign: ([UInt8]) throws -> [UInt8]
    ) throws -> String {
        let header = JSONObject([.init(name: "alg", value: .string(algorithm.rawValue))] + header.members)
        let input = [header, claims].map { Base64URL.encode(JSONValue.object($0).serialized()) }.joined(separator: ".")
        return input + "." + Base64URL.encode(try sign(Array(input.utf8)))
    }
}

extension JWT: Redacted {
    /// The algorithm if it is known, without any part of the token.
    package var description: String { "JWT(\(algorithm?.rawValue ?? "unknown algorithm"), not verified)" }
}

extension JWT.Verified: Redacted {
    /// The algorithm, without any part of the token.
    package var description: String { "JWT.Verified(\(algorithm))" }
}
