import JOSE
import SealedStorage
import LodgePlatform

/// The tables and their version.
struct PostgreSQLSchema: Sendable {
    /// The version that this library writes.
    static let version: Int64 = 1

    /// The name of the schema and of its notification channel. It needs no quotes in SQL.
    let name: String
    let location: String

    init(_ name: String, location: String) throws(StorageError) {
        let isName =
            name.utf8.count <= 63 && name.utf8.first.map { !(0x30...0x39).contains($0) } == true
            && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F }
        guard isName, !name.hasPrefix("pg_") else {
            throw StorageError(
                .other, location: "postgresql", reason: "the schema's name is not valid",
                hint: "use 1 to 63 lowercase letters, digits and _, starting with a letter or _ but not with pg_")
        }
        self.name = name
        self.location = location
    }

    var statements: SQLStatements { SQLStatements(schema: name) }

    /// Returns the key of an advisory lock. All schemas of a database share the keys.
    func lockKey(_ name: String) -> Int64 {
        // Two names with the same key are very unlikely, and would only wait for each other.
        let digest = SHA2.sha256.digest(Array("\(self.name)\0\(name)".utf8))
        return Int64(bitPattern: digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }

    /// Returns the statement whose row has the name of the session that holds a lock.
    func holder(of key: Int64) -> SQLStatement {
        SQLStatement(
            """
            SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND (classid::bigint << 32 | objid::bigint) = $1
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """, [.integer(key)])
    }

    // MARK: Leases

    /// The number of bytes that identify the holder of a lease.
    static let holderByteCount = 16
    private static let now = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

    // A lease is a small value: the holder, and 8 bytes with the end in microseconds of the server's clock.
    private func leaseName(_ key: Int64) -> SQLValue { .text("lease:\(key)") }

    /// Returns the statement that saves a lease. It returns a row if this session has the lock.
    func saveLease(of key: Int64, _ holder: [UInt8], for duration: Duration) -> SQLStatement {
        SQLStatement(
            """
            INSERT INTO \(name).facts (name, value)
            SELECT $1, $2 || decode(lpad(to_hex(\(Self.now) + $3), 16, '0'), 'hex') WHERE EXISTS (
                SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory' AND granted AND objsubid = 1
                AND (classid::bigint << 32 | objid::bigint) = $4
            )
            ON CONFLICT (name) DO UPDATE SET value = excluded.value RETURNING 1
            """, [leaseName(key), .blob(holder), .integer(Int64(duration / .microseconds(1))), .integer(key)])
    }

    /// Returns the statement whose row has the seconds until a lease ends, unless it has ended.
    ///
    /// - Parameter maximum: The duration of new leases. A lease of more than twice this time was saved before the clock
    ///   was changed.
    func lease(of key: Int64, maximum: Duration) -> SQLStatement {
        SQLStatement(
            """
            SELECT ceil((until - \(Self.now)) / 1000000.0)::bigint FROM (
                SELECT ('x' || encode(substring(value FROM \(Self.holderByteCount + 1) FOR 8), 'hex'))::bit(64)::bigint AS until
                FROM \(name).facts WHERE name = $1 AND length(value) = \(Self.holderByteCount + 8)
            ) AS lease WHERE until BETWEEN \(Self.now) AND \(Self.now) + $2
            """, [leaseName(key), .integer(2 * Int64(maximum / .microseconds(1)))])
    }

    /// Returns the statement that ends a lease of this holder.
    func removeLease(of key: Int64, _ holder: [UInt8]) -> SQLStatement {
        SQLStatement(
            "DELETE FROM \(name).facts WHERE name = $1 AND substring(value FROM 1 FOR \(Self.holderByteCount)) = $2",
            [leaseName(key), .blob(holder)])
    }

    // MARK: Tables

    /// Creates the tables, or migrates them to this version. Only reads if the version is current.
    func open(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
        if try foundVersion(connection) == Self.version { return }
        try connection.execute("BEGIN")
        do throws(PostgreSQLError) {
            // Only one process at a time continues from here.
            try connection.run("SELECT pg_advisory_xact_lock($1)", [.integer(lockKey("schema"))])
            // There is no earlier version to migrate from yet.
            if try foundVersion(connection) == nil { try create(connection) }
            try connection.execute("COMMIT")
        } catch {
            // If the connection is closed, the server rolls back.
            try? connection.execute("ROLLBACK")
            throw error
        }
    }

    /// Returns the version of the tables, or `nil` if the schema has no tables.
    func foundVersion(_ connection: PostgreSQLConnection) throws(PostgreSQLError) -> Int64? {
        // to_regclass could return a value from before the lock, because it may use the snapshot of the transaction.
        let tables = try connection.run(
            """
            SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = $1 AND relname = 'state'
            """, [.text(name)])
        guard tables.first?.first == .integer(1) else { return nil }
        let rows: [[SQLValue]]
        do throws(PostgreSQLError) {
            rows = try connection.run("SELECT version FROM \(name).state")
        } catch {
            throw error.state == "42703" ? PostgreSQLError(notAStore) : error
        }
        guard case .integer(let version)? = rows.first?.first, version > 0 else { throw PostgreSQLError(notAStore) }
        guard version <= Self.version else {
            throw PostgreSQLError(
                .laterVersion(version, known: Self.version, location: location, alternative: "choose another schema"))
        }
        return version
    }

    private var notAStore: StorageError {
        StorageError(
            .notAStore, location: location, reason: "the schema contains tables of another program",
            hint: "choose another schema; this one is unchanged")
    }

    private func create(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
        let tables = try connection.run(
            """
            SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1
            """, [.text(name)])
        guard tables.first?.first == .integer(0) else { throw PostgreSQLError(notAStore) }
        // CREATE SCHEMA IF NOT EXISTS requires the permission to create even if the schema exists.
        let schemas = try connection.run("SELECT count(*) FROM pg_namespace WHERE nspname = $1", [.text(name)])
        if schemas.first?.first == .integer(0) { try connection.execute("CREATE SCHEMA \(name)") }
        // Sealed bytes cannot be compressed. Every change updates the row of `state`, which should stay on its page.
        try connection.execute(
            """
            CREATE TABLE \(name).accounts (
                id text COLLATE "C" PRIMARY KEY, type text COLLATE "C" NOT NULL, position bigint NOT NULL UNIQUE,
                revision bigint NOT NULL, identity bytea, record bytea NOT NULL
            );
            ALTER TABLE \(name).accounts ALTER COLUMN record SET STORAGE EXTERNAL;
            CREATE INDEX accounts_by_type ON \(name).accounts (type, position);
            CREATE INDEX accounts_by_identity ON \(name).accounts (type, identity, position)
                WHERE identity IS NOT NULL;
            CREATE TABLE \(name).facts (name text COLLATE "C" PRIMARY KEY, value bytea NOT NULL);
            CREATE TABLE \(name).changes (
                sequence bigint PRIMARY KEY, id text NOT NULL, type text NOT NULL, kind text NOT NULL,
                request bytea NOT NULL UNIQUE
            );
            CREATE TABLE \(name).state (
                single boolean PRIMARY KEY DEFAULT true CHECK (single), version bigint NOT NULL,
                sequence bigint NOT NULL, position bigint NOT NULL
            ) WITH (fillfactor = 10);
            INSERT INTO \(name).state (version, sequence, position) VALUES (\(Self.version), 0, 0);
            """)
    }
}
