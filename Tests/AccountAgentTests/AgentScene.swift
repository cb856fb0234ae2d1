import AgentProtocol

@testable import AccountAgent

/// An agent without sockets, processes and clocks: a test says what happens, and reads the effects.
final class AgentScene {
    static let identity = ProcessIdentity(program: "1:2:3", place: "1:2 3:4 5:6")
    static let rule = OutputKeyRule(
        variables: ["LODGE_", "HOME="], pathOptions: ["--st"], pathVariables: ["LODGE_STORE="])
    var now = AgentTime(uptime: 1000, wall: 1_800_000_000)
    /// The numbers of changes of files.
    var files: [String: UInt64] = [:]
    /// Whether an upgrade has replaced the program.
    var isReplaced = false
    private(set) var state: AgentState!
    private(set) var effects: [AgentEffect] = []
    private var next = 1
    /// The response to the last command line.
    private(set) var firstResponse: AgentResponse?

    init(
        options: AgentOptions = AgentOptions(), standing: [CommandLineRequest] = [],
        random: @escaping () -> Double = { 0 }
    ) {
        state = AgentState(
            user: 1000, identity: Self.identity, version: "1", rule: Self.rule, options: options, standing: standing,
            now: now, readFile: { [unowned self] in self.stamp($0.path) }, random: random)
    }

    /// Returns the current state of a file.
    func stamp(_ path: String) -> FileStamp {
        FileStamp(
            path: path, kind: .database,
            state: FileStamp.State(device: 1, inode: 2, first: 0o600, second: 1000, third: files[path] ?? 0))
    }

    @discardableResult
    func handle(_ event: AgentEvent) -> [AgentEffect] {
        effects = state.handle(event, now, isReplaced: isReplaced)
        return effects
    }

    func advance(_ seconds: Double) {
        now.uptime += seconds
        now.wall += seconds
    }

    /// Connects a client and returns its number.
    func connect(listener: Int? = nil) -> Int {
        next += 1
        handle(.connected(client: next, user: 1000, process: 77, listener: listener))
        return next
    }

    /// Sends a message from a new client and returns its number.
    @discardableResult
    func send(_ line: [UInt8], descriptors: Int = 0) -> Int {
        let client = connect()
        handle(.line(client: client, line.dropLast(), descriptorCount: descriptors))
        return client
    }

    static func request(_ arguments: [String], environment: [String] = ["HOME=/home/ada"]) -> CommandLineRequest {
        CommandLineRequest(
            arguments: arguments, environment: environment, folder: "/home/ada", umask: 0o022, terminals: 0,
            identity: identity)
    }

    /// Sends a command line from a new client, and returns its number.
    @discardableResult
    func ask(_ arguments: String..., environment: [String] = ["HOME=/home/ada"]) -> Int {
        ask(Self.request(arguments, environment: environment))
    }

    @discardableResult
    func ask(_ request: CommandLineRequest) -> Int {
        let client = connect()
        handle(.line(client: client, request.line.dropLast(), descriptorCount: 0))
        firstResponse = response(to: client)
        if firstResponse == .accepted {
            handle(.line(client: client, AgentRequest.streamsLine.dropLast(), descriptorCount: 4))
        }
        return client
    }

    /// The commands that the last event sent to workers.
    var started: [(worker: Int, id: Int64, validity: Double?, client: Int?)] {
        effects.compactMap { effect in
            guard case .run(let worker, .run(let id, _, let validity, _), _, let client) = effect else { return nil }
            return (worker, id, validity, client)
        }
    }

    func output(lifetime: Double = 3600, margin: Double = 60, age: Double = 0) -> RememberedOutput {
        RememberedOutput(
            byteCount: 5, validUntil: now.wall + lifetime - age - margin, expiry: now.wall + lifetime - age,
            lifetime: lifetime, account: "ada", type: "graph",
            files: [stamp("/store")])
    }

    /// Lets the worker of the last command finish it.
    func finish(_ output: RememberedOutput?, status: Int32 = 0) {
        guard let run = started.last else { return }
        handle(.workerSaid(worker: run.worker, .exit(id: run.id, status: status, output: output)))
    }

    /// Returns the response to a client in the effects of the last event.
    func response(to client: Int) -> AgentResponse? {
        effects.lazy.compactMap { effect -> AgentResponse? in
            switch effect {
            case .send(client, let response): response
            case .sendOutput(client, _, let count): .output(byteCount: count)
            default: nil
            }
        }.last
    }
}
