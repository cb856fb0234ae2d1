import LodgePlatform

/// A 256-bit key that encrypts records with AES-GCM.
///
/// Its descriptions never show it, and its memory is wiped after the last use.
///
/// Nonces are random. Limit each key to 2³² records, above which the probability of equal nonces is too high.
///
/// See [NIST SP 800-38D](https://csrc.nist.gov/pubs/sp/800/38/d/final).
public struct SealingKey: Sendable {
    /// The length of a key in bytes.
    public static let byteCount = 32
    /// The difference in bytes between sealed and plain text: a 12-byte nonce and a 16-byte tag.
    public static let overhead = Crypto.overhead
    /// The maximum length of the plain text in bytes.
    public static let maximumPlaintextByteCount = 1 << 30

    private let secret: SecretBytes

    /// Creates a key from 32 bytes.
    ///
    /// - Throws: ``JOSEError/invalidKey(_:)`` for any other length.
    public init(_ bytes: some Collection<UInt8>) throws(JOSEError) {
        guard bytes.count == Self.byteCount else {
            throw .invalidKey("a sealing key has \(Self.byteCount) bytes, this has \(bytes.count)")
        }
        secret = SecretBytes(bytes)
        // Initializing libcrypto takes milliseconds. Here it runs concurrently with other work.
        Crypto.prepareSealing()
    }

    /// Returns a new random key.
    ///
    /// - Throws: ``JOSEError/cryptography(_:)`` if there are no random bytes.
    public static func random() throws(JOSEError) -> SealingKey { try SealingKey(SecureRandom.bytes(byteCount)) }

    /// The 32 bytes of the key, for storage in a keyring. They are a secret.
    public var bytes: [UInt8] { secret.bytes }

    /// Returns the sealed text: nonce (12 bytes), ciphertext (as long as the plain text), tag (16 bytes).
    ///
    /// - Parameters:
    ///   - plaintext: The text to encrypt, at most ``maximumPlaintextByteCount`` bytes.
    ///   - authenticated: Additional data that is not encrypted and must be the same for opening, such as the record's
    ///     name.
    /// - Throws: ``JOSEError/cryptography(_:)`` if there are no random bytes or the plain text is too long.
    public func seal(
        _ plaintext: some Collection<UInt8>, authenticating authenticated: [UInt8] = []
    ) throws(JOSEError) -> [UInt8] {
        try seal(plaintext, nonce: SecureRandom.bytes(Crypto.nonceByteCount), authenticating: authenticated)
    }

    /// Returns the sealed text with a given nonce. Equal nonces reveal the key, so only tests pass one.
    func seal(
        _ plaintext: some Collection<UInt8>, nonce: [UInt8], authenticating authenticated: [UInt8]
    ) throws(JOSEError) -> [UInt8] {
        let plaintext = Array(plaintext)
        guard plaintext.count <= Self.maximumPlaintextByteCount,
            let sealed = Crypto.seal(plaintext, key: secret, nonce: nonce, authenticating: authenticated)
        else { throw .cryptography("AES-256-GCM could not seal \(plaintext.count) bytes") }
        return sealed
    }

    /// Returns the plain text of a result of ``seal(_:authenticating:)``. Requires the same authenticated data.
    ///
    /// - Throws: ``JOSEError/unsealing`` if the key or the authenticated data differ, or a byte was changed.
    public func open(
        _ sealed: some Collection<UInt8>, authenticating authenticated: [UInt8] = []
    ) throws(JOSEError) -> [UInt8] {
        let sealed = Array(sealed)
        guard sealed.count >= Self.overhead, sealed.count - Self.overhead <= Self.maximumPlaintextByteCount else {
            throw .unsealing
        }
        guard let plaintext = Crypto.open(sealed, key: secret, authenticating: authenticated) else { throw .unsealing }
        return plaintext
    }
}

extension SealingKey: Redacted {
    /// A description without the key.
    public var description: String { "SealingKey(hidden)" }
}
