import COpenSSL

/// Why a token, a key or a sealed record was refused.
///
/// The texts say what was expected. None of them holds a secret or any part of a token.
public enum JOSEError: Error, Sendable, Equatable {
    /// The text is not a JWS: a wrong number of segments, bad base64url, or JSON that cannot be read.
    case malformed(String)
    /// The header is readable and breaks a rule: a member stands twice, is missing, or has the wrong type.
    case header(String)
    /// The payload is not a JWT claims set: not a JSON object, or a claim stands twice.
    case claims(String)
    /// The header asks for an algorithm that the caller did not allow. `none` is never allowed.
    case algorithmNotAllowed(String)
    /// The header names an extension in `crit` that must be understood and is not (RFC 7515 section 4.1.11).
    case criticalUnsupported
    /// No key may be used for this token: none has its `kid`, or none has the type, use and algorithm.
    case keyNotFound
    /// The signature is not this content's under this key.
    case signature
    /// The key is of a size that is refused: RSA under 2048 or over 8192 bits, a secret shorter than the digest.
    case weakKey(String)
    /// The key cannot be read: a member is missing or malformed, or a point is off its curve.
    case invalidKey(String)
    /// The key is of a type, `use`, `key_ops` or `alg` that does not allow what was asked.
    case unfitKey(String)
    /// The text is not a JWK Set, or it holds more keys than are read.
    case keySet(String)
    /// The sealed bytes cannot be opened: another key, other authenticated data, or changed bytes.
    case unsealing
    /// libcrypto failed at something that does not depend on the input, such as producing random bytes.
    case cryptography(String)
}

extension JOSEError: CustomStringConvertible {
    /// What was expected, what came and what to do, in one line.
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
        case .cryptography(let what): "libcrypto failed: \(what). Check the OpenSSL installation and its configuration."
        }
    }
}

extension JOSEError {
    /// Creates the error of a failed call of libcrypto, and clears the reasons that libcrypto stores for the thread.
    static func libcrypto(_ reason: String) -> JOSEError {
        ERR_clear_error()
        return .cryptography(reason)
    }
}
