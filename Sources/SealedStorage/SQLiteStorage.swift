import LodgePlatform
import Synchronization

/// Accounts in one SQLite file, shared by all processes of the user.
///
/// The file is `accounts.sqlite` in the store's folder, with mode 0600, next to the lock file `accounts.lock` and
/// SQLite's journal. A copy of the store is a copy of the whole folder: SQLite applies the journal to the file next to
/// it. Every process must use the same path: a hard link to the file has another lock file and another journal. Every
/// change is a transaction that is on the disk when the call returns (`synchronous=FULL`).
///
/// The storage uses a rollback journal instead of a write-ahead log: a reader then needs no shared memory, so that it
/// can read a store on a read-only medium, and a short-lived process opens and closes the file without extra cost. The
/// journal remains between transactions, because its space is part of the reserve of ``checkWritable()``.
public actor SQLiteStorage: AccountStorage, RecordRescue {
    nonisolated let file: SQLiteStoreFile
    private let locks: FileLock
    package nonisolated let rescueFolder: RescueFolder?
    package nonisolated let isShared = false
    private let thread = SerialThread()
    private var connection: SQLiteConnection?
    private var statements = SQLStatements()
    private var hasIdentities = false
    private var openedFile: SQLiteStoreFile.Identity?
    /// The number of calls of ``checkWritable()``.
    nonisolated let checkCalls = Atomic(0)
    /// The last check, and the last call before it started.
    private var lastCheck: (call: Int, result: Result<Void, any Error>) = (0, .success(()))

    /// The folder of the file.
    public nonisolated let directory: StoreLocation
    /// The path of the file.
    public nonisolated var location: String { file.path }

    /// The executor of a separate thread, because SQLite waits for the disk and for other processes.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Creates a storage in a folder. Opens or creates the file on first use.
    public init(
        directory: StoreLocation,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.directory = directory
        file = SQLiteStoreFile(in: directory)
        rescueFolder = RescueFolder(directory)
        locks = FileLock(path: directory.lockFile, sleep: sleep)
    }

    // MARK: Opening

    func opened() throws(StorageError) -> SQLiteConnection {
        if let connection {
            // Changes to a file without a name would be lost, and a new file would look like an empty store.
            guard let openedFile, file.identity() == openedFile else {
                throw StorageError(
                    .notAStore, location: location, reason: "the file was removed or replaced while it was open",
                    hint: "start the program again, after restoring the file if it was removed by mistake")
            }
            return connection
        }
        let connection = try file.open()
        try configure(connection)
        openedFile = file.identity()
        self.connection = connection
        return connection
    }

    /// The maximum size of the journal between transactions, in bytes.
    private static let maximumJournalSize = 1 << 20

    private func configure(_ connection: SQLiteConnection) throws(StorageError) {
        try connection.execute("PRAGMA synchronous=FULL; PRAGMA trusted_schema=OFF; PRAGMA secure_delete=ON")
        adopt(version: try SQLiteSchema.open(connection))
        try connection.execute(
            "PRAGMA journal_mode=PERSIST; PRAGMA journal_size_limit=\(Self.maximumJournalSize)")
    }

    private func adopt(version: Int64) {
        hasIdentities = version >= 2
        statements = SQLStatements(hasIdentities: hasIdentities)
    }

    /// Returns the connection for a change. Migrates a store of schema 1 that was not writable when it was opened.
    private func changeable() throws(StorageError) -> SQLiteConnection {
        let connection = try opened()
        if !hasIdentities { adopt(version: try SQLiteSchema.migrate(connection)) }
        return connection
    }

    // MARK: Records

    /// Returns a page of the records of a type, or of every type, in order.
    public func records(ofType type: String?, after position: Int64, limit: Int) throws -> [SealedRecord] {
        try opened().run(statements.records(ofType: type, after: position, limit: limit)).map(SealedRecord.init)
    }

    /// Returns the records of a type with an identity.
    public func records(ofType type: String, identity: [UInt8]) throws -> [SealedRecord] {
        let connection = try opened()
        guard hasIdentities else { return [] }
        return try connection.run(statements.records(ofType: type, identity: identity)).map(SealedRecord.init)
    }

    /// Returns the record of a type with the greatest position.
    public func lastRecord(ofType type: String) throws -> SealedRecord? {
        try opened().run(statements.lastRecord(ofType: type)).first.map(SealedRecord.init)
    }

    /// Returns the number of records.
    public func count(ofType type: String?) throws -> Int {
        Int(clamping: try opened().run(statements.count(ofType: type)).first?.first?.integer ?? 0)
    }

    /// Returns the record with an identifier.
    public func record(_ id: String) throws -> SealedRecord? {
        try opened().run(statements.record(id)).first.map(SealedRecord.init)
    }

    /// Adds a record after all others, and sets small values.
    public func insert(
        _ record: SealedRecord, setting values: [String: [UInt8]]
    ) throws -> (position: Int64, sequence: Int64) {
        let connection = try changeable()
        return try connection.transaction { () throws(StorageError) -> (position: Int64, sequence: Int64) in
            var position: Int64 = 1
            if case .integer(let last)? = try connection.run("SELECT max(position) FROM accounts").first?.first {
                guard last < Int64.max else { throw .damagedOrder(location: location) }
                position = max(last, 0) + 1
            }
            try connection.run(SQLiteSchema.insertion(record, at: position))
            try set(values, connection)
            return (position, try note(record.id, record.type, .added, connection))
        }
    }

    /// Replaces a record if its revision is one less than the new one, and then sets small values.
    public func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting values: [String: [UInt8]]
    ) throws -> Int64? {
        let connection = try changeable()
        return try connection.transaction { () throws(StorageError) -> Int64? in
            try connection.run(
                "UPDATE accounts SET record = ?, revision = ?, identity = ? WHERE id = ? AND revision = ?",
                [
                    .blob(record.sealed), .integer(record.revision), record.identityValue,
                    .text(record.id), .integer(record.revision - 1),
                ])
            guard connection.changedRows == 1 else { return nil }
            try set(values, connection)
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
        // The journal still contains the removed record, encrypted. SQLite deletes it unless another process uses it.
        if sequence != nil { try? connection.execute("PRAGMA journal_mode=DELETE; PRAGMA journal_mode=PERSIST") }
        return sequence
    }

    private func note(
        _ id: String, _ type: String, _ kind: StorageChange.Kind, _ connection: SQLiteConnection
    ) throws(StorageError) -> Int64 {
        try connection.run(
            "INSERT INTO changes (id, type, kind) VALUES (?, ?, ?)", [.text(id), .text(type), .text(kind.rawValue)])
        let sequence = connection.lastInsertedRow
        if let prune = statements.pruneChanges(after: sequence) { try connection.run(prune) }
        return sequence
    }

    // MARK: Small values

    /// Returns a small value.
    public func value(_ name: String) throws -> [UInt8]? {
        guard case .blob(let bytes)? = try opened().run(statements.value(name)).first?.first else { return nil }
        return bytes
    }

    /// Sets a small value.
    public func setValue(_ value: [UInt8]?, for name: String) throws {
        try opened().run(statements.setValue(value, for: name))
    }

    private func set(_ values: [String: [UInt8]], _ connection: SQLiteConnection) throws(StorageError) {
        for (name, value) in values { try connection.run(statements.setValue(value, for: name)) }
    }

    /// The number of bytes to reserve in the file and in its journal.
    private static let reservedSpace: Int64 = 64 * 1024

    /// Writes and removes a block of zeros.
    ///
    /// Its space remains in the file as free pages, and in the journal, so that a record of usual size can be saved
    /// even if the disk becomes full. Calls that wait for the thread share a write: each write costs the disk several
    /// flushes, and a server signs many users in at the same time.
    public nonisolated func checkWritable() async throws {
        try await check(checkCalls.add(1, ordering: .relaxed).newValue)
    }

    /// Returns the result of the last check if it started after this call, or checks now for all calls until now.
    private func check(_ call: Int) throws {
        if call > lastCheck.call {
            lastCheck.call = checkCalls.load(ordering: .relaxed)
            lastCheck.result = Result { try reserve(setting: nil) }
        }
        try lastCheck.result.get()
    }

    private func reserve(setting fact: (name: String, value: [UInt8])?) throws {
        let connection = try opened()
        guard !connection.isReadOnly else {
            throw StorageError(
                .readOnly, location: location, reason: "it can only be read",
                hint: "allow writing to the file and its folder, or \(StorageRemedy.chooseStore(.other))")
        }
        // A process that was killed here may have left its block.
        let block = "INSERT OR REPLACE INTO facts (name, value) VALUES ('reserved', zeroblob(?))"
        if try hasReservedSpace(connection) {
            // The space is reserved, but the file may not be writable.
            if let fact { return try setValue(fact.value, for: fact.name) }
            try connection.run(block, [.integer(1)])
            return
        }
        // Twice the space, so that not every new account requires another reservation.
        try connection.run(block, [.integer(2 * Self.reservedSpace)])
        // SQLite writes the cleared pages to the journal, which then has the same length.
        try connection.transaction { () throws(StorageError) in
            try connection.run(block, [.integer(1)])
            if let fact { try connection.run(statements.setValue(fact.value, for: fact.name)) }
        }
    }

    private func hasReservedSpace(_ connection: SQLiteConnection) throws(StorageError) -> Bool {
        guard case .integer(let free)? = try connection.run("PRAGMA freelist_count").first?.first,
            case .integer(let size)? = try connection.run("PRAGMA page_size").first?.first,
            free * size >= Self.reservedSpace
        else { return false }
        var status = stat()
        return lstat(location + "-journal", &status) == 0 && Int64(status.st_size) >= Self.reservedSpace
    }

    // MARK: Changes

    /// Returns the changes after a sequence.
    public func changes(after sequence: Int64) throws -> [StorageChange]? {
        let rows = try opened().run(
            "SELECT sequence, id, type, kind FROM changes WHERE sequence > ? ORDER BY sequence", [.integer(sequence)])
        // A lower sequence means that an older copy was restored.
        if rows.isEmpty, try lastSequence() < sequence { return nil }
        return StorageChange.unbroken(rows.compactMap(StorageChange.init), after: sequence)
    }

    /// Returns the sequence of the newest change.
    public func lastSequence() throws -> Int64 {
        try opened().run("SELECT max(sequence) FROM changes").first?.first?.integer ?? 0
    }

    /// Calls `handler` after any process, including this one, writes the file.
    public nonisolated func watch(_ handler: @escaping @Sendable () -> Void) -> (any StorageLock)? {
        FileWatch(path: location, handler: handler)
    }

    /// Waits for the lock with a name.
    public func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try file.folder.prepare()
        return try await locks.lock(name, timeout: timeout)
    }
}

extension SQLiteStorage: IdentityBackfill {
    package func unidentifiedRecords(ofType type: String, after position: Int64, limit: Int) throws -> [SealedRecord] {
        let connection = try opened()
        guard hasIdentities else { return [] }
        return try connection.run(
            """
            \(statements.selectRecords) INDEXED BY accounts_unidentified
            WHERE type = ? AND identity IS NULL AND position > ? ORDER BY position LIMIT ?
            """, [.text(type), .integer(position), .integer(Int64(max(limit, 0)))]
        ).map(SealedRecord.init)
    }

    package func identify(_ records: [SealedRecord]) throws {
        let connection = try opened()
        guard hasIdentities else { return }
        try connection.transaction { () throws(StorageError) in
            for record in records {
                try connection.run(
                    "UPDATE accounts SET identity = ? WHERE id = ? AND revision = ?",
                    [record.identityValue, .text(record.id), .integer(record.revision)])
            }
        }
    }
}

extension SQLiteStorage: AtomicValueWrites {
    package func checkWritable(setting value: [UInt8], for name: String) throws { try reserve(setting: (name, value)) }
}

extension FileWatch: StorageLock {}
