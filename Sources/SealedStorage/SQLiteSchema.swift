/// The tables of a store's file, and how those of an earlier version become these.
enum SQLiteSchema {
    /// "OA2S", in the file's header: by it the `file` command and we know whose file it is.
    private static let applicationID = 0x4F41_3253
    /// What this version writes. 1: without identities.
    static let version: Int64 = 2

    static let tables = """
        CREATE TABLE accounts (
            id TEXT PRIMARY KEY, type TEXT NOT NULL, position INTEGER NOT NULL UNIQUE,
            revision INTEGER NOT NULL, record BLOB NOT NULL, identity BLOB
        ) STRICT;
        CREATE INDEX accounts_by_type ON accounts (type, position);
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) STRICT;
        CREATE TABLE changes (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, type TEXT NOT NULL, kind TEXT NOT NULL
        ) STRICT;
        \(indexes)
        PRAGMA application_id=\(applicationID);
        PRAGMA user_version=\(version);
        """

    private static let indexes = """
        CREATE INDEX accounts_by_identity ON accounts (type, identity) WHERE identity IS NOT NULL;
        CREATE INDEX accounts_unidentified ON accounts (type, position) WHERE identity IS NULL;
        """

    /// Makes the tables in an empty database.
    static func create(_ connection: SQLiteConnection) throws(StorageError) {
        try connection.transaction { () throws(StorageError) in try connection.execute(tables) }
    }

    /// Sees whose database it is, and makes one of an earlier version into one of this, unless it can only be read.
    ///
    /// - Returns: The version that it has now.
    static func open(_ connection: SQLiteConnection) throws(StorageError) -> Int64 {
        let found = try checked(connection)
        guard found < version, !connection.isReadOnly else { return found }
        do throws(StorageError) {
            return try migrate(connection)
        } catch {
            // What cannot be written can be read as it is.
            guard [.readOnly, .noPermission, .full].contains(error.kind) else { throw error }
            return found
        }
    }

    /// One transaction: who is killed in it has changed nothing. Of several processes the first one does it, and the others wait
    /// for it and find it done.
    static func migrate(_ connection: SQLiteConnection) throws(StorageError) -> Int64 {
        try connection.transaction { () throws(StorageError) -> Int64 in
            let found = try checked(connection)
            guard found < version else { return found }
            try connection.execute(
                """
                ALTER TABLE accounts ADD COLUMN identity BLOB;
                \(indexes)
                PRAGMA user_version=\(version);
                """)
            return version
        }
    }

    /// The version, when it is one that is known here.
    private static func checked(_ connection: SQLiteConnection) throws(StorageError) -> Int64 {
        guard case .integer(let found)? = try connection.run("PRAGMA user_version").first?.first,
            case .integer(let application)? = try connection.run("PRAGMA application_id").first?.first,
            application == applicationID, found > 0
        else {
            throw StorageError(
                .notAStore, place: connection.path, reason: "it is a database of another program",
                hint: "choose another directory with --store; nothing was changed")
        }
        guard found <= version else {
            throw .laterVersion(found, known: version, location: connection.path, alternative: "directory with --store")
        }
        return found
    }

    /// The fault of a file that SQLite reads, but that is not as it was written.
    static func damaged(_ place: String, _ reason: String) -> StorageError {
        StorageError(
            .notAStore, place: place, reason: reason,
            hint: "nothing was changed; restore a copy, or copy what can be read: lodge accounts salvage")
    }
}
