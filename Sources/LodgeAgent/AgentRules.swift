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
        variables: ["LODGE_", "XDG_", "HOME=", "AZURE_"], pathOptions: ["--se", "--st", "--ca"],
        pathVariables: ["LODGE_SETTINGS=", "LODGE_STORE=", "LODGE_CA_FILE="])

    /// The variables of the agent for its workers: the program that asks the user for permission.
    package static var workerVariables: [String] {
        (SystemCalls.variable("LODGE_ASKPASS") ?? SystemCalls.variable("SSH_ASKPASS")).map { ["LODGE_ASKPASS=\($0)"] }
            ?? []
    }

    /// Returns the path of the socket for the clients of oidc-agent, in the folder of the agent's own socket.
    package static func oidcAgentSocket(nextTo path: String) -> String {
        AgentSocket.folder(of: path) + "/oidc-agent.sock"
    }

    /// Returns the command line that shows the user that an account needs a sign-in.
    package static func notification(type: String, account: String) -> [String] {
        let isPlain = type.utf8.allSatisfy { $0 > 0x7F || isWordCharacter($0) }
        let word =
            isPlain
            ? type
            : "'" + type.split(separator: "'", omittingEmptySubsequences: false).joined(separator: #"'\''"#) + "'"
        return [
            "notify-send", "--app-name=lodge", "--icon=dialog-password", "--",
            text("\(type) needs a sign-in", isMarkup: false),
            text(account, isMarkup: true) + "\n" + text("To sign in, run: lodge sign-in \(word)", isMarkup: true),
        ]
    }

    private static func isWordCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: [UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ".")].contains(byte)
        }
    }

    /// Returns a string without control characters. Desktops can read the body of a notification as markup.
    private static func text(_ text: String, isMarkup: Bool) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&" where isMarkup: result += "&amp;"
            case "<" where isMarkup: result += "&lt;"
            case ">" where isMarkup: result += "&gt;"
            default:
                switch scalar.properties.generalCategory {
                case .control, .format: result += " "
                default: result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }
}
