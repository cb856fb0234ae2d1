import JOSE
import Platform

/// The database file of a store.
struct SQLiteStoreFile: Sendable {
    let folder: StoreLocation
    let path: String

    init(in folder: StoreLocation) {
        self.folder = folder
        path = folder.file("accounts.sqlite")
    }

    /// The device and the inode of a file.
    struct Identity: Equatable {
        let device: UInt64
        let inode: UInt64
    }

    /// Returns the identity of the file at the path, or `nil` if it does not exist.
    func identity() -> Identity? {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        return Identity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    }

    /// Opens the file, and creates it with its folder if it does not exist.
    func open() throws(StorageError) -> SQLiteConnection {
        try folder.prepare()
        var status = stat()
        if lstat(path, &status) != 0 {
            guard errno == ENOENT else { throw .system(errno, location: path, doing: "opening the file") }
            try create()
            guard lstat(path, &status) == 0 else { throw .system(errno, location: path, doing: "opening the file") }
        }
        try check(status)
        // SQLite rejects links in any part of a path. The user created the links above the file, so they are resolved first.
        return try SQLiteConnection(path: folder.resolved().file("accounts.sqlite"))
    }

    private func check(_ status: stat) throws(StorageError) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(
                .notAStore, location: path, reason: "it is not a plain file",
                hint: "\(StorageRemedy.chooseStore(.other))"
            )
        }
        // A new file appears with its contents, so an empty one is always damaged.
        guard status.st_size > 0 else {
            throw StorageError(
                .notAStore, location: path, reason: "it is empty, which a store never is: it was cut off",
                hint: "restore a copy; or, to start again without accounts, remove it")
        }
        guard status.st_uid == geteuid() else {
            throw StorageError(
                .insecure, location: path, reason: "it belongs to another user",
                hint: "\(StorageRemedy.chooseStore(.own))")
        }
        if status.st_mode & 0o077 != 0, chmod(path, 0o600) != 0 {
            throw .system(errno, location: path, doing: "making the file private")
        }
    }

    /// Creates the file with mode 0600 and empty tables in one step. SQLite gives its journal the same mode.
    private func create() throws(StorageError) {
        let memory = try SQLiteConnection(path: ":memory:")
        try SQLiteSchema.create(memory)
        guard let image = memory.image(), let random = try? SecureRandom.bytes(9) else {
            throw StorageError(.other, location: path, reason: "no memory or randomness", hint: "try again")
        }
        // If the file exists, another process created it first.
        if case .failure(let error) = OwnerOnlyFile.create(path, image, suffix: Base64URL.encode(random)),
            error.code != EEXIST
        {
            throw .system(error.code, location: path, doing: "making the file")
        }
    }
}
