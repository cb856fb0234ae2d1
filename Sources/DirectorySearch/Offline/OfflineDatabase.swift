import LodgePlatform
import OAuth2AccountStore

/// The open file of an ``OfflineIndex``. Only one thread at a time may use it.
///
/// `people` has each user as JSON with the saved properties. `words` is the full-text index: FTS5 with prefix indexes,
/// without a copy of the strings. Compared with an ordinary index on folded strings, for a million users: a search for
/// the start of a name took at most 2.4 ms in 99 of 100 cases, with the ordinary index 0.6 ms. Both are fast enough for
/// searching while typing. But a page of 1,000 users wrote 0.1 MB, with the ordinary index 7.5 MB. The ordinary index
/// also does not find users by several words and does not fold letters. With the write-ahead log a reader never waits
/// for a sync.
final class OfflineDatabase {
    /// "OA2P" in the file's header identifies the file, for example for the `file` command.
    private static let applicationID = 0x4F41_3250
    /// The version of the schema, including ``IndexedText``: a string can only be removed from the index with the same
    /// value.
    private static let schemaVersion: Int64 = 2

    let index: OfflineIndex
    let connection: SQLiteConnection
    private let identity: Identity

    private struct Identity: Equatable {
        var device: UInt64
        var inode: UInt64

        init?(_ path: String) {
            var status = stat()
            guard lstat(path, &status) == 0 else { return nil }
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(truncatingIfNeeded: status.st_ino)
        }
    }

    private init(_ index: OfflineIndex) throws {
        var status = stat()
        guard lstat(index.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            throw OfflineIndexError(.damaged, path: index.path)
        }
        guard status.st_uid == geteuid() else {
            throw OfflineIndexError(.ownedByAnotherUser, path: index.path)
        }
        if status.st_mode & 0o077 != 0, chmod(index.path, 0o600) != 0 {
            throw StorageError(
                .insecure, location: index.path, reason: "other users can read it", hint: "run: chmod 600 on it")
        }
        guard let identity = Identity(index.path) else { throw OfflineIndexError(.missing, path: index.path) }
        self.index = index
        self.identity = identity
        // SQLite rejects symbolic links. Resolve the parent folders first, because the user created those links.
        let resolved = OfflineIndex(account: index.account, in: try index.directory.resolved())
        connection = try SQLiteConnection(path: resolved.path)
        try configure()
    }

    /// Opens the copy, or returns `nil` without one.
    static func open(_ index: OfflineIndex) throws -> OfflineDatabase? {
        guard Identity(index.path) != nil else { return nil }
        try index.directory.prepare()
        return try wrappingErrors(index) { try OfflineDatabase(index) }
    }

    /// Opens or creates the copy.
    static func make(_ index: OfflineIndex, _ state: @autoclosure () -> SyncState) throws -> OfflineDatabase {
        if let database = try open(index) { return database }
        try index.directory.prepare()
        // Create it in memory and write it atomically with its mode: a file is never an incomplete database.
        let memory = try SQLiteConnection(path: ":memory:")
        try memory.execute(
            """
            CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
            CREATE TABLE people (
                number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL, person TEXT NOT NULL
            ) STRICT;
            CREATE VIRTUAL TABLE words USING fts5(
                displayName, givenName, surname, address, content='', columnsize=0, prefix='1 2 3 4 5 6',
                tokenize='unicode61 remove_diacritics 2');
            PRAGMA application_id=\(applicationID);
            PRAGMA user_version=\(schemaVersion);
            """)
        try memory.run("INSERT INTO facts (name, value) VALUES ('state', ?)", [.text(state().text)])
        guard var image = memory.image(), image.count > 100 else {
            throw StorageError(.other, location: index.path, reason: "there is no memory for it", hint: "try again")
        }
        // Use a write-ahead log from the start (SQLite's file format, section 1.3.3): a later change needs exclusive
        // access.
        image[18] = 2
        image[19] = 2
        let suffix = UUID().uuidString.lowercased()
        if case .failure(let failure) = OwnerOnlyFile.create(index.path, image, suffix: suffix), failure.code != EEXIST
        {
            throw OfflineIndexError(.notCreated(reason: failure.explanation), path: index.path)
        }
        guard let database = try open(index) else { throw OfflineIndexError(.forgotten, path: index.path) }
        return database
    }

    private func configure() throws {
        guard case .integer(let application)? = try connection.run("PRAGMA application_id").first?.first,
            application == Self.applicationID,
            case .integer(let version)? = try connection.run("PRAGMA user_version").first?.first
        else { throw OfflineIndexError(.damaged, path: index.path) }
        guard version <= Self.schemaVersion else { throw OfflineIndexError(.laterVersion, path: index.path) }
        guard version == Self.schemaVersion else { throw OfflineIndexError(.earlierVersion, path: index.path) }
        // A power failure loses the last pages together with their link. The next sync loads them again.
        try connection.execute(
            """
            PRAGMA trusted_schema=OFF; PRAGMA secure_delete=FAST; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16000;
            PRAGMA wal_autocheckpoint=4000
            """)
        guard try state().account == index.account.rawValue else {
            throw OfflineIndexError(.anotherAccount, path: index.path)
        }
    }

    /// Runs a body and converts errors of a file that is not a database, or was overwritten while open.
    static func wrappingErrors<Value>(_ index: OfflineIndex, _ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as StorageError where error.kind == .notAStore {
            throw OfflineIndexError(Identity(index.path) == nil ? .missing : .damaged, path: index.path)
        }
    }

    /// Whether the path still refers to the open file, which was not removed or replaced.
    var isCurrentFile: Bool { Identity(index.path) == identity }

    // MARK: State

    func state() throws(StorageError) -> SyncState {
        guard case .text(let text)? = try connection.run("SELECT value FROM facts WHERE name = 'state'").first?.first,
            let state = SyncState(text)
        else {
            throw StorageError(
                .notAStore, location: index.path, reason: "the state of the copy cannot be read",
                hint: "forget the copy and make a new one")
        }
        return state
    }

    func save(_ state: SyncState) throws(StorageError) {
        try connection.run("UPDATE facts SET value = ? WHERE name = 'state'", [.text(state.text)])
    }

    func summary() throws -> OfflineIndex.Summary {
        let state = try state()
        var size: Int64 = 0
        for end in ["", "-wal"] {
            var status = stat()
            if stat(index.path + end, &status) == 0 { size += Int64(status.st_size) }
        }
        return OfflineIndex.Summary(
            users: Int(clamping: state.users), properties: state.properties,
            completed: state.completed.map { Date(timeIntervalSince1970: TimeInterval($0)) },
            isListing: state.phase == .listing || state.phase == .finishing, size: size)
    }

    /// Moves the log into the file, so that the next process opens it faster.
    func truncateLog() throws(StorageError) { try connection.run("PRAGMA wal_checkpoint(TRUNCATE)") }
}
