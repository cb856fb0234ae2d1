/// Unpredictable random bytes for keys, `state`, `nonce` and code verifiers.
package enum SecureRandom {
    /// Returns random bytes from the library's generator, which the kernel seeds.
    ///
    /// - Throws: ``JOSEError/cryptography(_:)`` if the generator has no entropy or the count is not in 0...16 MiB.
    package static func bytes(_ count: Int) throws(JOSEError) -> [UInt8] {
        guard count >= 0, count <= 16 << 20 else {
            throw .cryptography("expected 0 to 16,777,216 random bytes, not \(count)")
        }
        guard count > 0 else { return [] }
        var succeeded = false
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { output, written in
            succeeded = Crypto.randomize(UnsafeMutableBufferPointer(rebasing: output[..<count]))
            written = succeeded ? count : 0
        }
        guard succeeded else { throw .cryptography("no random bytes") }
        return bytes
    }
}

/// Returns whether two byte strings are equal, in a time that depends only on their lengths.
///
/// Lengths are compared first and are not secret.
package func equalInConstantTime(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
    guard a.count == b.count else { return false }
    guard !a.isEmpty else { return true }
    return withContiguousBytes(a) { left in
        withContiguousBytes(b) { right in
            guard let first = left.baseAddress, let second = right.baseAddress, left.count == right.count else {
                return false
            }
            return Crypto.bytesEqual(first, second, left.count)
        }
    }
}
