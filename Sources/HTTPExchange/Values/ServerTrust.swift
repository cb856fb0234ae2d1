import Platform

/// Which servers are believed to be who they say, beyond the system's authorities. There is no way to believe every server.
public struct ServerTrust: Sendable, Hashable {
    /// The path of a PEM file of certificate authorities that are trusted in addition to the system's, in place of the transport's own
    /// file. It is read once for a transport; where it cannot be read or is not PEM, requests end with `invalidRequest`.
    public var caFile: String?
    /// The public keys, one of which the server must have in addition to a trusted certificate; empty: any key. A redirect to a server
    /// with none of them fails, too.
    public var pinnedKeys: Set<PublicKeyPin>

    /// Trust beyond the system's.
    public init(caFile: String? = nil, pinnedKeys: Set<PublicKeyPin> = []) {
        self.caFile = caFile
        self.pinnedKeys = pinnedKeys
    }

    /// The system's authorities, and the transport's own file.
    public static let system = ServerTrust()
}

/// The SHA-256 of a server's public key, as its certificate has it (SubjectPublicKeyInfo, DER).
///
/// For a certificate it is
/// `openssl x509 -in server.pem -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
///
/// [RFC 7469 section 2.4](https://www.rfc-editor.org/rfc/rfc7469#section-2.4)
public struct PublicKeyPin: Sendable, Hashable, CustomStringConvertible {
    /// The digest in base64, 44 characters.
    public let base64: String

    /// The pin that this text spells: 32 bytes in base64, alone or after `sha256/`, `sha256//` or `pin-sha256=`. Nil for anything else.
    public init?(_ text: String) {
        var rest = text[...]
        for prefix in ["sha256/", "pin-sha256="] where rest.hasPrefix(prefix) {
            rest = rest.dropFirst(prefix.count)
            // A digest in base64 can begin with a slash, too.
            if rest.utf8.count == 45, rest.first == "/" { rest = rest.dropFirst() }
            break
        }
        if rest.hasPrefix("\""), rest.hasSuffix("\""), rest.count > 2 { rest = rest.dropFirst().dropLast() }
        guard rest.utf8.count == 44, let digest = Data(base64Encoded: String(rest)), digest.count == 32 else {
            return nil
        }
        base64 = digest.base64EncodedString()
    }

    /// `sha256/` and the digest.
    public var description: String { "sha256/\(base64)" }
}
