import JOSE
import OAuth2Protocol
import LodgePlatform
import SealedStorage

/// The sealed sign-ins that are finished, until they expire. A sealed sign-in is valid once in all processes of the
/// storage.
///
/// Providers revoke the tokens of a code that arrives a second time (RFC 6749 section 4.1.2), for example after the
/// user reloads the page. The storage has a fixed number of values. The digest of the state selects the value with its
/// entry.
struct FinishedSignIns: Sendable {
    private let storage: any AccountStorage
    private let now: Date
    private static let valueCount: UInt8 = 64
    /// The maximum number of entries of a value: 200,000 finished sign-ins within their time limit in all values.
    private static let maximumEntries = 3_125

    init(_ context: StoreContext) {
        storage = context.repository.storage
        now = context.dependencies.now()
    }

    /// Adds a sign-in.
    ///
    /// - Throws: ``AccountStoreError`` of the kind `redirectRefused` if the sign-in is already finished.
    func add(_ sign: SealedSignIn) async throws {
        let entry = Entry(sign)
        let name = "finished-sign-ins:\(entry.digest[0] % Self.valueCount)"
        let lock = try await storage.lock(name, timeout: .seconds(30))
        defer { lock.release() }
        let saved = Entry.entries(of: try await storage.value(name) ?? [])
        let current = saved.filter { Double($0.expires) > now.timeIntervalSince1970 }
        guard !current.contains(where: { $0.digest == entry.digest }) else {
            throw OAuth2Error.redirect(.noPendingRequest)
        }
        guard current.count < Self.maximumEntries else {
            throw AccountStoreError(
                .tooManySignIns, what: "cannot finish the sign-in", reason: "too many sign-ins were finished recently",
                remedy: .retryLater(after: .seconds(60)))
        }
        try await storage.setValue((current + [entry]).flatMap(\.bytes), for: name)
    }

    /// A finished sign-in: its expiry in eight bytes, and a digest of its state.
    private struct Entry {
        static let digestSize = 16
        static let size = 8 + digestSize
        let expires: Int64
        let digest: [UInt8]

        init(_ sign: SealedSignIn) {
            expires = Int64(sign.expires.rounded(.up))
            digest = Array(SHA2.sha256.digest(Array(sign.state.utf8)).prefix(Self.digestSize))
        }

        private init(_ bytes: ArraySlice<UInt8>) {
            expires = bytes.prefix(8).reduce(0) { $0 << 8 | Int64($1) }
            digest = Array(bytes.dropFirst(8))
        }

        var bytes: [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: expires >> (56 - 8 * $0)) } + digest }

        static func entries(of bytes: [UInt8]) -> [Entry] {
            stride(from: 0, to: bytes.count - bytes.count % size, by: size).map { Entry(bytes[$0..<$0 + size]) }
        }
    }
}
