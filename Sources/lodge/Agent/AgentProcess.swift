import AccountAgent
import AgentProtocol
import CLodgeAgent
import CommandLineKit
import LodgePlatform

/// The process of the agent.
enum AgentProcess {
    /// The command line that runs the agent in this process. `agent run` with other words starts it again with these,
    /// because Dispatch, once used, wakes the process every second.
    static let words = ["agent", "run"]

    /// Serves until a signal or `agent stop` ends the agent, and returns the exit status.
    static func run() -> Int32 {
        lodge_agent_protect_process()
        guard let program = ProcessIdentity.programPath, let identity = ProcessIdentity() else {
            return report(CommandError(.failed, "cannot start the agent", reason: "the path of lodge is unknown"))
        }
        let socket: Int32
        let path: String?
        do throws(ListeningSocket.Failure) {
            (socket, path) = try ListeningSocket.open { () throws(AgentSocket.Problem) in
                try AgentRules.socket(SystemCalls.variable)
            }
        } catch {
            return report(CommandError(error))
        }
        AgentLoop(
            listener: socket, path: path, program: program, identity: identity, version: Program.version,
            rule: AgentRules.outputKey
        ).run()
        return 0
    }

    private static func report(_ error: CommandError) -> Int32 {
        let text = error.lines(program: Program.name).joined(separator: "\n") + "\n"
        text.withCString { _ = write(2, $0, strlen($0)) }
        return error.status.rawValue
    }
}

extension CommandError {
    init(_ failure: ListeningSocket.Failure) {
        switch failure {
        case .path(let problem): self.init(problem, "cannot start the agent")
        case .alreadyRunning(let path):
            self.init(
                .failed, "cannot start the agent", reason: "another agent listens on \(path)",
                hint: "lodge agent status")
        case .system(let reason, let path): self.init(.failed, "cannot start the agent", reason: "\(path): \(reason)")
        }
    }

    init(_ problem: AgentSocket.Problem, _ message: String) {
        switch problem {
        case .noPath:
            self.init(
                .failed, message, reason: "XDG_RUNTIME_DIR is not set",
                hint: "set it, or LODGE_AGENT_SOCK to the absolute path of the socket")
        case .tooLong(let path):
            self.init(
                .failed, message, reason: "the path of the socket has \(path.utf8.count) bytes: \(path)",
                hint: "set LODGE_AGENT_SOCK to a shorter path")
        case .missing(let path):
            self.init(.failed, message, reason: "there is no socket \(path)", hint: "lodge agent run")
        case .notASocket(let path):
            self.init(.failed, message, reason: "\(path) is not a socket", hint: "remove it")
        case .unsafe(let folder):
            self.init(
                .failed, message, reason: "other users can write to \(folder), or it is not your folder",
                hint: "run: chmod 700 '\(folder)'")
        case .notListening(let path):
            self.init(.failed, message, reason: "no process listens on \(path)", hint: "lodge agent run")
        case .otherUser(let path):
            self.init(.failed, message, reason: "\(path) belongs to another user")
        }
    }
}
