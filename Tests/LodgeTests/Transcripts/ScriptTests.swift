import Foundation
import OAuth2AccountStore
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests the commands for scripts and shells: `token`, `request`, `exec`, `credential git`, `completion` and
/// `__complete`.
@MainActor @Suite struct ScriptTests {
    private func signedIn() async throws -> Terminal {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    @Test func `token --header prints one line that is a complete header field`() async throws {
        let terminal = try await signedIn()
        let token = await terminal.run("token").output
        #expect(await terminal.run("token", "--header").output == "Authorization: Bearer \(token)")
        let renewed = await terminal.run("token", "--header", "--refresh").output
        #expect(renewed.hasPrefix("Authorization: Bearer ") && !renewed.contains(token.dropLast()))
    }

    @Test func `request --paginate reads all pages with the token of the account`() async throws {
        let terminal = try await signedIn()
        let pages = await terminal.run("request", "GET", "/users?$top=200", "--paginate", "--retry", "2")
        #expect(pages.status == 0 && pages.lines.count == 2, "\(pages.errors)")
    }

    @Test func `exec passes the arguments unchanged and the token only in the environment`() async throws {
        let terminal = try await signedIn()
        let token = await terminal.run("token").output.dropLast()
        terminal.replacement = { words, environment in
            #expect(words == ["curl", "--fail", "a b", "--"])
            #expect(environment["OAUTH2_ACCESS_TOKEN"] == String(token))
            #expect(environment["OAUTH2_ACCESS_TOKEN_EXPIRY"]?.hasSuffix("Z") == true)
            #expect(environment["HOME"] != nil)
            return ENOENT
        }
        let ended = await terminal.run("exec", "--", "curl", "--fail", "a b", "--")
        #expect(ended.status == 127 && ended.errors.contains(#"cannot run "curl""#))
        terminal.replacement = { _, _ in EACCES }
        #expect(await terminal.run("exec", "thing").status == 126)
        #expect(await terminal.run("exec").status == 2)
    }

    @Test func `exec --env passes the token in the named variable only`() async throws {
        let terminal = try await signedIn()
        let token = await terminal.run("token").output.dropLast()
        terminal.replacement = { _, environment in
            #expect(environment["GITHUB_TOKEN"] == String(token))
            #expect(environment["GITHUB_TOKEN_EXPIRY"]?.hasSuffix("Z") == true)
            #expect(!environment.keys.contains { $0.hasPrefix("OAUTH2_") })
            return ENOENT
        }
        #expect(await terminal.run("exec", "--env", "GITHUB_TOKEN", "--", "gh").status == 127)
        for name in ["", "A=B", "1A", "A B", "Ä"] {
            #expect(await terminal.run("exec", "--env", name, "--", "gh").status == 2, "\(name)")
        }
    }

    @Test func `exec without an account does not start the program`() async throws {
        let terminal = try await Terminal()
        terminal.replacement = { _, _ in
            Issue.record("exec started the program")
            return 0
        }
        #expect(await terminal.run("exec", "--", "ls").status == 4)
    }

    @Test func `credential git returns a credential only for a host of an account type`() async throws {
        let terminal = try await signedIn()
        let port = try #require(terminal.provider.issuer.port)
        let host = "127.0.0.1:\(port)"
        let token = await terminal.run("token").output.dropLast()
        let answer = await terminal.run("credential", "git", "get", input: "protocol=http\nhost=\(host)\n\n")
        #expect(answer.status == 0)
        #expect(answer.lines[0] == "username=oauth2" && answer.lines[1] == "password=\(token)")
        #expect(answer.lines[2].hasPrefix("password_expiry_utc="))
        let named = "protocol=http\nhost=\(host)\nusername=ada@contoso.example\n"
        #expect(await terminal.run("credential", "git", "get", input: named).lines[0] == "username=ada@contoso.example")
        for other in [
            "protocol=https\nhost=github.com\n", "protocol=http\nhost=example.com\n", "host=\(host)\n", "", "\0\n=\n",
            "protocol=ssh\nhost=\(host)\n", "protocol=https\nhost=127.0.0.1.evil.example\n",
            "protocol=http\nhost=127.0.0.1:1\n", "protocol=http\nhost=127.0.0.1\n",
            "protocol=http\nhost=\(host)/.evil.example\n",
            "protocol=http\nhost=\(host)?.evil.example\n", "protocol=http\nhost=evil.example@\(host)\n",
            "protocol=http\nhost=127%2e0.0.1:\(port)\n", "protocol=http\r\nhost=\(host)\r\n",
            "protocol=http\nhost=\(host)\0\n",
            "protocol=http\n\nhost=\(host)\n",
        ] {
            let silent = await terminal.run("credential", "git", "get", input: other)
            #expect(silent.status == 0 && silent.output.isEmpty, "\(other)")
        }
    }

    @Test func `credential git erase refreshes the token only if its input has the current token`() async throws {
        let terminal = try await signedIn()
        let host = "127.0.0.1:\(try #require(terminal.provider.issuer.port))"
        let token = await terminal.run("token").output.dropLast()
        let question = "protocol=http\nhost=\(host)\nusername=oauth2\npassword="
        #expect(await terminal.run("credential", "git", "erase", input: question + "another").status == 0)
        #expect(await terminal.run("token").output.dropLast() == token)
        #expect(await terminal.run("credential", "git", "erase", input: question + token).status == 0)
        #expect(await terminal.run("token").output.dropLast() != token)
        #expect(await terminal.run("credential", "git", "store", input: question + token).output.isEmpty)
    }

    @Test func `completion prints the script of each shell, and suggests the closest name for a mistyped one`()
        async throws
    {
        let terminal = try await Terminal()
        for shell in CompletionScript.allCases {
            let script = await terminal.run("completion", shell.rawValue)
            #expect(script.status == 0 && script.output.contains("__complete"))
        }
        let wrong = await terminal.run("completion", "bsh")
        #expect(wrong.status == 2 && wrong.errors.contains("lodge completion bash"))
    }

    @Test func `__complete suggests words from the settings and the store, and prints no errors`()
        async throws
    {
        let terminal = try await signedIn()
        #expect(
            await terminal.run("__complete", "accounts", "use", "a").output
                == "ada@contoso.example\taccount of type local\n")
        #expect(await terminal.run("__complete", "sign-in", "lo").output == "local\taccount type\n")
        #expect(await terminal.run("__complete", "search", "--output=t").output.hasPrefix("--output=table\t"))
        #expect(await terminal.run("__complete", "search", "--settings", "").output == ":files\n")
        let field = await terminal.run("__complete", "search", "--fields=mail,givenN").output
        #expect(field == "--fields=mail,givenName\t\n")
        #expect(await terminal.run("__complete", "show", "--fields", "job").output == "jobTitle\t\n")
        terminal.set("LODGE_STORE", "/dev/null/none")
        let silent = await terminal.run("__complete", "accounts", "use", "")
        #expect(silent.status == 0 && silent.output.isEmpty && silent.errors.isEmpty)
        #expect(await terminal.run("__complete").output.contains("sign-in\t"))
    }
}
