import AccountKeys
import JOSE
import Platform
import SealedStorage

extension AccountStore {
    /// Which of the choices keeps the key; nil for a custody that only the program knows.
    public nonisolated var keyChoice: KeyCustodyChoice? { custody.choice }

    /// Where else a copy of the key may be, which a move could not remove, in words for people. Empty most of the time.
    ///
    /// - Throws: ``AccountStoreError``
    package func keyLeftovers() async throws -> [String] {
        try await AccountStoreError.wrappingErrors("cannot read where the key is") {
            try await KeyLocationRecord.read(storage)?.leftovers.map(\.explanation) ?? []
        }
    }

    /// Moves the key of a store to another place. Stores that are open go on: they have the key.
    ///
    /// The key is copied, read back and compared; then the storage remembers the new place, in one durable step; then the copy at
    /// the old place is removed. Interrupted anywhere, the store opens: the place that it remembers has the key. A copy that is left
    /// over is remembered too, and removed by the next move or opening. Two moves wait for each other. A store that has no key yet
    /// gets one, in the new place.
    ///
    /// - Parameters:
    ///   - locations: leads to the place in use and to the new one. Its choice does not count.
    /// - Throws: ``AccountStoreError``; the key is then where it was.
    public static func moveKey(
        to choice: KeyCustodyChoice, storage: any AccountStorage, locations: KeyLocations
    ) async throws -> KeyMigration {
        try await AccountStoreError.wrappingErrors("cannot move the key") {
            try await KeyMigration.run(to: choice, storage, locations)
        }
    }

    /// The word for the place of a storage's key: "key-file", "secret-service".
    ///
    /// - Throws: ``AccountStoreError``
    package static func keyCustody(of storage: any AccountStorage) async throws -> KeyCustodyChoice {
        try await AccountStoreError.wrappingErrors("cannot read where the key is") {
            try await KeyLocationRecord.read(storage)?.current ?? .keyFile
        }
    }

    /// Copies what can be read of a damaged store into a new file beside it, with the store's key where that can be had.
    ///
    /// The damaged file is not changed. It need not be possible to open it as a store.
    ///
    /// - Parameter locations: leads to the key. Without it the records are copied as they are, and nobody can tell which of them open.
    /// - Throws: ``AccountStoreError`` when nothing can be read, or the new file is there already.
    package static func salvage(_ storage: SQLiteStorage, locations: KeyLocations) async throws -> SalvageReport {
        try await AccountStoreError.wrappingErrors("cannot copy anything out of the store") {
            let saved = try? await KeyLocationRecord.read(storage)?.current
            let custody = try? await locations.custody(locations.choice ?? saved ?? .keyFile, storage)
            let key = try? await custody?.key()
            return try await storage.salvage(with: key)
        }
    }

    /// Puts a file that ``salvage(_:locations:)`` made in the place of the damaged one, which is kept beside it under another name,
    /// with the journal that belongs to it. Programs that have the store open notice, and must be started again.
    ///
    /// - Returns: the path of the damaged file from now on.
    /// - Throws: ``AccountStoreError``; the damaged file is then where it was.
    package static func use(_ report: SalvageReport, inPlaceOf storage: SQLiteStorage) async throws -> String {
        try await AccountStoreError.wrappingErrors("cannot replace the damaged file") {
            try FileReplacement.replace(storage.location, by: report.path)
        }
    }
}
