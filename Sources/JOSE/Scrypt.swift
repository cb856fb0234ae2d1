import COpenSSL

/// Makes a key of a passphrase, slowly and with much memory, so that guessing is dear.
///
/// One derivation takes `128 · cost · blockSize` bytes of memory and, with ``standard``, some tenths of a second: call it on a
/// thread that may be busy that long.
///
/// [RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)
public struct Scrypt: Sendable, Hashable {
    /// N: the cost in time and memory, a power of two.
    public let cost: Int
    /// r: the size of a block, in units of 128 bytes.
    public let blockSize: Int
    /// p: how often the work is done one after the other.
    public let parallelization: Int

    /// N = 2¹⁷, r = 8, p = 1: 128 MiB.
    public static let standard = Scrypt(unchecked: 1 << 17, 8, 1)
    /// The most memory that one derivation may take, in bytes: 512 MiB. Parameters that need more are refused, because they
    /// may come from a file that somebody else wrote.
    public static let maximumMemory = 512 << 20
    /// The largest p that is taken.
    public static let maximumParallelization = 16

    private init(unchecked cost: Int, _ blockSize: Int, _ parallelization: Int) {
        self.cost = cost
        self.blockSize = blockSize
        self.parallelization = parallelization
    }

    /// These parameters.
    ///
    /// - Throws: ``JOSEError/cryptography(_:)`` when the cost is no power of two over 1, or the parameters take more than
    ///   ``maximumMemory`` or ``maximumParallelization``.
    public init(cost: Int, blockSize: Int, parallelization: Int) throws(JOSEError) {
        guard cost > 1, cost & (cost - 1) == 0, (1...1024).contains(blockSize),
            (1...Self.maximumParallelization).contains(parallelization), cost <= Self.maximumMemory / 128 / blockSize
        else { throw .cryptography("scrypt does not take N \(cost), r \(blockSize), p \(parallelization)") }
        self.init(unchecked: cost, blockSize, parallelization)
    }

    /// The key of a passphrase.
    ///
    /// - Parameters:
    ///   - passphrase: the passphrase's bytes, as they are.
    ///   - salt: random bytes that belong to this one key; 16 are enough.
    ///   - count: the length of the key in bytes, 1 to 1024.
    /// - Throws: ``JOSEError/cryptography(_:)`` when there is not enough memory, or the count is refused.
    public func derive(passphrase: [UInt8], salt: [UInt8], count: Int) throws(JOSEError) -> [UInt8] {
        guard (1...1024).contains(count) else { throw .cryptography("scrypt gives 1 to 1024 bytes here, not \(count)") }
        // What OpenSSL takes beside the blocks is little; without a limit of one's own it stops at 32 MiB.
        let limit = UInt64(2 * Self.maximumMemory)
        var succeeded = false
        let key = [UInt8](unsafeUninitializedCapacity: count) { output, written in
            succeeded = passphrase.withUnsafeBufferPointer { passphrase in
                // The length counts; a null pointer would mean that nothing is to be derived, only the parameters looked at.
                passphrase.withMemoryRebound(to: CChar.self) { text in
                    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1) { empty in
                        empty.initialize(repeating: 0)
                        return EVP_PBE_scrypt(
                            text.baseAddress ?? UnsafePointer(empty.baseAddress), text.count, salt, salt.count,
                            UInt64(cost), UInt64(blockSize), UInt64(parallelization), limit, output.baseAddress, count)
                            == 1
                    }
                }
            }
            written = succeeded ? count : 0
        }
        guard succeeded else { throw .libcrypto("scrypt needs \(128 * cost * blockSize) bytes of memory") }
        return key
    }
}
