import Platform

extension SQLiteStorage {
    /// Whether there is no store yet. A look that makes nothing, for those who only read.
    ///
    /// - Throws: ``StorageError`` where something stands in the way of a store, as when it is opened.
    package nonisolated func isMissing() throws(StorageError) -> Bool {
        var status = stat()
        if !directory.path.isEmpty, lstat(directory.path, &status) != 0 { return errno == ENOENT }
        try directory.prepare()
        return lstat(place, &status) != 0 && errno == ENOENT
    }

    /// The folder above that is there, in which the store would be made, when it may not be written to.
    package nonisolated func unwritableFolder() -> StorageError? {
        var folder = place
        repeat { folder = OwnerOnlyFile.directory(of: folder) } while access(folder, F_OK) != 0 && folder.count > 1
        guard access(folder, W_OK | X_OK) != 0 else { return nil }
        return .system(errno, place: folder, doing: "making the store in it")
    }
}
