import LodgePlatform
import StrictJSON

/// A JSON Web Key: a public key, a key pair or a shared secret, with its permitted uses.
///
/// The key is stored in the form of the cryptographic library, so that it is parsed once and verification is fast. Its descriptions never
/// show private members. Members such as `x5c`, which do not affect the key or its use, are discarded.
///
/// See [RFC 7517](https://www.rfc-editor.org/rfc/rfc7517) and [RFC 7518 section
/// 6](https://www.rfc-editor.org/rfc/rfc7518#section-6).
package struct JWK: Sendable {
    /// The key type, `kty`.
    package enum KeyType: String, Sendable, Hashable, CaseIterable {
        /// RSA of 2048 to 8192 bits.
        case rsa = "RSA"
        /// An elliptic curve over a prime field: P-256, P-384 or P-521.
        case ec = "EC"
        /// An octet key pair: Ed25519.
        case okp = "OKP"
        /// A shared secret.
        case symmetric = "oct"
    }

    /// The curve of a key, `crv`.
    package enum Curve: String, Sendable, Hashable, CaseIterable {
        /// NIST P-256, also called secp256r1.
        case p256 = "P-256"
        /// NIST P-384, also called secp384r1.
        case p384 = "P-384"
        /// NIST P-521, also called secp521r1.
        case p521 = "P-521"
        /// Ed25519, for signatures only.
        case ed25519 = "Ed25519"

        /// The length of a coordinate, and of a private key, in bytes.
        var coordinateByteCount: Int {
            switch self {
            case .p256, .ed25519: 32
            case .p384: 48
            case .p521: 66
            }
        }
    }

    enum Material: Sendable {
        case pair(KeyHandle)
        case secret(SecretBytes)
    }

    /// The supported sizes of RSA keys in bits. Shorter keys are weak, longer ones are slow.
    package static let rsaBitCounts = 2048...8192

    /// The key type.
    package let type: KeyType
    /// The curve, or `nil` for RSA and secrets.
    package let curve: Curve?
    /// Whether the key can sign. `true` for a secret as well.
    package let isPrivate: Bool
    /// The identifier of the key in its set, `kid`. It is neither secret nor trusted: it only helps to find the key.
    package var keyID: String?
    /// The intended use, `use`: `sig` or `enc`. Only `nil` and `sig` allow signing and verifying.
    package var use: String?
    /// The permitted operations, `key_ops`. `nil` allows all; otherwise the list must contain `verify` or `sign`.
    package var keyOperations: [String]?
    /// The only algorithm of the key, `alg`. This module may not support it.
    package var algorithm: String?
    /// The issuer whose tokens the key signs, `issuer`: an extension of Microsoft Entra. It can contain `{tenantid}`.
    package var issuer: String?

    let material: Material
    /// The public members of the key, such as `n` and `e`, in the order of RFC 7518. Empty for secrets.
    let publicMembers: JSONObject

    init(
        type: KeyType, curve: Curve?, isPrivate: Bool, material: Material, publicMembers: JSONObject
    ) {
        self.type = type
        self.curve = curve
        self.isPrivate = isPrivate
        self.material = material
        self.publicMembers = publicMembers
    }

    /// The size of the key in bits: the modulus, the curve's field, or the secret.
    package var bitCount: Int {
        switch material {
        case .pair(let handle): handle.bitCount
        case .secret(let secret): secret.count * 8
        }
    }

    /// The public half of the key, for verification. `nil` for a secret, which has no public half.
    ///
    /// In `key_ops`, `sign` becomes `verify`.
    package var publicKey: JWK? {
        guard type != .symmetric else { return nil }
        guard isPrivate else { return self }
        var members = publicMembers
        members.append("kty", .string(type.rawValue))
        guard var key = try? JWK(members) else { return nil }
        key.keyID = keyID
        key.use = use
        key.keyOperations = keyOperations.map { operations in
            operations.contains("sign") || operations.contains("verify") ? ["verify"] : []
        }
        key.algorithm = algorithm
        key.issuer = issuer
        return key
    }
}

// MARK: - Permitted operations

extension JWK {
    /// Returns whether the key can verify signatures of this algorithm.
    ///
    /// Depends on its type, curve, `use`, `key_ops`, `alg` and, for a secret, on its length.
    package func canVerify(_ algorithm: JWSAlgorithm) -> Bool { obstacle(to: "verify", algorithm) == nil }

    /// Returns whether the key has a private half and can sign with this algorithm.
    package func canSign(with algorithm: JWSAlgorithm) -> Bool {
        isPrivate && obstacle(to: "sign", algorithm) == nil
    }

    /// Returns why the key cannot be used, or `nil` if it can.
    func obstacle(to operation: String, _ algorithm: JWSAlgorithm) -> JOSEError? {
        guard type == algorithm.keyType else {
            return .unfitKey("\(algorithm) takes a key of type \(algorithm.keyType.rawValue), this is \(type.rawValue)")
        }
        guard algorithm.curve == curve else {
            return .unfitKey("\(algorithm) cannot be used with the curve \(curve?.rawValue ?? "none")")
        }
        if let use, !sameBytes(use, "sig") { return .unfitKey("its use is not sig") }
        if let keyOperations, !keyOperations.contains(where: { sameBytes($0, operation) }) {
            return .unfitKey("its key_ops do not name \(operation)")
        }
        if let own = self.algorithm, !sameBytes(own, algorithm.rawValue) {
            return .unfitKey("its alg is not \(algorithm)")
        }
        // RFC 7518 section 3.2: a secret must be at least as long as the digest.
        if type == .symmetric, bitCount < algorithm.digest.byteCount * 8 {
            return .weakKey("\(algorithm) takes a secret of at least \(algorithm.digest.byteCount) bytes")
        }
        return nil
    }

    /// Returns whether the bytes are a valid signature of the content by this key, in the form of RFC 7518 section 3.
    ///
    /// - Throws: ``JOSEError/unfitKey(_:)`` or ``JOSEError/weakKey(_:)`` if the key cannot verify with the algorithm.
    package func isSignature(
        _ signature: [UInt8], of content: [UInt8], using algorithm: JWSAlgorithm
    ) throws(JOSEError) -> Bool {
        if let obstacle = obstacle(to: "verify", algorithm) { throw obstacle }
        switch material {
        case .pair(let handle):
            return handle.isSignature(signature, of: content, algorithm)
        case .secret(let secret):
            guard let code = secret.authenticationCode(of: content, algorithm.digest) else {
                throw .cryptography("HMAC is not available")
            }
            return equalInConstantTime(code, signature)
        }
    }

    /// Returns the signature of the content by this key, in the form of RFC 7518 section 3.
    ///
    /// For ECDSA, R and S are concatenated.
    ///
    /// - Throws: ``JOSEError/unfitKey(_:)`` or ``JOSEError/weakKey(_:)`` if the key cannot sign with the algorithm.
    package func signature(of content: [UInt8], using algorithm: JWSAlgorithm) throws(JOSEError) -> [UInt8] {
        guard isPrivate else { throw .unfitKey("it is a public key, and signing takes the private one") }
        if let obstacle = obstacle(to: "sign", algorithm) { throw obstacle }
        let signature: [UInt8]? =
            switch material {
            case .pair(let handle): handle.signature(of: content, algorithm)
            case .secret(let secret): secret.authenticationCode(of: content, algorithm.digest)
            }
        guard let signature else { throw .cryptography("\(algorithm) could not sign") }
        return signature
    }
}

// MARK: - Thumbprint and description

extension JWK {
    /// Returns the thumbprint: the digest of the required members, in base64url.
    ///
    /// The thumbprint of a secret is a secret.
    ///
    /// See [RFC 7638](https://www.rfc-editor.org/rfc/rfc7638) and [RFC 8037 section
    /// 2](https://www.rfc-editor.org/rfc/rfc8037#section-2).
    package func thumbprint(_ digest: SHA2 = .sha256) -> String {
        var members = publicMembers.members
        members.append(.init(name: "kty", value: .string(type.rawValue)))
        if case .secret(let secret) = material {
            members.append(.init(name: "k", value: .string(Base64URL.encode(secret.bytes))))
        }
        members.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        return Base64URL.encode(digest.digest(JSONValue.object(JSONObject(members)).serialized()))
    }
}

extension JWK: Redacted {
    /// The type and size of the key, without identifying data.
    package var description: String {
        let kind = isPrivate && type != .symmetric ? ", private" : ""
        return "JWK(\(curve?.rawValue ?? type.rawValue), \(bitCount) bits\(kind))"
    }
}
