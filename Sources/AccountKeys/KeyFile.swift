import SealedStorage
import LodgePlatform
import JOSE

/// The key in a file of 32 bytes with mode 0600. It is as safe as the user's other files.
public actor KeyFile: KeyCustody {
    /// The path of the file.
    public nonisolated let path: String
    /// The store's folder, which is created with the file if it does not exist.
    private let directory: StoreLocation?
    private let thread = SerialThread()

    /// The executor of a separate thread, because disk access blocks.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Creates access to the key file at a path.
    public init(path: String) {
        self.path = path
        directory = nil
    }

    /// Creates access to the key file in a store's folder.
    public init(directory: StoreLocation) {
        path = directory.keyFile
        self.directory = directory
    }

    /// The text "key file" with the path.
    public nonisolated var location: String { "key file \(path)" }

    /// The choice ``KeyCustodyChoice/keyFile``.
    public nonisolated var choice: KeyCustodyChoice? { .keyFile }

    /// Returns the key, or `nil` if the file does not exist.
    public func key() throws -> SealingKey? {
        var status = stat()
        if lstat(path, &status) != 0 {
            if errno == ENOENT { return nil }
            throw error(String(cString: strerror(errno)), "check who owns the file and its directory, and their modes")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw error("it is not a plain file", restore) }
        guard status.st_uid == geteuid() else {
            throw error("it belongs to another user", "\(StorageRemedy.chooseStore(.own))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw error(
                "other users can read it", "run: chmod 600 '\(path)'; if they may have read it, sign out and in again")
        }
        switch OwnerOnlyFile.read(path, maximumSize: 4096) {
        case .failure(let failure): throw error(failure.explanation, "check who owns the file, and its mode")
        case .success(let bytes):
            guard bytes.count == SealingKey.byteCount else {
                throw error("it has \(bytes.count) bytes, expected \(SealingKey.byteCount)", restore)
            }
            return try SealingKey(bytes)
        }
    }

    private var restore: Hint { "restore the file from a copy; without it the accounts cannot be read" }

    /// Creates the file with a new key atomically.
    public func create() throws -> SealingKey {
        let key = try SealingKey.random()
        return try write(key) ?? key
    }

    /// Creates the file with this key atomically.
    public func save(_ key: SealingKey) async throws {
        guard let existing = try write(key) else { return }
        try check(existing, is: key, otherwise: "check which store it belongs to, move the file away, and try again")
    }

    /// Writes this key. Returns `nil`, or the existing key if there is one.
    private func write(_ key: SealingKey) throws -> SealingKey? {
        do throws(StorageError) { try directory?.prepare() } catch { throw self.error(error.reason, error.hint) }
        let suffix = Base64URL.encode(try SecureRandom.bytes(9))
        switch OwnerOnlyFile.create(path, key.bytes, suffix: suffix) {
        case .success: return nil
        case .failure(let failure):
            if failure.code == EEXIST, let existing = try self.key() { return existing }
            throw error(failure.explanation, "free some space or make the directory writable, and try again")
        }
    }

    /// Removes the file, and temporary files of a process that was killed while it created the file.
    public func remove(_ key: SealingKey) async throws {
        if let existing = try self.key(), equalInConstantTime(existing.bytes, key.bytes) { try unlinkFile(at: path) }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let folder = OwnerOnlyFile.directory(of: path)
        let others = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for other in others.map({ folder + "/" + $0 }) where other.hasPrefix(folder + "/" + name + ".") {
            guard case .success(let bytes) = OwnerOnlyFile.read(other, maximumSize: SealingKey.byteCount),
                equalInConstantTime(bytes, key.bytes)
            else { continue }
            try unlinkFile(at: other)
        }
        OwnerOnlyFile.syncDirectory(of: path)
    }

    private func unlinkFile(at path: String) throws {
        guard unlink(path) != 0, errno != ENOENT else { return }
        throw error(
            "\(path) cannot be removed: \(String(cString: strerror(errno)))",
            "make its directory writable, or remove it")
    }
}
