#if !canImport(CryptoKit)
    import CLodgeOpenSSL
    import LodgePlatform
    import Synchronization

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
        fileprivate var evp: OpaquePointer? {
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

    /// A key of libcrypto with prepared verification contexts.
    ///
    /// Sendable is sound: the key is complete before `init` and never changes. libcrypto counts references to it atomically
    /// and allows several threads to sign and verify with one key, each with its own context. A lock protects the idle
    /// contexts; a context in use belongs to one caller.
    final class KeyHandle: @unchecked Sendable {
        let pointer: OpaquePointer
        private let idle = Mutex<[JWSAlgorithm: [IdleContext]]>([:])

        /// The maximum number of idle contexts for each algorithm. Additional concurrent callers create and free their own.
        private static let maximumIdle = 4

        /// An idle context. Sendable is sound: a caller that removes it from the list is its only owner.
        private struct IdleContext: @unchecked Sendable {
            let pointer: OpaquePointer
        }

        /// Creates a handle that owns the key.
        init(owning pointer: OpaquePointer) { self.pointer = pointer }

        deinit {
            idle.withLock { idle in
                for contexts in idle.values { contexts.forEach { EVP_PKEY_CTX_free($0.pointer) } }
            }
            EVP_PKEY_free(pointer)
        }

        var bitCount: Int { Int(EVP_PKEY_get_bits(pointer)) }

        /// Runs a verification with a context for the algorithm, and saves the context for reuse if it succeeded.
        private func verify(_ algorithm: JWSAlgorithm, _ body: (OpaquePointer) -> Bool) -> Bool {
            let kept = idle.withLock { $0[algorithm]?.popLast() }
            guard let context = kept?.pointer ?? context(algorithm, signing: false) else { return false }
            guard body(context) else {
                EVP_PKEY_CTX_free(context)
                return false
            }
            let returned = IdleContext(pointer: context)
            let isKept = idle.withLock { idle in
                guard idle[algorithm, default: []].count < Self.maximumIdle else { return false }
                idle[algorithm, default: []].append(returned)
                return true
            }
            if !isKept { EVP_PKEY_CTX_free(context) }
            return true
        }

        /// Returns a new context for RSA or ECDSA with a digest, or `nil` if the key does not support the algorithm.
        private func context(_ algorithm: JWSAlgorithm, signing: Bool) -> OpaquePointer? {
            guard let digest = algorithm.digest.evp, let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else {
                return nil
            }
            let isReady =
                (signing ? EVP_PKEY_sign_init(context) : EVP_PKEY_verify_init(context)) == 1
                && prepare(context, algorithm, digest)
            guard isReady else {
                EVP_PKEY_CTX_free(context)
                return nil
            }
            return context
        }

        private func prepare(_ context: OpaquePointer, _ algorithm: JWSAlgorithm, _ digest: OpaquePointer) -> Bool {
            guard algorithm.keyType == .rsa else { return EVP_PKEY_CTX_set_signature_md(context, digest) == 1 }
            guard algorithm.usesPSS else {
                return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1
                    && EVP_PKEY_CTX_set_signature_md(context, digest) == 1
            }
            return EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_signature_md(context, digest) == 1
                && EVP_PKEY_CTX_set_rsa_mgf1_md(context, digest) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(context, Int32(algorithm.digest.byteCount)) == 1
        }
    }

    extension KeyHandle: Redacted {
        var description: String { "KeyHandle(hidden)" }
    }

    // MARK: - Creating keys

    extension KeyHandle {
        /// Returns an RSA key.
        ///
        /// - Throws: ``JOSEError/invalidKey(_:)`` if the library rejects the numbers.
        static func rsa(_ numbers: RSANumbers) throws(JOSEError) -> KeyHandle {
            var named = [(name: ParameterName.modulus, bytes: numbers.n), (name: .publicExponent, bytes: numbers.e)]
            if let d = numbers.d { named.append((.privateExponent, d)) }
            named += zip(ParameterName.remainders, numbers.remainders).map { (name: $0, bytes: $1) }
            guard let handle = make("RSA", isPrivate: numbers.d != nil, numbers: named) else { throw refusal() }
            return handle
        }

        /// Returns a key of a NIST curve.
        ///
        /// - Throws: ``JOSEError/invalidKey(_:)`` if the point is not on the curve or `d` does not belong to it.
        static func ellipticCurve(
            _ curve: JWK.Curve, x: [UInt8], y: [UInt8], d: [UInt8]?
        ) throws(JOSEError) -> KeyHandle {
            let numbers = d.map { [(name: ParameterName.privateKey, bytes: $0)] } ?? []
            guard
                let handle = make(
                    "EC", isPrivate: d != nil, group: curve.rawValue, point: [4] + x + y, numbers: numbers),
                handle.check({ EVP_PKEY_public_check_quick($0) })
            else { throw refusal("the point is not on \(curve.rawValue)") }
            guard d == nil || handle.check({ EVP_PKEY_pairwise_check($0) }) else {
                throw refusal("d does not belong to x and y")
            }
            return handle
        }

        /// Returns an Ed25519 key.
        ///
        /// - Throws: ``JOSEError/invalidKey(_:)`` if `d` does not belong to `x`.
        static func ed25519(x: [UInt8], d: [UInt8]?) throws(JOSEError) -> KeyHandle {
            let pointer =
                d.map { EVP_PKEY_new_raw_private_key_ex(nil, "ED25519", nil, $0, $0.count) }
                ?? EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, x, x.count)
            guard let handle = pointer.map(KeyHandle.init(owning:)) else {
                throw refusal(d == nil ? "libcrypto refuses it" : "d does not belong to x")
            }
            guard d == nil || handle.point == x else { throw .invalidKey("d does not belong to x") }
            return handle
        }

        private static func refusal(_ reason: String = "libcrypto refuses it") -> JOSEError {
            ERR_clear_error()
            return .invalidKey(reason)
        }

        private func check(_ check: (OpaquePointer) -> Int32) -> Bool {
            guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
            defer { EVP_PKEY_CTX_free(context) }
            return check(context) == 1
        }

        /// Returns a new key pair with the exponent 65537, or `nil` if the library fails.
        static func generateRSA(bits: Int) -> KeyHandle? { generate("RSA", bits: Int32(bits)) }

        /// Returns a new key pair, or `nil` if the library fails.
        static func generate(_ curve: JWK.Curve) -> KeyHandle? {
            curve == .ed25519 ? generate("ED25519") : generate("EC", group: curve.rawValue)
        }

        /// The parts of a key that libcrypto imports.
        private static let publicSelection: Int32 = 0x86  // OSSL_KEYMGMT_SELECT_ALL_PARAMETERS | …_PUBLIC_KEY
        private static let pairSelection: Int32 = 0x87  // the same and OSSL_KEYMGMT_SELECT_PRIVATE_KEY

        /// Returns a key from named numbers and, for elliptic curves, a group and a point.
        private static func make(
            _ type: String, isPrivate: Bool, group: String? = nil, point: [UInt8] = [],
            numbers: [(name: ParameterName, bytes: [UInt8])]
        ) -> KeyHandle? {
            guard let builder = OSSL_PARAM_BLD_new() else { return nil }
            defer { OSSL_PARAM_BLD_free(builder) }
            // The builder stores only addresses until the parameters exist, so the numbers must live until then.
            var pushed: [OpaquePointer] = []
            defer { pushed.forEach(BN_clear_free) }
            for number in numbers {
                guard let count = Int32(exactly: number.bytes.count), let value = BN_secure_new() else { return nil }
                pushed.append(value)
                guard BN_bin2bn(number.bytes, count, value) != nil,
                    OSSL_PARAM_BLD_push_BN(builder, number.name.cString, value) == 1
                else { return nil }
            }
            guard let parameters = parameters(builder, group, point) else { return nil }
            defer { OSSL_PARAM_free(parameters) }
            guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
            defer { EVP_PKEY_CTX_free(context) }
            var key: OpaquePointer?
            guard EVP_PKEY_fromdata_init(context) == 1,
                EVP_PKEY_fromdata(context, &key, isPrivate ? pairSelection : publicSelection, parameters) == 1, let key
            else { return nil }
            return KeyHandle(owning: key)
        }

        /// Returns parameters from the pushed numbers and from copies of a group and a point.
        private static func parameters(
            _ builder: OpaquePointer, _ group: String?, _ point: [UInt8]
        ) -> UnsafeMutablePointer<OSSL_PARAM>? {
            guard let group else { return OSSL_PARAM_BLD_to_param(builder) }
            return group.withCString { name in
                point.withUnsafeBufferPointer { point in
                    guard
                        OSSL_PARAM_BLD_push_utf8_string(builder, ParameterName.group.cString, name, group.utf8.count)
                            == 1,
                        OSSL_PARAM_BLD_push_octet_string(
                            builder, ParameterName.publicKey.cString, point.baseAddress, point.count) == 1
                    else { return nil }
                    return OSSL_PARAM_BLD_to_param(builder)
                }
            }
        }

        private static func generate(_ type: String, bits: Int32? = nil, group: String? = nil) -> KeyHandle? {
            guard let context = EVP_PKEY_CTX_new_from_name(nil, type, nil) else { return nil }
            defer { EVP_PKEY_CTX_free(context) }
            guard EVP_PKEY_keygen_init(context) == 1 else { return nil }
            if let bits, EVP_PKEY_CTX_set_rsa_keygen_bits(context, bits) != 1 { return nil }
            if let group, EVP_PKEY_CTX_set_group_name(context, group) != 1 { return nil }
            var key: OpaquePointer?
            guard EVP_PKEY_generate(context, &key) == 1, let key else { return nil }
            return KeyHandle(owning: key)
        }

        // MARK: Reading keys

        /// The numbers of an RSA key, with the private ones if the key has them.
        var rsaNumbers: RSANumbers? {
            // The library reports an error for each missing number.
            defer { ERR_clear_error() }
            guard let n = number(.modulus), let e = number(.publicExponent) else { return nil }
            let remainders = ParameterName.remainders.compactMap { number($0) }
            guard remainders.isEmpty || remainders.count == ParameterName.remainders.count else { return nil }
            return RSANumbers(n: n, e: e, d: number(.privateExponent), remainders: remainders)
        }

        /// The public key of a curve: 4, x and y, or the 32 bytes of Ed25519.
        var point: [UInt8]? {
            guard let count = coordinateByteCount else { return raw(EVP_PKEY_get_raw_public_key) }
            guard let x = number(.x, count: count), let y = number(.y, count: count) else { return nil }
            return [4] + x + y
        }

        /// The private number of a curve, as long as a coordinate.
        var privateNumber: [UInt8]? {
            guard let count = coordinateByteCount else { return raw(EVP_PKEY_get_raw_private_key) }
            return number(.privateKey, count: count)
        }

        /// The length of a coordinate, or `nil` for Ed25519.
        private var coordinateByteCount: Int? {
            EVP_PKEY_is_a(pointer, "EC") == 1 ? (bitCount + 7) / 8 : nil
        }

        private func number(_ name: ParameterName, count: Int? = nil) -> [UInt8]? {
            var found: OpaquePointer?
            guard EVP_PKEY_get_bn_param(pointer, name.cString, &found) == 1, let number = found else {
                ERR_clear_error()
                return nil
            }
            defer { BN_clear_free(number) }
            let count = count ?? Int(BN_num_bits(number) + 7) / 8
            var bytes = [UInt8](repeating: 0, count: count)
            return BN_bn2binpad(number, &bytes, Int32(count)) == Int32(count) ? bytes : nil
        }

        private func raw(
            _ read: (OpaquePointer?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?) -> Int32
        ) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: 32)
            var count = bytes.count
            guard read(pointer, &bytes, &count) == 1, count == 32 else {
                ERR_clear_error()
                return nil
            }
            return bytes
        }
    }

    /// libcrypto's name of a part of a key. Parameters store only its address, so it must never be freed.
    private struct ParameterName: Sendable {
        let text: StaticString

        /// The zero-terminated name. A literal always has an address.
        var cString: UnsafePointer<CChar> { UnsafeRawPointer(text.utf8Start).assumingMemoryBound(to: CChar.self) }

        static let group = ParameterName(text: "group")
        static let publicKey = ParameterName(text: "pub")
        static let privateKey = ParameterName(text: "priv")
        static let x = ParameterName(text: "qx")
        static let y = ParameterName(text: "qy")
        static let modulus = ParameterName(text: "n")
        static let publicExponent = ParameterName(text: "e")
        static let privateExponent = ParameterName(text: "d")

        /// The names of ``RSANumbers/remainders``.
        static let remainders = [
            ParameterName(text: "rsa-factor1"), ParameterName(text: "rsa-factor2"),
            ParameterName(text: "rsa-exponent1"),
            ParameterName(text: "rsa-exponent2"), ParameterName(text: "rsa-coefficient1"),
        ]
    }

    // MARK: - Signatures

    extension KeyHandle {
        /// Verifies a signature that has the length of the algorithm.
        func verify(_ signature: [UInt8], _ content: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
            let isValid =
                switch algorithm.keyType {
                case .rsa: verify(signature, digest: algorithm.digest.digest(content), algorithm)
                case .ec: verifyECDSA(signature, content, algorithm)
                case .okp: verifyEd25519(signature, content)
                case .symmetric: false
                }
            // A failed verification leaves its reasons in libcrypto's error queue of the thread.
            if !isValid { ERR_clear_error() }
            return isValid
        }

        func sign(_ content: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8]? {
            let signature: [UInt8]? =
                switch algorithm.keyType {
                case .rsa: signDigest(algorithm.digest.digest(content), algorithm)
                case .ec:
                    signDigest(algorithm.digest.digest(content), algorithm).flatMap { Self.fixedLength($0, algorithm) }
                case .okp: signEd25519(content)
                case .symmetric: nil
                }
            if signature == nil { ERR_clear_error() }
            return signature
        }

        private func verifyECDSA(_ signature: [UInt8], _ content: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
            guard let half = algorithm.curve?.coordinateByteCount,
                let encoded = Self.derEncoded(signature, half)
            else { return false }
            return verify(encoded, digest: algorithm.digest.digest(content), algorithm)
        }

        private func verify(_ signature: [UInt8], digest: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
            verify(algorithm) { context in
                // Only 1 is a match: 0 is a different signature, and a negative result is an error.
                EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
            }
        }

        private func verifyEd25519(_ signature: [UInt8], _ content: [UInt8]) -> Bool {
            guard let context = EVP_MD_CTX_new() else { return false }
            defer { EVP_MD_CTX_free(context) }
            return EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, pointer, nil) == 1
                && EVP_DigestVerify(context, signature, signature.count, content, content.count) == 1
        }

        private func signDigest(_ digest: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8]? {
            guard let context = context(algorithm, signing: true) else { return nil }
            defer { EVP_PKEY_CTX_free(context) }
            var count = Int(EVP_PKEY_get_size(pointer))
            guard count > 0 else { return nil }
            var signature = [UInt8](repeating: 0, count: count)
            guard EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1 else { return nil }
            return Array(signature.prefix(count))
        }

        private func signEd25519(_ content: [UInt8]) -> [UInt8]? {
            guard let context = EVP_MD_CTX_new() else { return nil }
            defer { EVP_MD_CTX_free(context) }
            var signature = [UInt8](repeating: 0, count: 64)
            var count = signature.count
            guard EVP_DigestSignInit_ex(context, nil, nil, nil, nil, pointer, nil) == 1,
                EVP_DigestSign(context, &signature, &count, content, content.count) == 1, count == 64
            else { return nil }
            return signature
        }

        /// Returns R and S as the DER sequence of libcrypto. RFC 7518 section 3.4 concatenates them.
        private static func derEncoded(_ signature: [UInt8], _ half: Int) -> [UInt8]? {
            guard let pair = ECDSA_SIG_new() else { return nil }
            defer { ECDSA_SIG_free(pair) }
            let numbers: (r: OpaquePointer, s: OpaquePointer)? = signature.withUnsafeBufferPointer { bytes in
                guard let start = bytes.baseAddress, let r = BN_bin2bn(start, Int32(half), nil) else { return nil }
                guard let s = BN_bin2bn(start + half, Int32(half), nil) else {
                    BN_free(r)
                    return nil
                }
                return (r, s)
            }
            guard let numbers else { return nil }
            guard ECDSA_SIG_set0(pair, numbers.r, numbers.s) == 1 else {
                BN_free(numbers.r)
                BN_free(numbers.s)
                return nil
            }
            let count = Int(i2d_ECDSA_SIG(pair, nil))
            guard count > 0 else { return nil }
            return [UInt8](unsafeUninitializedCapacity: count) { output, written in
                var end = output.baseAddress
                written = Int(max(0, i2d_ECDSA_SIG(pair, &end)))
            }
        }

        /// Returns R and S concatenated, each as long as a coordinate.
        private static func fixedLength(_ encoded: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8]? {
            guard let half = algorithm.curve?.coordinateByteCount else { return nil }
            let pair = encoded.withUnsafeBufferPointer { bytes in
                var position = bytes.baseAddress
                return d2i_ECDSA_SIG(nil, &position, bytes.count)
            }
            guard let pair else { return nil }
            defer { ECDSA_SIG_free(pair) }
            var r = [UInt8](repeating: 0, count: half)
            var s = r
            guard BN_bn2binpad(ECDSA_SIG_get0_r(pair), &r, Int32(half)) == half,
                BN_bn2binpad(ECDSA_SIG_get0_s(pair), &s, Int32(half)) == half
            else { return nil }
            return r + s
        }
    }
#endif
