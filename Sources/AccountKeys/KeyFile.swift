import SealedStorage
import Platform
import JOSE

/// The key in a file of 32 bytes with mode 0600: as safe as the user's own files are.
public actor KeyFile: KeyCustody {
    /// The path of the file.
    public nonisolated let path: String
    /// The store's directory, which is made with the file where no storage has made it.
    private let directory: StoreLocation?
    private let thread = SerialThread()

    /// The file is read on a thread of its own.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The key file at this path.
    public init(path: String) {
        self.path = path
        directory = nil
    }

    /// The key file of a store's directory.
    public init(directory: StoreLocation) {
        path = directory.file("accounts.key")
        self.directory = directory
    }

    /// "key file" and the path.
    public nonisolated var location: String { "key file \(path)" }

    /// ``KeyCustodyChoice/keyFile``
    public nonisolated var choice: KeyCustodyChoice? { .keyFile }

    /// The key, or nil when there is no file.
    public func key() throws -> SealingKey? {
        var status = stat()
        if lstat(path, &status) != 0 {
            if errno == ENOENT { return nil }
            throw fault(String(cString: strerror(errno)), "check who owns the file and its directory, and their modes")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw fault("it is not a plain file", restore) }
        guard status.st_uid == geteuid() else {
            throw fault("it belongs to another user", "\(StorageRemedy.chooseStore(.own))")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw fault(
                "other users can read it", "run: chmod 600 '\(path)'; if they may have read it, sign out and in again")
        }
        switch OwnerOnlyFile.read(path, maximumSize: 4096) {
        case .failure(let failure): throw fault(failure.explanation, "check who owns the file, and its mode")
        case .success(let bytes):
            guard bytes.count == SealingKey.byteCount else {
                throw fault("it has \(bytes.count) bytes, expected \(SealingKey.byteCount)", restore)
            }
            return try SealingKey(bytes)
        }
    }

    private var restore: Hint { "restore the file from a copy; without it the accounts cannot be read" }

    /// Makes the file, whole or not at all.
    public func create() throws -> SealingKey {
        let key = try SealingKey.random()
        return try write(key) ?? key
    }

    /// Makes the file with this key, whole or not at all.
    public func keep(_ key: SealingKey) throws {
        guard let existing = try write(key), !equalInConstantTime(existing.bytes, key.bytes) else { return }
        throw fault("another key is there already", "see what it belongs to, move the file away, and try again")
    }

    /// The key that was there before this one; nil when this one was written.
    private func write(_ key: SealingKey) throws -> SealingKey? {
        do throws(StorageError) { try directory?.prepare() } catch { throw fault(error.reason, error.hint) }
        let suffix = Base64URL.encode(try SecureRandom.bytes(9))
        switch OwnerOnlyFile.create(path, key.bytes, suffix: suffix) {
        case .success: return nil
        case .failure(let failure):
            if failure.code == EEXIST, let existing = try self.key() { return existing }
            throw fault(failure.explanation, "free some space or make the directory writable, and try again")
        }
    }

    /// Removes the file, and what a process that was killed while it made the file has left beside it.
    public func remove(_ key: SealingKey) throws {
        if let existing = try self.key(), equalInConstantTime(existing.bytes, key.bytes) { try unlinked(path) }
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let directory = path.hasSuffix("/" + name) ? String(path.dropLast(name.count)) : ""
        let beside = (try? FileManager.default.contentsOfDirectory(atPath: directory.isEmpty ? "." : directory)) ?? []
        for other in beside where other.hasPrefix(name + ".") {
            guard case .success(let bytes) = OwnerOnlyFile.read(directory + other, maximumSize: SealingKey.byteCount),
                equalInConstantTime(bytes, key.bytes)
            else { continue }
            try unlinked(directory + other)
        }
        OwnerOnlyFile.syncDirectory(of: path)
    }

    private func unlinked(_ path: String) throws {
        guard unlink(path) != 0, errno != ENOENT else { return }
        throw fault(
            "\(path) cannot be removed: \(String(cString: strerror(errno)))",
            "make its directory writable, or remove it")
    }

    private func fault(_ reason: String, _ hint: Hint) -> KeyCustodyError {
        KeyCustodyError(location: location, reason: reason, hint: hint)
    }
}
