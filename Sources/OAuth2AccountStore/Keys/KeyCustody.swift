import JOSE

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Who keeps the 32-byte key that seals a store's records.
public protocol KeyCustody: Sendable {
    /// Where the key is, in words for people: "key file /home/ada/.local/share/directory/accounts.key".
    var place: String { get }

    /// The key, or nil when there is none yet.
    ///
    /// - Throws: ``KeyCustodyError`` when there is one that cannot be had: locked, unreadable, damaged.
    func key() async throws -> SealingKey?

    /// Makes a key and keeps it. When another process made one meanwhile, that one.
    ///
    /// - Throws: ``KeyCustodyError``
    func create() async throws -> SealingKey
}

/// Why the key cannot be had. Never a reason to start with a new one.
public struct KeyCustodyError: Error, Sendable, Equatable, CustomStringConvertible {
    /// Where the key is kept.
    public var place: String
    /// What is wrong.
    public var reason: String
    /// What to do.
    public var hint: String

    /// A fault.
    public init(place: String, reason: String, hint: String) {
        self.place = place
        self.reason = reason
        self.hint = hint
    }

    /// Place and reason.
    public var description: String { "\(place): \(reason)" }
}

/// The key in a file of 32 bytes with mode 0600: as safe as the user's own files are.
public actor KeyFile: KeyCustody {
    /// The path of the file.
    public nonisolated let path: String
    private let thread = SerialThread()

    /// The file is read on a thread of its own.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The key file at this path.
    public init(path: String) { self.path = path }

    /// The key file of a store's directory.
    public init(directory: StoreDirectory) { self.init(path: directory.file("accounts.key")) }

    /// "key file" and the path.
    public nonisolated var place: String { "key file \(path)" }

    /// The key, or nil when there is no file.
    public func key() throws -> SealingKey? {
        var status = stat()
        if lstat(path, &status) != 0 {
            if errno == ENOENT { return nil }
            throw fault(String(cString: strerror(errno)), "check who owns the file and its directory, and their modes")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw fault("it is not a plain file", restore) }
        guard status.st_uid == geteuid() else {
            throw fault("it belongs to another user", "choose a store of your own with --store")
        }
        guard status.st_mode & 0o077 == 0 else {
            throw fault(
                "other users can read it", "run: chmod 600 '\(path)'; if they may have read it, sign out and in again")
        }
        switch PrivateFile.read(path, maximumSize: 4096) {
        case .failure(let failure): throw fault(failure.explanation, "check who owns the file, and its mode")
        case .success(let bytes):
            guard bytes.count == SealingKey.byteCount else {
                throw fault("it has \(bytes.count) bytes, expected \(SealingKey.byteCount)", restore)
            }
            return try SealingKey(bytes)
        }
    }

    private var restore: String { "restore the file from a copy; without it the accounts cannot be read" }

    /// Makes the file, whole or not at all.
    public func create() throws -> SealingKey {
        let key = try SealingKey.random()
        let suffix = Base64URL.encode(try SecureRandom.bytes(9))
        switch PrivateFile.create(path, key.bytes, suffix: suffix) {
        case .success: return key
        case .failure(let failure):
            if failure.code == EEXIST, let existing = try self.key() { return existing }
            throw fault(failure.explanation, "free some space or make the directory writable, and try again")
        }
    }

    private func fault(_ reason: String, _ hint: String) -> KeyCustodyError {
        KeyCustodyError(place: place, reason: reason, hint: hint)
    }
}

/// A key that lives in memory: for tests, and for programs that keep it themselves.
public struct MemoryKey: KeyCustody {
    private let sealingKey: SealingKey

    /// This key.
    public init(_ key: SealingKey) { sealingKey = key }

    /// A new key.
    ///
    /// - Throws: `JOSEError` when the system has no randomness.
    public init() throws { sealingKey = try SealingKey.random() }

    /// "memory"
    public var place: String { "memory" }

    /// The key.
    public func key() -> SealingKey? { sealingKey }

    /// The key.
    public func create() -> SealingKey { sealingKey }
}
