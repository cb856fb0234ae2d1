/// A certificate by which a server that asks knows who connects (TLS client authentication).
///
/// [RFC 8705](https://www.rfc-editor.org/rfc/rfc8705)
public struct ClientCertificate: Sendable, Hashable {
    /// The path of a PEM file with the certificate, and after it those that lead to its authority.
    public var certificateFile: String
    /// The path of a PEM file with the private key, without a passphrase.
    public var keyFile: String

    /// The certificate in these files. They are read with each new connection.
    public init(certificateFile: String, keyFile: String) {
        self.certificateFile = certificateFile
        self.keyFile = keyFile
    }
}
