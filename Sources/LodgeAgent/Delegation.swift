import AgentProtocol

/// What the agent did before the program started its own work.
package enum Delegation: String, Sendable {
    /// There is no agent, or it does not serve this command line.
    case none
    case locked
    case lost

    /// Creates the result of a request to the agent to run the command line of this process. Ends the process if it did.
    ///
    /// - Parameter program: The path of lodge, which must be the program of the agent.
    package init(_ arguments: [String], program: String) {
        if let exec = DelegatedExec(arguments), let path = try? AgentRules.socket(SystemCalls.variable) {
            self = exec.run(program: program, at: path)
            return
        }
        guard ServedCommand.isServed(arguments, SystemCalls.variable, isTerminal: { isatty($0) == 1 }),
            let path = try? AgentRules.socket(SystemCalls.variable)
        else {
            self = .none
            return
        }
        switch AgentClient.run(arguments: arguments, program: program, at: path) {
        case .exit(let status): _exit(status)
        case .notServed: self = .none
        case .locked: self = .locked
        case .lost: self = .lost
        }
    }
}

/// How the launcher started the program: it has already asked the agent.
package struct Launch: Sendable {
    private static let variable = "LODGE_LAUNCHED"

    package let delegation: Delegation
    /// The path of the launcher, which also is the program of the agent's process.
    package let launcher: String

    /// The launch of this process, or `nil` if it was started directly. The first use removes it from the environment, so
    /// that no other program inherits it.
    package static let current: Launch? = {
        guard let value = SystemCalls.variable(variable) else { return nil }
        unsetenv(variable)
        let parts = value.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, let delegation = Delegation(rawValue: String(parts[0])) else { return nil }
        return Launch(delegation: delegation, launcher: String(parts[1]))
    }()

    /// Replaces the launcher with the program. Returns only if the system cannot start it.
    package static func replaceProcess(
        with program: String, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>,
        _ delegation: Delegation, launcher: String
    ) {
        setenv(variable, "\(delegation.rawValue) \(launcher)", 1)
        execv(program, arguments)
    }
}
