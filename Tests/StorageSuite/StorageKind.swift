import SealedStorage
import TestSupport

/// The storages that run the same tests.
package enum StorageKind: CaseIterable {
    case memory, sqlite

    /// Creates an empty storage and the folder that contains it.
    package func make() throws -> (storage: any AccountStorage, directory: TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        switch self {
        case .memory: return (MemoryStorage(), directory)
        case .sqlite: return (SQLiteStorage(directory: directory.store), directory)
        }
    }
}

extension TemporaryDirectory {
    /// The store's folder in this folder.
    package var store: StoreLocation { StoreLocation(path + "/store") }
}
