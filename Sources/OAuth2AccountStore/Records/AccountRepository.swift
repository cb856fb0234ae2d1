import Platform
import SealedStorage

/// Reads and changes the records of a store. The order of a change is: save, cache, publish, return.
struct AccountRepository: Sendable {
    let reader: AccountReader
    /// Publishes the change log up to a saved change.
    let didSave: @Sendable (_ sequence: Int64) async -> Void

    var storage: any AccountStorage { reader.storage }
    var seal: RecordSeal { reader.seal }
    var cache: RecordCache { reader.cache }

    /// Reads a record and caches it; `nil` if there is none.
    func read(_ id: Account.ID) async throws -> CachedRecord? { try await reader.read(id) }

    /// Updates a record, retrying if another process saved it first. Returns `nil` if there is no such account.
    func update(
        _ id: Account.ID, _ kind: StorageChange.Kind, _ change: (inout AccountRecord) throws -> Void
    ) async throws -> CachedRecord? {
        while true {
            guard let current = try await read(id) else { return nil }
            var record = current.record
            try change(&record)
            let sealed = try seal.seal(record, revision: current.revision + 1)
            guard let sequence = try await storage.replace(sealed, kind: kind) else {
                try Task.checkCancellation()
                // A storage in memory does not suspend, and this loop would keep its thread.
                await Task.yield()
                continue
            }
            let saved = CachedRecord(record: record, revision: sealed.revision, position: current.position)
            cache.remember(saved)
            await didSave(sequence)
            return saved
        }
    }

    /// Adds a record after all others.
    func insert(_ record: AccountRecord) async throws -> Account {
        let sealed = try seal.seal(record, revision: 1)
        let (position, sequence) = try await storage.insert(sealed)
        let saved = CachedRecord(record: record, revision: 1, position: position)
        cache.remember(saved)
        await didSave(sequence)
        return saved.account
    }

    /// Removes a record. Returns whether there was one.
    @discardableResult func remove(_ id: Account.ID) async throws -> Bool {
        let sequence = try await storage.remove(id.rawValue)
        cache.remove(id)
        guard let sequence else { return false }
        await didSave(sequence)
        return true
    }
}
