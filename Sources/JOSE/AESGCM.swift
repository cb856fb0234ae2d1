import CLodgeOpenSSL
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
    public static let overhead = nonceCount + tagCount
    /// The maximum length of the plain text in bytes.
    public static let maximumPlaintextByteCount = 1 << 30

    private static let nonceCount = 12
    private static let tagCount = 16
    private let secret: SecretBytes

    /// Creates a key from 32 bytes.
    ///
    /// - Throws: ``JOSEError/invalidKey(_:)`` for any other length.
    public init(_ bytes: some Collection<UInt8>) throws(JOSEError) {
        guard bytes.count == Self.byteCount else {
            throw .invalidKey("a sealing key has \(Self.byteCount) bytes, this has \(bytes.count)")
        }
        secret = SecretBytes(bytes)
        // The first lookup initializes libcrypto, which takes milliseconds. Here it runs concurrently with other work.
        _ = Self.cipher
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
        let nonce = try SecureRandom.bytes(Self.nonceCount)
        let plaintext = Array(plaintext)
        guard let sealed = seal(plaintext, nonce, authenticated) else {
            throw .libcrypto("AES-256-GCM could not seal \(plaintext.count) bytes")
        }
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
        guard let plaintext = open(sealed, authenticated) else {
            ERR_clear_error()
            throw .unsealing
        }
        return plaintext
    }

    // A fetched cipher never changes, is thread-safe, and is never freed.
    nonisolated(unsafe) private static let cipher = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)

    private func seal(_ plaintext: [UInt8], _ nonce: [UInt8], _ authenticated: [UInt8]) -> [UInt8]? {
        guard plaintext.count <= Self.maximumPlaintextByteCount, let length = Int32(exactly: plaintext.count),
            let authenticatedLength = Int32(exactly: authenticated.count), let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        guard secret.withBytes({ EVP_EncryptInit_ex2(context, Self.cipher, $0.baseAddress, nonce, nil) }) == 1 else {
            return nil
        }
        var count: Int32 = 0
        guard authenticated.isEmpty || EVP_EncryptUpdate(context, nil, &count, authenticated, authenticatedLength) == 1
        else { return nil }
        var succeeded = false
        let sealed = [UInt8](unsafeUninitializedCapacity: plaintext.count + Self.overhead) { output, written in
            guard let start = output.baseAddress else { return }
            for (index, byte) in nonce.enumerated() { start[index] = byte }
            let text = start + Self.nonceCount
            let tag = text + plaintext.count
            succeeded =
                (plaintext.isEmpty || EVP_EncryptUpdate(context, text, &count, plaintext, length) == 1)
                && EVP_EncryptFinal_ex(context, tag, &count) == 1 && count == 0
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagCount), tag) == 1
            written = succeeded ? plaintext.count + Self.overhead : 0
        }
        return succeeded ? sealed : nil
    }

    private func open(_ sealed: [UInt8], _ authenticated: [UInt8]) -> [UInt8]? {
        let count = sealed.count - Self.overhead
        guard let length = Int32(exactly: count), let authenticatedLength = Int32(exactly: authenticated.count),
            let context = EVP_CIPHER_CTX_new()
        else { return nil }
        defer { EVP_CIPHER_CTX_free(context) }
        var tag = Array(sealed.suffix(Self.tagCount))
        var ignored: Int32 = 0
        guard secret.withBytes({ EVP_DecryptInit_ex2(context, Self.cipher, $0.baseAddress, sealed, nil) }) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagCount), &tag) == 1,
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
                return EVP_DecryptUpdate(context, start, &ignored, source + Self.nonceCount, length) == 1
            }
            // Only the last step checks the tag. Until it succeeds, the text must not be used.
            succeeded = updated && EVP_DecryptFinal_ex(context, start + count, &ignored) == 1
            if succeeded { written = count } else { OPENSSL_cleanse(start, count) }
        }
        return succeeded ? plaintext : nil
    }
}

extension SealingKey: Redacted {
    /// A description without the key.
    public var description: String { "SealingKey(hidden)" }
}
