// A stand-in for Apple's CryptoKit, over libcrypto. The signatures follow the public API that swift-crypto mirrors.

@_exported import Foundation
internal import StandInOpenSSL

public enum CryptoKitError: Error, Equatable {
    case incorrectKeySize
    case incorrectParameterSize
    case authenticationFailure
    case underlyingCoreCryptoError(error: Int32)
}

public protocol Digest: Hashable, ContiguousBytes, CustomStringConvertible, Sequence, Sendable where Element == UInt8 {
    static var byteCount: Int { get }
}

public protocol HashFunction: Sendable {
    associatedtype Digest: CryptoKit.Digest
    static var blockByteCount: Int { get }
    init()
    mutating func update(bufferPointer: UnsafeRawBufferPointer)
    func finalize() -> Digest
}

extension HashFunction {
    public static func hash<D: DataProtocol>(data: D) -> Digest {
        var function = Self()
        function.update(data: data)
        return function.finalize()
    }

    public mutating func update<D: DataProtocol>(data: D) {
        Array(data).withUnsafeBytes { update(bufferPointer: $0) }
    }
}

/// The name of a digest, and its lengths.
public protocol StandInDigest: Sendable {
    static var name: String { get }
    static var byteCount: Int { get }
    static var blockByteCount: Int { get }
}

public struct StandInDigestValue<Kind: StandInDigest>: Digest {
    public static var byteCount: Int { Kind.byteCount }
    let bytes: [UInt8]

    public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
    public var description: String { "\(Kind.name) digest" }
}

public struct StandInHash<Kind: StandInDigest>: HashFunction {
    public static var blockByteCount: Int { Kind.blockByteCount }
    private var bytes: [UInt8] = []

    public init() {}
    public mutating func update(bufferPointer: UnsafeRawBufferPointer) { bytes += bufferPointer }
    public func finalize() -> StandInDigestValue<Kind> {
        var digest = [UInt8](repeating: 0, count: Kind.byteCount)
        var count = digest.count
        precondition(EVP_Q_digest(nil, Kind.name, nil, bytes, bytes.count, &digest, &count) == 1)
        return StandInDigestValue(bytes: digest)
    }
}

public enum StandInSHA256: StandInDigest {
    public static let name = "SHA256"
    public static let byteCount = 32
    public static let blockByteCount = 64
}
public enum StandInSHA384: StandInDigest {
    public static let name = "SHA384"
    public static let byteCount = 48
    public static let blockByteCount = 128
}
public enum StandInSHA512: StandInDigest {
    public static let name = "SHA512"
    public static let byteCount = 64
    public static let blockByteCount = 128
}
public typealias SHA256 = StandInHash<StandInSHA256>
public typealias SHA384 = StandInHash<StandInSHA384>
public typealias SHA512 = StandInHash<StandInSHA512>

// MARK: - Symmetric keys

public struct SymmetricKey: Sendable, ContiguousBytes {
    let bytes: [UInt8]

    public init<D: ContiguousBytes>(data: D) { bytes = data.withUnsafeBytes { Array($0) } }
    public var bitCount: Int { bytes.count * 8 }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
}

public struct HashedAuthenticationCode<H: HashFunction>: Sequence, ContiguousBytes, Sendable {
    let bytes: [UInt8]

    public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
    public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try bytes.withUnsafeBytes(body)
    }
}

public struct HMAC<H: HashFunction> {
    // RFC 2104, with the hash function itself.
    public static func authenticationCode<D: DataProtocol>(
        for data: D, using key: SymmetricKey
    ) -> HashedAuthenticationCode<H> {
        var block = key.bytes.count > H.blockByteCount ? Array(H.hash(data: key.bytes)) : key.bytes
        block += [UInt8](repeating: 0, count: H.blockByteCount - block.count)
        let inner = H.hash(data: block.map { $0 ^ 0x36 } + Array(data))
        return HashedAuthenticationCode(bytes: Array(H.hash(data: block.map { $0 ^ 0x5C } + Array(inner))))
    }
}

public enum AES {
    public enum GCM {
        public struct Nonce: ContiguousBytes, Sequence, Sendable {
            let bytes: [UInt8]

            public init() { bytes = randomBytes(12) }
            public init<D: DataProtocol>(data: D) throws {
                guard data.count >= 12 else { throw CryptoKitError.incorrectParameterSize }
                bytes = Array(data)
            }
            public func makeIterator() -> Array<UInt8>.Iterator { bytes.makeIterator() }
            public func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
                try bytes.withUnsafeBytes(body)
            }
        }

        public struct SealedBox: Sendable {
            public let nonce: Nonce
            public let ciphertext: Data
            public let tag: Data

            /// `nil` for a nonce that does not have 12 bytes.
            public var combined: Data? { nonce.bytes.count == 12 ? Data(nonce.bytes) + ciphertext + tag : nil }

            public init<D: DataProtocol>(combined: D) throws {
                guard combined.count >= 28 else { throw CryptoKitError.incorrectParameterSize }
                nonce = try Nonce(data: Array(combined.prefix(12)))
                ciphertext = Data(combined.dropFirst(12).dropLast(16))
                tag = Data(combined.suffix(16))
            }

            init(_ nonce: Nonce, _ ciphertext: Data, _ tag: Data) {
                self.nonce = nonce
                self.ciphertext = ciphertext
                self.tag = tag
            }
        }

        public static func seal<P: DataProtocol, A: DataProtocol>(
            _ message: P, using key: SymmetricKey, nonce: Nonce? = nil, authenticating data: A
        ) throws -> SealedBox {
            let nonce = nonce ?? Nonce()
            let (context, name) = try context(key)
            defer { EVP_CIPHER_CTX_free(context) }
            defer { EVP_CIPHER_free(name) }
            let message = Array(message)
            var text = [UInt8](repeating: 0, count: message.count + 1)
            var tag = [UInt8](repeating: 0, count: 16)
            var count: Int32 = 0
            guard EVP_EncryptInit_ex2(context, name, nil, nil, nil) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(nonce.bytes.count), nil) == 1,
                EVP_EncryptInit_ex2(context, nil, key.bytes, nonce.bytes, nil) == 1,
                data.isEmpty || EVP_EncryptUpdate(context, nil, &count, Array(data), Int32(data.count)) == 1,
                message.isEmpty || EVP_EncryptUpdate(context, &text, &count, message, Int32(message.count)) == 1,
                EVP_EncryptFinal_ex(context, &tag, &count) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, &tag) == 1
            else { throw CryptoKitError.underlyingCoreCryptoError(error: -1) }
            return SealedBox(nonce, Data(text.dropLast()), Data(tag))
        }

        public static func open<A: DataProtocol>(
            _ box: SealedBox, using key: SymmetricKey, authenticating data: A
        ) throws -> Data {
            let (context, name) = try context(key)
            defer { EVP_CIPHER_CTX_free(context) }
            defer { EVP_CIPHER_free(name) }
            let sealed = Array(box.ciphertext)
            var text = [UInt8](repeating: 0, count: sealed.count + 1)
            var tag = Array(box.tag)
            var count: Int32 = 0
            guard EVP_DecryptInit_ex2(context, name, nil, nil, nil) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_IVLEN, Int32(box.nonce.bytes.count), nil) == 1,
                EVP_DecryptInit_ex2(context, nil, key.bytes, box.nonce.bytes, nil) == 1,
                EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, &tag) == 1,
                data.isEmpty || EVP_DecryptUpdate(context, nil, &count, Array(data), Int32(data.count)) == 1,
                sealed.isEmpty || EVP_DecryptUpdate(context, &text, &count, sealed, Int32(sealed.count)) == 1,
                EVP_DecryptFinal_ex(context, &tag, &count) == 1
            else {
                ERR_clear_error()
                throw CryptoKitError.authenticationFailure
            }
            return Data(text.dropLast())
        }

        private static func context(_ key: SymmetricKey) throws -> (OpaquePointer?, OpaquePointer?) {
            guard [16, 24, 32].contains(key.bytes.count) else { throw CryptoKitError.incorrectKeySize }
            return (EVP_CIPHER_CTX_new(), EVP_CIPHER_fetch(nil, "AES-\(key.bitCount)-GCM", nil))
        }
    }
}

func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    precondition(RAND_bytes(&bytes, Int32(count)) == 1)
    return bytes
}
