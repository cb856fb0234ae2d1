import CLodgeAgent
import StrictJSON

/// The client of the agent.
package enum AgentClient {
    package enum Outcome: Sendable, Equatable {
        /// The command ran; its output is written.
        case exit(Int32)
        /// This process must run the command.
        case notServed
        case locked
        /// The agent ended after the command began, so its outcome is unknown.
        case lost
    }

    /// Lets the agent run the command line of this process if it can.
    ///
    /// - Parameters:
    ///   - program: The path of the program, which must be the agent's.
    ///   - path: The path of the socket.
    package static func run(arguments: [String], program: String, at path: String) -> Outcome {
        // Before the connection, which could get the number of a closed stream.
        guard let request = currentRequest(arguments, program), let socket = try? AgentSocket.connect(to: path) else {
            return .notServed
        }
        return run(request, AgentConnection(socket))
    }

    /// Returns the state of this process, or `nil` if a worker could not have the same state.
    package static func currentRequest(_ arguments: [String], _ program: String) -> CommandLineRequest? {
        var environment: [String] = []
        var next = environ
        while let variable = next.pointee {
            guard let text = String(validatingCString: variable) else { return nil }
            environment.append(text)
            next += 1
        }
        // These change the system libraries of the process.
        guard
            !environment.contains(where: { CommandLineRequest.has($0, ["LD_", "GLIBC_TUNABLES=", "MALLOC_", "DYLD_"]) }
            ),
            let identity = ProcessIdentity(program: program), let folder = getcwd(nil, 0)
        else { return nil }
        defer { free(folder) }
        guard let folderPath = String(validatingCString: folder), folderPath.utf8.first == UInt8(ascii: "/") else {
            return nil
        }
        let mask = umask(0o077)
        umask(mask)
        var terminals: Int64 = 0
        for stream in 0..<3 as Range<Int32> {
            // A closed stream cannot be passed.
            guard fcntl(stream, F_GETFD) >= 0 else { return nil }
            if isatty(stream) == 1 { terminals |= 1 << Int64(stream) }
        }
        return CommandLineRequest(
            arguments: arguments, environment: environment, folder: folderPath, umask: Int64(mask),
            terminals: terminals, identity: identity)
    }

    private static func run(_ request: CommandLineRequest, _ connection: consuming AgentConnection) -> Outcome {
        let line = request.line
        guard line.count <= AgentLimits.message else { return .notServed }
        lodge_agent_set_receive_limit(connection.socket, AgentLimits.firstResponse)
        guard connection.send(line), let response = connection.line() else { return .notServed }
        switch AgentResponse(response) {
        case .output(let count): return connection.bytes(count).map(write) ?? .notServed
        case .accepted: return wait(connection)
        case .locked: return .locked
        case .notMine, .done, .status, nil: return .notServed
        }
    }

    /// Lets the agent run a command line, and returns its output instead of writing it. Its errors are not shown.
    package static func output(
        of arguments: [String], program: String, at path: String
    ) -> (outcome: Outcome, bytes: [UInt8]) {
        guard var request = currentRequest(arguments, program), let socket = try? AgentSocket.connect(to: path) else {
            return (.notServed, [])
        }
        request.terminals = 0
        return output(of: request, AgentConnection(socket))
    }

    private static func output(
        of request: CommandLineRequest, _ connection: consuming AgentConnection
    ) -> (outcome: Outcome, bytes: [UInt8]) {
        let line = request.line
        guard line.count <= AgentLimits.message else { return (.notServed, []) }
        lodge_agent_set_receive_limit(connection.socket, AgentLimits.firstResponse)
        guard connection.send(line), let response = connection.line() else { return (.notServed, []) }
        switch AgentResponse(response) {
        case .output(let count): return connection.bytes(count).map { (.exit(0), $0) } ?? (.notServed, [])
        case .accepted:
            var ends: [Int32] = [-1, -1]
            let null = open("/dev/null", O_RDWR | O_CLOEXEC)
            guard null >= 0, pipe(&ends) == 0 else { return (.notServed, []) }
            var bytes: [UInt8] = []
            let outcome = wait(connection, [null, ends[1], null]) {
                close(ends[1])
                var chunk = [UInt8](repeating: 0, count: 4096)
                while true {
                    let count = read(ends[0], &chunk, chunk.count)
                    if count < 0, errno == EINTR { continue }
                    guard count > 0 else { break }
                    bytes += chunk[..<count]
                }
            }
            for descriptor in [null, ends[0]] { close(descriptor) }
            return (outcome, bytes)
        case .locked: return (.locked, [])
        case .notMine, .done, .status, nil: return (.notServed, [])
        }
    }

    /// Passes standard streams to the worker, and waits for its report.
    ///
    /// - Parameter whileRunning: Called when the worker has the streams.
    private static func wait(
        _ connection: consuming AgentConnection, _ streams: [Int32] = [0, 1, 2], whileRunning: () -> Void = {}
    ) -> Outcome {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return .notServed }
        defer { close(ends[0]) }
        // The signals reach the worker. Before this they end the client as without an agent.
        lodge_agent_forward_signals(connection.socket)
        let isSent = connection.send(AgentRequest.streamsLine, descriptors: streams + [ends[1]])
        close(ends[1])
        whileRunning()
        var report: [UInt8] = []
        while isSent {
            var byte: UInt8 = 0
            let count = read(ends[0], &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { break }
            report.append(byte)
            if report.dropLast().last == CommandReport.exit { return .exit(Int32(byte)) }
        }
        let signal = lodge_agent_end_forwarding()
        if report.contains(CommandReport.began) { return .lost }
        return signal == 0 ? .notServed : .exit(128 + signal)
    }

    /// Writes the output of a command that succeeded.
    private static func write(_ bytes: [UInt8]) -> Outcome {
        // As in the command, a closed pipe is an error of the write and not a signal.
        signal(SIGPIPE, SIG_IGN)
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { systemWrite(1, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                var ready = pollfd(fd: 1, events: Int16(POLLOUT), revents: 0)
                _ = poll(&ready, 1, -1)
                continue
            }
            // The command itself reports any other error, with the same words as without an agent.
            guard count > 0 else { return rest.count == bytes.count ? .notServed : .exit(1) }
            rest = rest.dropFirst(count)
        }
        return .exit(0)
    }

    /// Sends a request to the agent itself and returns its response.
    package static func ask(
        _ line: [UInt8], descriptors: [Int32] = [], at path: String
    ) throws(AgentSocket.Problem) -> AgentResponse? {
        let socket = try AgentSocket.connect(to: path)
        lodge_agent_set_receive_limit(socket, AgentLimits.firstResponse)
        return response(to: line, descriptors, AgentConnection(socket))
    }

    private static func response(
        to line: [UInt8], _ descriptors: [Int32], _ connection: consuming AgentConnection
    ) -> AgentResponse? {
        guard connection.send(line, descriptors: descriptors) else { return nil }
        return connection.line().flatMap { AgentResponse($0) }
    }
}

private func systemWrite(_ file: Int32, _ bytes: UnsafeRawPointer?, _ count: Int) -> Int { write(file, bytes, count) }
