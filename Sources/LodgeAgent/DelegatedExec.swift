import AgentProtocol
import StrictJSON

/// `exec` with a token from the agent: this process starts the program itself.
package struct DelegatedExec: Equatable {
    package static let tokenVariable = "OAUTH2_ACCESS_TOKEN"
    package static let expirySuffix = "_EXPIRY"

    /// The variable of the token.
    let variable: String
    /// The command line that prints the token.
    let token: [String]
    /// The program and its arguments.
    let words: [String]

    /// Creates the parts of a command line. Returns `nil` if it is not `exec` with only simple options: the complete program
    /// reads all others and reports their errors.
    package init?(_ arguments: [String]) {
        guard arguments.first == "exec", let end = arguments.firstIndex(of: "--") else { return nil }
        var variable = Self.tokenVariable
        var token = ["token", "--output", "json"]
        var rest = arguments[1..<end]
        while let word = rest.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard ["--env", "--account", "--type"].contains(parts[0]),
                let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty
            else { return nil }
            if parts[0] == "--env" { variable = value } else { token.append("\(parts[0])=\(value)") }
        }
        let bytes = Array(variable.utf8)
        let isName = bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): byte != bytes[0]
            default: false
            }
        }
        let words = Array(arguments[(end + 1)...])
        guard isName, let program = words.first, !program.isEmpty else { return nil }
        (self.variable, self.token, self.words) = (variable, token, words)
    }

    /// Replaces this process with the program if the agent has a token. Otherwise returns what the agent did, and has changed
    /// nothing: the complete program reports errors.
    func run(program: String, at path: String) -> Delegation {
        guard ServedCommand.isServed(token, SystemCalls.variable, isTerminal: { _ in false }) else { return .none }
        let (outcome, bytes) = AgentClient.output(of: token, program: program, at: path)
        switch outcome {
        case .exit(0): break
        // The user has interrupted the command.
        case .exit(let status) where status > 128: _exit(status)
        case .locked: return .locked
        case .exit, .notServed, .lost: return .none
        }
        guard let object = AgentLine.object(bytes), let secret = object["access_token"]?.string else { return .none }
        let names = [variable, variable + Self.expirySuffix]
        let before = names.map { getenv($0).map { String(cString: $0) } }
        for (name, value) in zip(names, [secret, object["expires_at"]?.string]) { set(name, value) }
        let arguments = words.map { strdup($0) } + [nil]
        execvp(words[0], arguments)
        // The complete program reports the error.
        for (name, value) in zip(names, before) { set(name, value) }
        for word in arguments { free(word) }
        return .none
    }

    private func set(_ name: String, _ value: String?) {
        if let value { setenv(name, value, 1) } else { unsetenv(name) }
    }
}
