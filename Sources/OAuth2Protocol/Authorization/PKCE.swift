import HTTPExchange
import LodgePlatform
import JOSE

/// A code verifier and its S256 challenge. Every authorization request has a new verifier. The method "plain" is not
/// supported.
///
/// [RFC 7636](https://www.rfc-editor.org/rfc/rfc7636)
package struct CodeVerifier: Sendable, Equatable {
    /// The verifier, sent with the code.
    package let secret: Secret

    /// Creates a verifier from 32 random bytes (section 4.1).
    package init(random: [UInt8]) { secret = Secret(Base64URL.encode(random)) }

    /// Creates a verifier from a string, or returns `nil` unless the string has 43 to 128 unreserved characters.
    package init?(_ text: String) {
        guard (43...128).contains(text.utf8.count), text.utf8.allSatisfy(PercentEncoding.isUnreserved) else {
            return nil
        }
        secret = Secret(text)
    }

    /// The challenge, sent with the authorization request: BASE64URL(SHA256(verifier)), section 4.2.
    package var challenge: String { Base64URL.encode(SHA2.sha256.digest(Array(secret.value.utf8))) }
}
