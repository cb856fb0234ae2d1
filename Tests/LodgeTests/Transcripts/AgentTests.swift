import AgentProtocol
import Foundation
import LodgeAgent
import Synchronization
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// The commands of the agent, with scripted responses.
@MainActor @Suite struct AgentTests {
    /// Returns a terminal with an agent that responds like this.
    private func terminal(_ respond: @escaping Terminal.AgentResponder) async throws -> Terminal {
        let terminal = try await Terminal()
        terminal.set("XDG_RUNTIME_DIR", "/run/user/1000")
        terminal.askAgent = respond
        return terminal
    }

    private static let status: JSONObject = [
        "version": "0.1.0", "process": 4711, "locked": false, "started": 1_800_000_000, "workers": 2, "busy": 1,
        "outputs": [
            [
                "account": "ada@contoso.example", "type": "graph", "state": "fresh", "refreshed": 1_800_000_000,
                "due": 1_800_003_000, "requests": 41, "requested": 1_800_000_100, "failures": 0,
            ],
            [
                "account": "bob@contoso.example", "type": "git", "state": "changed", "refreshed": 1_800_000_000,
                "due": nil, "requests": 1, "requested": 1_800_000_100, "failures": 3,
            ],
        ],
    ]

    @Test func `agent status lists the tokens, the process and the socket`() async throws {
        let terminal = try await terminal { _, _ in .status(Self.status) }
        let shown = await terminal.run("agent", "status")
        #expect(shown.status == 0 && shown.errors.isEmpty)
        #expect(shown.lines.first == "ACCOUNT\tTYPE\tSTATE\tREFRESHED\tNEXT REFRESH\tREQUESTS")
        #expect(shown.lines[1].hasPrefix("ada@contoso.example\tgraph\tfresh\t"))
        #expect(shown.lines[2].contains("\ton request\t1, last "))
        #expect(shown.output.contains("Agent\t0.1.0, process 4711\n"))
        #expect(shown.output.contains("Workers\t2, 1 of them busy\n"))
        #expect(shown.output.contains("Socket\t/run/user/1000/lodge/agent.sock\nWorkers"))
        let json = try JSONValue(parsing: await terminal.run("agent", "status", "--output", "json").output)
        #expect(json.object?["tokens"]?.array?.first?.object?["nextRefresh"] == "2027-01-15T08:50:00Z")
        #expect(json.object?["socket"] == "/run/user/1000/lodge/agent.sock" && json.object?["locked"] == false)
    }

    @Test func `lock, unlock and stop send their request and confirm it`() async throws {
        let asked = Mutex<[String]>([])
        let terminal = try await terminal { word, path in
            asked.withLock { $0.append("\(word) \(path)") }
            return .done
        }
        let lock = await terminal.run("agent", "lock")
        #expect(lock.status == 0 && lock.errors == "Locked the agent.\n")
        let unlock = await terminal.run("agent", "unlock")
        #expect(unlock.status == 0 && unlock.errors == "Unlocked the agent.\n")
        terminal.set("LODGE_AGENT_SOCK", "/tmp/other.sock")
        let stop = await terminal.run("agent", "stop")
        #expect(stop.status == 0 && stop.errors == "Stopped the agent.\n")
        let path = "/run/user/1000/lodge/agent.sock"
        #expect(asked.withLock { $0 } == ["lock \(path)", "unlock \(path)", "stop /tmp/other.sock"])
    }

    @Test(
        arguments: [
            (.missing("/s"), "there is no socket /s", "lodge agent run"),
            (.notListening("/s"), "no process listens on /s", "lodge agent run"),
            (.notASocket("/s"), "/s is not a socket", "remove it"),
            (.unsafe("/f"), "other users can write to /f, or it is not your folder", "run: chmod 700 '/f'"),
            (.otherUser("/s"), "/s belongs to another user", nil),
        ] as [(AgentSocket.Problem, String, String?)])
    func `each command names the reason why there is no agent`(
        problem: AgentSocket.Problem, reason: String, hint: String?
    ) async throws {
        let terminal = try await terminal { (_, _) throws(AgentSocket.Problem) in throw problem }
        for command in ["status", "lock", "unlock", "stop"] {
            let failed = await terminal.run(words: ["agent", command])
            let lines = ["lodge: the agent is not running: \(reason)"] + (hint.map { ["hint: \($0)"] } ?? [])
            #expect(failed.status == 1 && failed.errors == lines.joined(separator: "\n") + "\n")
        }
    }

    @Test func `without a runtime folder the error names the variable`() async throws {
        let failed = await (try await Terminal()).run("agent", "status")
        #expect(failed.status == 1 && failed.errors.contains("XDG_RUNTIME_DIR is not set"))
    }

    @Test func `a silent agent is an error`() async throws {
        let failed = await (try await terminal { _, _ in nil }).run("agent", "stop")
        #expect(failed.status == 1 && failed.errors.contains("no response within 2 s"))
    }

    @Test func `agent run replaces the process, because the agent must not use its threads`() async throws {
        let terminal = try await Terminal()
        var started: [String] = []
        terminal.replacement = { words, _ in
            started = words
            return ENOENT
        }
        let run = await terminal.run("agent", "run", "--quiet")
        #expect(started.count == 4 && started[1] == "__agent" && started[0] == started[2])
        #expect(run.status == 1 && run.errors.contains("cannot start the agent"))
    }

    @Test func `a locked agent refuses a command with status 9, and a lost one reports that its outcome is unknown`()
        async throws
    {
        let terminal = try await Terminal()
        terminal.delegation = .locked
        let locked = await terminal.run("token")
        #expect(locked.status == 9 && locked.errors == "lodge: the agent is locked\nhint: lodge agent unlock\n")
        terminal.delegation = .lost
        let lost = await terminal.run("token")
        #expect(lost.status == 1 && lost.errors.contains("its outcome is unknown"))
    }

    @Test func `a command without an agent tells no agent how long its output is valid`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let plain = await terminal.run("token", "--no-agent")
        #expect(plain.status == 0 && !plain.output.isEmpty)
        let validity = OutputValidity(minimumValidity: nil)
        terminal.outputValidity = validity
        let remembered = await terminal.run("token")
        #expect(remembered.output == plain.output)
        let output = try #require(validity.output)
        #expect(output.account == "ada@contoso.example" && output.type == "local")
        #expect(output.files.first.map { $0.kind == .database && $0.state != nil } == true)
        let expiry = try #require(output.expiry)
        #expect(expiry - output.validUntil == min(60, output.lifetime / 5))
        for words in [["token", "--refresh"], ["token", "--introspect"], ["status"]] {
            let validity = OutputValidity(minimumValidity: nil)
            terminal.outputValidity = validity
            _ = await terminal.run(words: words)
            #expect(validity.output == nil, "\(words)")
        }
    }

    @Test func `a refresh ahead of time replaces a token that expires too early`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let before = await terminal.run("token").output
        terminal.outputValidity = OutputValidity(minimumValidity: .seconds(1))
        #expect(await terminal.run("token").output == before)
        // At most four fifths of the lifetime, after a fifth of it has passed.
        let validity = OutputValidity(minimumValidity: .seconds(86_400))
        terminal.outputValidity = validity
        let early = await terminal.run("token")
        #expect(early.status == 0 && early.errors.isEmpty)
    }
}
