/// The tables of a store's file, and their migration from an earlier version.
enum SQLiteSchema {
    /// "OA2S", which identifies the format in the file's header.
    private static let applicationID = 0x4F41_3253
    /// The version that this library writes. Version 1 has no identities.
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

    /// Returns a database in memory with empty tables.
    static func emptyDatabase() throws(StorageError) -> SQLiteConnection {
        let memory = try SQLiteConnection(path: ":memory:")
        try memory.transaction { () throws(StorageError) in try memory.execute(tables) }
        return memory
    }

    /// Checks the application and version of a database, migrates an earlier version if it is writable, and returns the version.
    static func open(_ connection: SQLiteConnection) throws(StorageError) -> Int64 {
        let found = try checked(connection)
        guard found < version, !connection.isReadOnly else { return found }
        do throws(StorageError) {
            return try migrate(connection)
        } catch {
            // An earlier version is readable without a migration.
            guard [.readOnly, .noPermission, .full].contains(error.kind) else { throw error }
            return found
        }
    }

    /// Migrates an earlier version in one transaction. Other processes wait for it, and then find the current version.
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

    /// Returns the version, or throws if this library does not know it.
    private static func checked(_ connection: SQLiteConnection) throws(StorageError) -> Int64 {
        guard case .integer(let found)? = try connection.run("PRAGMA user_version").first?.first,
            case .integer(let application)? = try connection.run("PRAGMA application_id").first?.first,
            application == applicationID, found > 0
        else {
            throw StorageError(
                .notAStore, location: connection.path, reason: "it is a database of another program",
                hint: "\(StorageRemedy.chooseStore(.other)); the file is unchanged")
        }
        guard found <= version else {
            throw .laterVersion(
                found, known: version, location: connection.path, alternative: "\(StorageRemedy.chooseStore(.other))")
        }
        return found
    }

    /// Returns the statement that inserts a record.
    static func insertion(_ record: SealedRecord, at position: Int64) -> SQLStatement {
        SQLStatement(
            "INSERT INTO accounts (id, type, position, revision, record, identity) VALUES (?, ?, ?, ?, ?, ?)",
            [
                .text(record.id), .text(record.type), .integer(position), .integer(record.revision),
                .blob(record.sealed), record.identityValue,
            ])
    }
}
