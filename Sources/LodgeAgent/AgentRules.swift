import AgentProtocol

/// The names of the program that its agent needs.
package enum AgentRules {
    /// Returns the path of the socket.
    ///
    /// - Parameter variable: Returns the value of an environment variable.
    package static func socket(_ variable: (String) -> String?) throws(AgentSocket.Problem) -> String {
        guard let path = variable("LODGE_AGENT_SOCK") ?? variable("XDG_RUNTIME_DIR").map({ $0 + "/lodge/agent.sock" })
        else { throw .noPath }
        try AgentSocket.check(path)
        return path
    }

    /// What the output of `token` depends on.
    package static let outputKey = OutputKeyRule(
        variables: ["LODGE_", "XDG_", "HOME="], pathOptions: ["--se", "--st", "--ca"],
        pathVariables: ["LODGE_SETTINGS=", "LODGE_STORE=", "LODGE_CA_FILE="])
}
