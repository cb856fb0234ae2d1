import AccountKeys
import JOSE
import LodgePlatform
import SealedStorage

extension AccountStore {
    /// The kind of key location, or `nil` for a custom key storage that the program supplied.
    public nonisolated var keyChoice: KeyCustodyChoice? { custody.choice }

    /// Returns the other locations that can have a copy of the key, because the last move could not remove it there.
    /// The texts are for messages. The result is usually empty.
    ///
    /// - Throws: ``AccountStoreError``
    package func keyLeftovers() async throws -> [String] {
        try await AccountStoreError.wrappingErrors("cannot read where the key is") {
            try await KeyLocationRecord.read(storage)?.leftovers.map(\.explanation) ?? []
        }
    }

    /// Moves the key of a store to another location. Open stores continue to work, because they have the key in memory.
    ///
    /// The store copies the key, reads the copy and compares it. Then it saves the new location in one durable step,
    /// and removes the old copy. If the process ends at any point, the store can still be opened, because the saved
    /// location has the key. The next move, or the next process that opens the store, removes a remaining copy.
    /// Concurrent moves wait for each other. If the store has no key yet, this creates one in the new location.
    ///
    /// - Parameters:
    ///   - choice: The kind of the new location.
    ///   - storage: The storage of the records.
    ///   - locations: The possible locations of the key. Its `choice` is ignored, except for the number of a file
    ///     descriptor.
    /// - Throws: ``AccountStoreError``. The key remains in its location then.
    public static func moveKey(
        to choice: KeyCustodyChoice, storage: any AccountStorage, locations: KeyLocations
    ) async throws -> KeyMigration {
        try await AccountStoreError.wrappingErrors("cannot move the key") {
            try await KeyMigration.run(to: choice, storage, locations)
        }
    }

    /// Returns the kind of key location that a storage remembers. The default is
    /// `KeyCustodyChoice.keyFile`.
    ///
    /// - Throws: ``AccountStoreError``
    package static func keyCustody(of storage: any AccountStorage) async throws -> KeyCustodyChoice {
        try await AccountStoreError.wrappingErrors("cannot read where the key is") {
            try await KeyLocationRecord.read(storage)?.current ?? .keyFile
        }
    }

    /// Copies the readable records of a damaged store to a new file in the same folder. Does not change the damaged
    /// file.
    ///
    /// It reads the file without opening the store, so it works even if the store cannot be opened.
    ///
    /// - Parameters:
    ///   - storage: The storage with the damaged file.
    ///   - locations: The possible locations of the key. Without the key, the copy has all records, because only the
    ///     key shows which of them are valid.
    /// - Throws: ``AccountStoreError`` if no record can be read, or the new file already exists.
    package static func salvage(_ storage: SQLiteStorage, locations: KeyLocations) async throws -> SalvageReport {
        try await AccountStoreError.wrappingErrors("cannot copy anything out of the store") {
            let saved = try? await KeyLocationRecord.read(storage)?.current
            let custody = try? await locations.custody(locations.choice ?? saved ?? .keyFile, storage)
            let key = try? await custody?.key()
            return try await storage.salvage(with: key)
        }
    }

    /// Replaces the damaged file with the file from ``salvage(_:locations:)``, and renames the damaged file and its
    /// journal.
    ///
    /// Restart other programs that have the store open: they notice the replacement and stop using it.
    ///
    /// - Returns: The new path of the damaged file.
    /// - Throws: ``AccountStoreError``. The damaged file keeps its path then.
    package static func use(_ report: SalvageReport, inPlaceOf storage: SQLiteStorage) async throws -> String {
        try await AccountStoreError.wrappingErrors("cannot replace the damaged file") {
            try FileReplacement.replace(storage.location, by: report.path)
        }
    }
}
