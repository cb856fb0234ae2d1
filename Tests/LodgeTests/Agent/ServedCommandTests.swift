import AgentProtocol
import LodgeAgent
import Testing

@testable import lodge

@Suite struct ServedCommandTests {
    private func isServed(_ arguments: [String], _ variables: [String: String] = [:], terminals: Set<Int32> = [])
        -> Bool
    {
        ServedCommand.isServed(arguments, { variables[$0] }, isTerminal: { terminals.contains($0) })
    }

    @Test(arguments: [
        ["token"], ["token", "--header"], ["request", "GET", "https://api.example/a"], ["search", "ada"],
        ["show", "ada"],
        ["lookup", "names.txt"], ["me"], ["status"], ["credential", "git", "get"], ["credential", "kubectl"],
        ["credential", "oidc-agent", "--allow", "work"],
        ["credential", "aws", "arn:aws:iam::123456789012:role/reader"],
        ["accounts"], ["accounts", "list"],
        ["accounts", "--output", "json"],
    ]) func `commands that print or send something are served`(arguments: [String]) {
        #expect(isServed(arguments))
        #expect(!isServed(arguments, ["LODGE_AGENT": "off"]))
        #expect(!isServed(arguments + ["--no-agent"]))
        #expect(!isServed(arguments + ["--debug"]))
        #expect(!isServed(arguments + ["--settings", "/dev/fd/63"]))
        #expect(!isServed(arguments, ["LODGE_KEY_CUSTODY": "fd:3"]))
        #expect(!isServed(arguments, ["LODGE_KEY_CUSTODY": "passphrase"]))
        #expect(!isServed(arguments, ["LODGE_PASSPHRASE_FILE": "/dev/fd/3"]))
        #expect(!isServed(arguments, ["LODGE_SETTINGS": "/proc/self/fd/3"]))
    }

    @Test(arguments: [
        [], ["sign-in"], ["sign-out"], ["browse"], ["exec", "--", "true"], ["exec", "--azure", "true"], ["serve"],
        ["demo"], ["config"], ["doctor"],
        ["accounts", "refresh"], ["accounts", "remove", "ada"], ["credential"], ["agent", "run"], ["--version"],
        ["search", "--help"], ["sync"], ["help"],
    ]) func `other commands run in the client`(arguments: [String]) {
        #expect(!isServed(arguments))
    }

    @Test func `a command that would start a pager or read a terminal runs in the client`() {
        #expect(isServed(["search", "ada"], terminals: [0, 1, 2]))
        #expect(!isServed(["search", "ada"], ["PAGER": "less"], terminals: [0, 1, 2]))
        #expect(isServed(["search", "ada"], ["PAGER": "less"], terminals: [0, 2]))
        #expect(isServed(["token"], ["PAGER": "less"], terminals: [0, 1, 2]))
        #expect(!isServed(["lookup"], terminals: [0]))
        #expect(isServed(["lookup"]))
    }

    @Test func `the path of the socket is absolute and short enough`() throws {
        #expect(try AgentRules.socket { ["XDG_RUNTIME_DIR": "/run/user/1"][$0] } == "/run/user/1/lodge/agent.sock")
        #expect(
            try AgentRules.socket { ["XDG_RUNTIME_DIR": "/run", "LODGE_AGENT_SOCK": "/s"][$0] } == "/s")
        #expect(throws: AgentSocket.Problem.noPath) { try AgentRules.socket { _ in nil } }
        #expect(throws: AgentSocket.Problem.noPath) { try AgentRules.socket { ["LODGE_AGENT_SOCK": "s"][$0] } }
        let long = "/" + String(repeating: "a", count: 108)
        #expect(throws: AgentSocket.Problem.tooLong(long)) { try AgentRules.socket { ["LODGE_AGENT_SOCK": long][$0] } }
        #expect(AgentSocket.folder(of: "/s") == "/")
        #expect(AgentSocket.folder(of: "/a/b/s") == "/a/b")
    }
}
