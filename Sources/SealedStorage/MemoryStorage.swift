import LodgePlatform
import Synchronization

/// Accounts in memory for the lifetime of the process: for tests, and for programs that must not write.
///
/// Several stores can share one.
public actor MemoryStorage: AccountStorage {
    private var records: [String: SealedRecord] = [:]
    /// The identifiers in order of position, for each type and, with the key `nil`, for all types.
    private var order: [String?: [String]] = [:]
    /// The identifiers for each type and identity.
    private var identities: [String: [[UInt8]: [String]]] = [:]
    private var values: [String: [UInt8]] = [:]
    private var log: [StorageChange] = []
    private var sequence: Int64 = 0
    private var position: Int64 = 0
    private var locked: Set<String> = []
    private var waiting: [String: [(id: Int, continuation: CheckedContinuation<Void, any Error>)]] = [:]
    private var lastTicket = 0
    private nonisolated let watchers = Mutex<[Int: @Sendable () -> Void]>([:])

    /// A description of the location, such as "memory".
    public nonisolated let location: String

    /// Creates an empty storage.
    public init() { location = "memory" }

    /// Creates an empty storage instead of one that does not exist yet.
    package init(inPlaceOf location: String) { self.location = location }

    /// Returns `false`: memory needs no preparation.
    public func isMissing() -> Bool { false }

    private static let maximumChanges = Int(SQLStatements.maximumChanges)

    /// Returns a page of the records of a type, or of every type, in order.
    public func records(ofType type: String?, after position: Int64, limit: Int) -> [SealedRecord] {
        let ids = order[type] ?? []
        return ids[index(after: position, in: ids)...].prefix(max(limit, 0)).compactMap { records[$0] }
    }

    /// Returns the records of a type with an identity.
    public func records(ofType type: String, identity: [UInt8]) -> [SealedRecord] {
        (identities[type]?[identity] ?? []).compactMap { records[$0] }.sorted { $0.position < $1.position }
    }

    /// Returns the record of a type with the greatest position.
    public func lastRecord(ofType type: String) -> SealedRecord? { order[type]?.last.flatMap { records[$0] } }

    /// Returns the number of records.
    public func count(ofType type: String?) -> Int { order[type]?.count ?? 0 }

    /// Returns the record with an identifier.
    public func record(_ id: String) -> SealedRecord? { records[id] }

    /// Returns the index of the first identifier whose record has a greater position.
    private func index(after position: Int64, in ids: [String]) -> Int {
        var range = 0..<ids.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let isBefore = records[ids[middle]].map { $0.position <= position } ?? true
            range = isBefore ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Adds a record after all others, and sets small values.
    public func insert(
        _ record: SealedRecord, setting newValues: [String: [UInt8]]
    ) throws -> (position: Int64, sequence: Int64) {
        guard records[record.id] == nil else { throw StorageError.duplicateIdentifier(location: location) }
        position += 1
        var record = record
        record.position = position
        records[record.id] = record
        for type in [nil, record.type] { order[type, default: []].append(record.id) }
        addIdentity(of: record)
        values.merge(newValues) { $1 }
        return (position, note(record.id, record.type, .added))
    }

    /// Replaces a record if its revision is one less than the new one, and then sets small values.
    public func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting newValues: [String: [UInt8]]
    ) -> Int64? {
        guard let old = records[record.id], old.revision == record.revision - 1 else { return nil }
        removeIdentity(of: old)
        var record = record
        record.type = old.type
        record.position = old.position
        records[record.id] = record
        addIdentity(of: record)
        values.merge(newValues) { $1 }
        return note(record.id, record.type, kind)
    }

    /// Removes a record.
    public func remove(_ id: String) -> Int64? {
        guard let old = records[id] else { return nil }
        for type in [nil, old.type] {
            let index = index(after: old.position - 1, in: order[type] ?? [])
            order[type]?.remove(at: index)
            if order[type]?.isEmpty == true { order[type] = nil }
        }
        removeIdentity(of: old)
        records[id] = nil
        return note(id, old.type, .removed)
    }

    private func addIdentity(of record: SealedRecord) {
        guard let identity = record.identity else { return }
        identities[record.type, default: [:]][identity, default: []].append(record.id)
    }

    private func removeIdentity(of record: SealedRecord) {
        guard let identity = record.identity else { return }
        identities[record.type]?[identity]?.removeAll { $0 == record.id }
        if identities[record.type]?[identity]?.isEmpty == true { identities[record.type]?[identity] = nil }
    }

    private func note(_ id: String, _ type: String, _ kind: StorageChange.Kind) -> Int64 {
        sequence += 1
        log.append(StorageChange(sequence: sequence, id: id, type: type, kind: kind))
        if log.count > 2 * Self.maximumChanges { log.removeFirst(Self.maximumChanges) }
        for watcher in watchers.withLock({ Array($0.values) }) { watcher() }
        return sequence
    }

    /// Returns a small value.
    public func value(_ name: String) -> [UInt8]? { values[name] }

    /// Sets a small value.
    public func setValue(_ value: [UInt8]?, for name: String) { values[name] = value }

    /// Returns the changes after a sequence.
    public func changes(after sequence: Int64) -> [StorageChange]? {
        StorageChange.unbroken(log.filter { $0.sequence > sequence }, after: sequence)
    }

    /// Returns the sequence of the newest change.
    public func lastSequence() -> Int64 { sequence }

    /// Calls `handler` after each change of any store.
    public nonisolated func watch(_ handler: @escaping @Sendable () -> Void) -> (any StorageLock)? {
        let number = watchers.withLock { watchers in
            let number = (watchers.keys.max() ?? 0) + 1
            watchers[number] = handler
            return number
        }
        return ReleaseHandle { self.watchers.withLock { _ = $0.removeValue(forKey: number) } }
    }

    /// Does nothing: memory is always writable.
    public func checkWritable() {}

    /// Waits for the lock with a name. The timeout does not apply: no other process can hold it.
    public func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try Task.checkCancellation()
        if !locked.insert(name).inserted {
            lastTicket += 1
            let ticket = lastTicket
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { waiting[name, default: []].append((ticket, $0)) }
            } onCancel: {
                Task { await self.cancelWait(ticket, name) }
            }
        }
        return ReleaseHandle { Task { await self.unlock(name) } }
    }

    private func cancelWait(_ ticket: Int, _ name: String) {
        guard let index = waiting[name]?.firstIndex(where: { $0.id == ticket }) else { return }
        waiting[name]?.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    private func unlock(_ name: String) {
        guard waiting[name]?.isEmpty == false, let next = waiting[name]?.removeFirst() else {
            waiting[name] = nil
            locked.remove(name)
            return
        }
        next.continuation.resume()
    }
}
