import AgentProtocol
import CLodgeAgent

/// The process of the agent: one thread that waits for events, and performs the effects of ``AgentState``.
///
/// It uses neither Dispatch nor Swift concurrency, because their threads wake every second.
package final class AgentLoop {
    private struct Client {
        /// -1 if the connection belongs to a command.
        let socket: Int32
        var buffer: [UInt8] = []
        var descriptors: [Int32] = []
    }
    private struct Worker {
        let socket: Int32
        let process: pid_t
    }
    /// A socket on which this process waits for clients.
    private struct Listener {
        let socket: Int32
        /// The path of the socket that this process removes, and its file.
        let path: String?
        let file: FileStamp?

        init(_ socket: Int32, _ path: String?) {
            (self.socket, self.path) = (socket, path)
            file = path.map { FileStamp(reading: $0, .file) }
            lodge_agent_make_nonblocking(socket)
        }

        func end() {
            close(socket)
            // Another process may have replaced the socket.
            if let path, FileStamp(reading: path, .file).state.map({ $0.inode }) == file?.state?.inode { unlink(path) }
        }
    }

    private let listener: Listener
    private var others: [Int: Listener] = [:]
    private let program: String
    /// The state of the program file when the agent started.
    private let programFile: FileStamp
    private let options: AgentOptions
    private let workerVariables: [String]
    private let notification: (_ type: String, _ account: String) -> [String]
    private let timer: Int32
    /// The uptime for which the timer is set.
    private var timerTime = Double.infinity
    private let clockTimer: Int32
    private let signals: Int32
    private var state: AgentState
    private var clients: [Int: Client] = [:]
    private var workers: [Int: Worker] = [:]
    private var slots: [Int: SecretSlot] = [:]
    /// The bytes that a worker sends after its last message, until the state decides about them.
    private var received: SecretSlot?
    /// The key of the store.
    private var key: SecretSlot?
    private var keyStore = ""
    private var nextClient = 1
    private var hasExited = false
    private var chunk = [UInt8](repeating: 0, count: 16 * 1024)

    /// Dictionaries hold no values that cannot be copied.
    private final class SecretSlot {
        var memory: SecretMemory
        init?() {
            guard let memory = SecretMemory() else { return nil }
            self.memory = memory
        }
    }

    /// Creates an agent that listens on a socket.
    ///
    /// - Parameters:
    ///   - path: The path of the socket if this process removes it.
    ///   - workerVariables: Variables of this process for all workers, each as `NAME=VALUE`.
    ///   - notification: Returns the command line that shows the user that an account of a type needs a sign-in.
    package init(
        listener: Int32, path: String?, program: String, identity: ProcessIdentity, version: String,
        rule: OutputKeyRule, options: AgentOptions, standing: [CommandLineRequest], workerVariables: [String],
        notification: @escaping (_ type: String, _ account: String) -> [String]
    ) {
        (self.program, self.options, self.notification) = (program, options, notification)
        self.workerVariables = workerVariables
        self.listener = Listener(listener, path)
        programFile = FileStamp(reading: program, .file)
        timer = lodge_agent_timer()
        clockTimer = options.locksOnSleep ? lodge_agent_clock_timer() : -1
        signals = lodge_agent_signal_pipe()
        state = AgentState(
            user: Int64(geteuid()), identity: identity, version: version, rule: rule, options: options,
            standing: standing, now: Self.now, readFile: { FileStamp(reading: $0.path, $0.kind) },
            random: { .random(in: 0..<1) })
    }

    /// Runs a command for each connection to a socket, whose standard input and output are the connection.
    package func add(_ request: CommandLineRequest, _ socket: Int32, path: String) {
        others[state.add(request, path, until: nil)] = Listener(socket, path)
    }

    private static var now: AgentTime {
        let uptime = lodge_agent_uptime()
        return AgentTime(
            uptime: uptime, wall: lodge_agent_wall_time(), asleep: max(0, uptime - lodge_agent_awake_time()))
    }

    /// Serves until a signal or `agent stop` ends the agent.
    package func run() {
        lodge_agent_release_memory()
        while !hasExited { wait() }
        for worker in workers.values { close(worker.socket) }
        for listener in [listener] + others.values { listener.end() }
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
            timerTime = .infinity
        }
        add(clockTimer) { [self] in
            var count: UInt64 = 0
            _ = read(clockTimer, &count, 8)
            lodge_agent_watch_clock(clockTimer)
            handle(.tick)
        }
        if state.acceptsConnections {
            add(listener.socket) { [self] in accept(listener.socket, nil) }
            for (number, listener) in others { add(listener.socket) { [self] in accept(listener.socket, number) } }
        }
        for (number, client) in clients { add(client.socket) { [self] in receive(from: number) } }
        for (number, worker) in workers { add(worker.socket) { [self] in receive(fromWorker: number) } }
        let next = state.nextTick
        var limit: Int32 = -1
        if timer < 0 {
            if let next { limit = Int32(max(0, min(60_000, (next - Self.now.uptime) * 1000 + 1))) }
        } else if let next, next < timerTime {
            // If the timer is set for an earlier time, it is set again when it has fired. A time in the past must still
            // fire; 0 would stop the timer.
            lodge_agent_set_timer(timer, max(next, 0.001))
            timerTime = next
        }
        guard poll(&polled, nfds_t(polled.count), limit) >= 0 else { return }
        for (index, entry) in polled.enumerated() where entry.revents != 0 && !hasExited { events[index]() }
        if let next, next <= Self.now.uptime, !hasExited { handle(.tick) }
    }

    // MARK: Input

    /// Accepts a connection to the agent's own socket, or to the socket of another program.
    private func accept(_ listening: Int32, _ listener: Int?) {
        let socket = lodge_agent_accept(listening)
        guard socket >= 0 else { return }
        let number = nextClient
        nextClient += 1
        var process: pid_t = 0
        let user = lodge_agent_peer_user(socket, &process)
        if listener == nil {
            clients[number] = Client(socket: socket)
        } else {
            // Standard input and output, standard error, and the pipe of the report.
            lodge_agent_make_blocking(socket)
            let null = open("/dev/null", O_RDWR | O_CLOEXEC)
            clients[number] = Client(
                socket: -1,
                descriptors: [socket, fcntl(socket, F_DUPFD_CLOEXEC, 3), null, fcntl(null, F_DUPFD_CLOEXEC, 3)])
        }
        handle(.connected(client: number, user: user, process: Int64(process), listener: listener))
        // The first message often is already here.
        if clients[number]?.socket ?? -1 >= 0 { receive(from: number) }
    }

    private func receive(from number: Int) {
        guard let socket = clients[number]?.socket else { return }
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
        if clients[number]?.buffer.isEmpty == true, chunk[..<count].firstIndex(of: UInt8(ascii: "\n")) == count - 1 {
            // One whole message, as usual.
            return handle(
                .line(
                    client: number, Array(chunk[..<(count - 1)]),
                    descriptorCount: clients[number]?.descriptors.count ?? 0))
        }
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
            if let slot, !slot.memory.receive(output.byteCount, from: socket) { return end(worker: number) }
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
        var isReplaced = false
        if case .line = event { isReplaced = FileStamp(reading: program, .file) != programFile }
        for effect in state.handle(event, Self.now, isReplaced: isReplaced) { perform(effect) }
    }

    private func perform(_ effect: AgentEffect) {
        switch effect {
        case .send(let client, let response): send(response.line, to: client)
        case .sendOutput(let client, let slot, let count):
            guard let socket = clients[client]?.socket, let memory = slots[slot] else { return disconnect(client) }
            discardDescriptors(of: client)
            guard memory.memory.send(AgentResponse.outputLine(byteCount: count), to: socket) else {
                return disconnect(client)
            }
        case .close(let client): closeClient(client)
        case .start(let worker, let environment): start(worker, environment)
        case .run(let worker, let request, let line, let client): run(worker, request, line, client)
        case .signal(let worker, let request):
            if let socket = workers[worker]?.socket { _ = AgentConnection.send(request.line, to: socket) }
        case .end(let worker):
            if let ended = workers.removeValue(forKey: worker) { close(ended.socket) }
            // Now the agent rests.
            if workers.isEmpty { lodge_agent_release_memory() }
        case .keep(_, let slot): slots[slot] = received
        case .erase(let slot): slots[slot] = nil
        case .keepKey(let client, let store):
            key = SecretSlot()
            keyStore = store
            let file = clients[client]?.descriptors.first ?? -1
            if key?.memory.readAll(of: file) != true { key = nil }
            discardDescriptors(of: client)
        case .eraseKey: key = nil
        case .listen(let client, let number, let path):
            guard let socket = clients[client]?.descriptors.first else { return }
            clients[client]?.descriptors = []
            others[number] = Listener(socket, path)
        case .closeListener(let number): others.removeValue(forKey: number)?.end()
        case .removeFiles: for path in options.files { unlink(path) }
        case .notify(let type, let account, let environment):
            _ = SystemCalls.start(notification(type, account), environment, [])
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
        if let client = clients.removeValue(forKey: number), client.socket >= 0 { close(client.socket) }
    }

    private func start(_ number: Int, _ environment: [String]) {
        var ends: [Int32] = [-1, -1]
        guard lodge_agent_pair(&ends) == 0 else { return }
        var words = [program, AgentWorkerName.command]
        let keyPipe = key?.memory.pipe() ?? -1
        if keyPipe >= 0 { words.append(keyStore) }
        let process = SystemCalls.start(words, environment + workerVariables, [ends[1], keyPipe].filter { $0 >= 0 })
        if keyPipe >= 0 { close(keyPipe) }
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
