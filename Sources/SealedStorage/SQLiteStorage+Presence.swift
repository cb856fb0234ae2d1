import LodgePlatform

extension SQLiteStorage {
    /// Returns whether the store does not exist yet, without creating it.
    ///
    /// - Throws: ``StorageError`` if the folder cannot be used for a store, or if the file of a store was removed from
    ///   it.
    public nonisolated func isMissing() throws(StorageError) -> Bool {
        var status = stat()
        if !file.folder.path.isEmpty, lstat(file.folder.path, &status) != 0 { return errno == ENOENT }
        try file.folder.prepare()
        guard lstat(location, &status) != 0, errno == ENOENT else { return false }
        try file.checkIsNew()
        return true
    }

    /// Whether the file has several names. Processes that open it by different names do not see each other's locks.
    package nonisolated var hasOtherNames: Bool { file.hasOtherNames }

    /// Returns the error of the nearest existing parent folder if it is not writable.
    package nonisolated func unwritableFolder() -> StorageError? {
        var folder = location
        repeat { folder = OwnerOnlyFile.directory(of: folder) } while access(folder, F_OK) != 0 && folder.count > 1
        guard access(folder, W_OK | X_OK) != 0 else { return nil }
        return .system(errno, location: folder, doing: "making the store in it")
    }
}
