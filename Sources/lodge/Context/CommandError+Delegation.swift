import CommandLineKit
import LodgeAgent

extension CommandError {
    /// Creates the error of a command that the agent refused. Returns `nil` if this process runs it.
    init?(_ delegation: Delegation) {
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
