import Synchronization

@testable import OAuth2AccountStore

/// A storage that fails when a test wants it to.
final class FailingStorage: AccountStorage {
    static let fault = StorageError(.full, place: "memory", reason: "no space", hint: "free some space")

    struct Faults {
        /// How many of the next replacements fail.
        var replacements = 0
        var isReadOnly = false
        /// How many of the next looks into the log fail.
        var looks = 0
    }

    private let inner = MemoryStorage()
    private let faults = Mutex(Faults())
    var place: String { inner.place }

    func change(_ body: (inout Faults) -> Void) { faults.withLock { body(&$0) } }

    private func fail(_ count: WritableKeyPath<Faults, Int>) throws {
        let fails = faults.withLock { faults in
            guard faults[keyPath: count] > 0 else { return false }
            faults[keyPath: count] -= 1
            return true
        }
        if fails { throw Self.fault }
    }

    func records(ofType type: String?, after position: Int64, limit: Int) async throws -> [SealedRecord] {
        await inner.records(ofType: type, after: position, limit: limit)
    }
    func records(ofType type: String, identity: [UInt8]) async throws -> [SealedRecord] {
        await inner.records(ofType: type, identity: identity)
    }
    func lastRecord(ofType type: String) async throws -> SealedRecord? { await inner.lastRecord(ofType: type) }
    func count(ofType type: String?) async throws -> Int { await inner.count(ofType: type) }
    func record(_ id: String) async throws -> SealedRecord? { await inner.record(id) }
    func insert(_ record: SealedRecord) async throws -> (position: Int64, sequence: Int64) {
        try await inner.insert(record)
    }
    func replace(_ record: SealedRecord, kind: StorageChange.Kind) async throws -> Int64? {
        try fail(\.replacements)
        return await inner.replace(record, kind: kind)
    }
    func remove(_ id: String) async throws -> Int64? { await inner.remove(id) }
    func value(_ name: String) async throws -> [UInt8]? { await inner.value(name) }
    func setValue(_ value: [UInt8]?, for name: String) async throws { await inner.setValue(value, for: name) }
    func changes(after sequence: Int64) async throws -> [StorageChange]? {
        try fail(\.looks)
        return await inner.changes(after: sequence)
    }
    func lastSequence() async throws -> Int64 { await inner.lastSequence() }
    func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? { inner.watch(handler) }
    func checkWritable() async throws {
        if faults.withLock({ $0.isReadOnly }) { throw Self.fault }
    }
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try await inner.lock(name, timeout: timeout)
    }
}
