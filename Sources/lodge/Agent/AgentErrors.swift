import AgentProtocol
import CommandLineKit
import LodgeAgent

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
