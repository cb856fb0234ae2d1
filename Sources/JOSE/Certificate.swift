import LodgePlatform

/// An X.509 certificate.
///
/// See [RFC 5280](https://www.rfc-editor.org/rfc/rfc5280).
package struct Certificate: Sendable, Equatable {
    /// The certificate in DER.
    package let der: [UInt8]
    /// The name of the subject, such as `CN=app, O=Contoso`. Escape control characters before you print it.
    package let subject: String
    /// The start of the validity in seconds since 1970.
    package let notBefore: Double
    /// The end of the validity in seconds since 1970.
    package let notAfter: Double
    /// The SHA-1 digest of the DER, which identifies the certificate in `x5t`.
    package let sha1Thumbprint: [UInt8]

    /// The SHA-256 digest of the DER, which identifies the certificate in `x5t#S256`.
    package var sha256Thumbprint: [UInt8] { SHA2.sha256.digest(der) }

    /// Returns bytes as upper-case hexadecimal digits, the form of a thumbprint in Microsoft's portals.
    package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.utf8.count == 1 ? "0" + digits : digits
        }.joined()
    }
}

/// A certificate with its private key and its intermediate certificates.
package struct CertificateIdentity: Sendable {
    /// The certificate.
    package let certificate: Certificate
    /// The certificates of the authorities, each of which issued the one before it.
    package let issuers: [Certificate]
    /// The subjects of the other certificates in the file, which did not issue any of these.
    package let unlinkedSubjects: [String]
    /// The RSA key: a private key, or the public key if the private key is in a device.
    package let key: JWK
    /// The private key in a device, or `nil` if ``key`` is the private key.
    package let device: DeviceKey?

    /// The certificate and its issuers, in their order in `x5c`.
    package var chain: [Certificate] { [certificate] + issuers }
}

extension CertificateIdentity: Redacted {
    /// The subject of the certificate.
    package var description: String { "certificate \(certificate.subject)" }
}

/// The reason why the files of a certificate cannot be used.
package struct CertificateError: Error, Equatable {
    /// A part of the files.
    package enum Part: Sendable, Equatable {
        case certificate
        case key
        case password
    }

    /// The unusable part.
    package let part: Part
    /// The value that was found, as a phrase. It is never a secret.
    package let found: String
    /// The solution, if it is more than to correct the file.
    package let hint: Hint?
    /// The outdated algorithm of an encrypted file, such as `RC2-40-CBC`.
    package let unsupportedAlgorithm: String?

    init(_ part: Part, _ found: String, hint: Hint? = nil, unsupportedAlgorithm: String? = nil) {
        self.part = part
        self.found = found
        self.hint = hint
        self.unsupportedAlgorithm = unsupportedAlgorithm
    }
}
