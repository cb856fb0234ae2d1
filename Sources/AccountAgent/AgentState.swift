import AgentProtocol
import StrictJSON

/// The decisions of the agent, which return effects instead of performing them.
package struct AgentState {
    /// Returns the current state of a file.
    package typealias FileReader = (FileStamp) -> FileStamp
    /// Returns a random number in 0..<1.
    package typealias Randomness = () -> Double

    private struct Client {
        enum State: Equatable {
            case waiting(until: Double)
            /// The agent waits for the streams of an accepted command line.
            case accepted(until: Double)
            /// The client waits for a worker until this uptime. Then it does the work itself.
            case queued(order: Int, until: Double)
            case running(worker: Int)
        }
        var state: State
        var process: Int64 = 0
        var request: CommandLineRequest?
        var line: [UInt8] = []
        /// Whether the connection is the standard input and output of its command.
        var isForwarded = false
    }

    private struct Listener {
        var request: CommandLineRequest
        var path: String
        /// The uptime at which the socket is closed; `nil` if it is not.
        var until: Double?
    }

    private struct Worker {
        /// The command that it runs: its number, its client if it waits, and the key of its output.
        struct Job {
            var id: Int64
            var client: Int?
            var key: [String]
            var line: [UInt8]
            var isBackground: Bool
            var isAhead: Bool
        }
        let environment: [String]
        /// The number of the key that it has.
        let keyNumber: Int
        var job: Job?
        var idleSince: Double
    }

    /// The exit status of a command that needs a sign-in. Another refresh cannot help.
    private static let signInNeeded: Int32 = 4

    private let user: Int64
    private let identity: ProcessIdentity
    private let version: String
    private let options: AgentOptions
    private let standing: [CommandLineRequest]
    private let started: AgentTime
    private var clients: [Int: Client] = [:]
    private var workers: [Int: Worker] = [:]
    private var outputs: RememberedOutputs
    private var listeners: [Int: Listener] = [:]
    private var nextWorker = 1
    private var nextJob: Int64 = 1
    private var nextOrder = 0
    private var nextListener = 1
    /// The number of the current key; 0 before the first key.
    private var keyNumber = 0
    private var hasKey = false
    private var lastUse: Double
    private var asleep: Double
    /// The types and accounts about which the agent has notified the user.
    private var notified: Set<[String]> = []
    package private(set) var isLocked = false
    private var isEnding = false

    /// Creates the state of an agent that starts.
    ///
    /// - Parameter standing: The command lines that the agent runs before their outputs expire, without a client.
    package init(
        user: Int64, identity: ProcessIdentity, version: String, rule: OutputKeyRule, options: AgentOptions,
        standing: [CommandLineRequest] = [], now: AgentTime, readFile: @escaping FileReader,
        random: @escaping Randomness
    ) {
        (self.user, self.identity, self.version, self.started) = (user, identity, version, now)
        (self.options, self.standing, lastUse, asleep) = (options, standing, now.uptime, now.asleep)
        outputs = RememberedOutputs(rule, readFile: readFile, random: random)
        for request in standing { outputs.add(standing: request, now) }
    }

    /// The uptime of the next `tick`, or `nil` if the state changes only with an event.
    package var nextTick: Double? {
        var next = Double.infinity
        for client in clients.values {
            switch client.state {
            case .waiting(let until), .accepted(let until), .queued(_, let until): next = min(next, until)
            case .running: break
            }
        }
        for worker in workers.values where worker.job == nil {
            next = min(next, worker.idleSince + AgentLimits.idleWorker)
        }
        for listener in listeners.values { next = min(next, listener.until ?? .infinity) }
        if !isLocked, !isEnding {
            if let limit = options.lockAfter { next = min(next, lastUse + limit) }
            // Without a free worker, the end of a command is the next event.
            if backgroundCount < AgentLimits.backgroundWorkers,
                workers.count < AgentLimits.workers || workers.values.contains(where: { $0.job == nil })
            {
                next = min(next, outputs.nextDue ?? .infinity)
            }
        }
        return next < .infinity ? next : nil
    }

    /// Whether the loop should accept a connection.
    package var acceptsConnections: Bool { clients.count < AgentLimits.connections && !isEnding }

    /// Returns the effects of an event.
    ///
    /// - Parameter isReplaced: Whether an upgrade has replaced the program file.
    package mutating func handle(_ event: AgentEvent, _ now: AgentTime, isReplaced: Bool = false) -> [AgentEffect] {
        var effects: [AgentEffect] = []
        if now.asleep > asleep + 1 {
            if options.locksOnSleep { lock(&effects) }
            outputs.spreadDue(now)
        }
        asleep = max(asleep, now.asleep)
        switch event {
        case .connected(let client, let peer, let process, let listener):
            guard peer == user else { return effects + [.close(client: client)] }
            if let listener {
                connect(client, process, listeners[listener], now, &effects)
            } else {
                clients[client] = Client(
                    state: .waiting(until: now.uptime + AgentLimits.firstMessage), process: process)
            }
        case .line(let client, let line, let count):
            if isReplaced { isEnding = true }
            receive(line, count, from: client, now, &effects)
        case .overflow(let client): drop(client, &effects)
        case .disconnected(let client): drop(client, &effects)
        case .workerSaid(let worker, let response): receive(response, from: worker, now, &effects)
        case .workerEnded(let worker):
            if let job = workers[worker]?.job { finish(job, &effects, now) }
            workers[worker] = nil
            startQueued(now, &effects)
        case .tick: tick(now, &effects)
        case .end: isEnding = true
        }
        if isEnding { endIfIdle(&effects) }
        return effects
    }

    // MARK: Clients

    /// Runs the command of a listener for a connection.
    private mutating func connect(
        _ client: Int, _ process: Int64, _ listener: Listener?, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        guard let listener, !isLocked, !isEnding else {
            effects.append(.close(client: client))
            return
        }
        lastUse = now.uptime
        nextOrder += 1
        clients[client] = Client(
            // A client of another program cannot do the work itself.
            state: .queued(order: nextOrder, until: .infinity), process: process, request: listener.request,
            line: listener.request.line, isForwarded: true)
        startQueued(now, &effects)
    }

    private mutating func receive(
        _ line: [UInt8], _ descriptorCount: Int, from client: Int, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        guard let state = clients[client]?.state else { return }
        if case .waiting = state, !isLocked, !isEnding, let key = outputs.key(ofLine: line),
            respond(fromOutput: key, to: client, now, &effects)
        {
            return
        }
        let request = AgentRequest(line)
        if case .accepted = state {
            guard request == .streams, descriptorCount == AgentLimits.descriptors else { return drop(client, &effects) }
            nextOrder += 1
            clients[client]?.state = .queued(order: nextOrder, until: now.uptime + AgentLimits.freeWorker)
            return startQueued(now, &effects)
        }
        guard case .waiting = state else {
            // While a command runs, the client sends only signals.
            guard case .signal(let number)? = request else { return drop(client, &effects) }
            if case .running(let worker) = state, let job = workers[worker]?.job {
                effects.append(.signal(worker: worker, .signal(id: job.id, number: number)))
            } else {
                // The command has not started: the client ends itself when its pipe is closed.
                drop(client, &effects)
            }
            return
        }
        switch request {
        case .run(let request)?:
            guard isMine(request) else { return finish(client, .notMine, now, &effects) }
            if isLocked { return finish(client, .locked, now, &effects) }
            run(request, line, client, now, &effects)
        case .listen(let request, let path, let until)?:
            guard isMine(request) else { return finish(client, .notMine, now, &effects) }
            if isLocked { return finish(client, .locked, now, &effects) }
            guard descriptorCount == 1, listeners.count < AgentLimits.listeners, until > now.wall else {
                return drop(client, &effects)
            }
            effects.append(.listen(client: client, listener: nextListener, path: path))
            add(request, path, until: min(until - now.wall, AgentLimits.listening) + now.uptime)
            finish(client, .done, now, &effects)
        case .status?: finish(client, .status(status(now)), now, &effects)
        case .lock?:
            lock(&effects)
            finish(client, .done, now, &effects)
        case .unlock(let store)?:
            guard descriptorCount == (store == nil ? 0 : 1) else { return drop(client, &effects) }
            if let store {
                hasKey = true
                keyNumber += 1
                effects.append(.keepKey(client: client, store: store))
                endIdleWorkers(&effects)
            }
            if isLocked {
                isLocked = false
                for request in standing { outputs.add(standing: request, now) }
            }
            lastUse = now.uptime
            finish(client, .done, now, &effects)
        case .stop?:
            finish(client, .done, now, &effects)
            isEnding = true
        case .streams?, .signal?, nil: drop(client, &effects)
        }
    }

    /// Adds a socket that another program uses, and returns its number.
    @discardableResult
    package mutating func add(_ request: CommandLineRequest, _ path: String, until: Double?) -> Int {
        defer { nextListener += 1 }
        listeners[nextListener] = Listener(request: request, path: path, until: until)
        return nextListener
    }

    private mutating func lock(_ effects: inout [AgentEffect]) {
        guard !isLocked else { return }
        isLocked = true
        effects += outputs.eraseAll()
        if hasKey { effects.append(.eraseKey) }
        hasKey = false
        if !options.files.isEmpty { effects.append(.removeFiles) }
        endIdleWorkers(&effects)
    }

    private func isMine(_ request: CommandLineRequest) -> Bool {
        request.identity.program == identity.program && !isEnding
            && Self.samePlace(request.identity.place, identity.place)
    }

    /// Returns whether two places have the same root folder and network. The current folder is checked by the worker.
    private static func samePlace(_ one: String, _ other: String) -> Bool {
        let (one, other) = (one.split(separator: " "), other.split(separator: " "))
        return one.first == other.first && one.last == other.last
    }

    private mutating func run(
        _ request: CommandLineRequest, _ line: [UInt8], _ client: Int, _ now: AgentTime,
        _ effects: inout [AgentEffect]
    ) {
        let key = outputs.key(of: request)
        outputs.note(request, line, of: key)
        if respond(fromOutput: key, to: client, now, &effects) { return outputs.note(line, of: key) }
        lastUse = now.uptime
        clients[client]?.state = .accepted(until: now.uptime + AgentLimits.firstMessage)
        clients[client]?.request = request
        clients[client]?.line = line
        effects.append(.send(client: client, .accepted))
    }

    /// Sends a remembered output if it is still valid, and returns whether it is.
    private mutating func respond(
        fromOutput key: [String], to client: Int, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) -> Bool {
        guard let output = outputs.request(key, now) else { return false }
        lastUse = now.uptime
        clients[client]?.state = .waiting(until: now.uptime + AgentLimits.idleConnection)
        effects.append(.sendOutput(client: client, slot: output.slot, byteCount: output.byteCount))
        return true
    }

    private mutating func finish(
        _ client: Int, _ response: AgentResponse, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        release(client: client, now, &effects)
        if clients[client] != nil { effects.append(.send(client: client, response)) }
    }

    /// Ends a connection, and the command of a client that has left. The second signal ends a worker that waits for a
    /// reader of the output. It saves tokens first.
    private mutating func drop(_ client: Int, _ effects: inout [AgentEffect]) {
        guard let state = clients.removeValue(forKey: client)?.state else { return }
        if case .running(let worker) = state, let id = workers[worker]?.job?.id {
            workers[worker]?.job?.client = nil
            let signal = AgentEffect.signal(worker: worker, .signal(id: id, number: SIGTERM))
            effects += [signal, signal]
        }
        effects.append(.close(client: client))
    }

    // MARK: Workers

    private var backgroundCount: Int { workers.values.count { $0.job?.isBackground == true } }

    /// Starts the commands of waiting clients, the first first.
    private mutating func startQueued(_ now: AgentTime, _ effects: inout [AgentEffect]) {
        let queued = clients.compactMap { number, client -> (order: Int, client: Int)? in
            if case .queued(let order, _) = client.state { (order, number) } else { nil }
        }.sorted { $0.order < $1.order }
        for (_, number) in queued {
            guard let client = clients[number], let request = client.request else { continue }
            guard let worker = freeWorker(request.libraryEnvironment, now, &effects) else { return }
            clients[number]?.state = .running(worker: worker)
            start(
                Worker.Job(
                    id: 0, client: number, key: outputs.key(of: request), line: client.line, isBackground: false,
                    isAhead: false), on: worker, validity: nil, &effects)
        }
    }

    private mutating func start(
        _ job: Worker.Job, on worker: Int, validity: Double?, _ effects: inout [AgentEffect]
    ) {
        var job = job
        job.id = nextJob
        nextJob += 1
        workers[worker]?.job = job
        effects.append(
            .run(
                worker: worker,
                .run(
                    id: job.id, byteCount: job.line.count, validity: validity,
                    process: job.client.flatMap { clients[$0]?.process } ?? 0), line: job.line, client: job.client))
    }

    /// Returns a worker with this environment and without a command, and starts one if there are not too many.
    private mutating func freeWorker(
        _ environment: [String], _ now: AgentTime, _ effects: inout [AgentEffect]
    ) -> Int? {
        let idle = workers.filter { $0.value.job == nil }
        let suitable = idle.filter { $0.value.environment == environment && $0.value.keyNumber == keyNumber }
        if let found = suitable.keys.min() { return found }
        if workers.count >= AgentLimits.workers {
            guard let oldest = idle.min(by: { $0.value.idleSince < $1.value.idleSince })?.key else { return nil }
            workers[oldest] = nil
            effects.append(.end(worker: oldest))
        }
        let number = nextWorker
        nextWorker += 1
        workers[number] = Worker(environment: environment, keyNumber: keyNumber, idleSince: now.uptime)
        effects.append(.start(worker: number, environment: environment))
        return number
    }

    private mutating func receive(
        _ response: WorkerResponse, from number: Int, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        guard let job = workers[number]?.job else { return }
        switch response {
        case .declined(let id):
            guard id == job.id else { return }
            release(number, now)
            if let client = job.client { release(client: client, now, &effects) }
            effects += outputs.forget(job.key)
        case .exit(let id, let status, let output):
            guard id == job.id else { return }
            release(number, now)
            if let output {
                remember(output, of: job, worker: number, now, &effects)
            } else if job.isBackground {
                fail(job, status, now, &effects)
            }
            if let client = job.client { release(client: client, now, &effects) }
            if isLocked {
                workers[number] = nil
                effects.append(.end(worker: number))
            }
        }
        startQueued(now, &effects)
    }

    private mutating func remember(
        _ value: RememberedOutput, of job: Worker.Job, worker: Int, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        guard !isLocked, !isEnding, let request = CommandLineRequest(line: job.line) else { return }
        notified.remove([value.type, value.account])
        effects += outputs.remember(
            value, of: job.key, job.line, environment: request.libraryEnvironment, isAhead: job.isAhead,
            worker: worker, now)
    }

    /// Handles a refresh that failed while no client waited.
    private mutating func fail(
        _ job: Worker.Job, _ status: Int32, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        guard let entry = outputs[job.key] else { return }
        if status != Self.signInNeeded || entry.isStanding { outputs.retry(job.key, now) }
        guard status == Self.signInNeeded, !entry.value.type.isEmpty,
            notified.insert([entry.value.type, entry.value.account]).inserted,
            let request = CommandLineRequest(line: job.line)
        else { return }
        effects.append(
            .notify(type: entry.value.type, account: entry.value.account, environment: request.environment))
    }

    /// Waits for another request of a client. The worker reports the result to it.
    private mutating func release(client: Int, _ now: AgentTime, _ effects: inout [AgentEffect]) {
        guard let found = clients[client] else { return }
        if found.isForwarded {
            clients[client] = nil
            effects.append(.close(client: client))
            return
        }
        clients[client] = Client(
            state: .waiting(until: now.uptime + AgentLimits.idleConnection), process: found.process)
    }

    private mutating func release(_ worker: Int, _ now: AgentTime) {
        workers[worker]?.job = nil
        workers[worker]?.idleSince = now.uptime
    }

    /// Ends a command whose worker has died. Its client gets no response, so it does the work itself unless it has
    /// output.
    private mutating func finish(_ job: Worker.Job, _ effects: inout [AgentEffect], _ now: AgentTime) {
        if let client = job.client, clients.removeValue(forKey: client) != nil {
            effects.append(.close(client: client))
        }
        if job.isBackground { outputs.retry(job.key, now) }
    }

    private mutating func endIdleWorkers(_ effects: inout [AgentEffect]) {
        for (number, worker) in workers where worker.job == nil {
            workers[number] = nil
            effects.append(.end(worker: number))
        }
    }

    // MARK: Time

    private mutating func tick(_ now: AgentTime, _ effects: inout [AgentEffect]) {
        for (number, client) in clients {
            switch client.state {
            case .waiting(let until), .accepted(let until), .queued(_, let until):
                if until <= now.uptime { drop(number, &effects) }
            case .running: break
            }
        }
        for (number, worker) in workers where worker.job == nil {
            guard worker.idleSince + AgentLimits.idleWorker <= now.uptime else { continue }
            workers[number] = nil
            effects.append(.end(worker: number))
        }
        for (number, listener) in listeners where listener.until.map({ $0 <= now.uptime }) ?? false {
            listeners[number] = nil
            effects.append(.closeListener(number))
        }
        guard !isLocked, !isEnding else { return }
        if let limit = options.lockAfter, lastUse + limit <= now.uptime { return lock(&effects) }
        for (key, entry) in outputs.takeDue(now, &effects) {
            guard backgroundCount < AgentLimits.backgroundWorkers,
                let worker = freeWorker(entry.environment, now, &effects)
            else { return }
            outputs.start(key)
            start(
                Worker.Job(
                    id: 0, client: nil, key: key, line: entry.line, isBackground: true, isAhead: entry.isAhead),
                on: worker, validity: entry.isAhead ? entry.value.expiry.map { max(0, $0 - now.wall) + 1 } : nil,
                &effects)
        }
    }

    private mutating func endIfIdle(_ effects: inout [AgentEffect]) {
        let isBusy =
            workers.values.contains { $0.job != nil }
            || clients.values.contains { if case .waiting = $0.state { false } else { true } }
        guard !isBusy else { return }
        effects += outputs.eraseAll()
        if !options.files.isEmpty { effects.append(.removeFiles) }
        effects.append(.exit)
    }

    // MARK: Status

    private func status(_ now: AgentTime) -> JSONObject {
        [
            "version": .string(version), "process": .integer(Int64(getpid())), "locked": .bool(isLocked),
            "key": .bool(hasKey),
            "started": .integer(Int64((now.wall - (now.uptime - started.uptime)).rounded())),
            "workers": .integer(Int64(workers.count)), "busy": .integer(Int64(workers.values.count { $0.job != nil })),
            "outputs": outputs.status(now),
            "listeners": .array(
                listeners.sorted { $0.key < $1.key }.map { _, listener in
                    [
                        "path": .string(listener.path),
                        "until": listener.until.map { .integer(Int64(($0 + now.offset).rounded())) } ?? .null,
                    ]
                }),
        ]
    }
}
