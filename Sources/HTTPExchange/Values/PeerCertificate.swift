/// A certificate that a server presents at the start of a TLS connection, trusted or not.
///
/// It shows whether a proxy intercepts the connection: the issuer is then the proxy's.
public struct PeerCertificate: Sendable, Equatable {
    /// The subject, such as `CN = login.example.com`. Untrusted text: escape control characters before showing it.
    public var subject: String
    /// The issuer, in the same form.
    public var issuer: String

    /// Creates a certificate.
    package init(subject: String, issuer: String) {
        self.subject = subject
        self.issuer = issuer
    }
}
