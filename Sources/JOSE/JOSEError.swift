import LodgePlatform

/// The reason why a token, a key or a sealed record was rejected.
///
/// The messages state the expectation. They contain no secret and no part of a token.
public enum JOSEError: Error, Sendable, Equatable {
    /// The string is not a JWS: a wrong number of segments, invalid base64url, or invalid JSON.
    case malformed(String)
    /// The header violates a rule: a member is duplicate, is missing, or has the wrong type.
    case header(String)
    /// The payload is not a JWT claims set: not a JSON object, or a claim is duplicate.
    case claims(String)
    /// The caller does not allow the algorithm of the header. `none` is never allowed.
    case algorithmNotAllowed(String)
    /// The header names an unsupported critical extension in `crit` (RFC 7515 section 4.1.11).
    case criticalUnsupported
    /// No key is suitable for this token: none has its `kid`, or none has the type, use and algorithm.
    case keyNotFound
    /// The signature does not match the content and the key.
    case signature
    /// The size of the key is rejected: RSA under 2048 or over 8192 bits, a secret shorter than the digest.
    case weakKey(String)
    /// The key is invalid: a member is missing or malformed, or a point is off its curve.
    case invalidKey(String)
    /// The type, `use`, `key_ops` or `alg` of the key does not allow the operation.
    case unfitKey(String)
    /// The data is not a JWK Set or contains too many keys.
    case keySet(String)
    /// The sealed bytes cannot be opened: a different key, different authenticated data, or changed bytes.
    case unsealing
    /// The cryptographic library failed independently of the input, for example at producing random bytes.
    case cryptography(String)
    /// The cryptographic library of this system does not support the key or the operation.
    case unsupported(String)
}

extension JOSEError: CustomStringConvertible {
    /// The expectation, the actual value and the remedy, in one line.
    public var description: String {
        switch self {
        case .malformed(let what): "The token is malformed: \(what)."
        case .header(let what): "The token's header is refused: \(what)."
        case .claims(let what): "The token's claims are refused: \(what)."
        case .algorithmNotAllowed(let name):
            "The token is signed with \(name), which is not among the allowed algorithms."
        case .criticalUnsupported: "The token's header marks an extension as critical that is not supported."
        case .keyNotFound: "No key fits the token. Load the key set again; the signer may have new keys."
        case .signature: "The signature does not match the content and the key."
        case .weakKey(let what): "The key is refused: \(what)."
        case .invalidKey(let what): "The key cannot be read: \(what)."
        case .unfitKey(let what): "The key may not be used for this: \(what)."
        case .keySet(let what): "The key set is refused: \(what)."
        case .unsealing: "The sealed bytes cannot be opened: they were changed, or sealed with another key."
        case .cryptography(let what): "\(Crypto.name) failed: \(what). \(Crypto.remedy)"
        case .unsupported(let what): "This system does not support it: \(what)."
        }
    }
}

extension JOSEError: LocalizedError {
    /// The failure in a sentence, for an alert.
    public var errorDescription: String? { "The token or the key is not valid." }
    /// The reason in a sentence.
    public var failureReason: String? { description.sentence }
}
