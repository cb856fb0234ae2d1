import CommandLineKit

/// What the agent did before this process started its own work.
enum AgentDelegation: Sendable {
    /// There is no agent, it does not serve this command line, or the test passes its own command lines.
    case none
    case locked
    case lost
}

extension CommandError {
    /// Creates the error of a command that the agent refused. Returns `nil` if this process runs it.
    init?(_ delegation: AgentDelegation) {
        switch delegation {
        case .none: return nil
        case .locked: self.init(.store, "the agent is locked", hint: "lodge agent unlock")
        case .lost:
            self.init(
                .failed, "the agent ended while it ran the command", reason: "its outcome is unknown",
                hint: "check the output and run the command again; you are still signed in")
        }
    }
}
