import SealedStorage
import Platform

/// Locks by name among all processes that use a schema: advisory locks of one session.
///
/// The server drops them at the end of the session: immediately if the process ends, because the kernel closes its connection,
/// and within half a minute if the machine loses its power. A session can take a lock twice, so this actor also excludes the
/// callers of this process from each other. The server cannot wait for several locks in one session. The actor therefore tries
/// repeatedly with growing delays, so that a waiting caller does not delay callers whose lock is free.
///
/// A session can break while the holders of its locks are alive. The next session takes those locks again that no other session
/// took, but ``confirm()`` throws, because others may have held them in between. After a restart of the server, no session takes
/// a lock that it did not hold for ``grace``: in that time, a holder can save the result of its refresh.
actor SessionLocks {
    private let schema: PostgreSQLSchema
    private let sleep: @Sendable (Duration) async throws -> Void
    private let thread = SerialThread()
    private var session: Session
    /// The keys of the callers' locks, each with the task that took it.
    private var owners: [Int64: Int?] = [:]
    /// The keys of `owners` whose session broke.
    private var broken: Set<Int64> = []
    /// The start of the server at the time of the last session.
    private var serverStart: SQLValue?
    private var graceEnd: ContinuousClock.Instant?

    private static let grace = Duration.seconds(5)

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ target: ConnectionTarget, _ schema: PostgreSQLSchema,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        session = Session(target)
        self.schema = schema
        self.sleep = sleep
    }

    /// Waits for the lock with a name, and for an unreachable server if it `wasReachable` before.
    nonisolated func lock(
        _ name: String, timeout: Duration, wasReachable: Bool = false
    ) async throws -> any StorageLock {
        let key = schema.lockKey(name)
        let task = Self.currentTask
        var waited = Duration.zero
        var unreachable = Duration.zero
        var backoff = Backoff(.milliseconds(1) ... .milliseconds(100))
        while true {
            try Task.checkCancellation()
            let start = ContinuousClock.now
            let delay = backoff.next()
            do throws(PostgreSQLError) {
                if try await tryLock(key, task) { return ReleaseHandle { Task { await self.unlock(key) } } }
                unreachable = .zero
                guard waited < timeout else { throw PostgreSQLError(timeoutError(timeout)) }
            } catch {
                let canReturn = await wasConnected || wasReachable
                guard canReturn, error.isTransient, unreachable < Session.reconnectTimeout, waited < timeout else {
                    throw error.storageError(location: schema.location)
                }
                unreachable += start.duration(to: .now) + delay
            }
            waited += start.duration(to: .now) + delay
            try await sleep(delay)
        }
    }

    private var wasConnected: Bool { session.wasConnected }

    private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

    private nonisolated func timeoutError(_ timeout: Duration) -> StorageError {
        .lockTimeout(
            timeout, location: schema.location,
            hint: "check which worker uses the store (pg_locks, pg_stat_activity), then try again")
    }

    /// Checks on the server that the session still holds the locks of this task.
    ///
    /// - Throws: ``StorageError`` of the kind busy if it lost one of them, even if it took it again. The task's data may be
    ///   outdated.
    func confirm() async throws(StorageError) {
        let task = Self.currentTask
        guard task != nil else { return }
        func keys() -> Set<Int64> { Set(owners.filter { $0.value == task }.keys) }
        guard !keys().isEmpty else { return }
        if let connection = session.connection, keys().isDisjoint(with: broken) {
            do throws(PostgreSQLError) { try connection.run("SELECT 1") } catch { drop() }
        }
        guard keys().isDisjoint(with: broken) else {
            throw StorageError(
                .busy, location: schema.location,
                reason:
                    "the connection that held the lock broke, and another process may have held the lock since then",
                hint: "try again")
        }
    }

    /// Ends the session, and marks its locks as broken.
    private func drop() {
        session.close()
        broken.formUnion(owners.keys)
    }

    private func tryLock(_ key: Int64, _ task: Int?) throws(PostgreSQLError) -> Bool {
        guard owners[key] == nil else { return false }
        var attempts = 0
        while true {
            attempts += 1
            do throws(PostgreSQLError) {
                let isReconnected = wasConnected
                let connection = try session.connected { new throws(PostgreSQLError) in
                    try prepare(new, isReconnected: isReconnected)
                }
                if let graceEnd, ContinuousClock.now < graceEnd { return false }
                let rows = try connection.run("SELECT pg_try_advisory_lock($1)", [.integer(key)])
                guard rows.first?.first == .integer(1) else { return false }
                owners[key] = .some(task)
                return true
            } catch {
                // The session may have the lock or not. Its end makes that certain.
                drop()
                // An idle connection that broke shows only now.
                guard error.isLost, attempts < 2 else { throw error }
            }
        }
    }

    private func prepare(_ connection: PostgreSQLConnection, isReconnected: Bool) throws(PostgreSQLError) {
        // The owners in this process rely on the locks of the session that broke. If another process took one of them, the
        // revision of the record decides who saves.
        for key in owners.keys { try connection.run("SELECT pg_try_advisory_lock($1)", [.integer(key)]) }
        let start = try connection.run("SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint")
            .first?.first
        if isReconnected, start != serverStart { graceEnd = ContinuousClock.now + Self.grace }
        serverStart = start
    }

    private func unlock(_ key: Int64) {
        guard owners.removeValue(forKey: key) != nil else { return }
        broken.remove(key)
        guard let connection = session.connection else { return }
        do throws(PostgreSQLError) {
            try connection.run("SELECT pg_advisory_unlock($1)", [.integer(key)])
        } catch {
            // The server drops the lock at the end of the session.
            drop()
        }
    }
}
