import Platform

#if PostgreSQL
    import OAuth2AccountStore
    import Synchronization

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// Tells everyone who watches when somebody changed something: one connection that listens, on a thread of its own, as long as
    /// there is anyone to tell.
    final class ChangeListener: Sendable {
        private struct Watchers {
            var handlers: [Int: @Sendable () -> Void] = [:]
            var next = 0
            var stop: StopSignal?
        }

        private let target: ConnectionTarget
        private let schema: PostgreSQLSchema
        private let silence: Int32
        private let watchers = Mutex(Watchers())

        /// - Parameter silence: After how long without a word, in milliseconds, the server is asked whether it is still there.
        init(_ target: ConnectionTarget, _ schema: PostgreSQLSchema, silence: Int32 = 60_000) {
            self.silence = silence
            self.target = target
            self.schema = schema
        }

        private final class Watch: StorageLock {
            let listener: ChangeListener
            let number: Int
            let once = Once()

            init(_ listener: ChangeListener, _ number: Int) {
                self.listener = listener
                self.number = number
            }

            func release() { once.run { listener.remove(number) } }
            deinit { release() }
        }

        /// Calls `handler` with every change until the value is released.
        func watch(_ handler: @escaping @Sendable () -> Void) throws(StorageError) -> any StorageLock {
            let (number, started) = try watchers.withLock { watchers throws(StorageError) -> (Int, StopSignal?) in
                var started: StopSignal?
                if watchers.stop == nil {
                    started = try StopSignal(place: schema.place)
                    watchers.stop = started
                }
                watchers.next += 1
                watchers.handlers[watchers.next] = handler
                return (watchers.next, started)
            }
            if let started {
                let loop = ListenLoop(target, schema, started, silence: silence) { [weak self] in self?.tell() }
                Task { await loop.run() }
            } else {
                // The one who listens already called the others when it began; what came before is new to this one.
                handler()
            }
            return Watch(self, number)
        }

        private func remove(_ number: Int) {
            let stop = watchers.withLock { watchers -> StopSignal? in
                watchers.handlers[number] = nil
                guard watchers.handlers.isEmpty else { return nil }
                defer { watchers.stop = nil }
                return watchers.stop
            }
            stop?.send()
        }

        private func tell() {
            for handler in watchers.withLock({ Array($0.handlers.values) }) { handler() }
        }

        deinit { watchers.withLock { $0.stop }?.send() }
    }

    /// What ends the waiting of a thread: a pipe, because a thread that waits for a socket sees nothing else.
    final class StopSignal: Sendable {
        private let reading: Int32
        private let writing: Int32
        private let once = Once()

        init(place: String) throws(StorageError) {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else {
                throw StorageError(
                    .other, place: place, reason: "no file descriptor is left", hint: "raise the limit of open files")
            }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            reading = ends[0]
            writing = ends[1]
        }

        deinit {
            close(reading)
            close(writing)
        }

        func send() { once.run { _ = write(writing, [0], 1) } }

        /// Waits for the signal, true, or for something to read on the socket or the time to pass, false.
        func wait(socket: Int32 = -1, milliseconds: Int32 = -1) -> Bool {
            // poll passes over a negative descriptor.
            var waiting = [
                pollfd(fd: reading, events: Int16(POLLIN), revents: 0),
                pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            ]
            _ = poll(&waiting, 2, milliseconds)
            return waiting[0].revents != 0
        }
    }

    /// Listens until the signal. Runs on its own thread, which waits for the socket.
    private actor ListenLoop {
        private let target: ConnectionTarget
        private let schema: PostgreSQLSchema
        private let stop: StopSignal
        private let silence: Int32
        private let tell: @Sendable () -> Void
        private let thread = SerialThread()

        nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

        init(
            _ target: ConnectionTarget, _ schema: PostgreSQLSchema, _ stop: StopSignal, silence: Int32,
            tell: @escaping @Sendable () -> Void
        ) {
            self.target = target
            self.schema = schema
            self.stop = stop
            self.silence = silence
            self.tell = tell
        }

        /// The shortest and the longest pause before the next attempt to connect, in milliseconds.
        private static let pauses: (first: Int32, longest: Int32) = (100, 5000)

        /// Waits for the signal, true, or for something to read, false; nil when the connection is gone.
        private func wait(_ connection: PostgreSQLConnection) -> Bool? {
            if stop.wait(socket: connection.socket, milliseconds: silence) { return true }
            // A server that stands still keeps its connections, and would never be heard again.
            if !connection.isReadable, (try? connection.execute("LISTEN \(schema.name)")) == nil { return nil }
            return false
        }

        func run() {
            var pause = Self.pauses.first
            while true {
                if let connection = try? PostgreSQLConnection(target),
                    (try? connection.execute("LISTEN \(schema.name)")) != nil
                {
                    pause = Self.pauses.first
                    // What happened before this, and while there was no connection, nobody has told.
                    tell()
                    while true {
                        guard let isStopped = wait(connection) else { break }
                        if isStopped { return }
                        guard let came = connection.consumeNotifications() else { break }
                        if came { tell() }
                    }
                }
                if stop.wait(milliseconds: pause) { return }
                pause = min(pause * 2, Self.pauses.longest)
            }
        }
    }
#endif
