import StorageSuite
import Synchronization

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// A storage that fails when a test requests it.
final class FailingStorage: WrappedStorage {
    static let fault = StorageError(.full, location: "memory", reason: "no space", hint: "free some space")

    struct InjectedErrors {
        /// The number of the next replacements that fail.
        var replacements = 0
        /// The kind of the error.
        var kind = StorageError.Kind.readOnly
        var isReadOnly = false
        /// The number of the next reads of the log that fail.
        var looks = 0
    }

    let inner = MemoryStorage()
    private let faults = Mutex(InjectedErrors())

    /// The number of reads of the log that still fail.
    var failuresLeft: Int { faults.withLock { $0.looks } }

    func change(_ body: (inout InjectedErrors) -> Void) { faults.withLock { body(&$0) } }

    private func fail(_ count: WritableKeyPath<InjectedErrors, Int>) throws {
        let kind: StorageError.Kind? = faults.withLock { faults in
            guard faults[keyPath: count] > 0 else { return nil }
            faults[keyPath: count] -= 1
            return faults.kind
        }
        if let kind { throw StorageError(kind, location: "memory", reason: "no space", hint: "free some space") }
    }

    func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting values: [String: [UInt8]]
    ) async throws -> Int64? {
        try fail(\.replacements)
        return await inner.replace(record, kind: kind, setting: values)
    }
    func changes(after sequence: Int64) async throws -> [StorageChange]? {
        try fail(\.looks)
        return await inner.changes(after: sequence)
    }
    func checkWritable() async throws {
        if faults.withLock({ $0.isReadOnly }) { throw Self.fault }
    }
}
