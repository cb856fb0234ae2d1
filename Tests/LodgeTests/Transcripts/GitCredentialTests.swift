import Foundation
import LocalProvider
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Whose token `git-credential` gives, where there is more than one account.
@MainActor @Suite struct GitCredentialTests {
    /// Ada, who is called "work", and Li Ming, who signed in last and is in use.
    private func twoAccounts() async throws -> (terminal: Terminal, host: String, ada: String, liMing: String) {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let ada = String(await terminal.run("token").output.dropLast())
        #expect(await terminal.run("accounts", "rename", "ada@contoso.example", "work").status == 0)
        terminal.person(.approvesAs("li.ming@contoso.example"))
        #expect(await terminal.run("sign-in").status == 0)
        let liMing = String(await terminal.run("token").output.dropLast())
        #expect(ada != liMing && !ada.isEmpty)
        return (terminal, "127.0.0.1:\(try #require(terminal.provider.issuer.port))", ada, liMing)
    }

    @Test func `a user name leads to the account that every other command means by it`() async throws {
        let (terminal, host, ada, liMing) = try await twoAccounts()
        func password(_ name: String?) async -> String? {
            let question = "protocol=http\nhost=\(host)\n" + (name.map { "username=\($0)\n" } ?? "")
            let answer = await terminal.run("git-credential", "get", input: question)
            #expect(answer.status == 0, "\(answer.errors)")
            return answer.lines.dropFirst().first.map { String($0.dropFirst("password=".count)) }
        }
        for name in ["work", "WORK", "ada@contoso.example", "Ada@Contoso.example"] {
            #expect(await password(name) == ada, "\(name)")
        }
        #expect(await password("li.ming@contoso.example") == liMing)
        // The word of a host for "a token", or the name of this machine's user, is nobody's name.
        for name in ["git", "oauth2", "root", nil] { #expect(await password(name) == liMing, "\(name ?? "")") }
        // A person who has no account here gets nobody else's token.
        #expect(await password("eve@contoso.example") == nil)
    }

    @Test func `the account that was typed is the one, or there is none of that name`() async throws {
        let (terminal, host, ada, _) = try await twoAccounts()
        let question = "protocol=http\nhost=\(host)\n"
        for name in ["work", "Ada@contoso.example"] {
            let answer = await terminal.run("--account", name, "git-credential", "get", input: question)
            #expect(answer.status == 0 && answer.lines.dropFirst().first == "password=\(ada)", "\(answer)")
        }
        let named = await terminal.run(
            "--account", "work", "git-credential", "get", input: question + "username=li.ming@contoso.example\n")
        #expect(named.lines.dropFirst().first == "password=\(ada)")
        let nobody = await terminal.run("--account", "nobody", "git-credential", "get", input: question)
        #expect(nobody.status == 3 && nobody.errors.contains("no account nobody") && nobody.output.isEmpty)
        // Of a host that no type is of, nothing is said at all.
        let other = await terminal.run(
            "--account", "nobody", "git-credential", "get", input: "protocol=https\nhost=github.com\n")
        #expect(other.status == 0 && other.output.isEmpty && other.errors.isEmpty)
    }

    @Test func `the name of an account of another type or host gets no token of this one`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"defaultType": "local", "types": {
                "local": {"issuer": "\(terminal.provider.issuer)", "clientId": "\(terminal.provider.clientID)",
                "redirectUri": "http://127.0.0.1/callback", "scopes": ["openid", "profile", "offline_access"]},
                "second": {"issuer": "\(terminal.provider.issuer)", "clientId": "\(terminal.provider.clientID)",
                "redirectUri": "http://127.0.0.1/callback", "scopes": ["openid", "profile", "offline_access"]},
                "elsewhere": {"tokenEndpoint": "https://id.example/token", "clientId": "c", "scopes": "openid",
                "redirectUri": "http://127.0.0.1/callback"}}}
                """)
        #expect(await terminal.run("sign-in", "local").status == 0)
        terminal.person(.approvesAs("li.ming@contoso.example"))
        #expect(await terminal.run("sign-in", "second").status == 0)
        let liMing = await terminal.run("token", "--type", "second").output.dropLast()
        let added = await terminal.run(
            "sign-in", "elsewhere", "--with-token", input: #"{"access_token": "AT", "token_type": "Bearer"}"#)
        #expect(added.status == 0, "\(added.errors)")
        let list = await terminal.run("accounts", "list", "--type", "elsewhere", "-o", "json").output
        let id = try #require(try JSONValue(parsing: list).array?.first?.object?["id"]?.string)
        #expect(await terminal.run("accounts", "rename", id, "build").status == 0)
        let host = "127.0.0.1:\(try #require(terminal.provider.issuer.port))"
        func ask(_ name: String) async -> Terminal.Transcript {
            await terminal.run("git-credential", "get", input: "protocol=http\nhost=\(host)\nusername=\(name)\n")
        }
        // The second type is looked at before the first one's current account is taken.
        #expect(await ask("li.ming@contoso.example").lines.dropFirst().first == "password=\(liMing)")
        let build = await ask("build")
        #expect(build.status == 0 && build.output.isEmpty, "\(build)")
    }
}
