#if PostgreSQL
    import OAuth2AccountStore

    /// Locks by name among all processes that use a schema: advisory locks of one session.
    ///
    /// The server drops them when the session ends, and so when the process dies: at once when the kernel closes its connection,
    /// within half a minute when the machine is gone without a word. A session may take a lock twice, so callers of this process
    /// exclude each other here first. The server has no way to wait for many locks in one session: they are asked for again and
    /// again, ever more slowly, so that nobody who waits keeps others from a lock that is free.
    actor SessionLocks {
        private let target: ConnectionTarget
        private let schema: PostgreSQLSchema
        private let sleep: @Sendable (Duration) async throws -> Void
        private let thread = SerialThread()
        private var connection: PostgreSQLConnection?
        private var held: Set<Int64> = []

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

        /// Waits for the lock of this name.
        nonisolated func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
            let key = schema.lockKey(name)
            var waited = Duration.zero
            var pause = Duration.milliseconds(1)
            while true {
                try Task.checkCancellation()
                if try await tryLock(key) { return Held(self, key) }
                guard waited < timeout else {
                    throw StorageError(
                        .busy, place: schema.place, reason: "another process has held a lock for \(timeout)",
                        hint: "see which worker uses the store (pg_locks, pg_stat_activity), and try again")
                }
                try await sleep(pause)
                waited += pause
                pause = min(pause * 2, .milliseconds(100))
            }
        }

        private func tryLock(_ key: Int64) throws(StorageError) -> Bool {
            guard !held.contains(key) else { return false }
            var attempts = 0
            while true {
                attempts += 1
                do throws(PostgreSQLFault) {
                    let rows = try connected().run("SELECT pg_try_advisory_lock($1)", [.integer(key)])
                    guard rows.first?.first == .integer(1) else { return false }
                    held.insert(key)
                    return true
                } catch {
                    // Whether the lock was given is not known: the session ends, and with it all doubt.
                    connection = nil
                    // A connection that broke while nobody used it is seen only now.
                    guard error.isLost, attempts < 2 else { throw error.error(place: schema.place) }
                }
            }
        }

        private func connected() throws(PostgreSQLFault) -> PostgreSQLConnection {
            if let connection { return connection }
            let fresh = try PostgreSQLConnection(target)
            // The holders in this process still believe in the locks of the session that broke. Those that nobody took meanwhile
            // are theirs again; for the others the revision of the record decides who saves.
            for key in held { try fresh.run("SELECT pg_try_advisory_lock($1)", [.integer(key)]) }
            connection = fresh
            return fresh
        }

        private func unlock(_ key: Int64) {
            guard held.remove(key) != nil, let connection else { return }
            do throws(PostgreSQLFault) {
                try connection.run("SELECT pg_advisory_unlock($1)", [.integer(key)])
            } catch {
                // The end of the session gives it back.
                self.connection = nil
            }
        }
    }
#endif
