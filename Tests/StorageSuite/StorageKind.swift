import SealedStorage
import TestSupport

/// The storages that the same tests run against.
package enum StorageKind: CaseIterable {
    case memory, sqlite

    /// A fresh storage, and what keeps its directory.
    package func make() throws -> (storage: any AccountStorage, directory: TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        switch self {
        case .memory: return (MemoryStorage(), directory)
        case .sqlite: return (SQLiteStorage(directory: directory.store), directory)
        }
    }
}

extension TemporaryDirectory {
    /// The store's folder in it.
    package var store: StoreLocation { StoreLocation(path + "/store") }
}
