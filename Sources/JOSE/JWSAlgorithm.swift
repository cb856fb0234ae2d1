/// A signature algorithm. The raw value is the registered name. `none` is not included, in any spelling.
///
/// See [RFC 7518 section 3.1](https://www.rfc-editor.org/rfc/rfc7518#section-3.1), [RFC
/// 8037](https://www.rfc-editor.org/rfc/rfc8037) and [RFC 9864](https://www.rfc-editor.org/rfc/rfc9864).
package enum JWSAlgorithm: String, Sendable, Hashable, CaseIterable {
    /// RSA, PKCS #1 v1.5 padding, SHA-256.
    case rs256 = "RS256"
    /// RSA, PKCS #1 v1.5 padding, SHA-384.
    case rs384 = "RS384"
    /// RSA, PKCS #1 v1.5 padding, SHA-512.
    case rs512 = "RS512"
    /// RSA, PSS padding with a salt as long as the digest, SHA-256.
    case ps256 = "PS256"
    /// RSA, PSS padding with a salt as long as the digest, SHA-384.
    case ps384 = "PS384"
    /// RSA, PSS padding with a salt as long as the digest, SHA-512.
    case ps512 = "PS512"
    /// ECDSA on P-256 with SHA-256.
    case es256 = "ES256"
    /// ECDSA on P-384 with SHA-384.
    case es384 = "ES384"
    /// ECDSA on P-521 with SHA-512.
    case es512 = "ES512"
    /// Ed25519 with its name from RFC 8037. Ed448 is not supported.
    case edDSA = "EdDSA"
    /// Ed25519 with its name from RFC 9864.
    case ed25519 = "Ed25519"
    /// HMAC with SHA-256.
    case hs256 = "HS256"
    /// HMAC with SHA-384.
    case hs384 = "HS384"
    /// HMAC with SHA-512.
    case hs512 = "HS512"

    /// Creates the algorithm with this registered name, or returns `nil` for `none` and unsupported algorithms.
    package init?(name: String) { self.init(rawValue: name) }

    /// Whether the same secret signs and verifies.
    package var isSymmetric: Bool { keyType == .symmetric }

    /// The required key type.
    package var keyType: JWK.KeyType {
        switch self {
        case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: .rsa
        case .es256, .es384, .es512: .ec
        case .edDSA, .ed25519: .okp
        case .hs256, .hs384, .hs512: .symmetric
        }
    }

    /// The digest of the signature. For Ed25519, the digest of OpenID Connect hashes (`at_hash`).
    package var digest: SHA2 {
        switch self {
        case .rs256, .ps256, .es256, .hs256: .sha256
        case .rs384, .ps384, .es384, .hs384: .sha384
        case .rs512, .ps512, .es512, .hs512, .edDSA, .ed25519: .sha512
        }
    }

    /// The required curve, or `nil` for algorithms without a curve.
    var curve: JWK.Curve? {
        switch self {
        case .es256: .p256
        case .es384: .p384
        case .es512: .p521
        case .edDSA, .ed25519: .ed25519
        default: nil
        }
    }

    var usesPSS: Bool {
        switch self {
        case .ps256, .ps384, .ps512: true
        default: false
        }
    }

    /// The algorithms whose signatures can be verified with a public key: those allowed for an ID token.
    package static let asymmetric: Set<JWSAlgorithm> = Set(allCases.filter { !$0.isSymmetric })
}

extension JWSAlgorithm: CustomStringConvertible {
    /// The registered name.
    package var description: String { rawValue }
}

/// Returns whether two strings have the same bytes.
///
/// Swift's `==` also equates canonically equivalent strings, such as the Kelvin sign and the letter K.
func sameBytes(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }
