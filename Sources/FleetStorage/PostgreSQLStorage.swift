import SealedStorage
import LodgePlatform

/// Accounts in a PostgreSQL database (version 12 or later), shared by workers on several machines.
///
/// All tables are in one schema, which the storage creates on first use. To create it, the user needs CREATE on the database or
/// an empty schema; afterwards, USAGE on the schema and SELECT, INSERT, UPDATE and DELETE on its tables.
/// A storage has up to three connections: for statements, for locks, and for notifications of changes.
/// A connection pool such as PgBouncer must pool sessions, not transactions: locks and notifications belong to a session.
/// The program needs libpq (version 12 or later) at run time.
///
/// libpq's `sslmode` controls the encryption of the connection, and by default does not authenticate the server. Use
/// `sslmode=verify-full` with `sslrootcert` if the server is not on this machine. Records are sealed before they reach
/// the server. Put the password into the file that `PGPASSFILE` names or into a service file, not into the connection string;
/// neither ``location`` nor any error shows it.
///
/// Every change is one statement and so one transaction. If a connection breaks before the server sends the result, the storage
/// connects again and searches the log for the change before it repeats it.
/// If the server is unreachable for ten seconds, the error says that it is unknown whether the change took effect.
///
/// The server drops the locks of a connection that breaks, even if their holder is alive. Before it sends a refresh, the holder
/// therefore saves a lease in the same session: `StorageLock.confirm()`. It throws if the session broke. No other worker gets the
/// lock until the holder releases it, or until the lease ends a minute later by the server's clock: the limit of a token request
/// (30 s) and the time to notice a broken connection and to save on another one. A worker that is killed during a refresh
/// therefore blocks the refresh of this account, and of no other, for up to a minute.
///
/// Another worker may send the same refresh token only in these cases: the holder is killed after it sent the request,
/// or cannot reach the server until the lease ends; the database was restored from an older copy; or a standby that
/// lacks the last transactions became the primary server. To prevent the last case, use synchronous replication
/// (`synchronous_standby_names`). ``replace(_:kind:)`` accepts only the next revision of a record, so that only one of
/// two holders saves.
public actor PostgreSQLStorage: AccountStorage, RecordRescue {
    /// User, host, port, database and schema, without the password.
    public nonisolated let location: String
    package nonisolated let rescueFolder: RescueFolder?
    package nonisolated let isShared = true
    let schema: PostgreSQLSchema
    private let sleep: @Sendable (Duration) async throws -> Void
    private let locks: SessionLocks
    private let listener: ChangeListener
    private let thread = SerialThread()
    private var session: Session

    /// The storage's own thread, because libpq waits for the server.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// The limit of a token request, and the time to notice a broken connection and to save on another one.
    private static let leaseDuration = Duration.seconds(60)

    /// Creates a storage on a server. It connects on first use.
    ///
    /// - Parameters:
    ///   - connection: A connection string of libpq (`host=db.example.com dbname=accounts sslmode=verify-full`) or a URL
    ///     (`postgresql://worker@db.example.com/accounts?sslmode=verify-full`). Omitted parameters have the values of libpq's
    ///     environment variables.
    ///   - schema: 1 to 63 lowercase letters, digits and `_`, not starting with a digit or `pg_`. It is also the name of the
    ///     notification channel.
    ///   - rescueFolder: A folder of this machine that only the user can read, and that no other store uses. The
    ///     storage writes new tokens to it, encrypted, if it cannot save them for a minute, or until the process exits.
    ///     The next refresh of the account by a process with the same folder saves them first. Without a folder they
    ///     are only in memory.
    ///   - sleep: The function that waits before a retry.
    /// - Throws: `StorageError` if libpq is not installed, or the connection or the name of the schema is invalid.
    public init(
        connection: String, schema: String = "oauth2_accounts", rescueFolder: StoreLocation? = nil,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws(StorageError) {
        try self.init(
            connection: connection, schema: schema, rescueFolder: rescueFolder, leaseDuration: Self.leaseDuration,
            sleep: sleep)
    }

    /// Creates a storage with a different duration of leases, for tests.
    package init(
        connection: String, schema: String, rescueFolder: StoreLocation? = nil, leaseDuration: Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws(StorageError) {
        let target = try ConnectionTarget(connection, schema: schema)
        session = Session(target)
        location = target.location
        self.rescueFolder = rescueFolder.map { RescueFolder($0) }
        self.schema = try PostgreSQLSchema(schema, location: target.location)
        self.sleep = sleep
        locks = SessionLocks(target, self.schema, leaseDuration: leaseDuration, sleep: sleep)
        listener = ChangeListener(target, self.schema)
    }

    /// Returns host, port and database of a connection as a relative path, for the files that belong to the store.
    package static func path(of connection: String) throws(StorageError) -> String {
        try ConnectionTarget(connection, schema: "").path
    }

    /// Returns whether a connection contains a password, which other users can read in an argument of a program.
    package static func hasPassword(_ connection: String) throws(StorageError) -> Bool {
        try ConnectionTarget(connection, schema: "").hasPassword
    }

    /// Returns whether there is no store yet, without creating one.
    public func isMissing() async throws -> Bool {
        var isMissing = false
        do throws(PostgreSQLError) {
            _ = try session.connected { [schema] new throws(PostgreSQLError) in
                isMissing = try schema.foundVersion(new) == nil
                // Only a prepared connection is used again.
                if isMissing { throw PostgreSQLError(state: nil, message: "") }
                try schema.open(new)
            }
        } catch _ where isMissing {
            return true
        } catch {
            throw error.storageError(location: location)
        }
        return false
    }

    // MARK: Statements

    private static let maximumAttempts = 4

    private func connected() async throws -> PostgreSQLConnection {
        var waited = Duration.zero
        var backoff = Backoff(.milliseconds(50) ... .seconds(1))
        while true {
            let start = ContinuousClock.now
            do throws(PostgreSQLError) {
                return try session.connected(schema.open)
            } catch {
                guard session.wasConnected, error.isTransient, waited < Session.reconnectTimeout else {
                    throw error.storageError(location: location)
                }
            }
            // The failed attempt may have taken long.
            let delay = backoff.next()
            waited += start.duration(to: .now) + delay
            try await sleep(delay)
        }
    }

    /// Runs statements, again on a new connection if the first one breaks.
    ///
    /// `body` gets whether an earlier attempt may have taken effect.
    func perform<Result>(
        isChange: Bool = false, _ body: (PostgreSQLConnection, _ mayBeDone: Bool) throws(PostgreSQLError) -> Result
    ) async throws -> Result {
        var mayBeDone = false
        var attempt = 0
        while true {
            attempt += 1
            let connection: PostgreSQLConnection
            do {
                connection = try await connected()
            } catch let error as StorageError where isChange && mayBeDone {
                throw Self.uncertain(error)
            }
            do throws(PostgreSQLError) {
                return try body(connection, mayBeDone)
            } catch {
                if error.isLost {
                    if session.connection === connection { session.close() }
                    mayBeDone = true
                }
                guard error.isLost || error.isConflict, attempt < Self.maximumAttempts else {
                    let error = error.storageError(location: location)
                    throw isChange && mayBeDone ? Self.uncertain(error) : error
                }
            }
        }
    }

    private static func uncertain(_ error: StorageError) -> StorageError {
        StorageError(
            error.kind, location: error.location,
            reason:
                "\(error.reason); the connection broke before the result: it is unknown whether the change was saved",
            hint: "\(error.hint); read the account before you change it again")
    }

    /// Runs a statement that has the same effect if it runs twice.
    private func run(_ statement: SQLStatement, isChange: Bool = false) async throws -> [[SQLValue]] {
        try await perform(isChange: isChange) { connection, _ throws(PostgreSQLError) in try connection.run(statement) }
    }

    // MARK: Records

    /// Returns a page of the records of a type, or of every type, in order.
    public func records(ofType type: String?, after position: Int64, limit: Int) async throws -> [SealedRecord] {
        try await run(schema.statements.records(ofType: type, after: position, limit: limit)).map(SealedRecord.init)
    }

    /// Returns the records of a type with an identity.
    public func records(ofType type: String, identity: [UInt8]) async throws -> [SealedRecord] {
        try await run(schema.statements.records(ofType: type, identity: identity)).map(SealedRecord.init)
    }

    /// Returns the record of a type with the greatest position.
    public func lastRecord(ofType type: String) async throws -> SealedRecord? {
        try await run(schema.statements.lastRecord(ofType: type)).first.map(SealedRecord.init)
    }

    /// Returns the record with an identifier.
    public func record(_ id: String) async throws -> SealedRecord? {
        try await run(schema.statements.record(id)).first.map(SealedRecord.init)
    }

    /// Returns the number of records.
    public func count(ofType type: String?) async throws -> Int {
        Int(clamping: try await run(schema.statements.count(ofType: type)).first?.first?.integer ?? 0)
    }

    // MARK: Small values

    /// Returns a small value.
    public func value(_ name: String) async throws -> [UInt8]? {
        try await run(schema.statements.value(name)).first?.first?.bytes
    }

    /// Sets a small value.
    public func setValue(_ value: [UInt8]?, for name: String) async throws {
        _ = try await run(schema.statements.setValue(value, for: name), isChange: true)
    }

    /// Saves a small value.
    public func checkWritable() async throws { try await setValue([0], for: "reserved") }

    // MARK: Changes

    /// Returns the changes after a sequence.
    public func changes(after sequence: Int64) async throws -> [StorageChange]? {
        // One statement reads both tables in the same snapshot.
        let rows = try await run(
            SQLStatement(
                """
                SELECT state.sequence, changes.sequence, id, type, kind FROM \(schema.name).state
                LEFT JOIN \(schema.name).changes ON changes.sequence > $1 ORDER BY changes.sequence
                """, [.integer(sequence)]))
        guard case .integer(let last)? = rows.first?.first else { return nil }
        guard last != sequence else { return [] }
        // A lower sequence means that the database was restored from an older copy.
        guard last > sequence, rows.first?.dropFirst().first == .integer(sequence + 1) else { return nil }
        return rows.compactMap { StorageChange(row: $0.dropFirst()) }
    }

    /// Returns the sequence of the newest change.
    public func lastSequence() async throws -> Int64 {
        try await run(SQLStatement("SELECT sequence FROM \(schema.name).state")).first?.first?.integer ?? 0
    }

    /// Calls `handler` after each saved change of any process, once after it starts listening, and after each
    /// reconnection, because the listener may have missed changes.
    public nonisolated func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? {
        try listener.watch(handler)
    }

    /// Waits for the lock with a name.
    ///
    /// It queries the server at least ten times a second, and waits for an unreachable server as a statement does.
    public func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        try await locks.lock(name, timeout: timeout, wasReachable: session.wasConnected)
    }
}

extension PostgreSQLStorage: Redacted {
    /// The location, without the password.
    public nonisolated var description: String { location }
}
