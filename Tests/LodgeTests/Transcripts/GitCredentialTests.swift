import Foundation
import LocalProvider
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// The account that `credential git` selects if there are several.
@MainActor @Suite struct GitCredentialTests {
    /// Signs in Ada, with the account name work, and then Li Ming. Li Ming's account is active.
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

    @Test func `a user name selects the same account as in every other command`() async throws {
        let (terminal, host, ada, liMing) = try await twoAccounts()
        func password(_ name: String?) async -> String? {
            let question = "protocol=http\nhost=\(host)\n" + (name.map { "username=\($0)\n" } ?? "")
            let answer = await terminal.run("credential", "git", "get", input: question)
            #expect(answer.status == 0, "\(answer.errors)")
            return answer.lines.dropFirst().first.map { String($0.dropFirst("password=".count)) }
        }
        for name in ["work", "WORK", "ada@contoso.example", "Ada@Contoso.example"] {
            #expect(await password(name) == ada, "\(name)")
        }
        #expect(await password("li.ming@contoso.example") == liMing)
        // The words of hosts for a token are not the name of a user.
        for name in ["git", "oauth2", "x-access-token", "", nil] {
            #expect(await password(name) == liMing, "\(name ?? "")")
        }
        // A user without an account does not get another user's token, but the sign-in.
        let eve = await terminal.run(
            "credential", "git", "get", input: "protocol=http\nhost=\(host)\nusername=eve@contoso.example\n")
        #expect(eve.status == 4 && eve.output.isEmpty)
        #expect(
            eve.errors == """
                lodge: no credential for \(host): there is no account of eve@contoso.example of type local
                hint: lodge sign-in local --login-hint eve@contoso.example

                """)
        let bob = await terminal.run(
            "credential", "git", "get", input: "protocol=http\nhost=\(host)\nusername=bob\n")
        #expect(bob.status == 4 && bob.output.isEmpty && bob.errors.contains("there is no account of bob"), "\(bob)")
    }

    @Test func `the organization in a URL of Azure DevOps is not the name of a user`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: terminal.nested.replacing(
                "\"scopes\"", with: "\"resourceHosts\": [\"dev.azure.com\"], \"scopes\""))
        #expect(await terminal.run("sign-in").status == 0)
        let answer = await terminal.run(
            "credential", "git", "get", input: "protocol=https\nhost=dev.azure.com\nusername=contoso\n")
        #expect(answer.status == 0 && answer.lines.first == "username=contoso", "\(answer)")
    }

    @Test func `git 2.46 gets a Bearer credential if it announces authtype and the server accepts Bearer`() async throws
    {
        let (terminal, host, _, token) = try await twoAccounts()
        let request = "protocol=http\nhost=\(host)\n"
        let capability = "capability[]=authtype\ncapability[]=state\n"
        func answer(_ input: String) async -> [String] {
            await terminal.run("credential", "git", "get", input: input).lines.map {
                $0.hasPrefix("password_expiry_utc=") ? "password_expiry_utc" : $0
            }
        }
        let bearer = [
            "capability[]=authtype", "authtype=Bearer", "credential=\(token)", "ephemeral=1", "password_expiry_utc",
        ]
        let basic = ["username=oauth2", "password=\(token)", "password_expiry_utc"]
        for challenges in [
            "", "wwwauth[]=Bearer realm=\"a, b\"\n", "wwwauth[]=Basic realm=\"x\"\nwwwauth[]=bearer\n",
            "wwwauth[]=Basic realm=\"x\", Bearer error=\"invalid_token\"\n", "wwwauth[]=Basic\nwwwauth[]=\n",
        ] {
            #expect(await answer(capability + request + challenges) == bearer, "\(challenges)")
        }
        for other in [
            request, "capability[]=state\n" + request, request + "wwwauth[]=Bearer\n",
            capability + request + "wwwauth[]=Basic realm=\"GitLab\"\n",
            capability + request + "wwwauth[]=Basic realm=\"Bearer\"\n",
            capability + "capability[]=\n" + request,
        ] {
            #expect(await answer(other) == basic, "\(other)")
        }
        // Git sends this after the server rejected the token.
        let rejected = capability + request + "authtype=Bearer\ncredential=\(token)\n"
        #expect(await terminal.run("credential", "git", "erase", input: rejected).status == 0)
        #expect(await terminal.run("token").output.dropLast() != token)
    }

    @Test func `a host of the settings without an account suggests the sign-in, and other hosts get no output`()
        async throws
    {
        let terminal = try await Terminal()
        let host = "127.0.0.1:\(try #require(terminal.provider.issuer.port))"
        try terminal.write(
            settings: """
                {"defaultType": "second", "types": {
                "first": {"issuer": "\(terminal.provider.issuer)", "clientId": "\(terminal.provider.clientID)",
                "redirectUri": "http://127.0.0.1/callback", "scopes": ["openid"]},
                "second": {"issuer": "\(terminal.provider.issuer)", "clientId": "\(terminal.provider.clientID)",
                "redirectUri": "http://127.0.0.1/callback", "scopes": ["openid"]},
                "forge": {"resourceHosts": ["git.example"]}}}
                """)
        let missing = await terminal.run(
            "--settings", terminal.settings.path, "credential", "git", "get", input: "protocol=http\nhost=\(host)\n")
        #expect(missing.status == 4 && missing.output.isEmpty)
        #expect(
            missing.errors.contains("hint: lodge sign-in --settings=\(terminal.settings.path) second\n"), "\(missing)")
        let forge = await terminal.run("credential", "git", "get", input: "protocol=https\nhost=git.example\n")
        #expect(forge.status == 4 && forge.errors.hasSuffix("hint: lodge sign-in forge --with-token\n"), "\(forge)")
        let other = await terminal.run("credential", "git", "get", input: "protocol=https\nhost=github.com\n")
        #expect(other.status == 0 && other.output.isEmpty && other.errors.isEmpty)
    }

    @Test func `an account that needs a sign-in suggests the command with its type`() async throws {
        let (terminal, host, _, _) = try await twoAccounts()
        terminal.provider.revokeGrants()
        let answer = await terminal.run("credential", "git", "get", input: "protocol=http\nhost=\(host)\n")
        #expect(answer.status == 0)
        let password = try #require(answer.lines.first { $0.hasPrefix("password=") })
        _ = await terminal.run(
            "credential", "git", "erase", input: "protocol=http\nhost=\(host)\n\(password)\n")
        let needed = await terminal.run("credential", "git", "get", input: "protocol=http\nhost=\(host)\n")
        #expect(
            needed.status == 4 && needed.output.isEmpty && needed.errors.contains("hint: lodge sign-in local"),
            "\(needed)")
    }

    @Test func `an unknown operation of git is ignored, but not one that a user types`() async throws {
        let terminal = try await Terminal()
        let later = await terminal.run("credential", "git", "capability", input: "protocol=https\nhost=a.example\n")
        #expect(later.status == 0 && later.output.isEmpty && later.errors.isEmpty)
        terminal.isTerminal = true
        let typed = await terminal.run("credential", "git", "gett")
        #expect(typed.status == 2 && typed.errors.contains("hint: lodge credential git get\n"), "\(typed)")
    }

    @Test func `--account selects the account, and an unknown name is an error`() async throws {
        let (terminal, host, ada, _) = try await twoAccounts()
        let question = "protocol=http\nhost=\(host)\n"
        for name in ["work", "Ada@contoso.example"] {
            let answer = await terminal.run("--account", name, "credential", "git", "get", input: question)
            #expect(answer.status == 0 && answer.lines.dropFirst().first == "password=\(ada)", "\(answer)")
        }
        let named = await terminal.run(
            "--account", "work", "credential", "git", "get", input: question + "username=li.ming@contoso.example\n")
        #expect(named.lines.dropFirst().first == "password=\(ada)")
        let nobody = await terminal.run("--account", "nobody", "credential", "git", "get", input: question)
        #expect(nobody.status == 3 && nobody.errors.contains("no account nobody") && nobody.output.isEmpty)
        // There is no output for a host without a type.
        let other = await terminal.run(
            "--account", "nobody", "credential", "git", "get", input: "protocol=https\nhost=github.com\n")
        #expect(other.status == 0 && other.output.isEmpty && other.errors.isEmpty)
    }

    @Test func `a user name of an account of another type or host gets no token of this type`() async throws {
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
            await terminal.run("credential", "git", "get", input: "protocol=http\nhost=\(host)\nusername=\(name)\n")
        }
        // The search includes the second type before it uses the first type's current account.
        #expect(await ask("li.ming@contoso.example").lines.dropFirst().first == "password=\(liMing)")
        let build = await ask("build")
        #expect(build.status == 0 && build.output.isEmpty, "\(build)")
    }
}
