#if !canImport(CryptoKit)
    import CLodgeOpenSSL
    import LodgePlatform
    import Synchronization

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
        func verify(_ algorithm: JWSAlgorithm, _ body: (OpaquePointer) -> Bool) -> Bool {
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
        func context(_ algorithm: JWSAlgorithm, signing: Bool) -> OpaquePointer? {
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
#endif
