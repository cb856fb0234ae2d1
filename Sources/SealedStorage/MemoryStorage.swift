import Platform
import Synchronization

/// Accounts for the life of the process: for tests, and for programs that must not write. Several stores may share one.
public actor MemoryStorage: AccountStorage {
    private var kept: [String: SealedRecord] = [:]
    /// The identifiers in order, for every type and, under nil, for all of them.
    private var order: [String?: [Place]] = [:]
    /// The identifiers by type and identity.
    private var known: [Person: [String]] = [:]
    private var values: [String: [UInt8]] = [:]
    private var log: [StorageChange] = []
    private var sequence: Int64 = 0
    private var position: Int64 = 0
    private var held: Set<String> = []
    private var waiting: [String: [(id: Int, continuation: CheckedContinuation<Void, any Error>)]] = [:]
    private var tickets = 0
    private nonisolated let watchers = Mutex<[Int: @Sendable () -> Void]>([:])

    /// "memory"
    public nonisolated let location: String

    /// An empty storage.
    public init() { location = "memory" }

    /// An empty storage in the place of one that is not there yet.
    package init(inPlaceOf location: String) { self.location = location }

    private static let maximumChanges = Int(SQLStatements.maximumChanges)

    private struct Place {
        let position: Int64
        let id: String
    }

    private struct Person: Hashable {
        let type: String
        let identity: [UInt8]
    }

    /// A page of the records of a type, or of every type, in order.
    public func records(ofType type: String?, after position: Int64, limit: Int) -> [SealedRecord] {
        let places = order[type] ?? []
        return places[Self.index(after: position, in: places)...].prefix(max(limit, 0)).compactMap { kept[$0.id] }
    }

    /// The records of a type that have this identity.
    public func records(ofType type: String, identity: [UInt8]) -> [SealedRecord] {
        (known[Person(type: type, identity: identity)] ?? []).compactMap { kept[$0] }
            .sorted { $0.position < $1.position }
    }

    /// The record of a type with the greatest position.
    public func lastRecord(ofType type: String) -> SealedRecord? { order[type]?.last.flatMap { kept[$0.id] } }

    /// How many records there are.
    public func count(ofType type: String?) -> Int { order[type]?.count ?? 0 }

    /// The record of this identifier.
    public func record(_ id: String) -> SealedRecord? { kept[id] }

    /// Where the places with a greater position begin.
    private static func index(after position: Int64, in places: [Place]) -> Int {
        var range = 0..<places.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                places[middle].position <= position ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }

    /// Adds a record after all others.
    public func insert(_ record: SealedRecord) throws -> (position: Int64, sequence: Int64) {
        guard kept[record.id] == nil else {
            throw StorageError.duplicateIdentifier(location: location)
        }
        position += 1
        var record = record
        record.position = position
        kept[record.id] = record
        for type in [nil, record.type] { order[type, default: []].append(Place(position: position, id: record.id)) }
        learn(record)
        return (position, note(record.id, record.type, .added))
    }

    /// Replaces a record if its revision is one less than the new one.
    public func replace(_ record: SealedRecord, kind: StorageChange.Kind) -> Int64? {
        guard let old = kept[record.id], old.revision == record.revision - 1 else { return nil }
        forget(old)
        var record = record
        record.type = old.type
        record.position = old.position
        kept[record.id] = record
        learn(record)
        return note(record.id, record.type, kind)
    }

    /// Removes a record.
    public func remove(_ id: String) -> Int64? {
        guard let old = kept.removeValue(forKey: id) else { return nil }
        forget(old)
        for type in [nil, old.type] {
            let index = Self.index(after: old.position - 1, in: order[type] ?? [])
            order[type]?.remove(at: index)
            if order[type]?.isEmpty == true { order[type] = nil }
        }
        return note(id, old.type, .removed)
    }

    private func learn(_ record: SealedRecord) {
        guard let identity = record.identity else { return }
        known[Person(type: record.type, identity: identity), default: []].append(record.id)
    }

    private func forget(_ record: SealedRecord) {
        guard let identity = record.identity else { return }
        let person = Person(type: record.type, identity: identity)
        known[person]?.removeAll { $0 == record.id }
        if known[person]?.isEmpty == true { known[person] = nil }
    }

    private func note(_ id: String, _ type: String, _ kind: StorageChange.Kind) -> Int64 {
        sequence += 1
        log.append(StorageChange(sequence: sequence, id: id, type: type, kind: kind))
        if log.count > 2 * Self.maximumChanges { log.removeFirst(Self.maximumChanges) }
        for watcher in watchers.withLock({ Array($0.values) }) { watcher() }
        return sequence
    }

    /// A small value kept beside the records.
    public func value(_ name: String) -> [UInt8]? { values[name] }

    /// Sets a small value.
    public func setValue(_ value: [UInt8]?, for name: String) { values[name] = value }

    /// The changes after a sequence.
    public func changes(after sequence: Int64) -> [StorageChange]? {
        guard sequence < self.sequence else { return [] }
        guard let first = log.first, first.sequence <= sequence + 1 else { return nil }
        return log.filter { $0.sequence > sequence }
    }

    /// The sequence of the newest change.
    public func lastSequence() -> Int64 { sequence }

    private final class Watch: StorageLock {
        let storage: MemoryStorage
        let number: Int

        init(_ storage: MemoryStorage, _ number: Int) {
            self.storage = storage
            self.number = number
        }

        func release() { storage.watchers.withLock { _ = $0.removeValue(forKey: number) } }
        deinit { release() }
    }

    /// Calls `handler` after each change, whichever store made it.
    public nonisolated func watch(_ handler: @escaping @Sendable () -> Void) -> (any StorageLock)? {
        let number = watchers.withLock { watchers in
            let number = (watchers.keys.max() ?? 0) + 1
            watchers[number] = handler
            return number
        }
        return Watch(self, number)
    }

    /// Always.
    public func checkWritable() {}

    private final class Lock: StorageLock {
        let storage: MemoryStorage
        let name: String
        private let once = Once()

        init(_ storage: MemoryStorage, _ name: String) {
            self.storage = storage
            self.name = name
        }

        deinit { release() }

        func release() { once.run { Task { [storage, name] in await storage.unlock(name) } } }
    }

    /// Waits for the lock of this name. The timeout does not apply: no other process can hold it.
    public func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try Task.checkCancellation()
        if held.insert(name).inserted { return Lock(self, name) }
        tickets += 1
        let ticket = tickets
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting[name, default: []].append((ticket, $0)) }
        } onCancel: {
            Task { await self.giveUp(ticket, name) }
        }
        return Lock(self, name)
    }

    private func giveUp(_ ticket: Int, _ name: String) {
        guard let index = waiting[name]?.firstIndex(where: { $0.id == ticket }) else { return }
        waiting[name]?.remove(at: index).continuation.resume(throwing: CancellationError())
    }

    private func unlock(_ name: String) {
        guard waiting[name]?.isEmpty == false, let next = waiting[name]?.removeFirst() else {
            waiting[name] = nil
            held.remove(name)
            return
        }
        next.continuation.resume()
    }
}
