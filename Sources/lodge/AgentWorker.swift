import AgentProtocol
import CLodgeAgent
import CommandLineKit
import LodgePlatform
import OAuth2AccountStore
import Synchronization

/// A worker of the agent: runs one command at a time with the standard streams of a client.
@MainActor enum AgentWorker {
    private struct Job: Sendable {
        let id: Int64
        let line: [UInt8]
        let descriptors: [Int32]
        let validity: Double?
        let process: Int64
    }

    /// The command that gets the signals of the client.
    private struct Current {
        var id: Int64
        /// The pipe of the client.
        var report: Int32
        var interruption: Interruption?
        /// The signals that arrived before the command started.
        var early: [Int32] = []
    }

    private nonisolated static let current = Mutex<Current?>(nil)
    private nonisolated static let channel = AgentWorkerName.channel
    private nonisolated static let transports = OpenTransports()
    /// The time after a command until the worker returns memory to the system.
    private static let restDelay = Duration.seconds(5)
    private static var key: (key: any KeyCustody, store: String)?

    /// Runs the commands of the resident until it closes the connection.
    ///
    /// - Parameter store: The identifier of the store whose key is in the descriptor ``AgentWorkerName/key``.
    static func run(store: String?) async -> Never {
        if let store { key = (FileDescriptorKey(AgentWorkerName.key), store) }
        signal(SIGPIPE, SIG_IGN)
        let sources = EndingSignals.handle { number in
            guard let interruption = current.withLock({ $0?.interruption }) else { _exit(128 + number) }
            interruption.receive(number)
        }
        let (jobs, continuation) = AsyncStream.makeStream(of: Job.self)
        DetachedThread.run { read(continuation) }
        var rest: Task<Void, any Error>?
        for await job in jobs {
            rest?.cancel()
            await perform(job)
            rest = Task {
                try await Task.sleep(for: restDelay)
                lodge_agent_release_memory()
            }
        }
        withExtendedLifetime(sources) {}
        _exit(0)
    }

    /// Reads the requests of the resident on a thread that may block.
    private nonisolated static func read(_ jobs: AsyncStream<Job>.Continuation) {
        var connection = AgentConnection(channel)
        while let line = connection.line(), let request = WorkerRequest(line) {
            switch request {
            case .run(let id, let count, let validity, let process):
                guard let bytes = connection.bytes(count) else { break }
                let descriptors = connection.takeDescriptors()
                current.withLock { $0 = Current(id: id, report: descriptors.last ?? -1) }
                jobs.yield(
                    Job(id: id, line: bytes, descriptors: descriptors, validity: validity, process: process))
            case .signal(let id, let number): deliver(number, to: id)
            }
        }
        // The resident has ended. The client still waits for its command, unless it has closed its pipe.
        jobs.finish()
        var hasLeft = false
        while let running = current.withLock({ $0 }) {
            var pipe = pollfd(fd: running.report, events: 0, revents: 0)
            if hasLeft || poll(&pipe, 1, 50) <= 0 {
                usleep(10_000)
                continue
            }
            hasLeft = true
            for _ in 0..<2 { deliver(SIGTERM, to: running.id) }
        }
    }

    private nonisolated static func deliver(_ number: Int32, to id: Int64) {
        let interruption = current.withLock { current -> Interruption? in
            guard current?.id == id else { return nil }
            if current?.interruption == nil { current?.early.append(number) }
            return current?.interruption
        }
        interruption?.receive(number)
    }

    private nonisolated static func send(_ response: WorkerResponse, _ bytes: [UInt8] = []) {
        _ = AgentConnection.send(response.line + bytes, to: channel)
    }

    private static func perform(_ job: Job) async {
        let response = await response(to: job)
        current.withLock { $0 = nil }
        // Release the streams of the client before it gets the exit status.
        useStreams([])
        _ = chdir("/")
        // The resident first, so that the next request of the same client gets the remembered output.
        send(response.0, response.1)
        if job.descriptors.count == AgentLimits.descriptors {
            if case .exit(_, let status, _) = response.0 { report([CommandReport.exit, UInt8(status)], job) }
            close(job.descriptors[3])
        }
    }

    /// Writes to the pipe of the client.
    private nonisolated static func report(_ bytes: [UInt8], _ job: Job) {
        _ = write(job.descriptors[3], bytes, bytes.count)
    }

    private static func response(to job: Job) async -> (WorkerResponse, [UInt8]) {
        let id = job.id
        guard let request = CommandLineRequest(line: job.line), job.descriptors.count == AgentLimits.descriptors,
            chdir(request.folder) == 0,
            ProcessIdentity.currentPlace == request.identity.place
        else {
            for descriptor in job.descriptors.prefix(3) { close(descriptor) }
            return (.declined(id: id), [])
        }
        useStreams(Array(job.descriptors.prefix(3)))
        umask(mode_t(request.umask))
        var environment: [String: String] = [:]
        for variable in request.environment {
            guard let end = variable.firstIndex(of: "=") else { continue }
            environment[String(variable[..<end])] = String(variable[variable.index(after: end)...])
        }
        let hasBegun = WrittenOnce { report([CommandReport.began], job) }
        // A second run of these commands would not have the same effect.
        if ["request", "credential"].contains(request.arguments.first) { hasBegun.note() }
        let output = CopiedOutput(DescriptorOutput(1), hasBegun)
        let errors = CopiedOutput(DescriptorOutput(2), hasBegun)
        let console = Console(
            program: Program.name, output: output, errorOutput: errors,
            terminal: .current(environment: environment), environment: environment)
        var world = CommandEnvironment(console: console, environment: environment)
        world.transports = transports
        world.agentKey = key
        if !["status", "accounts"].contains(request.arguments.first) {
            world.useConfirmation = UseConfirmation(client: job.process, environment: environment)
        }
        let validity = OutputValidity(
            minimumValidity: job.validity.map { .seconds($0) }, isBackground: job.process == 0)
        world.outputValidity = validity
        let task = Task { @MainActor in await Lodge.run(request.arguments, world) }
        let interruption = Interruption(stores: world.stores) { status in
            report([CommandReport.exit, UInt8(status)], job)
            _exit(status)
        } cancel: {
            task.cancel()
        }
        let early = current.withLock { current in
            current?.interruption = interruption
            return current?.early ?? []
        }
        for number in early { interruption.receive(number) }
        let result = await task.value
        let status = result == .interrupted ? interruption.status : result.rawValue
        guard status == 0, errors.isEmpty, let bytes = output.bytes, !bytes.isEmpty, var remembered = validity.output
        else { return (.exit(id: id, status: status, output: nil), []) }
        remembered.byteCount = bytes.count
        return (.exit(id: id, status: status, output: remembered), bytes)
    }

    /// Makes these descriptors the standard streams, or the null device.
    private static func useStreams(_ descriptors: [Int32]) {
        for stream in 0..<3 as Range<Int32> {
            let source = descriptors.isEmpty ? open("/dev/null", O_RDWR | O_CLOEXEC) : descriptors[Int(stream)]
            dup2(source, stream)
            close(source)
        }
    }
}

/// Calls a closure at the first call only.
@MainActor private final class WrittenOnce {
    private var body: (() -> Void)?

    init(_ body: @escaping () -> Void) { self.body = body }

    func note() {
        body?()
        body = nil
    }
}

/// Writes to another output, and keeps a copy if it is short enough for the agent to remember.
@MainActor private final class CopiedOutput: OutputSink {
    private let output: DescriptorOutput
    private let hasBegun: WrittenOnce
    /// `nil` if the output is too long.
    private(set) var bytes: [UInt8]? = []
    var isEmpty: Bool { bytes?.isEmpty ?? false }

    init(_ output: DescriptorOutput, _ hasBegun: WrittenOnce) { (self.output, self.hasBegun) = (output, hasBegun) }

    func write(_ bytes: [UInt8]) throws(OutputError) {
        if !bytes.isEmpty { hasBegun.note() }
        if let copy = self.bytes { self.bytes = copy.count + bytes.count <= AgentLimits.output ? copy + bytes : nil }
        try output.write(bytes)
    }
}
