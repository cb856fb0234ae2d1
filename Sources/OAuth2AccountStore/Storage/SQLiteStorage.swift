import JOSE

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Accounts in one SQLite file, shared by all processes of the user.
///
/// The file is `accounts.sqlite` in the store's directory, with mode 0600; beside it stand `accounts.lock`, which is empty, and
/// SQLite's journal. Every change is a transaction that is on the disk when the call returns (`synchronous=FULL`).
/// A rollback journal is used instead of a write-ahead log: a reader then needs no shared memory, so that a store on a read-only
/// medium can be read, and a short-lived process pays nothing for opening and closing. The journal stays between transactions,
/// because its space is part of what ``checkWritable()`` sees to.
public actor SQLiteStorage: AccountStorage {
    /// How many changes the log keeps; a process that missed more learns only that something changed.
    static let keptChanges = 10_000
    private static let fileName = "accounts.sqlite"
    /// "OA2S", in the file's header: by it the `file` command and we know whose file it is.
    private static let applicationID = 0x4F41_3253
    private static let schemaVersion: Int64 = 1

    /// The path of the file.
    public nonisolated let place: String
    private let directory: StoreDirectory
    private let locks: FileLock
    private let thread = SerialThread()
    private var connection: SQLiteConnection?
    /// Which file was opened: device and inode.
    private var identity: (device: UInt64, inode: UInt64)?

    /// The storage's own thread: SQLite waits for the disk and for other processes.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The storage in this directory. The file is opened, or made, when it is first used.
    public init(
        directory: StoreDirectory,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.directory = directory
        place = directory.file(Self.fileName)
        locks = FileLock(path: directory.file("accounts.lock"), sleep: sleep)
    }

    // MARK: Opening

    private func opened() throws(StorageError) -> SQLiteConnection {
        if let connection {
            // Changes to a file that no name leads to any more would be lost, and a new one would look like an empty store.
            guard let identity, let now = fileIdentity(), now == identity else {
                throw StorageError(
                    .notAStore, place: place, reason: "the file was removed or replaced while it was open",
                    hint: "start the program again, after restoring the file if it was removed by mistake")
            }
            return connection
        }
        try directory.prepare()
        try createFile()
        // SQLite refuses links in any part of a path. Those above the file are the user's own, so they are followed first.
        let connection = try SQLiteConnection(path: directory.resolved().file(Self.fileName))
        try configure(connection)
        identity = fileIdentity()
        self.connection = connection
        return connection
    }

    private func fileIdentity() -> (device: UInt64, inode: UInt64)? {
        var status = stat()
        guard lstat(place, &status) == 0 else { return nil }
        return (UInt64(truncatingIfNeeded: status.st_dev), UInt64(truncatingIfNeeded: status.st_ino))
    }

    /// Makes the file with mode 0600, whole or not at all: so an empty file is always damage, never a store that is being made.
    /// SQLite gives its journal the same mode.
    private func createFile() throws(StorageError) {
        var status = stat()
        if lstat(place, &status) != 0 {
            guard errno == ENOENT else { throw .system(errno, place: place, doing: "opening the file") }
            try createStore()
            guard lstat(place, &status) == 0 else { throw .system(errno, place: place, doing: "opening the file") }
        }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw StorageError(
                .notAStore, place: place, reason: "it is not a plain file",
                hint: "choose another directory with --store")
        }
        guard status.st_size > 0 else {
            throw StorageError(
                .notAStore, place: place, reason: "it is empty, which a store never is: it was cut off",
                hint: "restore a copy; or, to begin anew without accounts, remove it")
        }
        guard status.st_uid == geteuid() else {
            throw StorageError(
                .insecure, place: place, reason: "it belongs to another user",
                hint: "choose a directory of your own with --store")
        }
        if status.st_mode & 0o077 != 0, chmod(place, 0o600) != 0 {
            throw .system(errno, place: place, doing: "making the file private")
        }
    }

    private func createStore() throws(StorageError) {
        let memory = try SQLiteConnection(path: ":memory:")
        try create(memory)
        guard let image = memory.image(), let random = try? SecureRandom.bytes(9) else {
            throw StorageError(.other, place: place, reason: "no memory or randomness", hint: "try again")
        }
        switch PrivateFile.create(place, image, suffix: Base64URL.encode(random)) {
        // Taken: another process was quicker.
        case .failure(let failure) where failure.code != EEXIST:
            throw .system(failure.code, place: place, doing: "making the file")
        default: return
        }
    }

    /// The most bytes that the journal keeps between transactions.
    private static let maximumJournalSize = 1 << 20

    private func configure(_ connection: SQLiteConnection) throws(StorageError) {
        try connection.execute("PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON")
        switch try version(connection) {
        case Self.schemaVersion: break
        case let version where version > Self.schemaVersion:
            throw StorageError(
                .laterVersion, place: place,
                reason: "it was written by a later version (schema \(version), this one knows 1)",
                hint: "use that version, or choose another directory with --store; nothing was changed")
        default:
            throw StorageError(
                .notAStore, place: place, reason: "it is a database of another program",
                hint: "choose another directory with --store; nothing was changed")
        }
        try connection.execute(
            "PRAGMA journal_mode=PERSIST; PRAGMA journal_size_limit=\(Self.maximumJournalSize)")
    }

    /// The schema version; -1 for another program's database.
    private func version(_ connection: SQLiteConnection) throws(StorageError) -> Int64 {
        guard case .integer(let version)? = try connection.run("PRAGMA user_version").first?.first,
            case .integer(let application)? = try connection.run("PRAGMA application_id").first?.first
        else { return -1 }
        return application == Self.applicationID ? version : -1
    }

    private func create(_ connection: SQLiteConnection) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in
            try connection.execute(
                """
                CREATE TABLE accounts (
                    id TEXT PRIMARY KEY, type TEXT NOT NULL, position INTEGER NOT NULL UNIQUE,
                    revision INTEGER NOT NULL, record BLOB NOT NULL
                ) STRICT;
                CREATE INDEX accounts_by_type ON accounts (type, position);
                CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
                CREATE TABLE changes (
                    sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, type TEXT NOT NULL, kind TEXT NOT NULL
                ) STRICT;
                PRAGMA application_id=\(Self.applicationID);
                PRAGMA user_version=\(Self.schemaVersion);
                """)
        }
    }

    // MARK: Records

    /// All records of a type, or of every type, in order.
    public func records(ofType type: String?) throws -> [SealedRecord] {
        let columns = "SELECT id, type, revision, position, record FROM accounts"
        let rows =
            if let type {
                try opened().run("\(columns) WHERE type = ? ORDER BY position", [.text(type)])
            } else {
                try opened().run("\(columns) ORDER BY position")
            }
        return rows.compactMap(Self.record)
    }

    /// The record of this identifier.
    public func record(_ id: String) throws -> SealedRecord? {
        try opened().run("SELECT id, type, revision, position, record FROM accounts WHERE id = ?", [.text(id)])
            .first.flatMap(Self.record)
    }

    private static func record(_ row: [SQLiteConnection.Value]) -> SealedRecord? {
        guard row.count == 5, case .text(let id) = row[0], case .text(let type) = row[1],
            case .integer(let revision) = row[2], case .integer(let position) = row[3], case .blob(let sealed) = row[4]
        else { return nil }
        return SealedRecord(id: id, type: type, revision: revision, position: position, sealed: sealed)
    }

    /// Adds a record after all others.
    public func insert(_ record: SealedRecord) throws -> (position: Int64, sequence: Int64) {
        let connection = try opened()
        return try connection.transaction { () throws(StorageError) -> (position: Int64, sequence: Int64) in
            var position: Int64 = 1
            if case .integer(let last)? = try connection.run("SELECT max(position) FROM accounts").first?.first {
                position = last + 1
            }
            try connection.run(
                "INSERT INTO accounts (id, type, position, revision, record) VALUES (?, ?, ?, ?, ?)",
                [
                    .text(record.id), .text(record.type), .integer(position), .integer(record.revision),
                    .blob(record.sealed),
                ])
            return (position, try note(record.id, record.type, .added, connection))
        }
    }

    /// Replaces a record if its revision is one less than the new one.
    public func replace(_ record: SealedRecord, kind: StorageChange.Kind) throws -> Int64? {
        let connection = try opened()
        return try connection.transaction { () throws(StorageError) -> Int64? in
            try connection.run(
                "UPDATE accounts SET record = ?, revision = ? WHERE id = ? AND revision = ?",
                [.blob(record.sealed), .integer(record.revision), .text(record.id), .integer(record.revision - 1)])
            guard connection.changedRows == 1 else { return nil }
            return try note(record.id, record.type, kind, connection)
        }
    }

    /// Removes a record.
    public func remove(_ id: String) throws -> Int64? {
        let connection = try opened()
        let sequence = try connection.transaction { () throws(StorageError) -> Int64? in
            let rows = try connection.run("DELETE FROM accounts WHERE id = ? RETURNING type", [.text(id)])
            guard case .text(let type)? = rows.first?.first else { return nil }
            return try note(id, type, .removed, connection)
        }
        // The journal that stays still holds the removed record, sealed. It goes, unless another process is using it now.
        if sequence != nil { try? connection.execute("PRAGMA journal_mode=DELETE; PRAGMA journal_mode=PERSIST") }
        return sequence
    }

    private func note(
        _ id: String, _ type: String, _ kind: StorageChange.Kind, _ connection: SQLiteConnection
    ) throws(StorageError) -> Int64 {
        try connection.run(
            "INSERT INTO changes (id, type, kind) VALUES (?, ?, ?)", [.text(id), .text(type), .text(kind.rawValue)])
        let sequence = connection.lastInsertedRow
        if sequence % 256 == 0 {
            try connection.run(
                "DELETE FROM changes WHERE sequence <= ?", [.integer(sequence - Int64(Self.keptChanges))])
        }
        return sequence
    }

    // MARK: Small values

    /// A small value kept beside the records.
    public func value(_ name: String) throws -> [UInt8]? {
        guard
            case .blob(let bytes)? = try opened().run("SELECT value FROM facts WHERE name = ?", [.text(name)]).first?
                .first
        else { return nil }
        return bytes
    }

    /// Sets a small value.
    public func setValue(_ value: [UInt8]?, for name: String) throws {
        if let value {
            try opened().run("INSERT OR REPLACE INTO facts (name, value) VALUES (?, ?)", [.text(name), .blob(value)])
        } else {
            try opened().run("DELETE FROM facts WHERE name = ?", [.text(name)])
        }
    }

    /// How many bytes are kept free in the file, and in its journal.
    private static let reservedSpace: Int64 = 64 * 1024

    /// Writes and removes a block of zeros. What it took stays in the file as free pages, and in the journal, so that a record of
    /// usual size can be saved even when the disk is full by then.
    public func checkWritable() throws {
        let connection = try opened()
        guard !connection.isReadOnly else {
            throw StorageError(
                .readOnly, place: place, reason: "it can only be read",
                hint: "make the file and its directory writable, or choose another directory with --store")
        }
        // Replaced, not inserted: a process that was killed here may have left its block.
        let block = "INSERT OR REPLACE INTO facts (name, value) VALUES ('reserved', zeroblob(?))"
        if try hasReservedSpace(connection) {
            // The space is there; whether the file can be written is still to be seen.
            try connection.run(block, [.integer(1)])
            return
        }
        try connection.run(block, [.integer(Self.reservedSpace)])
        // The cleared pages pass through the journal, which is as long afterwards.
        try connection.run(block, [.integer(1)])
    }

    private func hasReservedSpace(_ connection: SQLiteConnection) throws(StorageError) -> Bool {
        guard case .integer(let free)? = try connection.run("PRAGMA freelist_count").first?.first,
            case .integer(let size)? = try connection.run("PRAGMA page_size").first?.first,
            free * size >= Self.reservedSpace
        else { return false }
        var status = stat()
        return lstat(place + "-journal", &status) == 0 && Int64(status.st_size) >= Self.reservedSpace
    }

    // MARK: Changes

    /// The changes after a sequence.
    public func changes(after sequence: Int64) throws -> [StorageChange]? {
        let connection = try opened()
        let rows = try connection.run(
            "SELECT sequence, id, type, kind FROM changes WHERE sequence > ? ORDER BY sequence", [.integer(sequence)])
        let changes = rows.compactMap { row -> StorageChange? in
            guard case .integer(let sequence) = row[0], case .text(let id) = row[1], case .text(let type) = row[2],
                case .text(let name) = row[3], let kind = StorageChange.Kind(rawValue: name)
            else { return nil }
            return StorageChange(sequence: sequence, id: id, type: type, kind: kind)
        }
        if let first = changes.first, first.sequence > sequence + 1 { return nil }
        return changes
    }

    /// The sequence of the newest change.
    public func lastSequence() throws -> Int64 {
        guard case .integer(let last)? = try opened().run("SELECT max(sequence) FROM changes").first?.first else {
            return 0
        }
        return last
    }

    /// Calls `handler` when the file was written, by this process too.
    public nonisolated func watch(_ handler: @escaping @Sendable () -> Void) -> (any StorageLock)? {
        FileWatch(path: place, handler: handler)
    }

    /// Waits for the lock of this name.
    public func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try directory.prepare()
        return try await locks.lock(name, timeout: timeout)
    }
}
