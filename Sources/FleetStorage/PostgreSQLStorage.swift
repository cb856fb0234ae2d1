#if PostgreSQL
    import JOSE
    import OAuth2AccountStore

    /// Accounts in a PostgreSQL database (version 12 or later), shared by workers on several machines.
    ///
    /// All tables stand in one schema, which is made when the storage is first used. The user needs CREATE on the database for
    /// that, or an empty schema of its own; afterwards, USAGE on the schema and SELECT, INSERT, UPDATE and DELETE on its tables.
    /// A storage has up to three connections: for statements, for locks, and for the notice of changes.
    /// PgBouncer and its like must pool sessions, not transactions: locks and notices belong to a session.
    ///
    /// The connection is encrypted as libpq's `sslmode` says, which by default does not check who the server is: use
    /// `sslmode=verify-full` with `sslrootcert` wherever the server is not on this machine. Records are sealed before they reach
    /// the server. A password belongs in the file that `PGPASSFILE` names or in a service file, not in the connection string;
    /// neither ``place`` nor any error shows one.
    ///
    /// Every change is one statement and so one transaction. When a connection breaks before the server has answered, the storage
    /// connects again and finds out by a mark in the log whether the change was made, before it makes it.
    /// When the server cannot be reached for ten seconds, the error says that it is not known.
    ///
    /// The server drops the locks of a connection that breaks, though their holder may live. ``replace(_:kind:)`` therefore takes
    /// only the next revision of a record: two holders never both save. ``checkWritable()`` tells a holder before it sends a
    /// refresh. What stays is a connection that breaks after that, while the refresh is on its way: when the server was restarted,
    /// nobody who noticed takes the lock for five seconds, so that the holder can save; when only the holder's connection broke, or
    /// a worker starts just then, another may send the same refresh token.
    public actor PostgreSQLStorage: AccountStorage {
        /// How many changes the log keeps; a process that missed more learns only that something changed.
        static let keptChanges: Int64 = 10_000

        /// User, host, port, database and schema, without the password.
        public nonisolated let place: String
        private let target: ConnectionTarget
        private let schema: PostgreSQLSchema
        private let sleep: @Sendable (Duration) async throws -> Void
        private let locks: SessionLocks
        private let listener: ChangeListener
        private let thread = SerialThread()
        private var connection: PostgreSQLConnection?
        private var wasConnected = false

        /// The storage's own thread: libpq waits for the server.
        public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        /// The storage at a server. Nothing is connected to before it is first used.
        ///
        /// - Parameters:
        ///   - connection: a connection string of libpq (`host=db.example.com dbname=accounts sslmode=verify-full`) or a URL
        ///     (`postgresql://worker@db.example.com/accounts?sslmode=verify-full`). What it leaves out is taken from libpq's
        ///     environment variables.
        ///   - schema: 1 to 63 small letters, digits and `_`, no digit first and not `pg_`. Also the name of the channel by which
        ///     changes are told.
        ///   - sleep: how to wait.
        /// - Throws: ``StorageError`` when the connection or the schema's name cannot be made out.
        public init(
            connection: String, schema: String = "lodge_accounts",
            sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
        ) throws(StorageError) {
            target = try ConnectionTarget(connection, schema: schema)
            place = target.place
            self.schema = try PostgreSQLSchema(schema, place: target.place)
            self.sleep = sleep
            locks = SessionLocks(target, self.schema, sleep: sleep)
            listener = ChangeListener(target, self.schema)
        }

        // MARK: Connecting

        /// How long a server that was there is waited for when it is away.
        private static let patience = Duration.seconds(10)

        private func connected() async throws -> PostgreSQLConnection {
            var waited = Duration.zero
            var pause = Duration.milliseconds(50)
            while true {
                if let connection { return connection }
                let began = ContinuousClock.now
                do throws(PostgreSQLError) {
                    let fresh = try PostgreSQLConnection(target)
                    try schema.open(fresh)
                    connection = fresh
                    wasConnected = true
                    return fresh
                } catch {
                    // Workers outlive a restart of their server; a server that was never there is told at once.
                    guard wasConnected, error.isPassing, waited < Self.patience else { throw error.error(place: place) }
                }
                // A server that is not even heard of takes its time to be found away.
                waited += began.duration(to: .now) + pause
                try await sleep(pause)
                pause = min(pause * 2, .seconds(1))
            }
        }

        /// How often a statement is tried.
        private static let attempts = 4

        /// Runs statements on a connection, again on a new one when it breaks. `body` is told whether an earlier attempt may have
        /// taken effect.
        private func perform<Result>(
            isChange: Bool = false,
            _ body: (PostgreSQLConnection, _ mayBeDone: Bool) throws(PostgreSQLError) -> Result
        ) async throws -> Result {
            var mayBeDone = false
            var attempt = 0
            while true {
                attempt += 1
                let connection: PostgreSQLConnection
                do {
                    connection = try await connected()
                } catch let error as StorageError where isChange && mayBeDone {
                    throw unsure(error)
                }
                do throws(PostgreSQLError) {
                    return try body(connection, mayBeDone)
                } catch {
                    if error.isLost {
                        if self.connection === connection { self.connection = nil }
                        mayBeDone = true
                    }
                    guard error.isLost || error.isConflict, attempt < Self.attempts else {
                        let error = error.error(place: place)
                        throw isChange && mayBeDone ? unsure(error) : error
                    }
                }
            }
        }

        private func unsure(_ error: StorageError) -> StorageError {
            StorageError(
                error.kind, place: error.place,
                reason: "\(error.reason); the connection broke before the answer: the last change was made or not",
                hint: "\(error.hint); read the account before it is changed again")
        }

        // MARK: Reading

        private static let columns = "id, type, revision, position, identity, record"

        private func select(_ rest: String, _ parameters: [PostgreSQLConnection.Value]) async throws -> [SealedRecord] {
            let sql = "SELECT \(Self.columns) FROM \(schema.name).accounts WHERE \(rest)"
            return try await perform { connection, _ throws(PostgreSQLError) in
                try connection.run(sql, parameters).map(Self.record)
            }
        }

        private static func record(_ row: [PostgreSQLConnection.Value]) -> SealedRecord {
            var record = SealedRecord(id: "", type: "", revision: 0, sealed: [])
            for (index, value) in row.enumerated() {
                switch (index, value) {
                case (0, .text(let id)): record.id = id
                case (1, .text(let type)): record.type = type
                case (2, .integer(let revision)): record.revision = revision
                case (3, .integer(let position)): record.position = position
                case (4, .blob(let identity)): record.identity = identity
                case (5, .blob(let sealed)): record.sealed = sealed
                default: break
                }
            }
            return record
        }

        /// A page of the records of a type, or of every type, in order.
        public func records(ofType type: String?, after position: Int64, limit: Int) async throws -> [SealedRecord] {
            let page: [PostgreSQLConnection.Value] = [.integer(position), .integer(Int64(max(limit, 0)))]
            guard let type else { return try await select("position > $1 ORDER BY position LIMIT $2", page) }
            return try await select("position > $1 AND type = $3 ORDER BY position LIMIT $2", page + [.text(type)])
        }

        /// The records of a type that have this identity.
        public func records(ofType type: String, identity: [UInt8]) async throws -> [SealedRecord] {
            try await select("type = $1 AND identity = $2 ORDER BY position", [.text(type), .blob(identity)])
        }

        /// The record of a type with the greatest position.
        public func lastRecord(ofType type: String) async throws -> SealedRecord? {
            try await select("type = $1 ORDER BY position DESC LIMIT 1", [.text(type)]).first
        }

        /// The record of this identifier.
        public func record(_ id: String) async throws -> SealedRecord? {
            try await select("id = $1", [.text(id)]).first
        }

        /// How many records there are.
        public func count(ofType type: String?) async throws -> Int {
            let sql = "SELECT count(*) FROM \(schema.name).accounts"
            let rows = try await perform { connection, _ throws(PostgreSQLError) in
                guard let type else { return try connection.run(sql) }
                return try connection.run("\(sql) WHERE type = $1", [.text(type)])
            }
            guard case .integer(let count)? = rows.first?.first else { return 0 }
            return Int(clamping: count)
        }

        // MARK: Changing

        /// Makes a change once: `statement` has the mark of the request as its first parameter, the kind as its second, and gives
        /// the sequence, or no row when there is nothing to change.
        private func change(
            _ statement: String, _ kind: StorageChange.Kind, _ parameters: [PostgreSQLConnection.Value]
        ) async throws -> [PostgreSQLConnection.Value]? {
            guard let mark = try? SecureRandom.bytes(16) else {
                throw StorageError(.other, place: place, reason: "no randomness", hint: "try again")
            }
            let sql = "\(statement) \(logging)"
            let row = try await perform(isChange: true) {
                connection, mayBeDone throws(PostgreSQLError) -> [PostgreSQLConnection.Value]? in
                if mayBeDone, let done = try found(mark, connection) { return done }
                do throws(PostgreSQLError) {
                    let rows = try connection.run(sql, [.blob(mark), .text(kind.rawValue)] + parameters)
                    if let row = rows.first { return row }
                } catch {
                    guard mayBeDone, error.state == "23505" else { throw error }
                    // Taken, perhaps by the earlier attempt, which the server ended only now.
                    if let done = try found(mark, connection) { return done }
                    throw error
                }
                return mayBeDone ? try found(mark, connection) : nil
            }
            if case .integer(let sequence)? = row?.first, sequence % 256 == 0 { await prune(before: sequence) }
            return row
        }

        /// The row of `state` is locked from here to the end of the transaction: sequences go up in the order in which changes
        /// become visible, and a change that is taken back takes back its sequence.
        private var logging: String {
            """
            , noted AS (
                INSERT INTO \(schema.name).changes (sequence, id, type, kind, request)
                SELECT sequence, id, type, $2, $1 FROM counted RETURNING sequence
            )
            SELECT counted.sequence, counted.position, pg_notify('\(schema.name)', '') FROM counted, noted
            """
        }

        private func found(
            _ mark: [UInt8], _ connection: PostgreSQLConnection
        ) throws(PostgreSQLError) -> [PostgreSQLConnection.Value]? {
            try connection.run(
                """
                SELECT changes.sequence, accounts.position FROM \(schema.name).changes
                LEFT JOIN \(schema.name).accounts ON accounts.id = changes.id WHERE request = $1
                """, [.blob(mark)]
            ).first
        }

        /// What the log holds too much is removed with the next change that comes here, if not now.
        private func prune(before sequence: Int64) async {
            let sql = "DELETE FROM \(schema.name).changes WHERE sequence <= $1"
            _ = try? await perform { connection, _ throws(PostgreSQLError) in
                try connection.run(sql, [.integer(sequence - Self.keptChanges)])
            }
        }

        /// Adds a record after all others.
        public func insert(_ record: SealedRecord) async throws -> (position: Int64, sequence: Int64) {
            let row = try await change(
                """
                WITH place AS (
                    UPDATE \(schema.name).state SET sequence = sequence + 1, position = position + 1
                    RETURNING sequence, position
                ), counted AS (
                    INSERT INTO \(schema.name).accounts (id, type, position, revision, identity, record)
                    SELECT $3, $4, place.position, $5, $6, $7 FROM place
                    RETURNING id, type, position, (SELECT sequence FROM place) AS sequence
                )
                """, .added,
                [
                    .text(record.id), .text(record.type), .integer(record.revision),
                    record.identity.map { .blob($0) } ?? .null, .blob(record.sealed),
                ])
            guard case .integer(let sequence)? = row?.first, case .integer(let position)? = row?.dropFirst().first
            else {
                throw StorageError(
                    .other, place: place, reason: "the record was removed as soon as it was added",
                    hint: "add it again if it is still wanted")
            }
            return (position, sequence)
        }

        /// Replaces a record if its revision is one less than the new one.
        public func replace(_ record: SealedRecord, kind: StorageChange.Kind) async throws -> Int64? {
            let row = try await change(
                """
                WITH changed AS (
                    UPDATE \(schema.name).accounts SET record = $3, revision = $4, identity = $5
                    WHERE id = $6 AND revision = $4 - 1 RETURNING id, type, position
                ), counted AS (
                    UPDATE \(schema.name).state SET sequence = state.sequence + 1 FROM changed
                    RETURNING state.sequence, changed.id, changed.type, changed.position
                )
                """, kind,
                [
                    .blob(record.sealed), .integer(record.revision), record.identity.map { .blob($0) } ?? .null,
                    .text(record.id),
                ])
            return Self.sequence(row)
        }

        /// Removes a record.
        public func remove(_ id: String) async throws -> Int64? {
            let row = try await change(
                """
                WITH changed AS (
                    DELETE FROM \(schema.name).accounts WHERE id = $3 RETURNING id, type, position
                ), counted AS (
                    UPDATE \(schema.name).state SET sequence = state.sequence + 1 FROM changed
                    RETURNING state.sequence, changed.id, changed.type, changed.position
                )
                """, .removed, [.text(id)])
            return Self.sequence(row)
        }

        private static func sequence(_ row: [PostgreSQLConnection.Value]?) -> Int64? {
            guard case .integer(let sequence)? = row?.first else { return nil }
            return sequence
        }

        // MARK: Small values

        /// A small value kept beside the records.
        public func value(_ name: String) async throws -> [UInt8]? {
            let sql = "SELECT value FROM \(schema.name).facts WHERE name = $1"
            let rows = try await perform { connection, _ throws(PostgreSQLError) in
                try connection.run(sql, [.text(name)])
            }
            guard case .blob(let bytes)? = rows.first?.first else { return nil }
            return bytes
        }

        /// Sets a small value.
        public func setValue(_ value: [UInt8]?, for name: String) async throws {
            let facts = "\(schema.name).facts"
            // Done twice it is the same as done once.
            _ = try await perform(isChange: true) { connection, _ throws(PostgreSQLError) in
                guard let value else {
                    return try connection.run("DELETE FROM \(facts) WHERE name = $1", [.text(name)])
                }
                return try connection.run(
                    """
                    INSERT INTO \(facts) (name, value) VALUES ($1, $2)
                    ON CONFLICT (name) DO UPDATE SET value = excluded.value
                    """, [.text(name), .blob(value)])
            }
        }

        /// Saves a small value, as a record would be saved, and then asks whether the locks that the calling task took are still its
        /// own: the last thing before a refresh is sent.
        ///
        /// - Throws: ``StorageError``; of the kind busy when the connection that held a lock of the task broke. What the task read
        ///   may then be out of date, and it is to begin again.
        public func checkWritable() async throws {
            try await setValue([0], for: "reserved")
            try await locks.confirm()
        }

        // MARK: Changes

        /// The changes after a sequence.
        public func changes(after sequence: Int64) async throws -> [StorageChange]? {
            // In one statement, so that both tables are seen at the same moment.
            let sql = """
                SELECT state.sequence, changes.sequence, id, type, kind FROM \(schema.name).state
                LEFT JOIN \(schema.name).changes ON changes.sequence > $1 ORDER BY changes.sequence
                """
            let rows = try await perform { connection, _ throws(PostgreSQLError) in
                try connection.run(sql, [.integer(sequence)])
            }
            guard case .integer(let last)? = rows.first?.first else { return nil }
            // Later than the last one: the database was restored from an older copy.
            guard last != sequence else { return [] }
            guard last > sequence, case .integer(sequence + 1)? = rows.first?.dropFirst().first else { return nil }
            return rows.compactMap { row in
                guard row.count == 5, case .integer(let sequence) = row[1], case .text(let id) = row[2],
                    case .text(let type) = row[3], case .text(let name) = row[4],
                    let kind = StorageChange.Kind(rawValue: name)
                else { return nil }
                return StorageChange(sequence: sequence, id: id, type: type, kind: kind)
            }
        }

        /// The sequence of the newest change.
        public func lastSequence() async throws -> Int64 {
            let sql = "SELECT sequence FROM \(schema.name).state"
            let rows = try await perform { connection, _ throws(PostgreSQLError) in try connection.run(sql) }
            return Self.sequence(rows.first) ?? 0
        }

        /// Calls `handler` when a change was saved, by this process too; once when listening has begun; and once whenever the
        /// connection was made again, because changes may have been missed.
        public nonisolated func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? {
            try listener.watch(handler)
        }

        /// Waits for the lock of this name. While it waits it asks the server at least ten times a second; a server that is away
        /// is waited for as with any statement.
        public func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
            try await locks.lock(name, timeout: timeout, wasThere: wasConnected)
        }
    }

    extension PostgreSQLStorage: CustomReflectable {
        /// The place alone.
        public nonisolated var customMirror: Mirror { Mirror(self, children: ["place": place]) }
    }
#endif
