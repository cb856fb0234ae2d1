#if !canImport(CryptoKit)
    import CLodgeOpenSSL
    import LodgePlatform

    /// The cryptography of OpenSSL's libcrypto.
    enum Crypto {
        /// The name of the library in messages.
        static let name = "libcrypto"
        /// The remedy if the library fails independently of the input.
        static let remedy = "Check the OpenSSL installation and its configuration."

        // MARK: Bytes

        static func digest(_ bytes: UnsafeBufferPointer<UInt8>, _ algorithm: SHA2) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: algorithm.byteCount) { output, written in
                var count: UInt32 = 0
                guard let function = algorithm.evp,
                    EVP_Digest(bytes.baseAddress, bytes.count, output.baseAddress, &count, function, nil) == 1,
                    Int(count) == algorithm.byteCount
                else {
                    // Only an OpenSSL installation without SHA-2, or a lack of memory, leads here. Any returned value would
                    // be used as a digest, so end the process.
                    fatalError("libcrypto has no \(algorithm). Check the OpenSSL installation and its configuration.")
                }
                written = algorithm.byteCount
            }
        }

        static func authenticationCode(
            of content: [UInt8], key: UnsafeBufferPointer<UInt8>, _ digest: SHA2
        ) -> [UInt8]? {
            guard let length = Int32(exactly: key.count), let algorithm = digest.evp else { return nil }
            var code = [UInt8](repeating: 0, count: digest.byteCount)
            var written: UInt32 = 0
            guard HMAC(algorithm, key.baseAddress, length, content, content.count, &code, &written) != nil,
                Int(written) == digest.byteCount
            else {
                ERR_clear_error()
                return nil
            }
            return code
        }

        /// Fills the buffer with random bytes of libcrypto's generator, which the kernel seeds. Returns whether it succeeded.
        static func randomize(_ buffer: UnsafeMutableBufferPointer<UInt8>) -> Bool {
            guard let length = Int32(exactly: buffer.count), RAND_bytes(buffer.baseAddress, length) == 1 else {
                ERR_clear_error()
                return false
            }
            return true
        }

        /// Compares in a time that depends only on the count.
        static func bytesEqual(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ count: Int) -> Bool {
            CRYPTO_memcmp(a, b, count) == 0
        }

        static func wipe(_ start: UnsafeMutableRawPointer, _ count: Int) { OPENSSL_cleanse(start, count) }

        // MARK: AES-256-GCM

        // A fetched cipher never changes, is thread-safe, and is never freed.
        nonisolated(unsafe) private static let cipher = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

        /// Initializes the library: the first lookup takes milliseconds.
        static func prepareSealing() { _ = cipher }

        /// Returns nonce, ciphertext and tag.
        static func seal(
            _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], authenticating authenticated: [UInt8]
        ) -> [UInt8]? {
            guard let length = Int32(exactly: plaintext.count),
                let authenticatedLength = Int32(exactly: authenticated.count), let context = EVP_CIPHER_CTX_new()
            else { return nil }
            defer { EVP_CIPHER_CTX_free(context) }
            guard key.withBytes({ EVP_EncryptInit_ex2(context, cipher, $0.baseAddress, nonce, nil) }) == 1 else {
                return nil
            }
            var count: Int32 = 0
            guard
                authenticated.isEmpty
                    || EVP_EncryptUpdate(context, nil, &count, authenticated, authenticatedLength) == 1
            else { return nil }
            var succeeded = false
            let sealed = [UInt8](unsafeUninitializedCapacity: plaintext.count + overhead) { output, written in
                guard let start = output.baseAddress else { return }
                for (index, byte) in nonce.enumerated() { start[index] = byte }
                let text = start + nonceByteCount
                let tag = text + plaintext.count
                succeeded =
                    (plaintext.isEmpty || EVP_EncryptUpdate(context, text, &count, plaintext, length) == 1)
                    && EVP_EncryptFinal_ex(context, tag, &count) == 1 && count == 0
                    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tagByteCount), tag) == 1
                written = succeeded ? plaintext.count + overhead : 0
            }
            if !succeeded { ERR_clear_error() }
            return succeeded ? sealed : nil
        }

        static func open(_ sealed: [UInt8], key: SecretBytes, authenticating authenticated: [UInt8]) -> [UInt8]? {
            let plaintext = decrypt(sealed, key, authenticated)
            if plaintext == nil { ERR_clear_error() }
            return plaintext
        }

        private static func decrypt(_ sealed: [UInt8], _ key: SecretBytes, _ authenticated: [UInt8]) -> [UInt8]? {
            let count = sealed.count - overhead
            guard let length = Int32(exactly: count), let authenticatedLength = Int32(exactly: authenticated.count),
                let context = EVP_CIPHER_CTX_new()
            else { return nil }
            defer { EVP_CIPHER_CTX_free(context) }
            var tag = Array(sealed.suffix(tagByteCount))
            var ignored: Int32 = 0
            guard key.withBytes({ EVP_DecryptInit_ex2(context, cipher, $0.baseAddress, sealed, nil) }) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tagByteCount), &tag) == 1,
                authenticated.isEmpty
                    || EVP_DecryptUpdate(context, nil, &ignored, authenticated, authenticatedLength) == 1
            else { return nil }
            var succeeded = false
            // One extra byte, so that even an empty text has an address.
            let plaintext = [UInt8](unsafeUninitializedCapacity: count + 1) { output, written in
                guard let start = output.baseAddress else { return }
                let updated = sealed.withUnsafeBufferPointer { sealed in
                    guard count > 0 else { return true }
                    guard let source = sealed.baseAddress else { return false }
                    return EVP_DecryptUpdate(context, start, &ignored, source + nonceByteCount, length) == 1
                }
                // Only the last step checks the tag. Until it succeeds, the text must not be used.
                succeeded = updated && EVP_DecryptFinal_ex(context, start + count, &ignored) == 1
                if succeeded { written = count } else { OPENSSL_cleanse(start, count) }
            }
            return succeeded ? plaintext : nil
        }

        // MARK: Scrypt

        static func scrypt(
            _ parameters: Scrypt, passphrase: [UInt8], salt: [UInt8], count: Int
        ) throws(JOSEError) -> [UInt8] {
            // OpenSSL needs little memory in addition to the blocks. Its default limit is 32 MiB.
            let limit = UInt64(2 * Scrypt.maximumMemory)
            var succeeded = false
            let key = [UInt8](unsafeUninitializedCapacity: count) { output, written in
                succeeded = passphrase.withUnsafeBufferPointer { passphrase in
                    // A null pointer would only check the parameters, so pass an address even for an empty passphrase.
                    passphrase.withMemoryRebound(to: CChar.self) { text in
                        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1) { empty in
                            empty.initialize(repeating: 0)
                            return EVP_PBE_scrypt(
                                text.baseAddress ?? UnsafePointer(empty.baseAddress), text.count, salt, salt.count,
                                UInt64(parameters.cost), UInt64(parameters.blockSize),
                                UInt64(parameters.parallelization), limit, output.baseAddress, count)
                                == 1
                        }
                    }
                }
                written = succeeded ? count : 0
            }
            guard succeeded else {
                ERR_clear_error()
                throw .cryptography("scrypt needs \(128 * parameters.cost * parameters.blockSize) bytes of memory")
            }
            return key
        }
    }

    extension SHA2 {
        /// libcrypto's implementation, looked up once for the process, or `nil` if it is missing.
        var evp: OpaquePointer? {
            switch self {
            case .sha256: Self.fetched256
            case .sha384: Self.fetched384
            case .sha512: Self.fetched512
            }
        }

        // A fetched EVP_MD never changes, is thread-safe, and is never freed.
        nonisolated(unsafe) private static let fetched256 = EVP_MD_fetch(nil, "SHA256", nil)
        nonisolated(unsafe) private static let fetched384 = EVP_MD_fetch(nil, "SHA384", nil)
        nonisolated(unsafe) private static let fetched512 = EVP_MD_fetch(nil, "SHA512", nil)
    }
#endif
