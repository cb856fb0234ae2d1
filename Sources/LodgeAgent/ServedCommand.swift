import AgentProtocol

/// The command lines that an agent can run for a client.
package enum ServedCommand {
    /// Returns whether the agent may run a command line.
    ///
    /// The command must be the first word. The worker is another process, so the agent runs no command that starts
    /// another program on the terminal or reads a descriptor other than the standard streams.
    package static func isServed(
        _ arguments: [String], _ variable: (String) -> String?, isTerminal: (Int32) -> Bool
    ) -> Bool {
        guard let command = arguments.first, variable("LODGE_AGENT") != "off" else { return false }
        let isShown: Bool
        switch command {
        case "token": isShown = false
        case "request", "search", "show", "me", "status": isShown = true
        case "lookup":
            // Without a file it reads standard input, and from a terminal the user types.
            if isTerminal(0) { return false }
            isShown = true
        case "credential":
            guard arguments.count > 1 else { return false }
            isShown = false
        case "accounts":
            guard arguments.count == 1 || arguments[1] == "list" || arguments[1].hasPrefix("-") else { return false }
            isShown = true
        default: return false
        }
        for word in arguments {
            if word == "--no-agent" || word == "--debug" || word == "--help" || word == "-h" { return false }
            // Descriptors of the client.
            if word.utf8.contains(UInt8(ascii: "/")), isOfProcess(word) { return false }
        }
        for name in ["LODGE_DEBUG", "LODGE_PASSPHRASE_FILE", "LODGE_NO_AGENT"] where variable(name) != nil {
            return false
        }
        if let key = variable("LODGE_KEY_CUSTODY"), CommandLineRequest.has(key, ["fd", "passphrase"]) { return false }
        for name in ["LODGE_SETTINGS", "LODGE_STORE", "LODGE_CA_FILE"] {
            if let path = variable(name), isOfProcess(path) { return false }
        }
        if isShown, variable("LODGE_PAGER") ?? variable("PAGER") != nil, isTerminal(0), isTerminal(1) { return false }
        return true
    }

    private static func isOfProcess(_ word: String) -> Bool {
        let bytes = Array(word.utf8)
        return ["/dev/", "/proc/"].contains { part in
            let part = Array(part.utf8)
            return bytes.indices.contains { bytes[$0...].starts(with: part) }
        }
    }
}
