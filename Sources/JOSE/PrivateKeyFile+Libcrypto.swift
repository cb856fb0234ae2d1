#if !canImport(CryptoKit)
    import CLodgeOpenSSL
    import LodgePlatform

    // The files of a certificate and its private key.
    extension CertificateIdentity {
        /// Creates the identity from PEM: certificates in one file, and the key in the same file or in another one.
        ///
        /// The key can be PKCS #8, also encrypted, or PKCS #1.
        ///
        /// - Parameters:
        ///   - key: The bytes of the file with the key, or `nil` if the first file has it.
        ///   - password: The password of an encrypted key.
        package init(
            pem certificates: [UInt8], key: [UInt8]? = nil, password: Secret? = nil
        ) throws(CertificateError) {
            ERR_clear_error()
            defer { ERR_clear_error() }
            let handles = try Self.certificates(pem: certificates)
            try self.init(handles, key: Self.key(pem: key ?? certificates, password))
        }

        /// Creates the identity from PKCS #12, such as a `.pfx` file.
        ///
        /// - Parameter password: The password. Without one, the file must have an empty password or none.
        package init(pkcs12 bytes: [UInt8], password: Secret? = nil) throws(CertificateError) {
            ERR_clear_error()
            defer { ERR_clear_error() }
            let file: OpaquePointer? = bytes.withUnsafeBufferPointer { buffer in
                var start = buffer.baseAddress
                return d2i_PKCS12(nil, &start, buffer.count)
            }
            guard let file else { throw CertificateError(.certificate, "a file that is not PKCS #12") }
            defer { PKCS12_free(file) }
            var iterations: UnsafePointer<ASN1_INTEGER>?
            PKCS12_get0_mac(nil, nil, nil, &iterations, file)
            if let iterations, !(1...Self.maximumIterations).contains(ASN1_INTEGER_get(iterations)) {
                throw CertificateError(.certificate, "a PKCS #12 file with too many iterations of its password")
            }
            var key: OpaquePointer?
            var certificate: OpaquePointer?
            var others: OpaquePointer?
            guard PKCS12_parse(file, password?.value ?? "", &key, &certificate, &others) == 1 else {
                throw Self.pkcs12Error(hasPassword: password?.value.isEmpty == false)
            }
            let handle = key.map(KeyHandle.init(owning:))
            var handles = [certificate.map(CertificateHandle.init(owning:))].compactMap { $0 }
            if let others {
                defer { OPENSSL_sk_free(others) }
                for index in 0..<OPENSSL_sk_num(others) {
                    guard let value = OPENSSL_sk_value(others, index) else { continue }
                    handles.append(CertificateHandle(owning: OpaquePointer(value)))
                }
            }
            guard let handle else { throw CertificateError(.key, "a PKCS #12 file without a private key") }
            guard !handles.isEmpty else {
                throw CertificateError(.certificate, "a PKCS #12 file without a certificate")
            }
            try self.init(handles, key: handle)
        }

        /// The maximum number of iterations of a password, which take about two seconds. Programs use 2,000 to 1,000,000.
        private static let maximumIterations = 10_000_000

        /// Creates the identity from certificates in PEM, whose key is in a device.
        ///
        /// Blocks until the device has responded.
        package init(pem certificates: [UInt8], key: DeviceKey) throws(CertificateError) {
            ERR_clear_error()
            defer { ERR_clear_error() }
            try self.init(Self.certificates(pem: certificates), key: key)
        }

        // MARK: PEM

        private static func certificates(pem bytes: [UInt8]) throws(CertificateError) -> [CertificateHandle] {
            let (handles, isComplete) = withMemory(bytes) { input -> ([CertificateHandle], Bool) in
                var handles: [CertificateHandle] = []
                while let pointer = PEM_read_bio_X509(input, nil, { _, _, _, _ in -1 }, nil) {
                    handles.append(CertificateHandle(owning: pointer))
                    if handles.count > maximumCertificateCount { return (handles, true) }
                }
                let last = QueuedError.all().last
                return (handles, last?.isError(ERR_LIB_PEM, PEM_R_NO_START_LINE) ?? false)
            }
            guard isComplete else { throw CertificateError(.certificate, "a damaged certificate") }
            guard !handles.isEmpty else {
                let isBinary = bytes.first == 0x30
                throw CertificateError(
                    .certificate, isBinary ? "a binary file" : "no certificate in PEM",
                    hint: isBinary ? "set pkcs12 to the path of a PKCS #12 file, in place of certificate" : nil)
            }
            return handles
        }

        fileprivate static func key(pem bytes: [UInt8], _ password: Secret?) throws(CertificateError) -> KeyHandle {
            let request = PasswordRequest(password)
            let pointer = withExtendedLifetime(request) {
                withMemory(bytes) { input in
                    PEM_read_bio_PrivateKey_ex(
                        input, nil, { PasswordRequest.supply($0, $1, $2, $3) },
                        Unmanaged.passUnretained(request).toOpaque(), nil, nil)
                }
            }
            if let pointer { return KeyHandle(owning: pointer) }
            if let algorithm = QueuedError.all().unsupportedAlgorithm {
                throw CertificateError(.key, "a key that is encrypted with \(algorithm), which OpenSSL 3 does not read")
            }
            if request.wasRequested {
                throw CertificateError(
                    password == nil ? .key : .password,
                    password == nil ? "an encrypted key, and no password" : "a password that does not open the key",
                    hint: password == nil ? missingPassword : nil)
            }
            let text = String(decoding: bytes, as: UTF8.self)
            if text.contains("-----BEGIN TSS2 PRIVATE KEY-----") {
                throw CertificateError(
                    .key, "a key that only a TPM can load",
                    hint: "run tpm2_load and tpm2_evictcontrol, and set key to the handle, such as handle:0x81000001")
            }
            let hasKey = text.contains("PRIVATE KEY-----")
            throw CertificateError(.key, hasKey ? "a damaged private key" : "no private key in PEM")
        }

        private static func withMemory<Value>(_ bytes: [UInt8], _ body: (OpaquePointer?) -> Value) -> Value {
            bytes.withUnsafeBytes { buffer in
                let input = BIO_new_mem_buf(buffer.baseAddress, Int32(clamping: buffer.count))
                defer { BIO_free(input) }
                return body(input)
            }
        }

        // MARK: Errors

        private static func pkcs12Error(hasPassword: Bool) -> CertificateError {
            let errors = QueuedError.all()
            if let algorithm = errors.unsupportedAlgorithm {
                return CertificateError(
                    .certificate, "a PKCS #12 file that is encrypted with \(algorithm), which OpenSSL 3 does not read",
                    unsupportedAlgorithm: algorithm)
            }
            guard errors.contains(where: { $0.isError(ERR_LIB_PKCS12, PKCS12_R_MAC_VERIFY_FAILURE) }) else {
                return CertificateError(.certificate, "a damaged PKCS #12 file")
            }
            return CertificateError(
                .password, hasPassword ? "a password that does not open the file" : "a PKCS #12 file with a password",
                hint: hasPassword ? nil : missingPassword)
        }

        static let missingPassword: Hint = "add password, with the name of an environment variable or a file"
    }

    /// The password for libcrypto, and whether libcrypto requested it.
    final class PasswordRequest {
        private let password: Secret?
        private(set) var wasRequested = false

        init(_ password: Secret?) { self.password = password }

        /// Writes the password into the buffer of libcrypto. Returns its length, or -1 without a password.
        ///
        /// Always pass such a function to libcrypto: otherwise it prompts on the terminal.
        ///
        /// - Parameter context: The address of the request.
        static func supply(
            _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32,
            _ context: UnsafeMutableRawPointer?
        ) -> Int32 {
            guard let buffer, let context else { return -1 }
            let request = Unmanaged<PasswordRequest>.fromOpaque(context).takeUnretainedValue()
            request.wasRequested = true
            guard let bytes = request.password?.value.utf8, bytes.count <= Int(size) else { return -1 }
            for (index, byte) in bytes.enumerated() { buffer[index] = CChar(bitPattern: byte) }
            return Int32(bytes.count)
        }
    }

    extension JWK {
        /// Creates an RSA key pair from PEM: PKCS #8 or PKCS #1, without encryption.
        package init(privateKeyPEM bytes: [UInt8]) throws(CertificateError) {
            ERR_clear_error()
            defer { ERR_clear_error() }
            let handle = try CertificateIdentity.key(pem: bytes, nil)
            guard Self.rsaBitCounts.contains(handle.bitCount), let numbers = handle.rsaNumbers else {
                throw CertificateError(
                    .key, "not an RSA key of \(Self.rsaBitCounts.lowerBound) to \(Self.rsaBitCounts.upperBound) bits")
            }
            guard handle.isWholeRSAPair else { throw CertificateError(.key, "a damaged private key") }
            self.init(.rsa, nil, handle, isPrivate: true, ["n": numbers.n, "e": numbers.e])
        }
    }
#endif
