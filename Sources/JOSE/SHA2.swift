import COpenSSL

/// The SHA-2 digests.
///
/// [FIPS 180-4](https://csrc.nist.gov/pubs/fips/180-4/upd1/final)
public enum SHA2: Sendable, Hashable, CaseIterable {
    /// 32 bytes.
    case sha256
    /// 48 bytes.
    case sha384
    /// 64 bytes.
    case sha512

    /// The length of the digest in bytes.
    public var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha384: 48
        case .sha512: 64
        }
    }

    /// The digest of these bytes.
    public func digest(_ bytes: some Collection<UInt8>) -> [UInt8] {
        withContiguousBytes(bytes) { self.digest(buffer: $0) }
    }

    private func digest(buffer: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: byteCount) { output, written in
            var count: UInt32 = 0
            guard let algorithm = evp,
                EVP_Digest(buffer.baseAddress, buffer.count, output.baseAddress, &count, algorithm, nil) == 1,
                Int(count) == byteCount
            else {
                // No input leads here: only an OpenSSL installation without SHA-2, or no memory left. Any value returned
                // instead of a digest would pass for one, so the process ends.
                fatalError("libcrypto has no \(self). Check the OpenSSL installation and its configuration.")
            }
            written = byteCount
        }
    }

    /// libcrypto's implementation, looked up once in the life of the process. Nil when there is none.
    var evp: OpaquePointer? {
        switch self {
        case .sha256: Self.fetched256
        case .sha384: Self.fetched384
        case .sha512: Self.fetched512
        }
    }

    // An EVP_MD that was fetched never changes and may be used from every thread; these are never freed.
    nonisolated(unsafe) private static let fetched256 = EVP_MD_fetch(nil, "SHA256", nil)
    nonisolated(unsafe) private static let fetched384 = EVP_MD_fetch(nil, "SHA384", nil)
    nonisolated(unsafe) private static let fetched512 = EVP_MD_fetch(nil, "SHA512", nil)
}

/// Calls the closure with the bytes, which are copied only if they are not contiguous.
func withContiguousBytes<Value>(
    _ bytes: some Sequence<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Value
) -> Value {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}
