import Platform

/// What the listener's thread does. The parts that never change; ``run()`` keeps the others to itself.
struct LoopbackLoop: Sendable {
    let listening: [Int32]
    let authority: LoopbackAuthority
    let limits: LoopbackListener.Limits
    let mailbox: LoopbackQueue
    let handler: @Sendable (LoopbackRequest) async -> LoopbackResponse

    func run() {
        var turns = RoundRobin(self)
        turns.run()
    }
}

/// The turns of the thread: wait until something can go on, and let it go on. Nothing in here waits for anything else.
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

    /// How long a new connection is safe from making room for another one: its request may be on its way.
    private static let graceTime = Duration.milliseconds(250)
    private static let lingerTime = Duration.seconds(1)
    private static let lingerBytes = 4 << 20
    /// How often one connection may send in one turn, so that a greedy reader leaves time for the others.
    private static let sendsPerTurn = 16

    init(_ loop: LoopbackLoop) {
        self.loop = loop
        listening = loop.listening
    }

    mutating func run() {
        while true {
            let mail = loop.mailbox.take()
            for delivery in mail.deliveries { deliver(delivery) }
            if mail.isClosing, !isClosing { beginClosing() }
            expire(.now)
            if isClosing, connections.isEmpty { break }
            wait()
        }
        loop.mailbox.finish()
    }

    // MARK: Waiting

    private mutating func wait() {
        var entries = [pollfd(fd: loop.mailbox.wakeReceiver, events: Int16(POLLIN), revents: 0)]
        let order = Array(connections.values)
        for connection in order {
            var events: Int32 = 0
            if connection.wantsInput { events |= Int32(POLLIN) }
            if connection.wantsOutput { events |= Int32(POLLOUT) }
            entries.append(pollfd(fd: connection.descriptor, events: Int16(events), revents: 0))
        }
        let accepts = acceptAgain == nil && hasRoom(.now)
        if accepts { entries += listening.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) } }
        let ready = poll(&entries, numericCast(entries.count), timeout(waitsForRoom: !accepts && !listening.isEmpty))
        guard ready > 0 else { return }
        if entries[0].revents != 0 { _ = LoopbackSocket.receive(loop.mailbox.wakeReceiver, into: &buffer) }
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
        if connection.wantsInput {
            receive(connection)
        } else if events & Int32(POLLERR | POLLHUP | POLLNVAL) != 0 {
            drop(connection)
        } else if connection.wantsOutput {
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
            guard let descriptor = LoopbackSocket.accept(listener) else {
                switch errno {
                case EINTR, ECONNABORTED: continue
                case EAGAIN, EWOULDBLOCK: return
                default:
                    // No descriptors or no memory: make room here and try again a little later.
                    if let idle = oldestIdle(now) { drop(idle) }
                    acceptAgain = now.advanced(by: .milliseconds(100))
                    return
                }
            }
            if connections.count >= limits.connections, let idle = oldestIdle(now) { drop(idle) }
            nextID += 1
            let connection = LoopbackConnection(
                id: nextID, descriptor: descriptor,
                reader: LoopbackRequestReader(limits: limits, authority: loop.authority), now: now)
            connection.deadline = now.advanced(by: limits.idleTime)
            connections[nextID] = connection
            receive(connection)
        }
    }

    private mutating func drop(_ connection: LoopbackConnection) {
        if case .handling(let task, _, _) = connection.phase { task.cancel() }
        if connections.removeValue(forKey: connection.id) != nil { LoopbackSocket.close(connection.descriptor) }
    }

    // MARK: Bytes in

    private mutating func receive(_ connection: LoopbackConnection) {
        switch LoopbackSocket.receive(connection.descriptor, into: &buffer) {
        case .wouldBlock: return
        case .ended:
            connection.inputHasEnded = true
            switch connection.phase {
            case .reading, .stalled, .lingering: drop(connection)
            // A client may end its side and still wait for the answer.
            case .handling, .writing: return
            }
        case .bytes(let count):
            switch connection.phase {
            case .stalled: return
            case .lingering:
                connection.discarded += count
                if connection.discarded > Self.lingerBytes { drop(connection) }
            case .reading:
                if connection.input.isEmpty { connection.enter(.reading, now: .now, for: limits.requestTime) }
                connection.input.append(contentsOf: buffer[..<count])
                advance(connection)
            case .handling, .writing: connection.input.append(contentsOf: buffer[..<count])
            }
        }
    }

    /// Goes on with a connection as far as it can go now.
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
            case .writing(let answer):
                guard !answer.isDripping, sends < Self.sendsPerTurn, write(connection, answer) else { return }
                sends += 1
            case .handling, .stalled, .lingering: return
            }
        }
    }

    /// Reads a request; false when there is nothing more to do now.
    private mutating func read(_ connection: LoopbackConnection) -> Bool {
        let step: LoopbackRequestReader.Step
        do throws(LoopbackRequestReader.Refusal) {
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
            connection.enter(.writing(.goOn), now: .now, for: limits.idleTime)
            return true
        case .request(let request, let consumed, let keepsConnection):
            connection.input.removeFirst(consumed)
            connection.requests += 1
            let id = connection.id
            let number = connection.requests
            let (handler, mailbox) = (loop.handler, loop.mailbox)
            let task = Task {
                let response = await handler(request)
                mailbox.deliver(.init(connection: id, request: number, response: response))
            }
            connection.enter(
                .handling(
                    task, isHead: request.method == .head,
                    keepsConnection: keepsConnection && number < limits.requestsPerConnection),
                now: .now, for: limits.answerTime)
            return false
        }
    }

    // MARK: Bytes out

    private mutating func deliver(_ delivery: LoopbackQueue.Delivery) {
        guard let connection = connections[delivery.connection], connection.requests == delivery.request,
            case .handling = connection.phase
        else { return }
        answer(connection, delivery.response)
    }

    private mutating func answer(_ connection: LoopbackConnection, _ response: LoopbackResponse) {
        guard case .handling(_, let isHead, let keepsConnection) = connection.phase else { return }
        switch response.fault {
        case .closeWithoutAnswer: drop(connection)
        case .stall:
            connection.enter(.stalled, now: .now, for: nil)
            if isClosing || connection.inputHasEnded { drop(connection) }
        default:
            let answer = LoopbackResponseWriter(
                response, isHead: isHead, keepsConnection: keepsConnection && !isClosing,
                now: LoopbackResponseWriter.now())
            connection.enter(.writing(answer), now: .now, for: isClosing ? limits.closingTime : limits.idleTime)
            advance(connection)
        }
    }

    /// Sends a piece; false when there is nothing more to do now.
    private mutating func write(_ connection: LoopbackConnection, _ answer: LoopbackResponseWriter) -> Bool {
        var answer = answer
        let piece = answer.next
        if !piece.isEmpty {
            switch LoopbackSocket.send(connection.descriptor, piece) {
            case .wouldBlock: return false
            case .ended:
                drop(connection)
                return false
            case .bytes(let count): answer.sent(count)
            }
        }
        let now = Instant.now
        if !answer.isSent {
            connection.update(answer)
            if answer.isDripping, let drip = answer.drip {
                connection.deadline = now.advanced(by: drip.every)
                return false
            }
            if !isClosing { connection.deadline = now.advanced(by: limits.idleTime) }
            return true
        }
        if answer.keepsConnection, !isClosing {
            connection.enter(
                .reading, now: now, for: connection.input.isEmpty ? limits.idleTime : limits.requestTime)
            return !connection.input.isEmpty || connection.inputHasEnded
        }
        LoopbackSocket.endSending(connection.descriptor)
        connection.input = []
        connection.enter(.lingering, now: now, for: min(Self.lingerTime, limits.closingTime))
        if connection.inputHasEnded { drop(connection) }
        return false
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
                answer(connection, late)
            case .writing(let answer) where answer.isDripping && !isClosing:
                drip(connection, answer)
            case .reading, .writing, .stalled, .lingering: drop(connection)
            }
        }
    }

    private mutating func drip(_ connection: LoopbackConnection, _ answer: LoopbackResponseWriter) {
        if write(connection, answer) {
            advance(connection)
        } else if connections[connection.id] != nil, case .writing = connection.phase,
            let every = answer.drip?.every
        {
            // Also when the client takes nothing now: then later, until it is gone.
            connection.deadline = Instant.now.advanced(by: every)
        }
    }

    private mutating func beginClosing() {
        isClosing = true
        for connection in Array(connections.values) {
            switch connection.phase {
            case .reading, .stalled: drop(connection)
            case .handling(let task, _, _):
                task.cancel()
                connection.deadline = Instant.now.advanced(by: limits.closingTime)
            case .writing(let answer):
                if answer.isEndless {
                    drop(connection)
                } else {
                    connection.deadline = Instant.now.advanced(by: limits.closingTime)
                }
            case .lingering: continue
            }
        }
        for descriptor in listening {
            // A child process that is between fork and exec holds the descriptor too, and with it the port.
            LoopbackSocket.endListening(descriptor)
            LoopbackSocket.close(descriptor)
        }
        listening = []
        loop.mailbox.portIsFree()
    }
}
