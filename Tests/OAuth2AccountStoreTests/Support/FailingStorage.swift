import StorageSuite
import Synchronization

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import Platform

/// A storage that fails when a test wants it to.
final class FailingStorage: WrappedStorage {
    static let fault = StorageError(.full, location: "memory", reason: "no space", hint: "free some space")

    struct InjectedErrors {
        /// How many of the next replacements fail.
        var replacements = 0
        /// The kind of their error.
        var kind = StorageError.Kind.readOnly
        var isReadOnly = false
        /// How many of the next looks into the log fail.
        var looks = 0
    }

    let inner = MemoryStorage()
    private let faults = Mutex(InjectedErrors())

    /// How many of the next reads of the log fail.
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

    func replace(_ record: SealedRecord, kind: StorageChange.Kind) async throws -> Int64? {
        try fail(\.replacements)
        return await inner.replace(record, kind: kind)
    }
    func changes(after sequence: Int64) async throws -> [StorageChange]? {
        try fail(\.looks)
        return await inner.changes(after: sequence)
    }
    func checkWritable() async throws {
        if faults.withLock({ $0.isReadOnly }) { throw Self.fault }
    }
}
