import JOSE
import LodgePlatform

/// The database file of a store.
struct SQLiteStoreFile: Sendable {
    let folder: StoreLocation
    let path: String

    init(in folder: StoreLocation) {
        self.folder = folder
        path = folder.databaseFile
    }

    /// The device and inode of a file.
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

    /// Opens the file. Creates the folder and the file if they do not exist.
    func open() throws(StorageError) -> SQLiteConnection {
        try folder.prepare()
        try check(stat(of: path, doing: "opening the file", creating: create))
        // SQLite rejects a path with symbolic links. The path of the folder may contain links, so resolve them first.
        return try SQLiteConnection(path: folder.resolved().databaseFile)
    }

    private func check(_ status: stat) throws(StorageError) {
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(
                .notAStore, location: path, reason: "it is not a plain file",
                hint: "\(StorageRemedy.chooseStore(.other))"
            )
        }
        // The store creates the file and its content atomically, so an empty file is damaged.
        guard status.st_size > 0 else {
            throw StorageError(
                .notAStore, location: path, reason: "it is empty, which a store never is: it was cut off",
                hint: "restore a copy; or, to start again without accounts, remove it")
        }
        try status.checkOwner(of: path)
        if status.st_mode & 0o077 != 0, chmod(path, 0o600) != 0 {
            throw .system(errno, location: path, doing: "making the file private")
        }
    }

    /// Whether the file has several hard links. Processes that open it by different names use different locks and
    /// journals.
    var hasOtherNames: Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_nlink > 1
    }

    /// Checks that the file is missing because the store is new, not because the file was removed.
    ///
    /// The store creates its journals and key file after the database. If they exist, the database existed too. SQLite
    /// would apply an old journal to a new database and damage it.
    ///
    /// - Throws: ``StorageError`` if the file was removed.
    func checkIsNew() throws(StorageError) {
        let files = ["-journal", "-wal", "-shm"].map { path + $0 } + [folder.keyFile]
        var status = stat()
        let found = files.filter { lstat($0, &status) == 0 }
        // If the database exists now, another process has just created it.
        guard !found.isEmpty, identity() == nil else { return }
        let names = found.map { $0.dropFirst(folder.file("").count) }.joined(separator: " and ")
        throw StorageError(
            .notAStore, location: path, reason: "the database was removed, but not \(names)",
            hint:
                "restore the database from a copy; or, to start again without accounts, move \(names) to another folder"
        )
    }

    private func create() throws(StorageError) {
        try checkIsNew()
        // If the file exists, another process created it first.
        if let code = try Self.create(path, from: SQLiteSchema.emptyDatabase()), code != EEXIST {
            throw .system(code, location: path, doing: "making the file")
        }
    }

    /// Creates a file with the content of an in-memory database, atomically and with mode 0600.
    ///
    /// SQLite gives its journal the same mode. Returns the error number if the file cannot be created.
    static func create(_ path: String, from memory: SQLiteConnection) throws(StorageError) -> Int32? {
        guard let image = memory.image(), let random = try? SecureRandom.bytes(9) else {
            throw StorageError(
                .other, location: path, reason: "no memory or randomness", hint: "close other programs and try again")
        }
        let result = OwnerOnlyFile.create(path, image, suffix: Base64URL.encode(random))
        if case .failure(let error) = result { return error.code }
        return nil
    }
}
