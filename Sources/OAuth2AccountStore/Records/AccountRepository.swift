import LodgePlatform
import SealedStorage

/// Reads and changes the records of a store. A change is first saved, then cached, then published; then the call
/// returns.
struct AccountRepository: Sendable {
    let reader: AccountReader
    /// Publishes the changes of the log up to a saved change.
    let didSave: @Sendable (_ sequence: Int64) async -> Void

    var storage: any AccountStorage { reader.storage }
    var seal: RecordSeal { reader.seal }
    var cache: RecordCache { reader.cache }

    /// Reads a record and caches it. Returns `nil` if there is no such account.
    func read(_ id: Account.ID) async throws -> CachedRecord? { try await reader.read(id) }

    /// Updates a record, retrying if another process saved it first. Returns `nil` if there is no such account.
    ///
    /// - Parameter values: Small values to set in the same transaction.
    func update(
        _ id: Account.ID, _ kind: StorageChange.Kind, setting values: [String: [UInt8]] = [:],
        _ change: (inout AccountRecord) throws -> Void
    ) async throws -> CachedRecord? {
        while true {
            guard let current = try await read(id) else { return nil }
            var record = current.record
            try change(&record)
            let sealed = try seal.seal(record, revision: current.revision + 1)
            guard let sequence = try await storage.replace(sealed, kind: kind, setting: values) else {
                try Task.checkCancellation()
                // A storage in memory does not suspend, so without this the loop would block its thread.
                await Task.yield()
                continue
            }
            let saved = CachedRecord(record: record, revision: sealed.revision, position: current.position)
            cache.remember(saved)
            await didSave(sequence)
            return saved
        }
    }

    /// Adds a record after all others, sets small values in the same transaction, and returns its account.
    func insert(_ record: AccountRecord, setting values: [String: [UInt8]] = [:]) async throws -> Account {
        let sealed = try seal.seal(record, revision: 1)
        let (position, sequence) = try await storage.insert(sealed, setting: values)
        let saved = CachedRecord(record: record, revision: 1, position: position)
        cache.remember(saved)
        await didSave(sequence)
        return saved.account
    }

    /// Removes a record. Returns whether it existed.
    @discardableResult func remove(_ id: Account.ID) async throws -> Bool {
        let sequence = try await storage.remove(id.rawValue)
        cache.remove(id)
        guard let sequence else { return false }
        await didSave(sequence)
        return true
    }
}
