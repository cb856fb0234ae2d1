#if !canImport(CryptoKit)
    import CLodgeOpenSSL
    import LodgePlatform
    import Synchronization

    // The keys in devices. A provider of libcrypto, a library that the user has installed, connects to the device. All functions of
    // libcrypto for providers and their stores are called in this file.

    extension CertificateIdentity {
        /// Returns the signature of the content by the key in the device, in the form of RFC 7518 section 3.
        ///
        /// Blocks until the device has responded.
        package func deviceSignature(
            of content: [UInt8], using algorithm: JWSAlgorithm
        ) throws(CertificateError) -> [UInt8] {
            guard let device else { throw CertificateError(.key, "a key in a file") }
            let signature = try device.signature(of: content, algorithm)
            // A device can use another length of the salt than RFC 7518 requires.
            guard (try? key.isSignature(signature, of: content, using: algorithm)) == true else {
                throw CertificateError(
                    .key, "a \(device.device.name) whose \(algorithm) signatures are not valid",
                    hint: algorithm == .rs256 ? nil : "set algorithm to RS256")
            }
            return signature
        }
    }

    extension DeviceKey {
        /// Connections to devices are not thread-safe, and a PKCS #11 module has one state for the process.
        private static let turn = Mutex(())

        /// Returns the index of the certificate that has the key, or `nil` if none has it.
        ///
        /// - Throws: ``CertificateError`` if the device has no such key, or the key is not an RSA key.
        func index(in certificates: [CertificateHandle]) throws(CertificateError) -> Int? {
            try connect { key, _ throws(CertificateError) in
                try CertificateIdentity.requireRSA(key)
                return certificates.firstIndex { $0.hasKey(key.pointer) }
            }
        }

        fileprivate func signature(
            of content: [UInt8], _ algorithm: JWSAlgorithm
        ) throws(CertificateError) -> [UInt8] {
            try connect { key, context throws(CertificateError) in
                guard let signature = sign(content, algorithm, key, context) else { throw signingFailure(algorithm) }
                return signature
            }
        }

        // MARK: Connection

        /// Calls the closure with the key and the library context of its provider.
        ///
        /// Each call has its own library context, so that the provider does not change the cryptography of the process. A device without a
        /// resource manager has one connection, so keep it only during the call.
        private func connect<Value: Sendable>(
            _ body: (KeyHandle, OpaquePointer) throws(CertificateError) -> Value
        ) throws(CertificateError) -> Value {
            try Self.turn.withLock { _ throws(CertificateError) in
                ERR_clear_error()
                defer { ERR_clear_error() }
                guard let context = OSSL_LIB_CTX_new() else { throw failure("no memory") }
                defer { OSSL_LIB_CTX_free(context) }
                // The configuration can name the PKCS #11 module of the provider.
                if device == .token, let path = CONF_get1_default_config_file() {
                    OSSL_LIB_CTX_load_config(context, path)
                    CRYPTO_free(path, #file, #line)
                    ERR_clear_error()
                }
                guard let standard = OSSL_PROVIDER_load(context, "default") else {
                    throw failure("no provider default")
                }
                defer { OSSL_PROVIDER_unload(standard) }
                guard let provider = OSSL_PROVIDER_load(context, provider) else { throw providerFailure() }
                defer { OSSL_PROVIDER_unload(provider) }
                return try call(body, context)
            }
        }

        /// Calls the closure. At its end, the key is freed, which must be before its provider.
        private func call<Value>(
            _ body: (KeyHandle, OpaquePointer) throws(CertificateError) -> Value, _ context: OpaquePointer
        ) throws(CertificateError) -> Value { try body(try load(context), context) }

        private var provider: String {
            switch device {
            case .tpm: "tpm2"
            case .token: "pkcs11"
            }
        }

        /// Prefers the functions of the provider. The others, such as digests, can be OpenSSL's.
        private var properties: String { "?provider=\(provider)" }

        private func load(_ context: OpaquePointer) throws(CertificateError) -> KeyHandle {
            guard let method = UI_UTIL_wrap_read_pem_callback({ PasswordRequest.supply($0, $1, $2, $3) }, 0) else {
                throw failure("no memory")
            }
            defer { UI_destroy_method(method) }
            let request = PasswordRequest(password)
            defer { withExtendedLifetime(request) {} }
            // The provider of the TPM requests a password only with this query.
            let address = device == .tpm && password != nil ? uri + "?pass" : uri
            guard
                let store = OSSL_STORE_open_ex(
                    address, context, properties, method, Unmanaged.passUnretained(request).toOpaque(), nil, nil, nil)
            else { throw loadingFailure(request) }
            defer { OSSL_STORE_close(store) }
            OSSL_STORE_expect(store, OSSL_STORE_INFO_PKEY)
            for _ in 0..<Self.maximumObjectCount {
                guard OSSL_STORE_eof(store) == 0 else { break }
                guard let object = OSSL_STORE_load(store) else {
                    if OSSL_STORE_error(store) != 0 { break }
                    continue
                }
                defer { OSSL_STORE_INFO_free(object) }
                if OSSL_STORE_INFO_get_type(object) == OSSL_STORE_INFO_PKEY,
                    let key = OSSL_STORE_INFO_get1_PKEY(object)
                {
                    return KeyHandle(owning: key)
                }
            }
            throw loadingFailure(request)
        }

        /// The maximum number of objects of a URI that are read until the first key.
        private static let maximumObjectCount = 100

        private func sign(
            _ content: [UInt8], _ algorithm: JWSAlgorithm, _ key: KeyHandle, _ context: OpaquePointer
        ) -> [UInt8]? {
            guard let operation = EVP_MD_CTX_new() else { return nil }
            defer { EVP_MD_CTX_free(operation) }
            var parameters: OpaquePointer?
            let digest = algorithm.digest
            guard
                EVP_DigestSignInit_ex(
                    operation, &parameters, "SHA\(8 * digest.byteCount)", context, properties, key.pointer, nil) == 1,
                EVP_PKEY_CTX_set_rsa_padding(
                    parameters, algorithm.usesPSS ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING) == 1,
                !algorithm.usesPSS || EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, Int32(digest.byteCount)) == 1
            else { return nil }
            var count = Int(EVP_PKEY_get_size(key.pointer))
            guard count > 0 else { return nil }
            var signature = [UInt8](repeating: 0, count: count)
            guard EVP_DigestSign(operation, &signature, &count, content, content.count) == 1 else { return nil }
            return Array(signature.prefix(count))
        }

        // MARK: Errors

        private func failure(_ found: String, hint: Hint? = nil) -> CertificateError {
            CertificateError(.key, found, hint: hint)
        }

        private func providerFailure() -> CertificateError {
            let errors = QueuedError.all()
            if errors.contains(where: { ERR_GET_LIB($0.code) == ERR_LIB_DSO }) {
                let package = device == .tpm ? "tpm2-openssl" : "pkcs11-provider"
                return failure(
                    "no provider \(provider) of OpenSSL on this machine",
                    hint: "install the provider; its package in Debian and Ubuntu is \(package)")
            }
            return failure(
                "a \(device.name) that does not respond\(reason(errors))",
                hint: device == .tpm
                    ? "check that this machine has a TPM and that you can open /dev/tpmrm0 (group tss), or set TPM2OPENSSL_TCTI"
                    : "check the module of the provider, which PKCS11_PROVIDER_MODULE or the configuration of OpenSSL names"
            )
        }

        private func loadingFailure(_ request: PasswordRequest) -> CertificateError {
            let errors = QueuedError.all()
            if device == .token, request.wasRequested { return passwordFailure(errors) }
            return failure(
                "no key\(reason(errors))",
                hint: device == .tpm
                    ? "to list the handles of the keys, run: tpm2_getcap handles-persistent"
                    : "compare the URI with the objects on the token")
        }

        private func signingFailure(_ algorithm: JWSAlgorithm) -> CertificateError {
            let errors = QueuedError.all()
            switch errors.lazy.compactMap(\.tpmCode).first {
            // TPM_RC_AUTH_FAIL and TPM_RC_BAD_AUTH.
            case 0x8E, 0xA2: return passwordFailure(errors)
            // TPM_RC_LOCKOUT.
            case 0x921:
                return failure(
                    "a TPM that is locked after wrong passwords",
                    hint: "correct password, then wait or run: tpm2_dictionarylockout -c")
            default: return failure("a key that cannot sign with \(algorithm)\(reason(errors))")
            }
        }

        private func passwordFailure(_ errors: [QueuedError]) -> CertificateError {
            guard password != nil else {
                return failure("a key with a password", hint: CertificateIdentity.missingPassword)
            }
            return CertificateError(
                .password, "a password that the \(device.name) refuses\(reason(errors))",
                hint: "correct password; several wrong ones lock the key")
        }

        /// Returns the reason of the provider after a colon, without the password, or an empty string.
        private func reason(_ errors: [QueuedError]) -> String {
            guard let error = errors.first(where: { $0.tpmCode != nil }) ?? errors.last else { return "" }
            var text = [error.reason, error.text].filter { !$0.isEmpty }.joined(separator: ": ")
            if error.tpmCode != nil { text = String(error.text.drop { $0 != " " }.dropFirst()) }
            if let password, !password.value.isEmpty { text = text.replacingBytes(password.value, with: Secret.mask) }
            return text.isEmpty ? "" : " (\(text.prefix(200)))"
        }
    }

    extension QueuedError {
        /// The response code of the TPM without the number of a handle or a session, or `nil` for another error.
        ///
        /// The text is `395 tpm:handle(1):the handle is not correct for the use`.
        fileprivate var tpmCode: Int? {
            guard let code = Int(text.prefix { $0 != " " }), text.contains(" t") else { return nil }
            return code & 0x80 == 0 ? code : code & 0xBF
        }
    }
#endif
