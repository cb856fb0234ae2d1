import JOSE
import LodgePlatform
import OAuth2Protocol

/// The assertions of a client that signs them with the key of a certificate.
struct CertificateAssertions: AssertionSource {
    private let loaded: LoadedCertificate
    private let credential: CertificateCredential
    private let clientID: String
    private let algorithm: JWSAlgorithm
    private let time: @Sendable (String) -> Double
    private let random: @Sendable (Int) throws -> [UInt8]

    /// Creates the source of a type.
    ///
    /// - Throws: `SettingsError` if the certificate cannot be used, or is not valid now.
    init(
        _ credential: CertificateCredential, of type: AccountType, _ dependencies: Dependencies,
        time: @escaping @Sendable (String) -> Double
    ) throws {
        loaded = try ClientCredentials(type: type, environment: dependencies.environment).certificate(credential)
        try loaded.requireValidity(at: dependencies.now().timeIntervalSince1970)
        self.credential = credential
        clientID = type.clientID
        algorithm = JWSAlgorithm(type.assertionAlgorithm(of: credential))
        self.time = time
        random = dependencies.random
    }

    func assertion(audience: String) async throws -> Secret {
        try ClientAssertion.sign(
            clientID: clientID, audience: audience, identity: loaded.identity, algorithm: algorithm,
            includesChain: credential.includesChain, now: time(audience), random: random)
    }
}

extension AccountType {
    /// Returns the algorithm of assertions with a certificate.
    package func assertionAlgorithm(of credential: CertificateCredential) -> CertificateCredential.Algorithm {
        credential.algorithm ?? (isADFS ? .rs256 : .ps256)
    }
}

extension JWSAlgorithm {
    fileprivate init(_ algorithm: CertificateCredential.Algorithm) {
        switch algorithm {
        case .ps256: self = .ps256
        case .rs256: self = .rs256
        }
    }
}

/// The certificate of a credential, read from its files.
package struct LoadedCertificate: Sendable {
    /// The certificate, its issuers and its key.
    package let identity: CertificateIdentity
    /// The file of the certificate.
    package let path: String

    /// Throws if the certificate, or one of its issuers in the assertion, is not valid at a time.
    ///
    /// - Parameter now: Seconds since 1970.
    /// - Throws: `SettingsError`
    package func requireValidity(at now: Double) throws(SettingsError) {
        let certificate = identity.certificate
        guard now < certificate.notBefore || now > certificate.notAfter else { return }
        let isExpired = now > certificate.notAfter
        let time = Date(timeIntervalSince1970: isExpired ? certificate.notAfter : certificate.notBefore).rfc3339
        throw SettingsError(
            file: path, expected: "a certificate that is valid now",
            found:
                "the certificate \(certificate.subject), which \(isExpired ? "expired at" : "is not valid before") \(time)",
            hint: isExpired
                ? "create a new certificate, add it to the registration of the application, and replace the file"
                : "check the date of this machine, or use a certificate that is valid now")
    }
}

extension ClientCredentials {
    /// Reads the files of a certificate credential.
    ///
    /// - Throws: `SettingsError` if a file cannot be read or used, or other users can change it.
    package func certificate(_ credential: CertificateCredential) throws(SettingsError) -> LoadedCertificate {
        let key = "types.\(type.name).clientAssertion.certificate"
        var password: Secret?
        if let source = credential.password {
            password = try text(source, of: "clientAssertion.certificate.password", "password", allowsEmpty: true)
        }
        let (path, keyPath): (String, String?) =
            switch credential.files {
            case .pem(let certificate, let key): (certificate, key)
            case .pkcs12(let file): (file, nil)
            }
        let bytes = try CredentialFile.read(path, "the certificate of \(key)")
        var keyBytes: [UInt8]?
        if let keyPath { keyBytes = try CredentialFile.read(keyPath, "the private key of \(key)") }
        let identity: CertificateIdentity
        do throws(CertificateError) {
            switch credential.files {
            case .pem: identity = try CertificateIdentity(pem: bytes, key: keyBytes, password: password)
            case .pkcs12: identity = try CertificateIdentity(pkcs12: bytes, password: password)
            }
        } catch {
            let expected =
                switch error.part {
                case .certificate: "a certificate and its RSA key"
                case .key: "the RSA key of the certificate"
                case .password: "a file that the password of \(key) opens"
                }
            var hint = error.hint
            if case .pkcs12 = credential.files, error.unsupportedAlgorithm != nil {
                hint =
                    "to encrypt it with AES, run: openssl pkcs12 -legacy -in \(path.shellWord) -out app.pem && "
                    + "openssl pkcs12 -export -in app.pem -out app.pfx"
            }
            throw SettingsError(
                file: error.part == .certificate ? path : keyPath ?? path, expected: expected, found: error.found,
                hint: hint)
        }
        if credential.includesChain, let subject = identity.unlinkedSubjects.first {
            throw SettingsError(
                file: path, expected: "a chain of certificates, each issued by the next one",
                found: "the certificate \(subject), which issued none of them",
                hint: "remove it, or set chain to false")
        }
        return LoadedCertificate(identity: identity, path: path)
    }
}
