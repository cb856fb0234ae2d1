import AgentProtocol
import Foundation
import JOSE
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import LodgePlatform
@testable import lodge

/// The settings of the agent, and the commands that depend on them.
@MainActor @Suite struct AgentSettingsTests {
    /// Returns a terminal whose settings contain these members, such as `"agent": "auto",`.
    private func terminal(_ members: String, type: String = "") async throws -> Terminal {
        let terminal = try await Terminal()
        let text = terminal.nested.replacing("{\"types\"", with: "{\(members)\"types\"")
            .replacing("\"clientId\"", with: type + "\"clientId\"")
        try terminal.write(settings: text)
        // The path of a socket is short.
        let folder = terminal.folder.appending(path: "r/lodge")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        terminal.set("XDG_RUNTIME_DIR", terminal.folder.appending(path: "r").path)
        return terminal
    }

    // MARK: config

    @Test func `config set agent changes the settings file and nothing else in it`() async throws {
        let terminal = try await Terminal()
        let before = "// My settings.\n{\n  // The only type.\n" + terminal.nested.trimmingPrefix("{") + "\n"
        try terminal.write(settings: before)
        #expect(await terminal.run("config", "get", "agent").output == "off\n")
        let auto = await terminal.run("config", "set", "agent", "auto")
        #expect(auto.status == 0 && auto.errors == "The next command that can use the agent starts it.\n")
        #expect(await terminal.run("config", "get", "agent").output == "auto\n")
        let text = try String(contentsOf: terminal.settings, encoding: .utf8)
        #expect(text.contains("// My settings.") && text.contains("// The only type."))
        let off = await terminal.run("config", "set", "agent", "off", "--output", "json")
        #expect(off.status == 0 && off.output.contains(#""value": "off""#), "\(off.output)")
        #expect(
            try String(contentsOf: terminal.settings, encoding: .utf8).replacing(#""agent": "off","#, with: "").filter {
                !$0.isWhitespace
            } == before.filter { !$0.isWhitespace })
        let wrong = await terminal.run("config", "set", "agent", "on")
        #expect(wrong.status == 2 && wrong.errors.contains("expected off or auto, found \"on\""))
    }

    @Test func `agent auto starts the agent after a command, and agent off does not`() async throws {
        for (members, expected) in [("", 0), (#""agent": "off","#, 0), (#""agent": "auto","#, 1)] {
            let terminal = try await terminal(members)
            var starts = 0
            terminal.startAgent = { starts += 1 }
            #expect(await terminal.run("sign-in").status == 0)
            starts = 0
            #expect(await terminal.run("token").status == 0)
            #expect(starts == expected)
        }
    }

    @Test(arguments: [
        (#""agent": "on","#, "agent"), (#""agent": true,"#, "agent"), (#""agentLockAfter": 0,"#, "agentLockAfter"),
        (#""agentLockAfter": "30m","#, "agentLockAfter"), (#""agentLockOnSleep": 1,"#, "agentLockOnSleep"),
        (#""oidcAgentSocket": "yes","#, "oidcAgentSocket"), (#""tokenFiles": {},"#, "tokenFiles"),
        (#""tokenFiles": [1],"#, "tokenFiles[0]"), (#""tokenFiles": [{"type": "local"}],"#, "tokenFiles[0].path"),
        (#""tokenFiles": [{"path": "token", "type": "local"}],"#, "tokenFiles[0].path"),
        (#""tokenFiles": [{"path": "/a/../b", "type": "local"}],"#, "tokenFiles[0].path"),
        (#""tokenFiles": [{"path": "/a", "type": "other"}],"#, "tokenFiles[0].type"),
        (#""tokenFiles": [{"path": "/a", "type": "local", "token": "refresh"}],"#, "tokenFiles[0].token"),
        (#""tokenFiles": [{"path": "/a", "type": "local", "mode": 1}],"#, "tokenFiles[0].mode"),
    ]) func `wrong settings of the agent are reported with their key`(members: String, key: String) async throws {
        let failed = await (try await terminal(members)).run("token")
        #expect(failed.status == 8 && failed.errors.contains("\(key): "), "\(failed.errors)")
    }

    @Test func `agent run passes the settings to the agent`() async throws {
        let terminal = try await terminal(
            #""agentLockAfter": 30, "agentLockOnSleep": true, "oidcAgentSocket": true,"#
                + #""tokenFiles": [{"path": "$XDG_RUNTIME_DIR/t", "type": "local"}],"#)
        var started: [String] = []
        terminal.replacement = { words, _ in
            started = words
            return ENOENT
        }
        _ = await terminal.run("agent", "run", "--settings", terminal.settings.path)
        let options = try #require(AgentOptions(started.last ?? ""))
        #expect(options.lockAfter == 1800 && options.locksOnSleep)
        let folder = terminal.folder.path + "/r/"
        #expect(options.files == [folder + "t"])
        #expect(options.filesCommand == ["credential", "files", "--settings", terminal.settings.path])
        #expect(options.listeners.map(\.path) == [folder + "lodge/oidc-agent.sock"])
        #expect(options.listeners.first?.arguments.starts(with: ["credential", "oidc-agent"]) == true)
    }

    // MARK: Keys and locks

    @Test func `agent unlock gives the agent a key that is sealed with a passphrase`() async throws {
        let terminal = try await terminal("")
        terminal.askAgent = { word, _ in word == "status" ? .status([:]) : .done }
        let file = terminal.folder.appending(path: "passphrase")
        try "correct horse\n".write(to: file, atomically: true, encoding: .utf8)
        try #require(chmod(file.path, 0o600) == 0)
        terminal.set("LODGE_PASSPHRASE_FILE", file.path)
        _ = await terminal.run("sign-in")
        #expect(await terminal.run("config", "set", "key-custody", "passphrase").status == 0)
        let unlocked = await terminal.run("agent", "unlock")
        #expect(unlocked.status == 0 && unlocked.errors.contains("now has the key of the store"), "\(unlocked.errors)")
        let message = try #require(terminal.agentMessages.last)
        #expect(message.descriptors == 1)
        guard case .unlock(let store?)? = AgentRequest(message.line) else {
            Issue.record("\(String(decoding: message.line, as: UTF8.self))")
            return
        }
        #expect(!store.contains("/"))
        try "wrong horse\n".write(to: file, atomically: true, encoding: .utf8)
        try #require(chmod(file.path, 0o600) == 0)
        let wrong = await terminal.run("agent", "unlock")
        #expect(wrong.status == 9 && wrong.errors.contains("the passphrase is wrong"))
    }

    // MARK: Permission

    @Test func `a type with agentConfirm needs a yes for each command, and its output is not remembered`() async throws
    {
        let terminal = try await terminal("", type: #""agentConfirm": true, "#)
        #expect(await terminal.run("sign-in").status == 0)
        // Without the agent, the command does not ask.
        #expect(await terminal.run("token").status == 0)
        let asked = terminal.folder.appending(path: "asked")
        let program = terminal.folder.appending(path: "askpass")
        for (answer, status) in [("exit 0", 0), ("exit 1", 1), ("kill -9 $$", 1)] as [(String, Int32)] {
            try #"""
            #!/bin/sh
            printf '%s %s\n' "$SSH_ASKPASS_PROMPT" "$1" >> '\#(asked.path)'
            \#(answer)
            """#.write(to: program, atomically: true, encoding: .utf8)
            try #require(chmod(program.path, 0o700) == 0)
            terminal.useConfirmation = UseConfirmation(
                client: Int64(getpid()), environment: [:], program: program.path)
            let validity = OutputValidity(minimumValidity: nil)
            terminal.outputValidity = validity
            let token = await terminal.run("token")
            #expect(token.status == status && token.output.isEmpty == (status != 0), "\(token.errors)")
            #expect(validity.output == nil)
        }
        let questions = try String(contentsOf: asked, encoding: .utf8).split(separator: "\n")
        #expect(questions.count == 3)
        #expect(questions[0].hasPrefix("confirm Allow the use of the account ada@contoso.example (local) for /"))
        for missing in [nil, "askpass"] {
            terminal.useConfirmation = UseConfirmation(client: 0, environment: [:], program: missing)
            let refused = await terminal.run("token")
            #expect(refused.status == 1 && refused.errors.contains("LODGE_ASKPASS"))
        }
    }

    // MARK: Forward

    @Test func `agent forward creates a socket for one account and prints what to do with it`() async throws {
        let terminal = try await terminal("")
        #expect(await terminal.run("sign-in").status == 0)
        terminal.askAgent = { word, _ in word == "status" ? .status([:]) : .done }
        let forward = await terminal.run("agent", "forward", "--account", "ada@contoso.example", "--for", "90m")
        #expect(forward.status == 0, "\(forward.errors)")
        let path = try #require(forward.lines.first)
        #expect(path.hasPrefix(terminal.folder.path + "/r/lodge/forward-"))
        #expect(forward.errors.contains("ssh -R /tmp/") && forward.errors.contains(":\(path) HOST"))
        #expect(forward.errors.contains("Warning: ") && forward.errors.contains("export OIDC_SOCK="))
        let message = try #require(terminal.agentMessages.last)
        guard case .listen(let request, path, let until)? = AgentRequest(message.line) else {
            Issue.record("\(String(decoding: message.line, as: UTF8.self))")
            return
        }
        #expect(message.descriptors == 1 && abs(until - Date.now.timeIntervalSince1970 - 5400) < 300)
        #expect(
            request.arguments.starts(with: ["credential", "oidc-agent", "--allow"]) && request.arguments.count == 4)
        let json = await terminal.run("agent", "forward", "--output", "json")
        #expect(try JSONValue(parsing: json.output).object?["account"] == "ada@contoso.example")
    }

    @Test func `agent forward leaves no socket if the agent refuses it`() async throws {
        let terminal = try await terminal("")
        #expect(await terminal.run("sign-in").status == 0)
        for response in [AgentResponse.notMine, .locked, nil] {
            terminal.askAgent = { word, _ in word == "status" ? .status([:]) : response }
            #expect(await terminal.run("agent", "forward").status != 0)
            let folder = terminal.folder.path + "/r/lodge"
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }
        for value in ["0", "31d", "721h", "-1h"] {
            #expect(await terminal.run("agent", "forward", "--for=\(value)").status == 2)
        }
    }

    // MARK: Token files

    private func mode(_ path: String) -> mode_t {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func `a sign-in writes the token files of its type, and a sign-out removes them`() async throws {
        let terminal = try await terminal(
            #""tokenFiles": [{"path": "$XDG_RUNTIME_DIR/access", "type": "local"},"#
                + #"{"path": "$XDG_RUNTIME_DIR/id", "type": "local", "token": "id"}],"#)
        let folder = terminal.folder.path + "/r/"
        #expect(await terminal.run("sign-in").status == 0)
        let token = await terminal.run("token").output
        #expect(try String(contentsOfFile: folder + "access", encoding: .utf8) == token)
        #expect(mode(folder + "access") == 0o600 && mode(folder + "id") == 0o600)
        let id = await terminal.run("token", "--id-token").output
        #expect(try String(contentsOfFile: folder + "id", encoding: .utf8) == id)
        #expect(await terminal.run("sign-out").status == 0)
        #expect(mode(folder + "access") == 0 && mode(folder + "id") == 0)
        let missing = await terminal.run("credential", "files")
        #expect(missing.status == 4 && missing.errors.contains("not signed in"), "\(missing.errors)")
    }

    @Test func `credential files writes all files, and one failure does not prevent the others`() async throws {
        let terminal = try await terminal(
            #""tokenFiles": [{"path": "$XDG_RUNTIME_DIR/a", "type": "local", "account": "eve"},"#
                + #"{"path": "$XDG_RUNTIME_DIR/b", "type": "local"}],"#)
        #expect(await terminal.run("sign-in").status == 0)
        let path = terminal.folder.path + "/r/b"
        unlink(path)
        terminal.outputValidity = OutputValidity(minimumValidity: nil, isBackground: true)
        let written = await terminal.run("credential", "files")
        #expect(written.status == 4 && written.errors.contains("there is no account eve"))
        #expect(written.output == path + "\n" && mode(path) == 0o600)
        #expect(terminal.outputValidity?.output == nil)
    }

    @Test func `the agent runs credential files again before half of the lifetime is over`() async throws {
        let terminal = try await terminal(#""tokenFiles": [{"path": "$XDG_RUNTIME_DIR/a", "type": "local"}],"#)
        #expect(await terminal.run("sign-in").status == 0)
        for isBackground in [false, true] {
            let validity = OutputValidity(minimumValidity: nil, isBackground: isBackground)
            terminal.outputValidity = validity
            #expect(await terminal.run("credential", "files").status == 0)
            guard isBackground else {
                #expect(validity.output == nil)
                continue
            }
            let output = try #require(validity.output)
            let next = output.validUntil - output.lifetime / 10 - Date.now.timeIntervalSince1970
            #expect((1500...1800).contains(next), "\(next)")
        }
    }

    @Test func `a token file outside the runtime folder, or in a folder of others, is refused`() async throws {
        let terminal = try await terminal("")
        #expect(await terminal.run("sign-in").status == 0)
        let open = terminal.folder.appending(path: "open")
        try FileManager.default.createDirectory(at: open, withIntermediateDirectories: true)
        try #require(chmod(open.path, 0o777) == 0)
        let plain = terminal.nested
        func run(_ entry: String) async throws -> Terminal.Transcript {
            try terminal.write(settings: plain.replacing("{\"types\"", with: "{\"tokenFiles\": [\(entry)],\"types\""))
            return await terminal.run("credential", "files")
        }
        let outside = try await run(#"{"path": "\#(terminal.folder.path)/t", "type": "local"}"#)
        #expect(outside.status == 8 && outside.errors.contains("it is not below XDG_RUNTIME_DIR"))
        let allowed = try await run(
            #"{"path": "\#(terminal.folder.path)/t", "type": "local", "allowsAnyFolder": true}"#)
        #expect(allowed.status == 0 && mode(terminal.folder.path + "/t") == 0o600)
        let shared = try await run(#"{"path": "\#(open.path)/t", "type": "local", "allowsAnyFolder": true}"#)
        #expect(shared.status == 1 && shared.errors.contains("other users can write to"))
        #expect(mode(open.path + "/t") == 0)
        // A link of another program is replaced, not followed.
        let link = terminal.folder.path + "/r/l"
        symlink(terminal.folder.path + "/victim", link)
        let linked = try await run(#"{"path": "$XDG_RUNTIME_DIR/l", "type": "local"}"#)
        #expect(linked.status == 0 && mode(terminal.folder.path + "/victim") == 0 && mode(link) == 0o600)
        terminal.set("XDG_RUNTIME_DIR", nil)
        let homeless = try await run(#"{"path": "$XDG_RUNTIME_DIR/l", "type": "local"}"#)
        #expect(homeless.status == 8 && homeless.errors.contains("XDG_RUNTIME_DIR is not set"))
        try terminal.write(settings: plain)
        let none = await terminal.run("credential", "files")
        #expect(none.status == 8 && none.errors.contains("there are no token files"))
    }
}
