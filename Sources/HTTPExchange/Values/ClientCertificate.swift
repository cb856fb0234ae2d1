/// A certificate that authenticates the client to a server (mutual TLS).
///
/// See [RFC 8705](https://www.rfc-editor.org/rfc/rfc8705).
public struct ClientCertificate: Sendable, Hashable {
    /// The path of a PEM file with the certificate, followed by the intermediate certificates.
    public var certificateFile: String
    /// The path of a PEM file with the private key, without a passphrase.
    public var keyFile: String

    /// Creates a certificate from these files. They are read for each new connection.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
