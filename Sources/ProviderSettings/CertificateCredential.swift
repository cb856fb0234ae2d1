import JOSE
import LodgePlatform
import StrictJSON

/// A certificate with its private key, which signs client assertions.
public struct CertificateCredential: Sendable, Equatable {
    /// The files of the certificate and its key.
    public enum Files: Sendable, Equatable {
        /// A PEM file with the certificate and intermediate certificates, and the file of the key, or `nil` if the first
        /// file has the key too.
        ///
        /// In place of a file, the key can be the URI of a key in a TPM, such as `handle:0x81000001`, or on a PKCS #11 token, such as
        /// `pkcs11:token=work;object=app` (RFC 7512).
        case pem(certificate: String, key: String?)
        /// A PKCS #12 file, such as `app.pfx`.
        case pkcs12(String)
    }

    /// An algorithm of the signature.
    public enum Algorithm: String, Sendable, Equatable, CaseIterable {
        /// RSA-PSS with SHA-256; the header has the SHA-256 thumbprint.
        case ps256 = "PS256"
        /// RSA with SHA-256; the header has the SHA-1 thumbprint. AD FS.
        case rs256 = "RS256"
    }

    /// The files of the certificate and its key.
    public var files: Files
    /// The password of an encrypted key, of a key in a device, or of a PKCS #12 file. It may be empty.
    public var password: AccountType.SecretSource?
    /// Whether each assertion contains the certificate and its intermediate certificates.
    ///
    /// Microsoft Entra needs them if the application trusts a subject and an issuer and not a thumbprint.
    public var includesChain = false
    /// The algorithm, or `nil` for RS256 at AD FS and PS256 at other providers.
    public var algorithm: Algorithm?

    /// Creates the credential of these files.
    public init(files: Files) { self.files = files }

    /// Returns the key in a device, or `nil` if the key is in a file.
    package func deviceKey(password: Secret? = nil) throws(CertificateError) -> DeviceKey? {
        guard case .pem(_, let key?) = files else { return nil }
        return try DeviceKey(key, password: password)
    }
}

extension MemberDecoder {
    private static let certificateKeys = ["certificate", "key", "pkcs12", "password", "chain", "algorithm"]

    func certificateCredential() throws(SettingsError) -> CertificateCredential {
        try requireKeys(Self.certificateKeys)
        let certificate = try optionalText("certificate")
        let pkcs12 = try optionalText("pkcs12")
        let key = try optionalText("key")
        var credential: CertificateCredential
        switch (certificate, pkcs12) {
        case (let path?, nil): credential = CertificateCredential(files: .pem(certificate: path, key: key))
        case (nil, let path?):
            if key != nil { throw error("key", "no key, which the PKCS #12 file has", "a key") }
            credential = CertificateCredential(files: .pkcs12(path))
        case (nil, nil): throw mismatch("certificate or pkcs12, the path of a file", "none of the two")
        case (_?, _?): throw mismatch("either certificate or pkcs12", "both")
        }
        do throws(CertificateError) {
            _ = try credential.deviceKey()
        } catch {
            throw self.error("key", "the path of a file, or the URI of a key", error.found, hint: error.hint)
        }
        switch object["password"] {
        case nil: break
        case .string(let text): credential.password = .inline(Secret(text))
        case let value?:
            credential.password = try source(
                value, "password", "a string, {\"environment\": NAME} or {\"file\": PATH}")
        }
        credential.includesChain = try flag("chain") ?? false
        credential.algorithm = try choice("algorithm", "\"PS256\" or \"RS256\"")
        return credential
    }
}
