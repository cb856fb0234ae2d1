import DirectorySearch
import Foundation
import HTTPExchange
import LocalProvider
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct GrantTests {
    /// Returns the URL with the user code that the command printed.
    nonisolated private static func address(in said: String) throws -> URL {
        let line = try #require(said.split(separator: "\n").last { $0.contains("user_code=") })
        return try #require(URL(string: line.trimmingCharacters(in: .whitespaces)))
    }

    private static func approve(_ terminal: Terminal) {
        let isDone = Mutex(false)
        terminal.meanwhile = { said in
            guard
                isDone.withLock({ done in
                    defer { done = true }; return !done
                })
            else { return }
            let transport = CurlTransport(userAgent: "a user's phone")
            try await Approval().approveDevice(try address(in: await said()), transport: transport)
        }
    }

    /// Lets the time end after the URL is printed, without a user.
    private static func waitInVain(_ terminal: Terminal) {
        terminal.meanwhile = { said in
            try await until { await said().contains("http://") }
        }
    }

    @Test func `sign-in --device signs in with a code on another device`() async throws {
        let terminal = try await Terminal()
        Self.approve(terminal)
        let answer = await terminal.run("sign-in", "--device")
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(answer.output.isEmpty)
        let lines = answer.errors.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
        #expect(lines[0] == "On any device with a browser, open:")
        #expect(lines[1] == "\(terminal.provider.issuer)/device")
        #expect(lines[3].count == 9 && lines[5].hasSuffix("user_code=\(lines[3])"))
        #expect(lines[6].hasPrefix("Waiting. The code is valid for "))
        #expect(lines.last == "Signed in to local as Ada Lovelace (ada@contoso.example).")
        #expect(await terminal.run("search", "ada").status == 0)
        #expect(await terminal.run("accounts").lines.count == 2)
    }

    @Test(arguments: ["", "ssh"])
    func `without a display sign-in selects the device flow and prints the reason`(location: String) async throws {
        let terminal = try await Terminal()
        terminal.hasBrowser = false
        if location == "ssh" {
            terminal.set("DISPLAY", ":0")
            terminal.set("SSH_CONNECTION", "192.0.2.1 50000 192.0.2.2 22")
        }
        Self.approve(terminal)
        let answer = await terminal.run("sign-in")
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(answer.errors.hasPrefix("Signing in with another device: "))
        #expect(answer.errors.contains(location == "ssh" ? "an SSH session" : "no display"))
    }

    @Test func `a URL opener earlier in PATH than the system's counts as a browser`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "opener-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(SignInFlow.obstacleToBrowser(["PATH": "\(folder):/usr/bin:/bin"]) != nil)
        try "#!/bin/sh\n".write(toFile: folder + "/xdg-open", atomically: true, encoding: .utf8)
        try #require(chmod(folder + "/xdg-open", 0o755) == 0)
        #expect(SignInFlow.obstacleToBrowser(["PATH": "\(folder):/usr/bin:/bin"]) == nil)
        #expect(SignInFlow.obstacleToBrowser(["PATH": "/usr/bin:\(folder)"]) != nil)
        #expect(SignInFlow.obstacleToBrowser(["PATH": folder, "SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"]) != nil)
    }

    @Test func `--no-browser prints the URL, even without a display`() async throws {
        let terminal = try await Terminal()
        terminal.hasBrowser = false
        Self.waitInVain(terminal)
        let answer = await terminal.run("sign-in", "--no-browser", "--timeout", "30")
        #expect(answer.status == 4)
        #expect(answer.errors.hasPrefix("To sign in, open this URL in a browser on this machine:\nhttp://"))
        #expect(terminal.provider.log().allSatisfy { $0.path != "/device_authorization" })
    }

    @Test func `without a display and without a device flow sign-in prints the URL`() async throws {
        let terminal = try await Terminal()
        terminal.hasBrowser = false
        // The settings have endpoints, but no device authorization endpoint.
        let base = terminal.provider.issuer.absoluteString
        try terminal.write(
            settings: """
                {"types": {"local": {"tokenEndpoint": "\(base)/token", "authorizationEndpoint": "\(base)/authorize",
                "clientId": "\(terminal.provider.clientID)", "redirectUri": "http://127.0.0.1/callback"}}}
                """)
        Self.waitInVain(terminal)
        let answer = await terminal.run("sign-in", "--timeout", "30")
        #expect(answer.status == 4)
        #expect(answer.errors.contains("The provider does not support sign-in on another device"))
    }

    @Test func `sign-in --device reports a denied request and a timeout`() async throws {
        let terminal = try await Terminal()
        terminal.meanwhile = { said in
            let transport = CurlTransport(userAgent: "a user's phone")
            try await Approval().denyDevice(try Self.address(in: await said()), transport: transport)
        }
        let denied = await terminal.run("sign-in", "--device")
        #expect(denied.status == 5 && denied.errors.contains("code: access_denied"), "\(denied.errors)")
        terminal.meanwhile = nil
        let left = await terminal.run("sign-in", "--device", "--timeout", "8")
        #expect(left.status == 4 && left.errors.contains("hint: try again"), "\(left.errors)")
        #expect(await terminal.run("accounts").status == 3)
    }

    @Test func `client credentials sign in, search, and get a new token automatically`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"app": {"issuer": "\(terminal.provider.issuer)", "clientId": "lodge-confidential",
                "clientSecret": {"environment": "APP_SECRET"}, "redirectUri": "http://127.0.0.1/callback",
                "graphAPI": "\(terminal.provider.graphBase)", "scopes": ["openid", "User.Read.All"]}}}
                """)
        let without = await terminal.run("sign-in", "--client-credentials")
        #expect(without.status == 8 && without.errors.contains("APP_SECRET"), "\(without.errors)")
        terminal.set("APP_SECRET", "wrong")
        let wrong = await terminal.run("sign-in", "--client-credentials")
        #expect(wrong.status == 8 && !wrong.errors.contains("wrong:"), "\(wrong.errors)")
        terminal.set("APP_SECRET", "not-a-secret")
        let answer = await terminal.run("sign-in", "--client-credentials")
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(answer.errors == "Signed in to app as lodge-confidential.\n")
        #expect(await terminal.run("search", "ada").status == 0)
        terminal.provider.expireAccessTokens()
        #expect(await terminal.run("search", "ada").status == 0)
        #expect(terminal.provider.tokenRequestCount(grantType: "client_credentials") == 3)
        #expect(await terminal.run("status").status == 0)
        let out = await terminal.run("sign-out")
        #expect(out.status == 0 && !out.errors.contains("browser"), "\(out.errors)")
    }

    @Test func `client credentials require a confidential client`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run("sign-in", "--client-credentials")
        #expect(answer.status == 8 && answer.errors.contains("confidential"), "\(answer.errors)")
    }

    @Test func `sign-in --paste accepts the redirect URL of a browser on another machine`() async throws {
        let terminal = try await Terminal()
        terminal.pastes = { said in
            let line = try #require(said.split(separator: "\n").last { $0.hasPrefix("http") })
            let url = try #require(URL(string: String(line)))
            let transport = CurlTransport(userAgent: "a browser elsewhere")
            return try await Approval().redirect(approving: url, transport: transport).absoluteString
        }
        let answer = await terminal.run("sign-in", "--paste")
        #expect(answer.status == 0, "\(answer.errors)")
        #expect(answer.errors.contains("Then paste the complete URL"))
        terminal.pastes = { _ in "something else" }
        let other = await terminal.run("sign-in", "--paste")
        #expect(other.status == 4 && other.errors.contains("hint: copy the whole address"), "\(other.errors)")
        terminal.pastes = { _ in nil }
        let nothing = await terminal.run("sign-in", "--paste")
        #expect(nothing.status == 4 && nothing.errors.contains("ended without input"))
    }

    @Test(arguments: [["--paste"], ["--device"], ["--no-browser"], []])
    func `a sign-in that needs the user ends immediately with --no-input`(words: [String]) async throws {
        let terminal = try await Terminal()
        terminal.meanwhile = { _ in Issue.record("the command waits for input") }
        let refused = await terminal.run(words: ["sign-in"] + words + ["--no-input"])
        #expect(refused.status == 4 && refused.errors.contains("needs a user"), "\(refused.errors)")
        #expect(refused.errors.contains("hint: lodge sign-in local"), "\(refused.errors)")
        let tokens = await terminal.run(
            words: ["sign-in", "--with-token", "--no-input"],
            input: #"{"access_token": "at-1", "token_type": "Bearer"}"#)
        #expect(tokens.status == 0, "\(tokens.errors)")
    }

    @Test func `sign-in methods that cannot be combined are a usage error`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run("sign-in", "--device", "--paste")
        #expect(answer.status == 2)
        #expect(answer.errors.contains("--device and --paste cannot be combined"))
    }

    @Test func `--domain-hint and --login-hint are in the authorization request`() async throws {
        let terminal = try await Terminal()
        terminal.pastes = { _ in nil }
        let answer = await terminal.run(
            "sign-in", "--domain-hint", "contoso.example", "--login-hint", "ada", "--paste")
        #expect(answer.errors.contains("domain_hint=contoso.example") && answer.errors.contains("login_hint=ada"))
    }

    // MARK: Claims

    @Test func `a claims challenge is in the suggested command`() {
        let demanded = DirectoryError(.signInNeeded(claims: #"{ "access_token": {"nbf": {"value": "it's"}} }"#))
        let error = CommandError(reporting: demanded)
        #expect(error.status == .signInNeeded)
        #expect(error.hint?.description == #"lodge sign-in --claims '{"access_token":{"nbf":{"value":"it'\''s"}}}'"#)
        #expect(
            CommandError(reporting: demanded, type: "graph").hint?.description.hasPrefix(
                "lodge sign-in graph --claims '")
                == true)
        var provider = ProviderError(code: .interactionRequired)
        provider.claims = #"{"a":1}"#
        let store = AccountStoreError(
            .signInNeeded(.interactionRequired), what: "sign-in needed", reason: "", remedy: .signInAgain,
            provider: provider)
        #expect(
            CommandError(reporting: store, type: "graph").hint?.description
                == #"lodge sign-in graph --claims '{"a":1}'"#)
    }

    @Test(arguments: ["", "[]", "'; rm -rf ~; '", "{", #"{"a":"\#(String(repeating: "x", count: 5000))"}"#])
    func `invalid claims are not in the suggested command`(claims: String) {
        #expect(
            CommandError(reporting: DirectoryError(.signInNeeded(claims: claims))).hint?.description == "lodge sign-in")
    }

    @Test func `a line break in the claims does not break the hint`() {
        let error = CommandError(reporting: DirectoryError(.signInNeeded(claims: "{\"a\":\"\\n\\u001b[2J\"}")))
        #expect(error.lines(program: "lodge").allSatisfy { !$0.contains("\n") && !$0.contains("\u{1B}") })
    }
}
