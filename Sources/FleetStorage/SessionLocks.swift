import JOSE
import SealedStorage
import LodgePlatform

/// Named locks for all processes that use a schema: advisory locks of one session.
///
/// The server drops them at the end of the session: immediately if the process ends, because the kernel closes its
/// connection, and within half a minute if the machine loses power. A session can take a lock twice, so this actor
/// also allows only one caller of this process at a time. The server cannot wait for several locks in one session. The
/// actor therefore tries repeatedly with growing delays, so that a waiting caller does not delay callers whose lock is
/// free.
///
/// A session can break while the holders of its locks are alive. Before its request, a holder therefore saves a lease with
/// ``confirm(_:_:)``: while the session has the lock, and by the server's clock. Another process that gets the lock
/// releases it again until the lease has ended. The holder ends its lease with the lock, on a new session if necessary.
actor SessionLocks {
    private let schema: PostgreSQLSchema
    private let sleep: @Sendable (Duration) async throws -> Void
    private let leaseDuration: Duration
    private let thread = SerialThread()
    private var session: Session
    /// The holder of a lock in this process.
    private struct Owner {
        /// Random bytes that identify it in the lease.
        let holder: [UInt8]
        /// Whether its session broke.
        var isBroken = false
        /// Whether it may have saved a lease.
        var hasLease = false
    }
    private var owners: [Int64: Owner] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ target: ConnectionTarget, _ schema: PostgreSQLSchema, leaseDuration: Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        session = Session(target)
        self.schema = schema
        self.leaseDuration = leaseDuration
        self.sleep = sleep
    }

    /// Waits for the lock with a name, and for an unreachable server if it `wasReachable` before.
    nonisolated func lock(
        _ name: String, timeout: Duration, wasReachable: Bool = false
    ) async throws -> any StorageLock {
        let key = schema.lockKey(name)
        var waited = Duration.zero
        var unreachable = Duration.zero
        var backoff = Backoff(.milliseconds(1) ... .milliseconds(100))
        while true {
            try Task.checkCancellation()
            let start = ContinuousClock.now
            let delay = backoff.next()
            do throws(PostgreSQLError) {
                let attempt = try await tryLock(key)
                if case .locked(let holder) = attempt { return SessionLock(key: key, holder: holder, locks: self) }
                unreachable = .zero
                guard canWait(for: attempt, waited, timeout) else {
                    throw PostgreSQLError(timeoutError(timeout, attempt, await self.holder(of: key)))
                }
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

    /// The time in which a holder whose connection broke usually ends its lease. Later it was probably killed.
    private static let holderPatience = Duration.seconds(10)

    /// Returns whether the lock may become free before the timeout.
    private nonisolated func canWait(for attempt: Attempt, _ waited: Duration, _ timeout: Duration) -> Bool {
        if case .leased(let seconds) = attempt, waited >= Self.holderPatience {
            return .seconds(seconds) < timeout - waited
        }
        return waited < timeout
    }

    private var wasConnected: Bool { session.wasConnected }

    private nonisolated func timeoutError(
        _ timeout: Duration, _ attempt: Attempt, _ holder: LockHolder?
    ) -> StorageError {
        guard case .leased(let seconds) = attempt else {
            var error =
                holder.map { .held(by: $0, for: timeout, location: schema.location) }
                ?? StorageError.lockTimeout(
                    timeout, location: schema.location,
                    hint: "check which worker uses the store (pg_locks, pg_stat_activity), then try again")
            error.isLockTimeout = true
            return error
        }
        var error = StorageError(
            .busy, location: schema.location,
            reason: "the connection of the process that held a lock broke, and its request may still be in progress",
            hint: "try again in \(seconds) s")
        error.isLeased = true
        return error
    }

    /// Checks on the server that the session of a lock still holds it, and saves the lease.
    ///
    /// - Throws: ``StorageError`` of the kind busy if the session broke, even if the next one took the lock again: another process
    ///   may have held it in between.
    func confirm(_ key: Int64, _ holder: [UInt8]) throws(StorageError) {
        if let owner = owners[key], owner.holder == holder, !owner.isBroken, let connection = session.connection {
            owners[key]?.hasLease = true
            do throws(PostgreSQLError) {
                let rows = try connection.run(schema.saveLease(of: key, holder, for: leaseDuration))
                if rows.count == 1 { return }
            } catch {
                drop()
            }
        }
        throw StorageError(
            .busy, location: schema.location,
            reason: "the connection that held the lock broke, and another process may have held the lock since then",
            hint: "try again; no request was sent")
    }

    /// Ends the session, and marks its locks as broken.
    private func drop() {
        session.close()
        for key in owners.keys { owners[key]?.isBroken = true }
    }

    /// Returns the process whose session has a lock, if the server reports it.
    private func holder(of key: Int64) -> LockHolder? {
        guard let rows = try? session.connection?.run(schema.holder(of: key)),
            case .text(let name)? = rows.first?.first
        else { return nil }
        return SessionName.process(name)
    }

    private enum Attempt {
        case locked(holder: [UInt8])
        case held
        /// No session holds it, but a lease ends only in this number of seconds.
        case leased(Int64)
    }

    private func tryLock(_ key: Int64) throws(PostgreSQLError) -> Attempt {
        guard owners[key] == nil else { return .held }
        guard let holder = try? SecureRandom.bytes(PostgreSQLSchema.holderByteCount) else {
            throw PostgreSQLError(
                StorageError(
                    .other, location: schema.location, reason: "cannot create random bytes", hint: "try again"))
        }
        var attempts = 0
        while true {
            attempts += 1
            do throws(PostgreSQLError) {
                let connection = try connected()
                let rows = try connection.run("SELECT pg_try_advisory_lock($1)", [.integer(key)])
                guard rows.first?.first == .integer(1) else { return .held }
                // Only the session that has the lock saves a lease, so from here on no other lease is saved.
                let lease = try connection.run(schema.lease(of: key, maximum: leaseDuration)).first?.first
                if let lease {
                    try connection.run("SELECT pg_advisory_unlock($1)", [.integer(key)])
                    return .leased(lease.integer)
                }
                owners[key] = Owner(holder: holder)
                return .locked(holder: holder)
            } catch {
                // The session may have the lock. Closing it ends the lock in any case.
                drop()
                // An idle connection that broke is noticed only now.
                guard error.isLost, attempts < 2 else { throw error }
            }
        }
    }

    /// Returns the connection. A new session takes all locks again that no other session has taken.
    private func connected() throws(PostgreSQLError) -> PostgreSQLConnection {
        try session.connected { new throws(PostgreSQLError) in
            // A lock may be the first use of the schema, and leases are in its tables.
            try schema.open(new)
            for key in owners.keys { try new.run("SELECT pg_try_advisory_lock($1)", [.integer(key)]) }
        }
    }

    fileprivate func unlock(_ key: Int64, _ holder: [UInt8]) {
        guard let owner = owners[key], owner.holder == holder else { return }
        owners[key] = nil
        // Without a session there is no lock, but perhaps a lease. A session that broke during the request is noticed
        // only now.
        for _ in 0..<2 where session.connection != nil || owner.hasLease {
            do throws(PostgreSQLError) {
                let connection = try connected()
                if owner.hasLease { try connection.run(schema.removeLease(of: key, holder)) }
                try connection.run("SELECT pg_advisory_unlock($1)", [.integer(key)])
                return
            } catch {
                // The server drops the lock at the end of the session. The lease expires.
                drop()
                guard error.isLost else { return }
            }
        }
    }
}

/// A lock that a caller holds.
private final class SessionLock: StorageLock {
    private let key: Int64
    private let holder: [UInt8]
    private let locks: SessionLocks
    private let once = Once()

    init(key: Int64, holder: [UInt8], locks: SessionLocks) {
        self.key = key
        self.holder = holder
        self.locks = locks
    }

    func confirm() async throws { try await locks.confirm(key, holder) }

    func release() { once.run { [key, holder, locks] in Task { await locks.unlock(key, holder) } } }

    func end() async {
        once.run {}
        // An earlier call may not have reached the server yet. This call waits for it.
        await locks.unlock(key, holder)
    }

    deinit { release() }
}
