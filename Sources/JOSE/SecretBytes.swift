import LodgePlatform

/// Bytes that are wiped from memory with the last reference, and that descriptions never show.
///
/// Sendable is sound: the pointer and the count never change after `init`, the bytes are only read until `deinit`, and
/// `deinit` runs without other references.
final class SecretBytes: @unchecked Sendable {
    private let start: UnsafeMutablePointer<UInt8>
    let count: Int

    init(_ bytes: some Collection<UInt8>) {
        count = bytes.count
        start = .allocate(capacity: max(count, 1))
        // A collection with a wrong count results in zeros at worst.
        start.initialize(repeating: 0, count: count)
        for (index, byte) in bytes.prefix(count).enumerated() { start[index] = byte }
    }

    deinit {
        Crypto.wipe(start, count)
        start.deallocate()
    }

    var bytes: [UInt8] { withBytes { Array($0) } }

    func withBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        body(UnsafeBufferPointer(start: start, count: count))
    }
}

extension SecretBytes: Redacted {
    var description: String { "SecretBytes(hidden)" }
}

extension SecretBytes {
    /// Returns the HMAC of RFC 2104, or `nil` if the library fails.
    func authenticationCode(of content: [UInt8], _ digest: SHA2) -> [UInt8]? {
        withBytes { Crypto.authenticationCode(of: content, key: $0, digest) }
    }
}
