internal import StandInOpenSSL

/// A curve of NIST.
public protocol StandInCurve: Sendable {
    static var name: String { get }
    static var byteCount: Int { get }
}

public enum StandInP256: StandInCurve {
    public static let name = "P-256"
    public static let byteCount = 32
}
public enum StandInP384: StandInCurve {
    public static let name = "P-384"
    public static let byteCount = 48
}
public enum StandInP521: StandInCurve {
    public static let name = "P-521"
    public static let byteCount = 66
}

public enum P256 {
    public enum Signing {
        public typealias PublicKey = StandInPublicKey<StandInP256>
        public typealias PrivateKey = StandInPrivateKey<StandInP256>
        public typealias ECDSASignature = StandInSignature<StandInP256>
    }
}
public enum P384 {
    public enum Signing {
        public typealias PublicKey = StandInPublicKey<StandInP384>
        public typealias PrivateKey = StandInPrivateKey<StandInP384>
        public typealias ECDSASignature = StandInSignature<StandInP384>
    }
}
public enum P521 {
    public enum Signing {
        public typealias PublicKey = StandInPublicKey<StandInP521>
        public typealias PrivateKey = StandInPrivateKey<StandInP521>
        public typealias ECDSASignature = StandInSignature<StandInP521>
    }
}

/// The names of parts of a key. A parameter stores only the address of its name.
private enum ParameterName {
    nonisolated(unsafe) static let group = strdup("group")
    nonisolated(unsafe) static let publicKey = strdup("pub")
    nonisolated(unsafe) static let privateKey = strdup("priv")
}

/// A key of libcrypto. It never changes, and its reference count is atomic.
final class LibcryptoKey: @unchecked Sendable {
    let pointer: OpaquePointer
    init(_ pointer: OpaquePointer) { self.pointer = pointer }
    deinit { EVP_PKEY_free(pointer) }

    static func ellipticCurve(_ curve: String, point: [UInt8], d: [UInt8]?) -> LibcryptoKey? {
        let builder = OSSL_PARAM_BLD_new()
        defer { OSSL_PARAM_BLD_free(builder) }
        let number = d.map { BN_bin2bn($0, Int32($0.count), BN_secure_new()) }
        defer { number.map { BN_clear_free($0) } }
        return curve.withCString { name in
            point.withUnsafeBufferPointer { point in
                OSSL_PARAM_BLD_push_utf8_string(builder, ParameterName.group, name, 0)
                OSSL_PARAM_BLD_push_octet_string(builder, ParameterName.publicKey, point.baseAddress, point.count)
                if let number { OSSL_PARAM_BLD_push_BN(builder, ParameterName.privateKey, number) }
                guard let parameters = OSSL_PARAM_BLD_to_param(builder) else { return nil }
                defer { OSSL_PARAM_free(parameters) }
                let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
                defer { EVP_PKEY_CTX_free(context) }
                var key: OpaquePointer?
                guard EVP_PKEY_fromdata_init(context) == 1,
                    EVP_PKEY_fromdata(context, &key, d == nil ? EVP_PKEY_PUBLIC_KEY : EVP_PKEY_KEYPAIR, parameters)
                        == 1,
                    let key
                else { return nil }
                let result = LibcryptoKey(key)
                let checks = EVP_PKEY_CTX_new_from_pkey(nil, key, nil)
                defer { EVP_PKEY_CTX_free(checks) }
                guard EVP_PKEY_public_check(checks) == 1, d == nil || EVP_PKEY_pairwise_check(checks) == 1 else {
                    return nil
                }
                return result
            }
        }
    }

    func number(_ name: String, _ count: Int) -> [UInt8] {
        var number: OpaquePointer?
        precondition(EVP_PKEY_get_bn_param(pointer, name, &number) == 1)
        defer { BN_clear_free(number) }
        var bytes = [UInt8](repeating: 0, count: count)
        BN_bn2binpad(number, &bytes, Int32(count))
        return bytes
    }
}

/// EVP_PKEY_PUBLIC_KEY and EVP_PKEY_KEYPAIR of openssl/evp.h.
private let EVP_PKEY_PUBLIC_KEY: Int32 = 0x86
private let EVP_PKEY_KEYPAIR: Int32 = 0x87

public struct StandInPublicKey<Curve: StandInCurve>: Sendable {
    let key: LibcryptoKey

    init(_ key: LibcryptoKey) { self.key = key }

    public init<D: ContiguousBytes>(x963Representation: D) throws {
        let bytes = x963Representation.withUnsafeBytes { Array($0) }
        guard bytes.count == 1 + 2 * Curve.byteCount, bytes[0] == 4 else {
            throw CryptoKitError.incorrectParameterSize
        }
        guard let key = LibcryptoKey.ellipticCurve(Curve.name, point: bytes, d: nil) else {
            ERR_clear_error()
            throw CryptoKitError.underlyingCoreCryptoError(error: -7)
        }
        self.key = key
    }

    public init<D: ContiguousBytes>(rawRepresentation: D) throws {
        try self.init(x963Representation: [4] + rawRepresentation.withUnsafeBytes { Array($0) })
    }

    public var rawRepresentation: Data {
        Data(key.number("qx", Curve.byteCount) + key.number("qy", Curve.byteCount))
    }

    public var x963Representation: Data { Data([4]) + rawRepresentation }

    public func isValidSignature<D: Digest>(_ signature: StandInSignature<Curve>, for digest: D) -> Bool {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        let encoded = signature.derBytes
        let digest = Array(digest)
        let isValid =
            EVP_PKEY_verify_init(context) == 1
            && EVP_PKEY_verify(context, encoded, encoded.count, digest, digest.count) == 1
        if !isValid { ERR_clear_error() }
        return isValid
    }
}

public struct StandInPrivateKey<Curve: StandInCurve>: Sendable {
    let key: LibcryptoKey

    public init(compactRepresentable: Bool = true) {
        let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        EVP_PKEY_keygen_init(context)
        EVP_PKEY_CTX_set_group_name(context, Curve.name)
        guard EVP_PKEY_generate(context, &key) == 1, let key else { fatalError("no key") }
        self.key = LibcryptoKey(key)
    }

    public init<D: ContiguousBytes>(rawRepresentation: D) throws {
        let d = rawRepresentation.withUnsafeBytes { Array($0) }
        guard d.count == Curve.byteCount else { throw CryptoKitError.incorrectKeySize }
        // The point is d times the generator.
        let identifiers = ["P-256": NID_X9_62_prime256v1, "P-384": NID_secp384r1, "P-521": NID_secp521r1]
        let group = EC_GROUP_new_by_curve_name(identifiers[Curve.name] ?? 0)
        defer { EC_GROUP_free(group) }
        let point = EC_POINT_new(group)
        defer { EC_POINT_free(point) }
        let number = BN_bin2bn(d, Int32(d.count), nil)
        defer { BN_clear_free(number) }
        var bytes = [UInt8](repeating: 0, count: 1 + 2 * Curve.byteCount)
        guard BN_is_zero(number) == 0, BN_cmp(number, EC_GROUP_get0_order(group)) < 0,
            EC_POINT_mul(group, point, number, nil, nil, nil) == 1,
            EC_POINT_point2oct(group, point, POINT_CONVERSION_UNCOMPRESSED, &bytes, bytes.count, nil) == bytes.count,
            let key = LibcryptoKey.ellipticCurve(Curve.name, point: bytes, d: d)
        else {
            ERR_clear_error()
            throw CryptoKitError.underlyingCoreCryptoError(error: -7)
        }
        self.key = key
    }

    public var publicKey: StandInPublicKey<Curve> { StandInPublicKey(key) }
    public var rawRepresentation: Data { Data(key.number("priv", Curve.byteCount)) }

    public func signature<D: Digest>(for digest: D) throws -> StandInSignature<Curve> {
        let context = EVP_PKEY_CTX_new_from_pkey(nil, key.pointer, nil)
        defer { EVP_PKEY_CTX_free(context) }
        let digest = Array(digest)
        var encoded = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key.pointer)))
        var count = encoded.count
        guard EVP_PKEY_sign_init(context) == 1,
            EVP_PKEY_sign(context, &encoded, &count, digest, digest.count) == 1
        else { throw CryptoKitError.underlyingCoreCryptoError(error: -1) }
        return try StandInSignature(derRepresentation: encoded.prefix(count))
    }
}

public struct StandInSignature<Curve: StandInCurve>: Sendable {
    public let rawRepresentation: Data

    public init<D: DataProtocol>(rawRepresentation: D) throws {
        guard rawRepresentation.count == 2 * Curve.byteCount else { throw CryptoKitError.incorrectParameterSize }
        self.rawRepresentation = Data(rawRepresentation)
    }

    public init<D: DataProtocol>(derRepresentation: D) throws {
        let bytes = Array(derRepresentation)
        let pair = bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &position, bytes.count)
        }
        guard let pair else { throw CryptoKitError.incorrectParameterSize }
        defer { ECDSA_SIG_free(pair) }
        var raw = [UInt8](repeating: 0, count: 2 * Curve.byteCount)
        raw.withUnsafeMutableBufferPointer { raw in
            _ = BN_bn2binpad(ECDSA_SIG_get0_r(pair), raw.baseAddress, Int32(Curve.byteCount))
            _ = BN_bn2binpad(
                ECDSA_SIG_get0_s(pair), raw.baseAddress.map { $0 + Curve.byteCount }, Int32(Curve.byteCount))
        }
        rawRepresentation = Data(raw)
    }

    var derBytes: [UInt8] {
        let bytes = Array(rawRepresentation)
        let r = BN_bin2bn(bytes, Int32(Curve.byteCount), nil)
        let s = BN_bin2bn(Array(bytes.suffix(Curve.byteCount)), Int32(Curve.byteCount), nil)
        let pair = ECDSA_SIG_new()
        defer { ECDSA_SIG_free(pair) }
        ECDSA_SIG_set0(pair, r, s)
        var encoded = [UInt8](repeating: 0, count: Int(i2d_ECDSA_SIG(pair, nil)))
        encoded.withUnsafeMutableBufferPointer { encoded in
            var end = encoded.baseAddress
            _ = i2d_ECDSA_SIG(pair, &end)
        }
        return encoded
    }
}

public enum Curve25519 {
    public enum Signing {
        public struct PublicKey: Sendable {
            let key: LibcryptoKey

            init(_ key: LibcryptoKey) { self.key = key }

            public init<D: ContiguousBytes>(rawRepresentation: D) throws {
                let bytes = rawRepresentation.withUnsafeBytes { Array($0) }
                guard bytes.count == 32,
                    let key = EVP_PKEY_new_raw_public_key_ex(nil, "ED25519", nil, bytes, bytes.count)
                else { throw CryptoKitError.incorrectKeySize }
                self.key = LibcryptoKey(key)
            }

            public var rawRepresentation: Data {
                var bytes = [UInt8](repeating: 0, count: 32)
                var count = 32
                precondition(EVP_PKEY_get_raw_public_key(key.pointer, &bytes, &count) == 1)
                return Data(bytes)
            }

            public func isValidSignature<S: DataProtocol, D: DataProtocol>(_ signature: S, for data: D) -> Bool {
                let context = EVP_MD_CTX_new()
                defer { EVP_MD_CTX_free(context) }
                let signature = Array(signature)
                let data = Array(data)
                let isValid =
                    signature.count == 64
                    && EVP_DigestVerifyInit_ex(context, nil, nil, nil, nil, key.pointer, nil) == 1
                    && EVP_DigestVerify(context, signature, signature.count, data, data.count) == 1
                if !isValid { ERR_clear_error() }
                return isValid
            }
        }

        public struct PrivateKey: Sendable {
            let key: LibcryptoKey

            public init() { self.init(seed: randomBytes(32)) }

            public init<D: ContiguousBytes>(rawRepresentation: D) throws {
                let bytes = rawRepresentation.withUnsafeBytes { Array($0) }
                guard bytes.count == 32 else { throw CryptoKitError.incorrectKeySize }
                self.init(seed: bytes)
            }

            private init(seed: [UInt8]) {
                guard let key = EVP_PKEY_new_raw_private_key_ex(nil, "ED25519", nil, seed, seed.count) else {
                    fatalError("no key")
                }
                self.key = LibcryptoKey(key)
            }

            public var publicKey: PublicKey { PublicKey(key) }

            public var rawRepresentation: Data {
                var bytes = [UInt8](repeating: 0, count: 32)
                var count = 32
                precondition(EVP_PKEY_get_raw_private_key(key.pointer, &bytes, &count) == 1)
                return Data(bytes)
            }

            // CryptoKit's signatures are randomized; these are not.
            public func signature<D: DataProtocol>(for data: D) throws -> Data {
                let context = EVP_MD_CTX_new()
                defer { EVP_MD_CTX_free(context) }
                var signature = [UInt8](repeating: 0, count: 64)
                var count = 64
                let data = Array(data)
                guard EVP_DigestSignInit_ex(context, nil, nil, nil, nil, key.pointer, nil) == 1,
                    EVP_DigestSign(context, &signature, &count, data, data.count) == 1
                else { throw CryptoKitError.underlyingCoreCryptoError(error: -1) }
                return Data(signature)
            }
        }
    }
}
