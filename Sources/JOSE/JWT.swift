public import Platform
public import StrictJSON

/// A signed JSON Web Token in its compact form. Its claims are not to be believed before it is verified.
///
/// [RFC 7519](https://www.rfc-editor.org/rfc/rfc7519), [RFC 8725](https://www.rfc-editor.org/rfc/rfc8725)
public struct JWT: Sendable {
    /// A token whose signature is valid. Whether its claims are acceptable is for the caller to decide: issuer, audience,
    /// times and type are not looked at here.
    public struct Verified: Sendable {
        /// The signed header.
        public let header: JSONObject
        /// The claims.
        public let claims: JWTClaims
        /// The algorithm of the signature.
        public let algorithm: JWSAlgorithm
        /// The key of the signature. With a secret, the secret.
        public let key: JWK
    }

    /// The most bytes that are read as a token.
    public static let maximumByteCount = 256 << 10

    /// The header, before the signature was verified.
    public let header: JSONObject
    /// The claims, before the signature was verified. For choosing keys and for messages, not for decisions.
    public let unverifiedClaims: JWTClaims
    private let jws: JWS

    /// Reads a token of at most ``maximumByteCount`` bytes. Encrypted tokens, which have five parts, are refused.
    ///
    /// - Throws: ``JOSEError/malformed(_:)``, ``JOSEError/header(_:)``, or ``JOSEError/claims(_:)`` when the content is
    ///   not a JSON object in UTF-8 with each member once.
    public init(parsing text: String) throws(JOSEError) {
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

    /// The algorithm that the header asks for; nil for `none` and for what is not supported.
    public var algorithm: JWSAlgorithm? { jws.signatures.first?.algorithmName.flatMap(JWSAlgorithm.init(name:)) }

    /// The name of the key, `kid`.
    public var keyID: String? { jws.signatures.first?.keyID }

    /// The token, if it is signed with one of these algorithms by one of these keys. For what ``JWKSet`` and `kid` decide,
    /// see ``JWS``. HMAC never verifies with a set.
    ///
    /// - Throws: ``JOSEError/algorithmNotAllowed(_:)``, ``JOSEError/criticalUnsupported``, ``JOSEError/keyNotFound``,
    ///   ``JOSEError/signature``, or ``JOSEError/header(_:)``.
    public func verified(with keys: JWKSet, algorithms: Set<JWSAlgorithm>) throws(JOSEError) -> Verified {
        verified(try jws.verified(with: keys, algorithms: algorithms))
    }

    /// The token, if it is signed with one of these algorithms by this key, whatever its `kid` says.
    ///
    /// - Throws: As with a set, and ``JOSEError/unfitKey(_:)`` or ``JOSEError/weakKey(_:)`` when the key may not verify.
    public func verified(with key: JWK, algorithms: Set<JWSAlgorithm>) throws(JOSEError) -> Verified {
        verified(try jws.verified(with: key, algorithms: algorithms))
    }

    /// The token, if it is signed with HMAC and this secret, such as a client's secret in UTF-8.
    ///
    /// - Parameters:
    ///   - secret: At least as long as the digest: 32 bytes for HS256.
    ///   - algorithms: The allowed ones. Those that are not HMAC are ignored.
    /// - Throws: ``JOSEError/algorithmNotAllowed(_:)``, ``JOSEError/criticalUnsupported``, ``JOSEError/signature``,
    ///   ``JOSEError/header(_:)``, or ``JOSEError/weakKey(_:)`` for a secret that is too short.
    public func verified(
        withSecret secret: some Collection<UInt8>, algorithms: Set<JWSAlgorithm>
    ) throws(JOSEError) -> Verified {
        verified(
            try jws.verified(with: JWK(secret: secret), algorithms: algorithms.filter(\.isSymmetric)))
    }

    /// The token, verified with the secret if it is signed with HMAC, and else with the set. The one never does for the
    /// other.
    ///
    /// - Throws: As the two; ``JOSEError/keyNotFound`` for HMAC without a secret.
    public func verified(
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

    /// Signs claims and gives the compact form.
    ///
    /// - Parameters:
    ///   - claims: The claims, written in this order.
    ///   - key: A private key or a secret. Its `kid`, if it has one, goes into the header.
    ///   - algorithm: One that fits the key.
    ///   - header: More header members, such as `typ`. Not `alg`, `crit` or `b64`.
    /// - Throws: ``JOSEError/unfitKey(_:)``, ``JOSEError/weakKey(_:)``, ``JOSEError/header(_:)``, or
    ///   ``JOSEError/claims(_:)`` for a claim given twice.
    public static func sign(
        _ claims: JSONObject, with key: JWK, algorithm: JWSAlgorithm, header: JSONObject = ["typ": "JWT"]
    ) throws(JOSEError) -> String {
        guard claims.duplicatedNames.isEmpty else { throw .claims("duplicate claim") }
        let jws = try JWS(
            signing: JSONValue.object(claims).serialized(), with: key, algorithm: algorithm, header: header)
        guard let text = jws.compact() else { throw .malformed("the compact form cannot hold it") }
        return text
    }
}

extension JWT: Redacted {
    /// The algorithm if it is a known one, and no part of the token.
    public var description: String { "JWT(\(algorithm?.rawValue ?? "unknown algorithm"), not verified)" }
}

extension JWT.Verified: Redacted {
    /// The algorithm, and no part of the token.
    public var description: String { "JWT.Verified(\(algorithm))" }
}
