import Foundation
import LodgePlatform
import StorageSuite
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import SealedStorage

/// A storage with rescue files. A test can make its saves fail.
final class RescueStorage: WrappedStorage, RecordRescue {
    let inner = MemoryStorage()
    let directory: TemporaryDirectory
    private let files: SQLiteStorage
    private let error = Mutex<(kind: StorageError.Kind?, count: Int)>((nil, 0))
    let replacements = Log<Int64>()

    init(isShared: Bool = false) throws {
        directory = try TemporaryDirectory()
        files = SQLiteStorage(directory: directory.store)
        rescueFolder = RescueFolder(directory.store)
        self.isShared = isShared
        try directory.store.prepare()
    }

    /// Makes the next replacements fail.
    func fail(_ kind: StorageError.Kind?, count: Int = .max) { error.withLock { $0 = (kind, count) } }

    func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting values: [String: [UInt8]]
    ) async throws -> Int64? {
        replacements.append(record.revision)
        let failure = error.withLock { error -> StorageError.Kind? in
            error.count -= 1
            return error.count >= 0 ? error.kind : nil
        }
        if let failure {
            throw StorageError(failure, location: "memory", reason: "in use", hint: "try again")
        }
        return await inner.replace(record, kind: kind, setting: values)
    }

    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        if isLeased.withLock({ $0 }) {
            var error = StorageError(.busy, location: "memory", reason: "a lease", hint: "try again")
            error.isLeased = true
            throw error
        }
        // The accounts of all tests have the same identifier, and this process holds their locks in several files.
        return try await files.lock(name + directory.store.path, timeout: timeout)
    }
    let rescueFolder: RescueFolder?
    let isShared: Bool
    let isLeased = Mutex(false)

    /// The names of the rescue files.
    var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.store.path)) ?? []
        return names.filter { $0 != "accounts.lock" }.sorted()
    }

    func path() throws -> String { directory.store.file(try #require(names.first)) }
}
