import SealedStorage

/// A storage in memory with functions that a test can override. The other functions use the inner storage.
package protocol WrappedStorage: AccountStorage {
    var inner: MemoryStorage { get }
}

extension WrappedStorage {
    package var location: String { inner.location }
    package func isMissing() async throws -> Bool { await inner.isMissing() }
    package func records(ofType type: String?, after position: Int64, limit: Int) async throws -> [SealedRecord] {
        await inner.records(ofType: type, after: position, limit: limit)
    }
    package func records(ofType type: String, identity: [UInt8]) async throws -> [SealedRecord] {
        await inner.records(ofType: type, identity: identity)
    }
    package func lastRecord(ofType type: String) async throws -> SealedRecord? { await inner.lastRecord(ofType: type) }
    package func count(ofType type: String?) async throws -> Int { await inner.count(ofType: type) }
    package func record(_ id: String) async throws -> SealedRecord? { await inner.record(id) }
    package func insert(
        _ record: SealedRecord, setting values: [String: [UInt8]]
    ) async throws -> (position: Int64, sequence: Int64) {
        try await inner.insert(record, setting: values)
    }
    package func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting values: [String: [UInt8]]
    ) async throws -> Int64? {
        await inner.replace(record, kind: kind, setting: values)
    }
    package func remove(_ id: String) async throws -> Int64? { await inner.remove(id) }
    package func value(_ name: String) async throws -> [UInt8]? { await inner.value(name) }
    package func setValue(_ value: [UInt8]?, for name: String) async throws { await inner.setValue(value, for: name) }
    package func changes(after sequence: Int64) async throws -> [StorageChange]? {
        await inner.changes(after: sequence)
    }
    package func lastSequence() async throws -> Int64 { await inner.lastSequence() }
    package func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? { inner.watch(handler) }
    package func checkWritable() async throws {}
    package func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try await inner.lock(name, timeout: timeout)
    }
}
