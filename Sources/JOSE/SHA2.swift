/// The SHA-2 digests.
///
/// [FIPS 180-4](https://csrc.nist.gov/pubs/fips/180-4/upd1/final)
package enum SHA2: Sendable, Hashable, CaseIterable {
    /// 32 bytes.
    case sha256
    /// 48 bytes.
    case sha384
    /// 64 bytes.
    case sha512

    /// The length of the digest in bytes.
    package var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// Returns the digest of these bytes.
    package func digest(_ bytes: some Collection<UInt8>) -> [UInt8] {
        withContiguousBytes(bytes) { Crypto.digest($0, self) }
    }
}

/// Calls the closure with contiguous bytes, copying them only if necessary.
func withContiguousBytes<Value>(
    _ bytes: some Sequence<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Value
) -> Value {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}
