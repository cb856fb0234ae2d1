import LodgePlatform

/// The immutable parts of the listener's thread; ``run()`` owns the others.
struct LoopbackLoop: Sendable {
    let listening: [Int32]
    let authority: LoopbackAuthority
    let tls: LoopbackTLS?
    let limits: LoopbackListener.Limits
    let queue: LoopbackQueue
    let handler: @Sendable (LoopbackRequest) async -> LoopbackResponse

    func run() {
        var roundRobin = RoundRobin(self)
        roundRobin.run()
    }
}

/// The loop of the thread: waits until a connection can continue and continues it. It blocks only in `poll`.
private struct RoundRobin {
    private typealias Instant = ContinuousClock.Instant

    private let loop: LoopbackLoop
    private var limits: LoopbackListener.Limits { loop.limits }
    private var listening: [Int32]
    private var connections: [UInt64: LoopbackConnection] = [:]
    private var nextID: UInt64 = 0
    private var isClosing = false
    private var acceptAgain: Instant?
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)

    /// The time for which a new connection is not closed for another one: its request may still arrive.
    private static let graceTime = Duration.milliseconds(250)
    private static let lingerTime = Duration.seconds(1)
    private static let lingerBytes = 4 << 20
    /// The maximum number of sends of one connection in one turn, so that a fast reader leaves time for the others.
    private static let sendsPerTurn = 16

    init(_ loop: LoopbackLoop) {
        self.loop = loop
        listening = loop.listening
    }

    mutating func run() {
        while true {
            let mail = loop.queue.take()
            for delivery in mail.deliveries { deliver(delivery) }
            if mail.isClosing, !isClosing { startClosing() }
            expire(.now)
            if isClosing, connections.isEmpty { break }
            wait()
        }
        loop.queue.finish()
    }

    // MARK: Waiting

    private mutating func wait() {
        var entries = [pollfd(fd: loop.queue.wakeReceiver, events: Int16(POLLIN), revents: 0)]
        let order = Array(connections.values)
        for connection in order {
            var events: Int32 = 0
            if connection.acceptsInput { events |= Int32(POLLIN) }
            if connection.acceptsOutput { events |= Int32(POLLOUT) }
            entries.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
        }
        let accepts = acceptAgain == nil && hasRoom(.now)
        if accepts { entries += listening.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) } }
        let ready = poll(&entries, numericCast(entries.count), timeout(waitsForRoom: !accepts && !listening.isEmpty))
        guard ready > 0 else { return }
        if entries[0].revents != 0 { _ = StreamSocket.receive(loop.queue.wakeReceiver, into: &buffer) }
        for (connection, entry) in zip(order, entries.dropFirst()) where entry.revents != 0 {
            proceed(connection, Int32(entry.revents))
        }
        for entry in entries.dropFirst(1 + order.count) where entry.revents != 0 { accept(entry.fd) }
    }

    /// Milliseconds until the next deadline, or -1 for no deadline.
    private func timeout(waitsForRoom: Bool) -> Int32 {
        var next = connections.values.compactMap(\.deadline).min()
        if let acceptAgain { next = min(next ?? acceptAgain, acceptAgain) }
        let now = Instant.now
        if waitsForRoom, acceptAgain == nil {
            let room = now.advanced(by: .milliseconds(50))
            next = min(next ?? room, room)
        }
        guard let next else { return -1 }
        let left = now.duration(to: next).components
        guard left.seconds >= 0, left.attoseconds >= 0 else { return 0 }
        guard left.seconds < 60 else { return 60_000 }
        return Int32(left.seconds) * 1000 + Int32(left.attoseconds / 1_000_000_000_000_000) + 1
    }

    private mutating func proceed(_ connection: LoopbackConnection, _ events: Int32) {
        if connection.hasEncryptedOutput, events & Int32(POLLOUT) != 0 { sendEncrypted(connection) }
        guard connections[connection.id] != nil else { return }
        if connection.acceptsInput {
            receive(connection)
        } else if events & Int32(POLLERR | POLLHUP | POLLNVAL) != 0 {
            drop(connection)
        } else if connection.acceptsOutput {
            advance(connection)
        }
    }

    // MARK: New connections

    private func hasRoom(_ now: Instant) -> Bool { connections.count < limits.connections || oldestIdle(now) != nil }

    private func oldestIdle(_ now: Instant) -> LoopbackConnection? {
        connections.values.filter { $0.isIdle && $0.since.advanced(by: Self.graceTime) <= now }
            .min { $0.since < $1.since }
    }

    private mutating func accept(_ listener: Int32) {
        let now = Instant.now
        for _ in 0..<16 {
            guard hasRoom(now) else { return }
            guard let descriptor = StreamSocket.acceptConnection(listener) else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EAGAIN, EWOULDBLOCK: return
                default:
                    // No descriptors or no memory: make room and retry later.
                    if let idle = oldestIdle(now) { drop(idle) }
                    acceptAgain = now.advanced(by: .milliseconds(100))
                    return
                }
            }
            // Another user who knows the URL of the sign-in could send the code of another account.
            if limits.refusesOtherUsers, LoopbackPeer.isForeign(descriptor) {
                FileDescriptor.close(descriptor)
                continue
            }
            if connections.count >= limits.connections, let idle = oldestIdle(now) { drop(idle) }
            nextID += 1
            let connection = LoopbackConnection(
                id: nextID, descriptor: descriptor,
                reader: LoopbackRequestReader(limits: limits, authority: loop.authority), now: now)
            connection.deadline = now.advanced(by: limits.idleTime)
            if let tls = loop.tls {
                guard let session = tls.session() else {
                    FileDescriptor.close(descriptor)
                    continue
                }
                connection.tls = session
            }
            connections[nextID] = connection
            receive(connection)
        }
    }

    private mutating func drop(_ connection: LoopbackConnection) {
        if case .handling(let task, _, _) = connection.phase { task.cancel() }
        if connections.removeValue(forKey: connection.id) != nil { FileDescriptor.close(connection.descriptor) }
    }

    // MARK: Bytes in

    private mutating func receive(_ connection: LoopbackConnection) {
        switch StreamSocket.receive(connection.descriptor, into: &buffer) {
        case .wouldBlock: return
        case .ended: endInput(connection)
        case .bytes(let count):
            if let tls = connection.tls {
                decrypt(buffer[..<count], connection, tls)
            } else {
                accept(buffer[..<count], connection)
            }
        }
    }

    private mutating func endInput(_ connection: LoopbackConnection) {
        connection.inputHasEnded = true
        switch connection.phase {
        case .reading, .stalled, .lingering: drop(connection)
        // A client may close its side and still wait for the response.
        case .handling, .writing: return
        }
    }

    /// Accepts bytes of a request.
    private mutating func accept(_ bytes: ArraySlice<UInt8>, _ connection: LoopbackConnection) {
        switch connection.phase {
        case .stalled: return
        case .lingering:
            connection.discarded += bytes.count
            if connection.discarded > Self.lingerBytes { drop(connection) }
        case .reading:
            if connection.input.isEmpty { connection.enter(.reading, now: .now, for: limits.requestTime) }
            connection.input.append(contentsOf: bytes)
            advance(connection)
        case .handling, .writing: connection.input.append(contentsOf: bytes)
        }
    }

    private mutating func decrypt(_ bytes: ArraySlice<UInt8>, _ connection: LoopbackConnection, _ tls: TLSSession) {
        guard tls.hasStarted || bytes.first == TLSSession.handshakeType else {
            // Probably HTTP: send an error that the user can read, instead of a TLS alert.
            connection.tls = nil
            let rejection = LoopbackRequestReader.Rejection(
                status: 400, reason: "this port takes HTTPS: start the URL with https://")
            connection.enter(.writing(LoopbackResponseWriter(rejection)), now: .now, for: limits.idleTime)
            return advance(connection)
        }
        // The handshake and the first request have this time each.
        if !tls.hasStarted { connection.deadline = Instant.now.advanced(by: limits.requestTime) }
        let (content, state) = tls.decrypt(bytes)
        sendEncrypted(connection)
        guard connections[connection.id] != nil else { return }
        if !content.isEmpty { accept(content[...], connection) }
        guard connections[connection.id] != nil else { return }
        switch state {
        case .open: return
        case .ended: endInput(connection)
        case .failed: drop(connection)
        }
    }

    /// Continues a connection until it would block.
    private mutating func advance(_ connection: LoopbackConnection) {
        var sends = 0
        while connections[connection.id] != nil {
            switch connection.phase {
            case .reading:
                guard !connection.input.isEmpty else {
                    if connection.inputHasEnded { drop(connection) }
                    return
                }
                guard read(connection) else { return }
            case .writing(let writer):
                guard !writer.isDripping, sends < Self.sendsPerTurn, write(connection, writer) else { return }
                sends += 1
            case .handling, .stalled, .lingering: return
            }
        }
    }

    /// Reads a request; returns `false` if the connection must wait.
    private mutating func read(_ connection: LoopbackConnection) -> Bool {
        let step: LoopbackRequestReader.Step
        do throws(LoopbackRequestReader.Rejection) {
            step = try connection.reader.read(connection.input)
        } catch {
            connection.input = []
            connection.enter(.writing(LoopbackResponseWriter(error)), now: .now, for: limits.idleTime)
            return true
        }
        switch step {
        case .more:
            if connection.inputHasEnded { drop(connection) }
            return false
        case .mayContinue:
            connection.enter(.writing(.continueResponse), now: .now, for: limits.idleTime)
            return true
        case .request(let request, let consumed, let keepsConnection):
            connection.input.removeFirst(consumed)
            connection.requests += 1
            let id = connection.id
            let number = connection.requests
            let (handler, queue) = (loop.handler, loop.queue)
            let task = Task {
                let response = await handler(request)
                queue.deliver(.init(connection: id, request: number, response: response))
            }
            connection.enter(
                .handling(
                    task, isHead: request.method == .head,
                    keepsConnection: keepsConnection && number < limits.requestsPerConnection),
                now: .now, for: limits.responseTime)
            return false
        }
    }

    // MARK: Bytes out

    private mutating func deliver(_ delivery: LoopbackQueue.Delivery) {
        guard let connection = connections[delivery.connection], connection.requests == delivery.request,
            case .handling = connection.phase
        else { return }
        respond(connection, delivery.response)
    }

    private mutating func respond(_ connection: LoopbackConnection, _ response: LoopbackResponse) {
        guard case .handling(_, let isHead, let keepsConnection) = connection.phase else { return }
        switch response.injectedError {
        case .closeWithoutResponse: drop(connection)
        case .stall:
            connection.enter(.stalled, now: .now, for: nil)
            if isClosing || connection.inputHasEnded { drop(connection) }
        default:
            let writer = LoopbackResponseWriter(
                response, isHead: isHead, keepsConnection: keepsConnection && !isClosing,
                now: LoopbackResponseWriter.now())
            connection.enter(.writing(writer), now: .now, for: isClosing ? limits.closingTime : limits.idleTime)
            advance(connection)
        }
    }

    /// Sends a piece; returns `false` if the connection must wait.
    private mutating func write(_ connection: LoopbackConnection, _ writer: LoopbackResponseWriter) -> Bool {
        var writer = writer
        let piece = writer.next
        if !piece.isEmpty {
            switch transmit(piece, connection) {
            case .wouldBlock: return false
            case .ended:
                drop(connection)
                return false
            case .bytes(let count): writer.sent(count)
            }
        }
        let now = Instant.now
        if connection.hasEncryptedOutput {
            connection.update(writer)
            if !isClosing, !piece.isEmpty { connection.deadline = now.advanced(by: limits.idleTime) }
            return false
        }
        if !writer.isSent {
            connection.update(writer)
            if writer.isDripping, let drip = writer.drip {
                connection.deadline = now.advanced(by: drip.every)
                return false
            }
            if !isClosing { connection.deadline = now.advanced(by: limits.idleTime) }
            return true
        }
        if writer.keepsConnection, !isClosing {
            connection.enter(
                .reading, now: now, for: connection.input.isEmpty ? limits.idleTime : limits.requestTime)
            return !connection.input.isEmpty || connection.inputHasEnded
        }
        if let tls = connection.tls {
            tls.end()
            sendEncrypted(connection)
            guard connections[connection.id] != nil else { return false }
        }
        StreamSocket.endSending(connection.descriptor)
        connection.input = []
        connection.enter(.lingering, now: now, for: min(Self.lingerTime, limits.closingTime))
        if connection.inputHasEnded { drop(connection) }
        return false
    }

    /// Sends as many bytes as the system accepts, encrypted if the connection uses TLS.
    private mutating func transmit(
        _ piece: ArraySlice<UInt8>, _ connection: LoopbackConnection
    ) -> StreamSocket.Transfer {
        guard let tls = connection.tls else { return StreamSocket.transmit(connection.descriptor, piece) }
        // Encrypt more only if the previous bytes are sent, so that a slow client needs no memory.
        guard sendEncrypted(connection) else { return connections[connection.id] == nil ? .ended : .wouldBlock }
        let count = tls.encrypt(piece)
        guard count > 0 else { return .ended }
        sendEncrypted(connection)
        return connections[connection.id] == nil ? .ended : .bytes(count)
    }

    /// Sends encrypted bytes; returns `false` if some remain or the connection ended.
    @discardableResult
    private mutating func sendEncrypted(_ connection: LoopbackConnection) -> Bool {
        guard let tls = connection.tls else { return true }
        while !tls.output.isEmpty {
            switch StreamSocket.transmit(connection.descriptor, tls.output) {
            case .wouldBlock: return false
            case .ended:
                drop(connection)
                return false
            case .bytes(let count):
                tls.sent(count)
                extend(connection)
            }
        }
        return true
    }

    /// Extends the time of a response, because the client accepted a part of it.
    private func extend(_ connection: LoopbackConnection) {
        guard !isClosing, case .writing(let writer) = connection.phase, !writer.isDripping else { return }
        connection.deadline = Instant.now.advanced(by: limits.idleTime)
    }

    // MARK: Time

    private mutating func expire(_ now: Instant) {
        if let again = acceptAgain, again <= now { acceptAgain = nil }
        for connection in Array(connections.values) {
            guard let deadline = connection.deadline, deadline <= now else { continue }
            switch connection.phase {
            case .handling(let task, _, _):
                task.cancel()
                guard !isClosing else {
                    drop(connection)
                    continue
                }
                var late = LoopbackResponse(status: 503)
                late.closesConnection = true
                respond(connection, late)
            case .writing(let writer) where writer.isDripping && !isClosing:
                drip(connection, writer)
            case .reading, .writing, .stalled, .lingering: drop(connection)
            }
        }
    }

    private mutating func drip(_ connection: LoopbackConnection, _ writer: LoopbackResponseWriter) {
        if write(connection, writer) {
            advance(connection)
        } else if connections[connection.id] != nil, case .writing = connection.phase,
            let every = writer.drip?.every
        {
            // If the client accepts no bytes, retry later until it disconnects.
            connection.deadline = Instant.now.advanced(by: every)
        }
    }

    private mutating func startClosing() {
        isClosing = true
        for connection in Array(connections.values) {
            switch connection.phase {
            case .reading, .stalled: drop(connection)
            case .handling(let task, _, _):
                task.cancel()
                connection.deadline = Instant.now.advanced(by: limits.closingTime)
            case .writing(let writer):
                if writer.isEndless {
                    drop(connection)
                } else {
                    connection.deadline = Instant.now.advanced(by: limits.closingTime)
                }
            case .lingering: continue
            }
        }
        for descriptor in listening {
            // A child process between fork and exec also holds the descriptor, and with it the port.
            StreamSocket.endListening(descriptor)
            FileDescriptor.close(descriptor)
        }
        listening = []
        loop.queue.portIsFree()
    }
}
