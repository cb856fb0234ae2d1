import LodgePlatform

/// The functions of libsodium for `crypto_box` of NaCl: X25519, XSalsa20 and Poly1305.
///
/// The library is loaded at run time; the program also runs without it. See https://doc.libsodium.org.
struct LibSodium {
    typealias Bytes = UnsafePointer<UInt8>
    typealias MutableBytes = UnsafeMutablePointer<UInt8>

    private static let fileNames = platformValue(
        linux: ["libsodium.so.23", "libsodium.so.26", "libsodium.so"],
        darwin: [
            "/opt/homebrew/lib/libsodium.dylib", "/usr/local/lib/libsodium.dylib", "libsodium.dylib",
        ])
    /// The package to install.
    static let packageName = platformValue(
        linux: "libsodium23 (Debian, Ubuntu) or libsodium (Fedora)", darwin: "libsodium (brew install libsodium)")

    let createKeys: @convention(c) (_ publicKey: MutableBytes, _ secretKey: MutableBytes) -> Int32
    let deriveKey: @convention(c) (_ key: MutableBytes, _ publicKey: Bytes, _ secretKey: Bytes) -> Int32
    let seal: @convention(c) (MutableBytes, _ message: Bytes, UInt64, _ nonce: Bytes, _ key: Bytes) -> Int32
    let open: @convention(c) (MutableBytes, _ cipher: Bytes, UInt64, _ nonce: Bytes, _ key: Bytes) -> Int32
    let fillRandomly: @convention(c) (UnsafeMutableRawPointer, Int) -> Void
    let erase: @convention(c) (UnsafeMutableRawPointer, Int) -> Void

    init(fileNames: [String] = Self.fileNames) throws(DynamicLibrary.Missing) {
        let library = try DynamicLibrary(fileNames: fileNames)
        createKeys = try library.function("crypto_box_keypair")
        deriveKey = try library.function("crypto_box_beforenm")
        seal = try library.function("crypto_box_easy_afternm")
        open = try library.function("crypto_box_open_easy_afternm")
        fillRandomly = try library.function("randombytes_buf")
        erase = try library.function("sodium_memzero")
        let start: @convention(c) () -> Int32 = try library.function("sodium_init")
        guard start() >= 0 else { throw DynamicLibrary.Missing(reason: "sodium_init failed") }
    }
}

/// The encryption of one request and its response, with a new key pair. Erases its keys at the end.
final class CryptoBox {
    static let keySize = 32
    static let nonceSize = 24
    /// The size of the authentication tag, which precedes the encrypted bytes.
    static let tagSize = 16

    /// The public key for the other side.
    let publicKey: [UInt8]
    private let sodium: LibSodium
    private let key: UnsafeMutablePointer<UInt8>

    /// Creates a key pair, and the key that both sides share.
    ///
    /// - Parameters:
    ///   - peer: The public key of the other side, 32 bytes.
    ///   - fixedSecretKey: The secret key, for tests. The default is a new one.
    /// - Returns: `nil` if the public key is not a valid point.
    init?(_ sodium: LibSodium, peer: [UInt8], fixedSecretKey: [UInt8]? = nil) {
        guard peer.count == Self.keySize, fixedSecretKey?.count ?? Self.keySize == Self.keySize else { return nil }
        let secretKey = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.keySize)
        key = .allocate(capacity: Self.keySize)
        key.initialize(repeating: 0, count: Self.keySize)
        defer {
            sodium.erase(secretKey, Self.keySize)
            secretKey.deallocate()
        }
        var publicKey = [UInt8](repeating: 0, count: Self.keySize)
        _ = sodium.createKeys(&publicKey, secretKey)
        if let fixedSecretKey { secretKey.update(from: fixedSecretKey, count: Self.keySize) }
        self.publicKey = publicKey
        self.sodium = sodium
        guard sodium.deriveKey(key, peer, secretKey) == 0 else { return nil }
    }

    deinit {
        sodium.erase(key, Self.keySize)
        key.deallocate()
    }

    /// Encrypts a message with a new nonce.
    ///
    /// - Parameter fixedNonce: The nonce, for tests. The default is a random one.
    func seal(_ message: [UInt8], fixedNonce: [UInt8]? = nil) -> (nonce: [UInt8], cipher: [UInt8]) {
        var nonce = [UInt8](repeating: 0, count: Self.nonceSize)
        sodium.fillRandomly(&nonce, nonce.count)
        if let fixedNonce { nonce = fixedNonce }
        var cipher = [UInt8](repeating: 0, count: message.count + Self.tagSize)
        _ = sodium.seal(&cipher, message, UInt64(message.count), nonce, key)
        return (nonce, cipher)
    }

    /// Decrypts a message. Returns `nil` if it was changed, or encrypted with a different key.
    func open(_ cipher: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard nonce.count == Self.nonceSize, cipher.count >= Self.tagSize else { return nil }
        var message = [UInt8](repeating: 0, count: cipher.count - Self.tagSize)
        guard sodium.open(&message, cipher, UInt64(cipher.count), nonce, key) == 0 else { return nil }
        return message
    }
}
