import SealedStorage
import LodgePlatform
import Synchronization

/// Notifies watchers of the changes of all processes. While there are watchers, one connection listens on its own thread.
final class ChangeListener: Sendable {
    private struct Watchers {
        var handlers: [Int: @Sendable () -> Void] = [:]
        var lastID = 0
        var stop: StopSignal?
    }

    private let target: ConnectionTarget
    private let schema: PostgreSQLSchema
    private let idleTimeout: Int32
    private let watchers = Mutex(Watchers())

    /// Creates a listener.
    ///
    /// - Parameter idleTimeout: The time without data, in milliseconds, after which it checks that the server responds.
    init(_ target: ConnectionTarget, _ schema: PostgreSQLSchema, idleTimeout: Int32 = 60_000) {
        self.idleTimeout = idleTimeout
        self.target = target
        self.schema = schema
    }

    /// Calls `handler` after every change until the returned value is released.
    func watch(_ handler: @escaping @Sendable () -> Void) throws(StorageError) -> any StorageLock {
        let (id, started) = try watchers.withLock { watchers throws(StorageError) -> (Int, StopSignal?) in
            var started: StopSignal?
            if watchers.stop == nil {
                started = try StopSignal(location: schema.location)
                watchers.stop = started
            }
            watchers.lastID += 1
            watchers.handlers[watchers.lastID] = handler
            return (watchers.lastID, started)
        }
        if let started {
            let loop = ListenLoop(schema: schema, stop: started, idleTimeout: idleTimeout) { [weak self] in
                self?.notify()
            }
            DetachedThread.run { [target] in loop.run(Session(target)) }
        } else {
            // The loop notified the other watchers when it started. This one may have missed changes before.
            handler()
        }
        return ReleaseHandle { self.remove(id) }
    }

    private func remove(_ id: Int) {
        let stop = watchers.withLock { watchers -> StopSignal? in
            watchers.handlers[id] = nil
            guard watchers.handlers.isEmpty else { return nil }
            defer { watchers.stop = nil }
            return watchers.stop
        }
        stop?.send()
    }

    private func notify() {
        for handler in watchers.withLock({ Array($0.handlers.values) }) { handler() }
    }

    deinit { watchers.withLock { $0.stop }?.send() }
}

/// A signal that wakes a thread from waiting for a socket. It is a pipe, because such a thread can wait only for descriptors.
final class StopSignal: Sendable {
    private let readEnd: Int32
    private let writeEnd: Int32
    private let once = Once()

    init(location: String) throws(StorageError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw StorageError(
                .other, location: location, reason: "cannot create a pipe: no file descriptor is available",
                hint: "raise the limit of open files")
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        readEnd = ends[0]
        writeEnd = ends[1]
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    func send() { once.run { _ = write(writeEnd, [0], 1) } }

    /// Waits for the signal, data on the socket, or the timeout. Returns whether the signal was sent.
    func wait(socket: Int32 = -1, milliseconds: Int32 = -1) -> Bool {
        // poll ignores negative descriptors.
        var descriptors = [
            pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
        ]
        _ = poll(&descriptors, 2, milliseconds)
        return descriptors[0].revents != 0
    }
}

/// Listens until the signal. It needs its own thread, because it waits for the socket.
private struct ListenLoop: Sendable {
    let schema: PostgreSQLSchema
    let stop: StopSignal
    let idleTimeout: Int32
    let notify: @Sendable () -> Void

    /// Waits for the signal or for data. Returns whether the signal was sent, or `nil` if the connection is closed.
    private func wait(_ connection: PostgreSQLConnection) -> Bool? {
        if stop.wait(socket: connection.socket, milliseconds: idleTimeout) { return true }
        // A server that hangs does not close its connections. A statement without a result detects it.
        if !connection.isReadable, (try? listen(connection)) == nil { return nil }
        return false
    }

    private func listen(_ connection: PostgreSQLConnection) throws(PostgreSQLError) {
        try connection.execute("LISTEN \(schema.name)")
    }

    func run(_ session: consuming Session) {
        var backoff = Backoff(.milliseconds(100) ... .seconds(5))
        while true {
            if let connection = try? session.connected(listen) {
                backoff.reset()
                // Changes may have been missed without a connection.
                notify()
                while let isStopped = wait(connection) {
                    if isStopped { return }
                    guard let isNotified = connection.consumeNotifications() else { break }
                    if isNotified { notify() }
                }
                session.close()
            }
            if stop.wait(milliseconds: Int32(backoff.next() / .milliseconds(1))) { return }
        }
    }
}
