import LodgePlatform
import SealedStorage
import Synchronization

/// The record of an account as last read or saved. A class, because a copy of a record would cost more than a fresh token.
final class CachedRecord: Sendable {
    let record: AccountRecord
    let revision: Int64
    let position: Int64

    init(record: AccountRecord, revision: Int64, position: Int64) {
        self.record = record
        self.revision = revision
        self.position = position
    }

    var account: Account { Account(record: record, position: position) }
}

/// The most recently used records, so that a valid token is returned without reading the storage.
final class RecordCache: Sendable {
    private static let capacity = 1_000
    private let records = Mutex(LRUCache<Account.ID, CachedRecord>(capacity: capacity))

    subscript(id: Account.ID) -> CachedRecord? { records.withLock { $0[id] } }

    var count: Int { records.withLock { $0.count } }

    /// Stores a record, unless the cache has a newer revision. A slow read never restores an older record.
    func remember(_ new: CachedRecord) {
        records.withLock { records in
            if let cached = records[new.record.id], cached.revision > new.revision { return }
            records[new.record.id] = new
        }
    }

    /// Stores a record even if the cache has a newer revision, because the storage no longer has that revision.
    func replace(_ restored: CachedRecord) { records.withLock { $0[restored.record.id] = restored } }

    func remove(_ id: Account.ID) { records.withLock { $0[id] = nil } }

    func removeAll() { records.withLock { $0.removeAll() } }
}

/// Reads and opens the records of a storage.
struct AccountReader: Sendable {
    let storage: any AccountStorage
    let seal: RecordSeal
    let cache: RecordCache

    /// Reads a record and caches it. Returns `nil` if there is no such account.
    ///
    /// - Throws: ``AccountStoreError`` if the record is damaged; `StorageError`.
    func read(_ id: Account.ID) async throws -> CachedRecord? {
        let lastRevision = cache[id]?.revision ?? 0
        guard let sealed = try await storage.record(id.rawValue) else {
            cache.remove(id)
            return nil
        }
        guard let record = seal.open(sealed) else {
            throw AccountStoreError(
                .damagedRecord, what: "cannot read account \(id)",
                reason: "its record is damaged or sealed with another key",
                remedy: .signInAgain,
                hint: "the record is unchanged; sign in again to create a new one")
        }
        let read = CachedRecord(record: record, revision: sealed.revision, position: sealed.position)
        // A lower revision than before this read means that an older copy of the storage was restored.
        if read.revision < lastRevision { cache.replace(read) } else { cache.remember(read) }
        return read
    }

    /// Passes each sealed record to `body`, in order. Only one page of records is in memory at a time.
    func eachRecord(ofType type: String?, _ body: (SealedRecord) throws -> Void) async throws {
        var last: Int64 = 0
        while true {
            try Task.checkCancellation()
            let page = try await storage.records(ofType: type, after: last, limit: RecordPage.size)
            guard let end = page.last?.position else { return }
            last = try RecordPage.next(after: last, end, location: storage.location)
            for record in page { try body(record) }
        }
    }

    /// Returns a page of accounts and the position of its last record. At the end, the position is `nil`. Skips damaged
    /// records.
    func page(ofType type: String?, after position: Int64) async throws -> (accounts: [Account], end: Int64?) {
        let page = try await storage.records(ofType: type, after: position, limit: RecordPage.size)
        guard let end = page.last?.position else { return ([], nil) }
        let accounts = page.compactMap { sealed in
            seal.open(sealed).map { Account(record: $0, position: sealed.position) }
        }
        return (accounts, try RecordPage.next(after: position, end, location: storage.location))
    }

    /// Returns the records that cannot be opened.
    func damagedRecords() async throws -> [(id: Account.ID, type: String)] {
        var damaged: [(id: Account.ID, type: String)] = []
        try await eachRecord(ofType: nil) { sealed in
            if seal.open(sealed) == nil { damaged.append((Account.ID(rawValue: sealed.id), sealed.type)) }
        }
        return damaged
    }
}
