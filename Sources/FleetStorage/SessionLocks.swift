import Platform

#if PostgreSQL
    import OAuth2AccountStore

    /// Locks by name among all processes that use a schema: advisory locks of one session.
    ///
    /// The server drops them when the session ends, and so when the process dies: at once when the kernel closes its connection,
    /// within half a minute when the machine is gone without a word. A session may take a lock twice, so callers of this process
    /// exclude each other here first. The server has no way to wait for many locks in one session: they are asked for again and
    /// again, ever more slowly, so that nobody who waits keeps others from a lock that is free.
    ///
    /// A session can break though its holders live. They have their locks again with the next session, if nobody took them, but
    /// ``confirm()`` tells them that others may have had them meanwhile. After a restart of the server nobody takes another's lock
    /// for ``grace``: so long a holder whose refresh was under way has to save what came of it.
    actor SessionLocks {
        private let target: ConnectionTarget
        private let schema: PostgreSQLSchema
        private let sleep: @Sendable (Duration) async throws -> Void
        private let thread = SerialThread()
        private var connection: PostgreSQLConnection?
        private var wasConnected = false
        /// What was given out and not yet given back, each with the task that asked for it.
        private var held: [Int64: Int?] = [:]
        /// Those of `held` whose session broke.
        private var broken: Set<Int64> = []
        /// When the server of the last session started.
        private var serverStart: PostgreSQLConnection.Value?
        private var graceEnd: ContinuousClock.Instant?

        /// How long locks are left to their holders after a restart of the server.
        private static let grace = Duration.seconds(5)
        /// How long a server that was there is waited for when it is away.
        private static let patience = Duration.seconds(10)

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        init(
            _ target: ConnectionTarget, _ schema: PostgreSQLSchema,
            sleep: @escaping @Sendable (Duration) async throws -> Void
        ) {
            self.target = target
            self.schema = schema
            self.sleep = sleep
        }

        private final class Held: StorageLock {
            let locks: SessionLocks
            let key: Int64
            let once = Once()

            init(_ locks: SessionLocks, _ key: Int64) {
                self.locks = locks
                self.key = key
            }

            func release() { once.run { Task { [locks, key] in await locks.unlock(key) } } }
            deinit { release() }
        }

        /// Waits for the lock of this name, and for a server that `wasThere` and is away.
        nonisolated func lock(
            _ name: String, timeout: Duration, wasThere: Bool = false
        ) async throws -> any StorageLock {
            let key = schema.lockKey(name)
            let task = Self.currentTask
            var waited = Duration.zero
            var away = Duration.zero
            var pause = Duration.milliseconds(1)
            while true {
                try Task.checkCancellation()
                let began = ContinuousClock.now
                do throws(PostgreSQLError) {
                    if try await tryLock(key, task) { return Held(self, key) }
                    away = .zero
                    guard waited < timeout else { throw PostgreSQLError(stillHeld(timeout)) }
                } catch {
                    // As statements do, a lock waits for a server that is started again.
                    let isKnown = await wasConnected || wasThere
                    guard isKnown, error.isPassing, away < Self.patience, waited < timeout else {
                        throw error.error(place: schema.place)
                    }
                    away += began.duration(to: .now) + pause
                }
                waited += began.duration(to: .now) + pause
                try await sleep(pause)
                pause = min(pause * 2, .milliseconds(100))
            }
        }

        private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

        private nonisolated func stillHeld(_ timeout: Duration) -> StorageError {
            StorageError(
                .busy, place: schema.place, reason: "another process has held a lock for \(timeout)",
                hint: "see which worker uses the store (pg_locks, pg_stat_activity), and try again")
        }

        /// Finds out from the server whether the session still has the locks that this task took.
        ///
        /// - Throws: ``StorageError`` of the kind busy when it has not, or had not for a while: what was read under such a lock may
        ///   be out of date.
        func confirm() async throws(StorageError) {
            let task = Self.currentTask
            guard task != nil else { return }
            func mine() -> Set<Int64> { Set(held.filter { $0.value == task }.keys) }
            guard !mine().isEmpty else { return }
            if let connection, mine().isDisjoint(with: broken) {
                do throws(PostgreSQLError) { try connection.run("SELECT 1") } catch { drop() }
            }
            guard mine().isDisjoint(with: broken) else {
                throw StorageError(
                    .busy, place: schema.place,
                    reason: "the connection that held the lock broke, and others may have had the lock meanwhile",
                    hint: "try again")
            }
        }

        /// Ends the session, if it has not ended already, and remembers whose locks went with it.
        private func drop() {
            connection = nil
            broken.formUnion(held.keys)
        }

        private func tryLock(_ key: Int64, _ task: Int?) throws(PostgreSQLError) -> Bool {
            guard held[key] == nil else { return false }
            var attempts = 0
            while true {
                attempts += 1
                do throws(PostgreSQLError) {
                    let connection = try connected()
                    if let graceEnd, ContinuousClock.now < graceEnd { return false }
                    let rows = try connection.run("SELECT pg_try_advisory_lock($1)", [.integer(key)])
                    guard rows.first?.first == .integer(1) else { return false }
                    held[key] = .some(task)
                    return true
                } catch {
                    // Whether the lock was given is not known: the session ends, and with it all doubt.
                    drop()
                    // A connection that broke while nobody used it is seen only now.
                    guard error.isLost, attempts < 2 else { throw error }
                }
            }
        }

        private func connected() throws(PostgreSQLError) -> PostgreSQLConnection {
            if let connection { return connection }
            let fresh = try PostgreSQLConnection(target)
            // The holders in this process still believe in the locks of the session that broke. Those that nobody took meanwhile
            // are theirs again; for the others the revision of the record decides who saves.
            for key in held.keys { try fresh.run("SELECT pg_try_advisory_lock($1)", [.integer(key)]) }
            let start = try fresh.run("SELECT (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint")
                .first?.first
            if wasConnected, start != serverStart { graceEnd = ContinuousClock.now + Self.grace }
            serverStart = start
            wasConnected = true
            connection = fresh
            return fresh
        }

        private func unlock(_ key: Int64) {
            guard held.removeValue(forKey: key) != nil else { return }
            broken.remove(key)
            guard let connection else { return }
            do throws(PostgreSQLError) {
                try connection.run("SELECT pg_advisory_unlock($1)", [.integer(key)])
            } catch {
                // The end of the session gives it back.
                drop()
            }
        }
    }
#endif
