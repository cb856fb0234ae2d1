import SealedStorage
import Platform
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

    private final class Watch: StorageLock {
        let listener: ChangeListener
        let id: Int
        let once = Once()

        init(_ listener: ChangeListener, _ id: Int) {
            self.listener = listener
            self.id = id
        }

        func release() { once.run { listener.remove(id) } }
        deinit { release() }
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
            let loop = ListenLoop(target, schema, started, idleTimeout: idleTimeout) { [weak self] in self?.notify() }
            Task { await loop.run() }
        } else {
            // The loop notified the other watchers when it started. This one may have missed changes before.
            handler()
        }
        return Watch(self, id)
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

/// Listens until the signal, on its own thread, which waits for the socket.
private actor ListenLoop {
    private let target: ConnectionTarget
    private let schema: PostgreSQLSchema
    private let stop: StopSignal
    private let idleTimeout: Int32
    private let notify: @Sendable () -> Void
    private let thread = SerialThread()

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(
        _ target: ConnectionTarget, _ schema: PostgreSQLSchema, _ stop: StopSignal, idleTimeout: Int32,
        notify: @escaping @Sendable () -> Void
    ) {
        self.target = target
        self.schema = schema
        self.stop = stop
        self.idleTimeout = idleTimeout
        self.notify = notify
    }

    /// The delays before the next attempt to connect, in milliseconds.
    private static let delays: ClosedRange<Int32> = 100...5000

    /// Waits for the signal or for data. Returns whether the signal was sent, or `nil` if the connection is closed.
    private func wait(_ connection: PostgreSQLConnection) -> Bool? {
        if stop.wait(socket: connection.socket, milliseconds: idleTimeout) { return true }
        // A server that hangs does not close its connections, so only the missing result of a statement shows it.
        if !connection.isReadable, (try? connection.execute("LISTEN \(schema.name)")) == nil { return nil }
        return false
    }

    func run() {
        var delay = Self.delays.lowerBound
        while true {
            if let connection = try? PostgreSQLConnection(target),
                (try? connection.execute("LISTEN \(schema.name)")) != nil
            {
                delay = Self.delays.lowerBound
                // There may have been changes without a connection.
                notify()
                while let isStopped = wait(connection) {
                    if isStopped { return }
                    guard let isNotified = connection.consumeNotifications() else { break }
                    if isNotified { notify() }
                }
            }
            if stop.wait(milliseconds: delay) { return }
            delay = min(delay * 2, Self.delays.upperBound)
        }
    }
}
