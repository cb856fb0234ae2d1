import AgentProtocol
import CLodgeAgent
import Dispatch

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An agent for the store of a benchmark.
@MainActor
struct RunningAgent {
    private let program: Program
    private let path: String
    private let process: Int64
    private let identity: ProcessIdentity

    /// Creates a running agent.
    ///
    /// - Parameter environment: The environment of the commands, with `XDG_RUNTIME_DIR`.
    init(_ binary: CommandBinary, _ environment: [String: String]) throws {
        path = (environment["XDG_RUNTIME_DIR"] ?? "") + "/lodge/agent.sock"
        program = Program(path: binary.path, arguments: ["agent", "stop"], environment: environment)
        // The shell ends and leaves the agent.
        _ = try Program(
            path: "/bin/sh", arguments: ["-c", #""$0" agent run </dev/null >/dev/null 2>&1 &"#, binary.path],
            environment: environment
        ).run()
        let end = Seconds.elapsed + 30
        var status: AgentResponse?
        while status == nil, Seconds.elapsed < end {
            status = try? AgentClient.ask(AgentRequest.line("status"), at: path)
            usleep(1000)
        }
        // An installation has the program behind a launcher.
        let installed = AgentSocket.folder(of: binary.path) + "/../libexec/lodge/lodge"
        guard case .status(let object)? = status, let number = object["process"]?.number?.int64,
            let file = ProcessIdentity.program(at: installed) ?? ProcessIdentity.program(at: binary.path)
        else { throw BenchmarkError("the agent does not start; to see why, run lodge agent run") }
        process = number
        identity = ProcessIdentity(program: file, place: ProcessIdentity.currentPlace)
    }

    func stop() { _ = try? program.run() }

    /// Ends the workers, as after some minutes without a command.
    func rest() async throws {
        for word in ["lock", "unlock"] {
            guard try AgentClient.ask(AgentRequest.line(word), at: path) == .done else {
                throw BenchmarkError("the agent does not \(word)")
            }
        }
        while !workers.isEmpty { try await Task.sleep(for: .milliseconds(10)) }
    }

    /// The number of times that the kernel ran the process.
    var wakeUps: Int {
        let text = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").filter { $0.contains("ctxt_switches:") }
            .compactMap { $0.split { $0 == " " || $0 == "\t" }.last.flatMap { Int($0) } }.reduce(0, +)
    }

    /// The process IDs of the workers.
    var workers: [Int64] {
        let path = "/proc/\(process)/task/\(process)/children"
        return ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: " ").compactMap {
            Int64($0)
        }
    }

    /// Returns a value of the process in kB, such as `VmRSS`.
    func memory(_ name: String) -> Int? { Self.memory(name, of: process) }

    static func memory(_ name: String, of process: Int64) -> Int? {
        let text = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + ":") }
        return line.flatMap { $0.split { $0 == " " || $0 == "\t" }.dropFirst().first }.flatMap { Int($0) }
    }

    /// Returns the message that this command line would send, and lets the agent remember its output.
    func request(of command: Program) throws -> [UInt8] {
        let folder = FileManager.default.currentDirectoryPath
        let request = CommandLineRequest(
            arguments: command.arguments, environment: command.environment.map { "\($0.key)=\($0.value)" },
            folder: folder, umask: 0o022, terminals: 0, identity: identity)
        _ = try command.run()
        return request.line
    }

    /// Gets the token over a new connection, and returns the time in seconds.
    func exchange(_ request: [UInt8]) throws -> Double {
        let begin = Seconds.elapsed
        let socket = try AgentSocket.connect(to: path)
        guard Self.receive(request, AgentConnection(socket)) else {
            throw BenchmarkError("the agent does not return the token")
        }
        return Seconds.elapsed - begin
    }

    private static func receive(_ request: [UInt8], _ connection: consuming AgentConnection) -> Bool {
        guard connection.send(request), let line = connection.line(),
            case .output(let count)? = AgentResponse(line), let bytes = connection.bytes(count)
        else { return false }
        return bytes.count == TokenAnswer.standardToken.utf8.count + 1
    }
}

/// A server that responds to each connection with the same bytes: the minimum of any agent.
final class EchoServer: Sendable {
    private let listener: Int32
    private let folder: TemporaryFolder
    private let byteCount: Int

    init(byteCount: Int) throws {
        folder = try TemporaryFolder()
        self.byteCount = byteCount
        listener = lodge_agent_listen(folder.path + "/echo.sock")
        guard listener >= 0 else { throw BenchmarkError("cannot create a socket") }
        let (listener, response) = (listener, [UInt8](repeating: 65, count: byteCount))
        DispatchQueue.global().async {
            var chunk = [UInt8](repeating: 0, count: 64 * 1024)
            while case let socket = accept(listener, nil, nil), socket >= 0 {
                _ = recv(socket, &chunk, chunk.count, 0)
                _ = AgentConnection.send(response, to: socket)
                close(socket)
            }
        }
    }

    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        folder.remove()
    }

    /// Gets the bytes over a new connection, and returns the time in seconds.
    func exchange() throws -> Double {
        let begin = Seconds.elapsed
        let socket = lodge_agent_connect(folder.path + "/echo.sock")
        guard Self.receive(byteCount, AgentConnection(socket)) else { throw BenchmarkError("the echo failed") }
        return Seconds.elapsed - begin
    }

    private static func receive(_ count: Int, _ connection: consuming AgentConnection) -> Bool {
        connection.send([10]) && connection.bytes(count) != nil
    }
}
