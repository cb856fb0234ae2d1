import AgentProtocol
import CLodgeAgent

/// The process of the agent: one thread that waits for events, and performs the effects of ``AgentState``.
///
/// It uses neither Dispatch nor Swift concurrency, because their threads wake every second.
package final class AgentLoop {
    private struct Client {
        let socket: Int32
        var buffer: [UInt8] = []
        var descriptors: [Int32] = []
    }
    private struct Worker {
        let socket: Int32
        let process: pid_t
    }

    private let listener: Int32
    /// The path of the socket that this process created.
    private let path: String?
    private let created: (device: dev_t, inode: ino_t)?
    private let program: String
    private let timer: Int32
    private let signals: Int32
    private var state: AgentState
    private var clients: [Int: Client] = [:]
    private var workers: [Int: Worker] = [:]
    private var slots: [Int: SecretSlot] = [:]
    /// The bytes that a worker sends after its last message, until the state decides about them.
    private var received: SecretSlot?
    private var nextClient = 1
    private var hasExited = false

    /// Dictionaries hold no values that cannot be copied.
    private final class SecretSlot {
        var memory: SecretMemory
        init?() {
            guard let memory = SecretMemory() else { return nil }
            self.memory = memory
        }
    }

    package init(
        listener: Int32, path: String?, program: String, identity: ProcessIdentity, version: String,
        rule: OutputKeyRule
    ) {
        (self.listener, self.path, self.program) = (listener, path, program)
        created = path.flatMap(SystemCalls.linkStatus).map { ($0.st_dev, $0.st_ino) }
        timer = lodge_agent_timer()
        signals = lodge_agent_signal_pipe()
        state = AgentState(
            user: Int64(geteuid()), identity: identity, version: version, rule: rule, now: Self.now,
            readFile: { FileStamp(reading: $0.path, $0.kind) }, random: { .random(in: 0..<1) })
        lodge_agent_make_nonblocking(listener)
    }

    private static var now: AgentTime { AgentTime(uptime: lodge_agent_uptime(), wall: lodge_agent_wall_time()) }

    /// Serves until a signal or `agent stop` ends the agent.
    package func run() {
        lodge_agent_release_code()
        while !hasExited { wait() }
        for worker in workers.values { close(worker.socket) }
        // Another agent may have replaced the socket.
        if let path,
            SystemCalls.linkStatus(path).map({ $0.st_ino == created?.inode && $0.st_dev == created?.device }) ?? false
        {
            unlink(path)
        }
    }

    private func wait() {
        var polled: [pollfd] = []
        var events: [() -> Void] = []
        func add(_ descriptor: Int32, _ action: @escaping () -> Void) {
            guard descriptor >= 0 else { return }
            polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
            events.append(action)
        }
        add(signals) { [self] in
            var byte: UInt8 = 0
            while read(signals, &byte, 1) > 0 {}
            handle(.end)
        }
        add(timer) { [self] in
            var count: UInt64 = 0
            _ = read(timer, &count, 8)
        }
        if state.acceptsConnections { add(listener) { [self] in accept() } }
        for (number, client) in clients { add(client.socket) { [self] in receive(from: number) } }
        for (number, worker) in workers { add(worker.socket) { [self] in receive(fromWorker: number) } }
        let next = state.nextTick
        var limit: Int32 = -1
        if timer >= 0 {
            // A time in the past must still fire; 0 would stop the timer.
            lodge_agent_set_timer(timer, next.map { max($0, 0.001) } ?? 0)
        } else if let next {
            limit = Int32(max(0, min(60_000, (next - Self.now.uptime) * 1000 + 1)))
        }
        guard poll(&polled, nfds_t(polled.count), limit) >= 0 else { return }
        for (index, entry) in polled.enumerated() where entry.revents != 0 && !hasExited { events[index]() }
        if let next, next <= Self.now.uptime, !hasExited { handle(.tick) }
    }

    // MARK: Input

    private func accept() {
        let socket = lodge_agent_accept(listener)
        guard socket >= 0 else { return }
        let number = nextClient
        nextClient += 1
        clients[number] = Client(socket: socket)
        handle(.connected(client: number, user: lodge_agent_peer_user(socket)))
    }

    private func receive(from number: Int) {
        guard let socket = clients[number]?.socket else { return }
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        var found: [Int32] = [-1, -1, -1, -1]
        var foundCount: Int32 = 0
        let count = lodge_agent_receive(socket, &chunk, chunk.count, &found, &foundCount, false)
        if count < 0, errno == EAGAIN { return }
        for descriptor in found.prefix(Int(foundCount)) {
            if clients[number].map({ $0.descriptors.count < AgentLimits.descriptors }) ?? false {
                clients[number]?.descriptors.append(descriptor)
            } else {
                close(descriptor)
            }
        }
        guard count > 0 else { return handle(.disconnected(client: number)) }
        clients[number]?.buffer += chunk[..<count]
        while let buffer = clients[number]?.buffer, let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
            guard end <= AgentLimits.message else { return handle(.overflow(client: number)) }
            clients[number]?.buffer.removeFirst(end + 1)
            let descriptorCount = clients[number]?.descriptors.count ?? 0
            handle(.line(client: number, Array(buffer[..<end]), descriptorCount: descriptorCount))
        }
        if let rest = clients[number]?.buffer.count, rest > AgentLimits.message { handle(.overflow(client: number)) }
    }

    /// Reads one message of a worker. Reads no byte after it, because secret bytes go directly to their own memory.
    private func receive(fromWorker number: Int) {
        guard let socket = workers[number]?.socket else { return }
        var chunk = [UInt8](repeating: 0, count: 16 * 1024)
        var none: Int32 = 0
        let peeked = lodge_agent_receive(socket, &chunk, chunk.count, nil, &none, true)
        guard peeked > 0 else { return end(worker: number) }
        defer { chunk.withUnsafeMutableBytes { lodge_agent_erase($0.baseAddress, $0.count) } }
        guard let length = chunk[..<peeked].firstIndex(of: UInt8(ascii: "\n")) else {
            // The worker sends a message in one call, so it is whole unless it is too long or the worker is ending.
            return end(worker: number)
        }
        var line = [UInt8](repeating: 0, count: length + 1)
        guard recv(socket, &line, line.count, Int32(MSG_WAITALL)) == line.count,
            let response = WorkerResponse(line.dropLast())
        else { return end(worker: number) }
        if case .exit(_, _, let output?) = response {
            let slot = SecretSlot()
            if let slot, !slot.memory.read(output.byteCount, from: socket) { return end(worker: number) }
            // Without memory the bytes are read and dropped with the connection.
            guard let slot else { return end(worker: number) }
            received = slot
        }
        handle(.workerSaid(worker: number, response))
        received = nil
    }

    private func end(worker number: Int) {
        guard let worker = workers.removeValue(forKey: number) else { return }
        close(worker.socket)
        handle(.workerEnded(worker: number))
    }

    // MARK: Effects

    private func handle(_ event: AgentEvent) {
        var isLine = false
        if case .line = event { isLine = true }
        let current = isLine ? ProcessIdentity.program(at: program) : nil
        for effect in state.handle(event, Self.now, program: current) { perform(effect) }
    }

    private func perform(_ effect: AgentEffect) {
        switch effect {
        case .send(let client, let response): send(response.line, to: client)
        case .sendOutput(let client, let slot, let count):
            guard let socket = clients[client]?.socket, let memory = slots[slot] else { return disconnect(client) }
            discardDescriptors(of: client)
            guard AgentConnection.send(AgentResponse.output(byteCount: count).line, to: socket),
                memory.memory.send(to: socket)
            else { return disconnect(client) }
        case .close(let client): closeClient(client)
        case .start(let worker, let environment): start(worker, environment)
        case .run(let worker, let request, let line, let client): run(worker, request, line, client)
        case .signal(let worker, let request):
            if let socket = workers[worker]?.socket { _ = AgentConnection.send(request.line, to: socket) }
        case .end(let worker):
            if let ended = workers.removeValue(forKey: worker) { close(ended.socket) }
            // Now the agent rests.
            if workers.isEmpty { lodge_agent_release_code() }
        case .keep(_, let slot): slots[slot] = received
        case .erase(let slot): slots[slot] = nil
        case .exit: hasExited = true
        }
    }

    /// Sends a small message. The socket of a client that reads nothing becomes full, and the client is dropped.
    private func send(_ line: [UInt8], to client: Int) {
        guard let socket = clients[client]?.socket else { return }
        if line.count > 0, AgentConnection.send(line, to: socket) { return }
        disconnect(client)
    }

    private func disconnect(_ client: Int) { handle(.disconnected(client: client)) }

    private func discardDescriptors(of client: Int) {
        for descriptor in clients[client]?.descriptors ?? [] { close(descriptor) }
        clients[client]?.descriptors = []
    }

    private func closeClient(_ number: Int) {
        discardDescriptors(of: number)
        if let client = clients.removeValue(forKey: number) { close(client.socket) }
    }

    private func start(_ number: Int, _ environment: [String]) {
        var ends: [Int32] = [-1, -1]
        guard lodge_agent_pair(&ends) == 0 else { return }
        let words = [program, AgentWorkerName.command]
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup($0) } + [nil]
        defer { for word in arguments + variables { free(word) } }
        let process = lodge_agent_start(program, arguments, variables, ends[1])
        close(ends[1])
        guard process > 0 else {
            close(ends[0])
            return
        }
        workers[number] = Worker(socket: ends[0], process: process)
    }

    private func run(_ number: Int, _ request: WorkerRequest, _ line: [UInt8], _ client: Int?) {
        guard let socket = workers[number]?.socket else { return handle(.workerEnded(worker: number)) }
        var descriptors = client.flatMap { clients[$0]?.descriptors } ?? []
        var null: [Int32] = []
        if descriptors.count != AgentLimits.descriptors {
            null = [open("/dev/null", O_RDWR | O_CLOEXEC)]
            descriptors = [Int32](repeating: null[0], count: AgentLimits.descriptors)
        }
        let isSent = AgentConnection.send(request.line + line, to: socket, descriptors)
        for descriptor in null { close(descriptor) }
        if let client { discardDescriptors(of: client) }
        if !isSent { end(worker: number) }
    }
}
