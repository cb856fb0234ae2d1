/// Derives a key from a passphrase. The derivation is slow and needs much memory, which makes guessing expensive.
///
/// One derivation takes `128 · cost · blockSize` bytes of memory and, with ``standard``, some tenths of a second. Call
/// it on a thread that may block that long.
///
/// See [RFC 7914](https://www.rfc-editor.org/rfc/rfc7914).
package struct Scrypt: Sendable, Hashable {
    /// N: the cost in time and memory, a power of two.
    package let cost: Int
    /// r: the block size in units of 128 bytes.
    package let blockSize: Int
    /// p: the number of sequential repetitions.
    package let parallelization: Int

    /// N = 2¹⁷, r = 8, p = 1: 128 MiB.
    package static let standard = Scrypt(unchecked: 1 << 17, 8, 1)
    /// The maximum memory of one derivation in bytes: 512 MiB.
    ///
    /// Limited because the parameters may come from an untrusted file.
    package static let maximumMemory = 512 << 20
    /// The maximum value of p.
    package static let maximumParallelization = 16

    private init(unchecked cost: Int, _ blockSize: Int, _ parallelization: Int) {
        self.cost = cost
        self.blockSize = blockSize
        self.parallelization = parallelization
    }

    /// Creates parameters.
    ///
    /// - Throws: ``JOSEError/cryptography(_:)`` if the cost is not a power of two greater than 1, or the parameters
    ///   exceed ``maximumMemory`` or ``maximumParallelization``.
    package init(cost: Int, blockSize: Int, parallelization: Int) throws(JOSEError) {
        guard cost > 1, cost & (cost - 1) == 0, (1...1024).contains(blockSize),
            (1...Self.maximumParallelization).contains(parallelization), cost <= Self.maximumMemory / 128 / blockSize
        else { throw .cryptography("scrypt does not take N \(cost), r \(blockSize), p \(parallelization)") }
        self.init(unchecked: cost, blockSize, parallelization)
    }

    /// Returns the key of a passphrase.
    ///
    /// - Parameters:
    ///   - passphrase: the unchanged bytes of the passphrase.
    ///   - salt: random bytes, unique for this key; 16 are enough.
    ///   - count: the length of the key in bytes, 1 to 1024.
    /// - Throws: ``JOSEError/cryptography(_:)`` if there is not enough memory or the count is invalid;
    ///   ``JOSEError/unsupported(_:)`` on Apple platforms.
    package func derive(passphrase: [UInt8], salt: [UInt8], count: Int) throws(JOSEError) -> [UInt8] {
        guard (1...1024).contains(count) else { throw .cryptography("scrypt gives 1 to 1024 bytes here, not \(count)") }
        return try Crypto.scrypt(self, passphrase: passphrase, salt: salt, count: count)
    }
}
