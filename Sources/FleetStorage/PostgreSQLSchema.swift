#if PostgreSQL
    import JOSE
    import OAuth2AccountStore

    /// The tables, and the versions they had.
    struct PostgreSQLSchema: Sendable {
        /// The version that this program writes.
        static let version: Int64 = 1

        /// The name, which is also the channel of notifications. It is checked, so that it can stand in statements.
        let name: String
        let place: String

        init(_ name: String, place: String) throws(StorageError) {
            let isName =
                name.utf8.count <= 63 && name.utf8.first.map { !(0x30...0x39).contains($0) } == true
                && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x7A).contains($0) || $0 == 0x5F }
            guard isName, !name.hasPrefix("pg_") else {
                throw StorageError(
                    .other, place: "postgresql", reason: "the schema's name cannot be used",
                    hint: "use 1 to 63 small letters, digits and _, no digit first and not pg_")
            }
            self.name = name
            self.place = place
        }

        /// The number that stands for a name in the server's advisory locks, which all schemas of a database share. Two names on
        /// one number, which are never met with, would only wait for each other.
        func lockKey(_ name: String) -> Int64 {
            let digest = SHA2.sha256.digest(Array("\(self.name)\0\(name)".utf8))
            return Int64(bitPattern: digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
        }

        /// Makes the tables, or brings them to this version, or says why they cannot be used. A store that is up to date is only
        /// read.
        func open(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
            if try foundVersion(connection) == Self.version { return }
            try connection.execute("BEGIN")
            do throws(PostgreSQLError) {
                // Processes that start at once do this one after the other.
                try connection.run("SELECT pg_advisory_xact_lock($1)", [.integer(lockKey("schema"))])
                if let found = try foundVersion(connection) {
                    for version in found..<Self.version { try migrate(connection, from: version) }
                } else {
                    try create(connection)
                }
                try connection.execute("COMMIT")
            } catch {
                // On a connection that is gone the server does this by itself.
                try? connection.execute("ROLLBACK")
                throw error
            }
        }

        /// The version that is there; nil when nothing is.
        private func foundVersion(_ connection: PostgreSQLConnection) throws(PostgreSQLError) -> Int64? {
            // The catalog is read, not to_regclass asked: in a transaction that function may remember what was before the lock.
            let tables = try connection.run(
                """
                SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
                WHERE nspname = $1 AND relname = 'state'
                """, [.text(name)])
            guard tables.first?.first == .integer(1) else { return nil }
            let rows: [[PostgreSQLConnection.Value]]
            do throws(PostgreSQLError) {
                rows = try connection.run("SELECT version FROM \(name).state")
            } catch {
                throw error.state == "42703" ? PostgreSQLError(notAStore) : error
            }
            guard case .integer(let version)? = rows.first?.first, version > 0 else { throw PostgreSQLError(notAStore) }
            guard version <= Self.version else {
                throw PostgreSQLError(
                    StorageError(
                        .laterVersion, place: place,
                        reason: "it was written by a later version (schema \(version), this one knows \(Self.version))",
                        hint: "use that version, or choose another schema; nothing was changed"))
            }
            return version
        }

        private var notAStore: StorageError {
            StorageError(
                .notAStore, place: place, reason: "the schema holds tables of another program",
                hint: "choose another schema; nothing was changed")
        }

        /// One step, in the transaction of ``open(_:)``. There is no earlier version yet.
        private func migrate(_ connection: PostgreSQLConnection, from version: Int64) throws(PostgreSQLError) {
            throw PostgreSQLError(notAStore)
        }

        private func create(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
            let strangers = try connection.run(
                """
                SELECT count(*) FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1
                """, [.text(name)])
            guard strangers.first?.first == .integer(0) else { throw PostgreSQLError(notAStore) }
            // Asked for first, because IF NOT EXISTS needs the permission to create even when there is nothing to do.
            let found = try connection.run("SELECT count(*) FROM pg_namespace WHERE nspname = $1", [.text(name)])
            if found.first?.first == .integer(0) {
                try connection.execute("CREATE SCHEMA \(name)")
            }
            // Sealed bytes cannot be compressed. The row of `state` is written with every change and is to stay on its page.
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
#endif
