@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import Platform

/// A storage in memory of which a test changes some functions: those that it does not write go to the one inside.
protocol WrappedStorage: AccountStorage {
    var inner: MemoryStorage { get }
}

extension WrappedStorage {
    var location: String { inner.location }
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
        await inner.replace(record, kind: kind)
    }
    func remove(_ id: String) async throws -> Int64? { await inner.remove(id) }
    func value(_ name: String) async throws -> [UInt8]? { await inner.value(name) }
    func setValue(_ value: [UInt8]?, for name: String) async throws { await inner.setValue(value, for: name) }
    func changes(after sequence: Int64) async throws -> [StorageChange]? { await inner.changes(after: sequence) }
    func lastSequence() async throws -> Int64 { await inner.lastSequence() }
    func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? { inner.watch(handler) }
    func checkWritable() async throws {}
    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try await inner.lock(name, timeout: timeout)
    }
}
