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
    private let dependencies: Dependencies

    /// Creates the source of a type.
    ///
    /// - Throws: `SettingsError` if the certificate cannot be used, or is not valid now.
    init(
        _ credential: CertificateCredential, of type: AccountType, _ dependencies: Dependencies,
        time: @escaping @Sendable (String) -> Double
    ) async throws {
        loaded = try await ClientCredentials(type: type, environment: dependencies.environment).certificate(
            credential, dependencies)
        try loaded.requireValidity(at: dependencies.now().timeIntervalSince1970)
        self.credential = credential
        clientID = type.clientID
        algorithm = JWSAlgorithm(type.assertionAlgorithm(of: credential))
        self.time = time
        self.dependencies = dependencies
    }

    func assertion(audience: String) async throws -> Secret {
        try await DeviceCall.run(loaded.identity.device, dependencies) { [self] in
            do {
                return try ClientAssertion.sign(
                    clientID: clientID, audience: audience, identity: loaded.identity, algorithm: algorithm,
                    includesChain: credential.includesChain, now: time(audience), random: dependencies.random)
            } catch let error as CertificateError {
                throw loaded.source.error(error)
            }
        }
    }
}

/// Calls of devices with keys.
enum DeviceCall {
    /// The time limit of a call. A TPM signs within some seconds; a token can wait for a touch.
    private static let timeout = Duration.seconds(30)

    /// Runs the work on a thread outside Swift's pool, or directly without a device. After the time limit, the thread continues
    /// until the device responds.
    ///
    /// - Throws: `SettingsError` if the device does not respond in time; the errors of the work; `CancellationError`.
    static func run<Value: Sendable>(
        _ device: DeviceKey?, _ dependencies: Dependencies, _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        guard let device else { return try work() }
        let outcome = Promise<Value>()
        DetachedThread.run { outcome.finish(Result { try work() }) }
        guard let value = try await outcome.value(within: timeout, sleep: dependencies.timer) else {
            throw SettingsError(
                file: device.uri, expected: "a \(device.device.name) that responds",
                found: "no response within \(timeout.components.seconds) seconds",
                hint: "check the device, and whether another program uses it")
        }
        return value
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
    let source: CertificateSource

    /// The file of the certificate.
    package var path: String { source.path }

    /// The certificates of an assertion, the client's certificate first.
    package var sent: [Certificate] {
        source.credential.includesChain ? identity.chain : [identity.certificate]
    }

    /// Throws if the certificate, or one of its issuers in the assertion, is not valid at a time.
    ///
    /// - Parameter now: Seconds since 1970.
    /// - Throws: `SettingsError`
    package func requireValidity(at now: Double) throws(SettingsError) {
        guard let certificate = sent.first(where: { now < $0.notBefore || now > $0.notAfter }) else { return }
        let isExpired = now > certificate.notAfter
        let isIssuer = certificate != identity.certificate
        let time = Date(timeIntervalSince1970: isExpired ? certificate.notAfter : certificate.notBefore).rfc3339
        let name = "the \(isIssuer ? "intermediate " : "")certificate \(certificate.subject)"
        let found = "\(name), which \(isExpired ? "expired at" : "is not valid before") \(time)"
        let hint: Hint =
            switch (isExpired, isIssuer) {
            case (true, true):
                "replace it in the file with the current certificate of the authority, or set chain to false"
            case (true, false):
                "create a new certificate, add it to the registration of the application, and replace the file"
            case (false, _): "check the date of this machine, or use a certificate that is valid now"
            }
        throw SettingsError(
            file: path, expected: isIssuer ? "a chain that is valid now" : "a certificate that is valid now",
            found: found, hint: hint)
    }
}

/// The locations of a certificate and its key in the settings.
struct CertificateSource: Sendable {
    let credential: CertificateCredential
    /// The path of the settings key.
    let key: String

    /// The file of the certificate.
    var path: String {
        switch credential.files {
        case .pem(let path, _), .pkcs12(let path): path
        }
    }

    /// The file or the URI of the key, if it is not in the file of the certificate.
    var keyLocation: String? {
        guard case .pem(_, let key) = credential.files else { return nil }
        return key
    }

    private var isDevice: Bool { (try? credential.deviceKey()) != nil }

    /// Returns the error of the settings for a certificate that cannot be used.
    func error(_ error: CertificateError) -> SettingsError {
        let expected =
            switch error.part {
            case .certificate: "a certificate and its RSA key"
            case .key: "the RSA key of the certificate"
            case .password: "a \(isDevice ? "key" : "file") that the password of \(key) opens"
            }
        var hint = error.hint
        if case .pkcs12 = credential.files, error.unsupportedAlgorithm != nil {
            hint =
                "to encrypt it with AES, run: openssl pkcs12 -legacy -in \(path.shellWord) -out app.pem && "
                + "openssl pkcs12 -export -in app.pem -out app.pfx"
        }
        return SettingsError(
            file: error.part == .certificate ? path : keyLocation ?? path, expected: expected, found: error.found,
            hint: hint)
    }
}

extension ClientCredentials {
    /// Reads the files of a certificate credential, and looks up the key of a device.
    ///
    /// - Parameter signs: Whether to try a signature of a device, which can find a wrong password. The default is `false`.
    /// - Throws: `SettingsError` if a file or the key cannot be read or used, or other users can change the file;
    ///   `CancellationError`.
    package func certificate(
        _ credential: CertificateCredential, _ dependencies: Dependencies, signs: Bool = false
    ) async throws -> LoadedCertificate {
        let source = CertificateSource(credential: credential, key: "types.\(type.name).clientAssertion.certificate")
        var password: Secret?
        if let place = credential.password {
            password = try text(place, of: "clientAssertion.certificate.password", "password", allowsEmpty: true)
        }
        let algorithm = JWSAlgorithm(type.assertionAlgorithm(of: credential))
        do {
            let device = try credential.deviceKey(password: password)
            let identity = try await DeviceCall.run(device, dependencies) { [password] in
                let identity = try source.identity(device, password)
                if signs, device != nil { _ = try identity.deviceSignature(of: [], using: algorithm) }
                return identity
            }
            let loaded = LoadedCertificate(identity: identity, source: source)
            try loaded.requireLinkedChain()
            return loaded
        } catch let error as CertificateError {
            throw source.error(error)
        }
    }
}

extension CertificateSource {
    /// Reads the files. Blocks until a device has responded.
    fileprivate func identity(_ device: DeviceKey?, _ password: Secret?) throws -> CertificateIdentity {
        let bytes = try CredentialFile.read(path, "the certificate of \(key)")
        if let device { return try CertificateIdentity(pem: bytes, key: device) }
        if case .pkcs12 = credential.files { return try CertificateIdentity(pkcs12: bytes, password: password) }
        let keyBytes = try keyLocation.map { try CredentialFile.read($0, "the private key of \(key)") }
        return try CertificateIdentity(pem: bytes, key: keyBytes, password: password)
    }
}

extension LoadedCertificate {
    /// Throws if the assertion would contain a certificate that issued none of the others.
    fileprivate func requireLinkedChain() throws(SettingsError) {
        guard source.credential.includesChain, let subject = identity.unlinkedSubjects.first else { return }
        throw SettingsError(
            file: path, expected: "a chain of certificates, each issued by the next one",
            found: "the certificate \(subject), which issued none of them",
            hint: "remove it, or set chain to false")
    }
}
