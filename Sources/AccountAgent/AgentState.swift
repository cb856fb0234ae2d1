import AgentProtocol
import StrictJSON

/// The current time: the seconds since the system started, including a suspend, and the seconds since 1970.
package struct AgentTime: Sendable, Equatable {
    package var uptime: Double
    package var wall: Double

    package init(uptime: Double, wall: Double) { (self.uptime, self.wall) = (uptime, wall) }

    /// Changes only if the clock is set.
    var offset: Double { wall - uptime }
}

/// Something that happened to the agent.
package enum AgentEvent: Sendable {
    case connected(client: Int, user: Int64)
    /// A line of a client without its end. The loop holds its descriptors.
    case line(client: Int, [UInt8], descriptorCount: Int)
    /// A client sent more bytes than a message may have.
    case overflow(client: Int)
    case disconnected(client: Int)
    case workerSaid(worker: Int, WorkerResponse)
    case workerEnded(worker: Int)
    case tick
    /// The system asks the agent to end.
    case end
}

/// What the loop does for the agent.
package enum AgentEffect: Sendable, Equatable {
    case send(client: Int, AgentResponse)
    /// Sends the remembered bytes of a slot.
    case sendOutput(client: Int, slot: Int, byteCount: Int)
    case close(client: Int)
    /// Starts a worker with these variables.
    case start(worker: Int, environment: [String])
    /// Sends a request to a worker, with the descriptors of the client, or the null device if there is no client.
    case run(worker: Int, WorkerRequest, line: [UInt8], client: Int?)
    case signal(worker: Int, WorkerRequest)
    /// Closes the connection to a worker, which ends when its command is finished.
    case end(worker: Int)
    /// Keeps the bytes that the worker has just sent in a slot.
    case keep(worker: Int, slot: Int)
    /// Overwrites the bytes of a slot.
    case erase(slot: Int)
    case exit
}

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
            case queued(order: Int)
            case running(worker: Int)
        }
        var state: State
        var request: CommandLineRequest?
        var line: [UInt8] = []
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
        var job: Job?
        var idleSince: Double
    }

    /// An output of a command, and when to run the command again.
    private struct Output {
        var slot: Int?
        var value: RememberedOutput
        var line: [UInt8]
        var environment: [String]
        var clockOffset: Double
        var requested: Double
        var requests = 1
        var refreshed: Double
        /// The uptime at which the agent runs the command again; `nil` if it does not.
        var due: Double?
        var failures = 0
        /// Whether the command already ran again because a file had changed while it ran.
        var hasSettled = false
    }

    /// The exit status of a command that needs a sign-in. Another refresh cannot help.
    private static let signInNeeded: Int32 = 4

    private let user: Int64
    private let identity: ProcessIdentity
    private let version: String
    private let rule: OutputKeyRule
    private let readFile: FileReader
    private let random: Randomness
    private let started: AgentTime
    private var clients: [Int: Client] = [:]
    private var workers: [Int: Worker] = [:]
    private var outputs: [[String]: Output] = [:]
    /// The keys of the outputs for lines of clients, because parsing a line takes longer than all other steps.
    private var knownLines: [[UInt8]: [String]] = [:]
    private var nextWorker = 1
    private var nextJob: Int64 = 1
    private var nextOrder = 0
    package private(set) var isLocked = false
    private var isEnding = false

    package init(
        user: Int64, identity: ProcessIdentity, version: String, rule: OutputKeyRule, now: AgentTime,
        readFile: @escaping FileReader,
        random: @escaping Randomness
    ) {
        (self.user, self.identity, self.version, self.started) = (user, identity, version, now)
        (self.rule, self.readFile, self.random) = (rule, readFile, random)
    }

    /// The uptime of the next `tick`, or `nil` if the state changes only with an event.
    package var nextTick: Double? {
        var times = clients.values.compactMap { client in
            switch client.state {
            case .waiting(let until), .accepted(let until): until
            case .queued, .running: nil
            }
        }
        times += workers.values.compactMap { $0.job == nil ? $0.idleSince + AgentLimits.idleWorker : nil }
        // Without a free worker, the end of a command is the next event.
        if !isLocked, !isEnding, backgroundCount < AgentLimits.backgroundWorkers,
            workers.count < AgentLimits.workers || workers.values.contains(where: { $0.job == nil })
        {
            times += outputs.values.compactMap(\.due)
        }
        return times.min()
    }

    /// Whether the loop should accept a connection.
    package var acceptsConnections: Bool { clients.count < AgentLimits.connections && !isEnding }

    /// Returns the effects of an event.
    ///
    /// - Parameter program: The identity of the program file at its path, which an upgrade replaces.
    package mutating func handle(_ event: AgentEvent, _ now: AgentTime, program: String?) -> [AgentEffect] {
        var effects: [AgentEffect] = []
        switch event {
        case .connected(let client, let peer):
            guard peer == user else { return [.close(client: client)] }
            clients[client] = Client(state: .waiting(until: now.uptime + AgentLimits.firstMessage))
        case .line(let client, let line, let count):
            if program != identity.program { isEnding = true }
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

    private mutating func receive(
        _ line: [UInt8], _ descriptorCount: Int, from client: Int, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        guard let state = clients[client]?.state else { return }
        if case .waiting = state, !isLocked, !isEnding, let key = knownLines[line],
            respond(fromOutput: key, to: client, now, &effects)
        {
            return
        }
        let request = AgentRequest(line)
        if case .accepted = state {
            guard request == .streams, descriptorCount == AgentLimits.descriptors else { return drop(client, &effects) }
            nextOrder += 1
            clients[client]?.state = .queued(order: nextOrder)
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
            guard request.identity.program == identity.program, !isEnding,
                Self.samePlace(request.identity.place, identity.place)
            else { return finish(client, .notMine, now, &effects) }
            if isLocked { return finish(client, .locked, now, &effects) }
            run(request, line, client, now, &effects)
        case .status?: finish(client, .status(status(now)), now, &effects)
        case .lock?:
            isLocked = true
            eraseAll(&effects)
            for (number, worker) in workers where worker.job == nil {
                workers[number] = nil
                effects.append(.end(worker: number))
            }
            finish(client, .done, now, &effects)
        case .unlock?:
            isLocked = false
            finish(client, .done, now, &effects)
        case .stop?:
            finish(client, .done, now, &effects)
            isEnding = true
        case .streams?, .signal?, nil: drop(client, &effects)
        }
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
        let key = request.outputKey(rule)
        if outputs[key] != nil {
            // The latest environment, in case another variable changed.
            outputs[key]?.line = line
            outputs[key]?.environment = request.libraryEnvironment
            if respond(fromOutput: key, to: client, now, &effects) {
                if knownLines.count >= AgentLimits.outputs { knownLines = [:] }
                knownLines[line] = key
                return
            }
            outputs[key]?.requests += 1
            outputs[key]?.requested = now.uptime
        }
        clients[client] = Client(
            state: .accepted(until: now.uptime + AgentLimits.firstMessage), request: request, line: line)
        effects.append(.send(client: client, .accepted))
    }

    /// Sends a remembered output if it is still valid, and returns whether it is.
    private mutating func respond(
        fromOutput key: [String], to client: Int, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) -> Bool {
        guard let output = outputs[key], let slot = output.slot, isValid(output, now) else { return false }
        outputs[key]?.requests += 1
        outputs[key]?.requested = now.uptime
        clients[client]?.state = .waiting(until: now.uptime + AgentLimits.idleConnection)
        effects.append(.sendOutput(client: client, slot: slot, byteCount: output.value.byteCount))
        return true
    }

    private func isValid(_ output: Output, _ now: AgentTime) -> Bool {
        now.wall < output.value.validUntil && abs(now.offset - output.clockOffset) < 1
            && output.value.files.allSatisfy { readFile($0) == $0 }
    }

    private mutating func finish(
        _ client: Int, _ response: AgentResponse, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        guard clients[client] != nil else { return }
        clients[client] = Client(state: .waiting(until: now.uptime + AgentLimits.idleConnection))
        effects.append(.send(client: client, response))
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
            if case .queued(let order) = client.state { (order, number) } else { nil }
        }.sorted { $0.order < $1.order }
        for (_, number) in queued {
            guard let client = clients[number], let request = client.request else { continue }
            guard let worker = freeWorker(request.libraryEnvironment, now, &effects) else { return }
            clients[number]?.state = .running(worker: worker)
            start(
                Worker.Job(
                    id: 0, client: number, key: request.outputKey(rule), line: client.line, isBackground: false,
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
                worker: worker, .run(id: job.id, byteCount: job.line.count, validity: validity), line: job.line,
                client: job.client))
    }

    /// Returns a worker with this environment and without a command, and starts one if there are not too many.
    private mutating func freeWorker(
        _ environment: [String], _ now: AgentTime, _ effects: inout [AgentEffect]
    ) -> Int? {
        let idle = workers.filter { $0.value.job == nil }
        if let found = idle.filter({ $0.value.environment == environment }).keys.min() { return found }
        if workers.count >= AgentLimits.workers {
            guard let oldest = idle.min(by: { $0.value.idleSince < $1.value.idleSince })?.key else { return nil }
            workers[oldest] = nil
            effects.append(.end(worker: oldest))
        }
        let number = nextWorker
        nextWorker += 1
        workers[number] = Worker(environment: environment, idleSince: now.uptime)
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
            if let client = job.client { release(client: client, now) }
            forget(job.key, &effects)
            startQueued(now, &effects)
        case .exit(let id, let status, let output):
            guard id == job.id else { return }
            release(number, now)
            if let output {
                remember(output, of: job, worker: number, now, &effects)
            } else if job.isBackground, status != Self.signInNeeded {
                retry(job.key, now)
            }
            if let client = job.client { release(client: client, now) }
            if isLocked {
                workers[number] = nil
                effects.append(.end(worker: number))
            }
            startQueued(now, &effects)
        }
    }

    /// Waits for another request of a client. The worker reports the result to it.
    private mutating func release(client: Int, _ now: AgentTime) {
        guard clients[client] != nil else { return }
        clients[client] = Client(state: .waiting(until: now.uptime + AgentLimits.idleConnection))
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
        if job.isBackground { retry(job.key, now) }
    }

    // MARK: Outputs

    private mutating func remember(
        _ value: RememberedOutput, of job: Worker.Job, worker: Int, _ now: AgentTime, _ effects: inout [AgentEffect]
    ) {
        guard !isLocked, !isEnding, let request = CommandLineRequest(line: job.line) else { return }
        let previous = outputs[job.key]
        if previous == nil, outputs.count >= AgentLimits.outputs,
            let oldest = outputs.min(by: { $0.value.requested < $1.value.requested })?.key
        {
            forget(oldest, &effects)
        }
        var output = Output(
            slot: previous?.slot, value: value, line: job.line, environment: request.libraryEnvironment,
            clockOffset: now.offset, requested: previous?.requested ?? now.uptime, refreshed: now.uptime)
        output.requests = previous?.requests ?? 1
        let isSame = previous?.value.expiry == value.expiry
        if isSame, let previous {
            (output.refreshed, output.failures) = (previous.refreshed, previous.failures)
        }
        if value.files.allSatisfy({ readFile($0) == $0 }), now.wall < value.validUntil {
            let slot = previous?.slot ?? freeSlot
            output.slot = slot
            effects.append(.keep(worker: worker, slot: slot))
        } else {
            if let slot = previous?.slot { effects.append(.erase(slot: slot)) }
            output.slot = nil
        }
        if output.slot == nil, previous?.hasSettled != true, now.wall < value.validUntil {
            // The command itself saved a new token. Another run reads it.
            output.hasSettled = true
            output.due = now.uptime
        } else if job.isAhead, isSame {
            // The provider did not issue another token.
            output.failures += 1
            output.due = now.uptime + delay(afterFailures: output.failures)
        } else {
            output.due = isSame && previous?.slot != nil ? previous?.due : due(value, now)
        }
        outputs[job.key] = output
    }

    private var freeSlot: Int {
        let used = Set(outputs.values.compactMap(\.slot))
        return (0...).first { !used.contains($0) } ?? 0
    }

    /// Returns the time of the next refresh: before callers would wait for it, and at different times for different
    /// accounts.
    private func due(_ value: RememberedOutput, _ now: AgentTime) -> Double? {
        guard value.expiry != nil else { return nil }
        let spread = random() * value.lifetime / 20
        let wall = min(value.validUntil - value.lifetime / 10, value.refreshTime ?? .infinity) - spread
        return max(wall, now.wall + 1) - now.offset
    }

    private func delay(afterFailures count: Int) -> Double {
        let delay = min(AgentLimits.lastRetry, AgentLimits.firstRetry * Double(1 << min(count - 1, 10)))
        return delay * (1 + random() / 4)
    }

    private mutating func retry(_ key: [String], _ now: AgentTime) {
        guard var output = outputs[key] else { return }
        output.failures += 1
        output.due = now.uptime + delay(afterFailures: output.failures)
        outputs[key] = output
    }

    private mutating func forget(_ key: [String], _ effects: inout [AgentEffect]) {
        if let slot = outputs.removeValue(forKey: key)?.slot { effects.append(.erase(slot: slot)) }
    }

    private mutating func eraseAll(_ effects: inout [AgentEffect]) {
        knownLines = [:]
        for key in outputs.keys { forget(key, &effects) }
    }

    // MARK: Time

    private mutating func tick(_ now: AgentTime, _ effects: inout [AgentEffect]) {
        for (number, client) in clients {
            switch client.state {
            case .waiting(let until), .accepted(let until): if until <= now.uptime { drop(number, &effects) }
            case .queued, .running: break
            }
        }
        for (number, worker) in workers where worker.job == nil {
            guard worker.idleSince + AgentLimits.idleWorker <= now.uptime else { continue }
            workers[number] = nil
            effects.append(.end(worker: number))
        }
        guard !isLocked, !isEnding else { return }
        let due = outputs.filter { $0.value.due.map { $0 <= now.uptime } ?? false }
            .sorted { ($0.value.due ?? 0) < ($1.value.due ?? 0) }
        for (key, output) in due {
            guard output.requested + AgentLimits.interest > now.uptime else {
                forget(key, &effects)
                continue
            }
            guard backgroundCount < AgentLimits.backgroundWorkers,
                let worker = freeWorker(output.environment, now, &effects)
            else { return }
            outputs[key]?.due = nil
            // A run after a change of the files only reads the saved token.
            let isAhead = !(output.hasSettled && output.slot == nil)
            start(
                Worker.Job(
                    id: 0, client: nil, key: key, line: output.line, isBackground: true, isAhead: isAhead),
                on: worker, validity: isAhead ? output.value.expiry.map { max(0, $0 - now.wall) + 1 } : nil, &effects)
        }
    }

    private mutating func endIfIdle(_ effects: inout [AgentEffect]) {
        let isBusy =
            workers.values.contains { $0.job != nil }
            || clients.values.contains { if case .waiting = $0.state { false } else { true } }
        guard !isBusy else { return }
        eraseAll(&effects)
        effects.append(.exit)
    }

    // MARK: Status

    private func status(_ now: AgentTime) -> JSONObject {
        func whole(_ value: Double) -> JSONValue { .integer(Int64(value.rounded())) }
        let tokens = outputs.values.sorted { ($0.value.account, $0.value.type) < ($1.value.account, $1.value.type) }
        return [
            "version": .string(version), "process": .integer(Int64(getpid())), "locked": .bool(isLocked),
            "started": whole(now.wall - (now.uptime - started.uptime)),
            "workers": .integer(Int64(workers.count)), "busy": .integer(Int64(workers.values.count { $0.job != nil })),
            "outputs": .array(
                tokens.map { output in
                    [
                        "account": .string(output.value.account), "type": .string(output.value.type),
                        "state": .string(isValid(output, now) ? "fresh" : "changed"),
                        "refreshed": whole(output.refreshed + now.offset),
                        "due": output.due.map { whole($0 + now.offset) } ?? .null,
                        "requests": .integer(Int64(output.requests)),
                        "requested": whole(output.requested + now.offset),
                        "failures": .integer(Int64(output.failures)),
                    ]
                }),
        ]
    }
}
