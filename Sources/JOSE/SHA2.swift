import CLodgeOpenSSL

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
        withContiguousBytes(bytes) { self.digest(buffer: $0) }
    }

    private func digest(buffer: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { output, written in
            var count: UInt32 = 0
            guard let algorithm = evp,
                EVP_Digest(buffer.baseAddress, buffer.count, output.baseAddress, &count, algorithm, nil) == 1,
                Int(count) == byteCount
            else {
                // Only an OpenSSL installation without SHA-2, or a lack of memory, leads here. Any returned value would
                // be used as a digest, so end the process.
                fatalError("libcrypto has no \(self). Check the OpenSSL installation and its configuration.")
            }
            written = byteCount
        }
    }

    /// libcrypto's implementation, looked up once for the process, or `nil` if it is missing.
    var evp: OpaquePointer? {
        switch self {
        case .sha256: Self.fetched256
        case .sha384: Self.fetched384
        case .sha512: Self.fetched512
        }
    }

    // A fetched EVP_MD never changes, is thread-safe, and is never freed.
    nonisolated(unsafe) private static let fetched256 = EVP_MD_fetch(nil, "SHA256", nil)
    nonisolated(unsafe) private static let fetched384 = EVP_MD_fetch(nil, "SHA384", nil)
    nonisolated(unsafe) private static let fetched512 = EVP_MD_fetch(nil, "SHA512", nil)
}

/// Calls the closure with contiguous bytes, copying them only if necessary.
func withContiguousBytes<Value>(
    _ bytes: some Sequence<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Value
) -> Value {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}
