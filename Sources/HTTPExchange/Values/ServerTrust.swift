import LodgePlatform

/// The trusted certificates and keys in addition to the system's authorities. Verification cannot be disabled.
public struct ServerTrust: Sendable, Hashable {
    /// The path of a PEM file with additional certificate authorities, which replaces the transport's own file.
    ///
    /// Each transport reads it once. If it is unreadable or not PEM, requests fail with `invalidRequest`.
    public var caFile: String?
    /// The pinned public keys.
    ///
    /// The server must have one of them in addition to a trusted certificate. Empty means any key.
    ///
    /// A redirect to a server without a pinned key fails too.
    public var pinnedKeys: Set<PublicKeyPin>

    /// Creates additional trust.
    public init(caFile: String? = nil, pinnedKeys: Set<PublicKeyPin> = []) {
        self.caFile = caFile
        self.pinnedKeys = pinnedKeys
    }

    /// The trust in the system's authorities and the transport's own file.
    public static let system = ServerTrust()
}

/// The SHA-256 digest of a server's public key in its certificate (SubjectPublicKeyInfo, DER).
///
/// For a certificate it is `openssl x509 -in server.pem -noout -pubkey | openssl pkey -pubin -outform der | openssl
/// dgst -sha256 -binary | base64`.
///
/// See [RFC 7469 section 2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4).
public struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
    /// The digest in base64, 44 characters.
    package let base64: String

    /// Creates a pin from 32 bytes in base64, optionally with the prefix `sha256/`, `sha256//` or `pin-sha256=`.
    ///
    /// Returns `nil` for any other string.
    public init?(_ text: String) {
        var rest = text[...]
        for prefix in ["sha256/", "pin-sha256="] where rest.hasPrefix(prefix) {
            rest = rest.dropFirst(prefix.count)
            // A base64 digest can also begin with a slash.
            if rest.utf8.count == 45, rest.first == "/" { rest = rest.dropFirst() }
            break
        }
        if rest.hasPrefix("\""), rest.hasSuffix("\""), rest.count > 2 { rest = rest.dropFirst().dropLast() }
        guard rest.utf8.count == 44, let digest = Data(base64Encoded: String(rest)), digest.count == 32 else {
            return nil
        }
        base64 = digest.base64EncodedString()
    }

    /// The digest with the prefix `sha256/`.
    public var description: String { "sha256/\(base64)" }
}
