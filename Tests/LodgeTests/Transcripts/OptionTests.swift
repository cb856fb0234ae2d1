import Foundation
import HTTPExchange
import OAuth2AccountStore
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

/// Options that the other transcripts do not cover.
@MainActor @Suite struct OptionTests {
    private func signedIn() async throws -> Terminal {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    @Test func `search finds users by each property`() async throws {
        let terminal = try await signedIn()
        for words in [
            ["search", "--name", "Ada Love"], ["search", "--mail", "ada@contoso"], ["search", "--upn", "ada@contoso"],
            ["search", "--surname", "Lovelace", "--given-name", "Ada"],
            ["search", "--department", "Sales", "--given-name", "Ada"],
            ["search", "--job-title", "Engineer", "--given-name", "Ada"],
            ["search", "--filter", "startswith(surname,'Lovel')"],
            ["search", "--name", "Nobody", "--mail", "ada@contoso", "--any"],
        ] {
            let found = await terminal.run(words: words + ["--fields", "mail", "-o", "tsv"])
            #expect(found.output.contains("ada@contoso.example\n"), "\(words): \(found.errors)")
        }
    }

    @Test func `--limit and --page-size set the number of users and the page size`() async throws {
        let terminal = try await signedIn()
        let found = await terminal.run("search", "a", "--limit", "3", "--page-size", "1", "-o", "jsonl")
        #expect(found.status == 0 && found.lines.count == 3)
        #expect(terminal.provider.log().count { $0.path.hasSuffix("/users") } == 3)
        #expect(found.errors.isEmpty, "a scheduled job prints no advice")
        let verbose = await terminal.run("search", "a", "--limit", "3", "--verbose")
        #expect(verbose.errors.hasSuffix("\nThere are more users: --all lists all of them, --limit N lists more.\n"))
        #expect(await terminal.run("search", "-o", "mutt", "a", "--limit", "2").lines.count == 3)
    }

    @Test func `--add-scope keeps scopes added earlier, and --scope replaces all scopes`() async throws {
        let terminal = try await signedIn()
        func scopes() async throws -> Set<String> {
            let accounts = try JSONValue(parsing: await terminal.run("accounts", "-o", "json").output)
            return Set(accounts.array?.first?.object?["scopes"]?.array?.compactMap(\.string) ?? [])
        }
        let first = try await scopes()
        #expect(await terminal.run("sign-in", "--add-scope", "User.Read.All").status == 0)
        #expect(await terminal.run("sign-in", "--add-scope", "GroupMember.Read.All").status == 0)
        #expect(try await scopes() == first.union(["User.Read.All", "GroupMember.Read.All"]))
        #expect(await terminal.run("sign-in", "--scope", "openid", "--add-scope", "User.Read").status == 0)
        #expect(try await scopes() == ["openid", "User.Read"])
    }

    @Test func `environment variables do not change the result of a search`() async throws {
        let terminal = try await signedIn()
        let before = await terminal.run("search", "ad", "-o", "jsonl")
        #expect(before.status == 0 && before.lines.count > 1)
        for option in SearchCommand.command.spec.options {
            terminal.set(commandSyntax.variable(named: option.name), "1")
        }
        let after = await terminal.run("search", "ad", "-o", "jsonl")
        #expect(after.output == before.output && after.errors == before.errors)
        #expect(await terminal.run("search", "ad", "--all", "--limit", "2").status == 2)
    }

    @Test func `--param adds a parameter to the authorization request`() async throws {
        let terminal = try await Terminal()
        terminal.person(.walksAway)
        let words = ["sign-in", "--no-browser", "--timeout", "2", "--param", "audience=https://api.example/a b"]
        let shown = await terminal.run(words: words)
        #expect(shown.errors.contains("audience=https%3A%2F%2Fapi.example%2Fa%20b"), "\(shown.errors)")
        #expect(await terminal.run("sign-in", "--param", "audience").status == 2)
    }

    @Test(arguments: [
        (["--claims", "{"], "--claims"), (["--claims", "[]"], "--claims"), (["--scope", "Mail.Réad"], "--scope"),
        (["--scope", "a\"b"], "--scope"), (["--param", "state=1"], "--param"), (["--param", "scope=a"], "--scope"),
        (["--param", "prompt=none", "--prompt", "login"], "--prompt"), (["--param", "max_age=soon"], "max_age"),
    ])
    func `an invalid option of sign-in is an error before any request`(
        words: [String], option: String
    ) async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run(words: ["sign-in"] + words)
        #expect(answer.status == 2 && answer.errors.contains(option), "\(answer.errors)")
        #expect(answer.errors.contains("\nhint: ") && terminal.provider.log().isEmpty)
    }

    @Test func `an invalid --scope is a usage error`() async throws {
        let terminal = try await signedIn()
        for words in [["token"], ["request", "GET", "/me"]] {
            let answer = await terminal.run(words: words + ["--scope", "ä"])
            #expect(answer.status == 2 && answer.errors.contains("--scope"), "\(answer.errors)")
        }
        #expect(await terminal.run("sign-in", "--claims", "{\"id_token\": {\"email\": null}}").status == 0)
    }

    @Test func `sign-out --browser ends the browser session`() async throws {
        let terminal = try await signedIn()
        let out = await terminal.run("sign-out", "--browser", "-o", "json")
        #expect(out.status == 0, "\(out.errors)")
        let part = try JSONValue(parsing: out.output).array?.first?.object
        #expect(part?["removed"] == true && part?["browserSession"] != "skipped")
    }

    @Test func `token --header and exec accept --refresh and --scope`() async throws {
        let terminal = try await signedIn()
        let header = await terminal.run("token", "--header", "--scope", "User.Read")
        #expect(header.status == 0 && header.output.hasPrefix("Authorization: Bearer "), "\(header.errors)")
        let before = await terminal.run("token").output
        var given = ""
        terminal.replacement = { _, environment in
            given = environment["OAUTH2_ACCESS_TOKEN"] ?? ""
            return ENOENT
        }
        #expect(await terminal.run("exec", "--refresh", "--scope", "User.Read", "--", "true").status == 127)
        #expect(!given.isEmpty && given + "\n" != before)
    }

    @Test func `providers add --client-secret-file writes only the path of the secret`() async throws {
        let terminal = try await Terminal()
        let file = terminal.folder.appending(path: "secret")
        try "s3cret".write(to: file, atomically: true, encoding: .utf8)
        let added = await terminal.run(
            "providers", "add", "own", "--issuer", "\(terminal.provider.issuer)", "--client-id", "x",
            "--client-secret-file", file.path)
        #expect(added.status == 0, "\(added.errors)")
        let text = try String(contentsOf: terminal.settings, encoding: .utf8)
        #expect(text.contains("secret") && !text.contains("s3cret"))
    }

    @Test func `config path prints only the path`() async throws {
        let terminal = try await Terminal()
        let path = await terminal.run("config", "path")
        #expect(path.status == 0 && path.output == terminal.settings.path + "\n" && path.errors.isEmpty)
    }

    @Test func `the global options apply to every command`() async throws {
        let terminal = try await signedIn()
        let elsewhere = terminal.folder.appending(path: "elsewhere").path
        #expect(await terminal.run("accounts", "--store", elsewhere).status == 3)
        #expect(
            await terminal.run("--store=\(terminal.store.path)", "accounts", "--no-color", "--no-pager").status == 0)
        let file = await terminal.run("me", "--ca-file", "/nonexistent.pem")
        #expect(file.status == 8 && file.errors.contains("hint:"), "\(file.errors)")
        #expect(await terminal.run("status", "--verbose").status == 0)
        #expect(await terminal.run("me", "--output", "csv", "--csv-raw").status == 0)
        let raw = await terminal.run("me", "--output", "json", "--csv-raw")
        #expect(raw.status == 2 && raw.errors.contains("add --output csv"), "\(raw.errors)")
        terminal.set("CLICOLOR_FORCE", "1")
        #expect(await terminal.run("accounts").output.contains("\u{1B}[1m"))
        #expect(await terminal.run("accounts", "--no-color").output.contains("\u{1B}") == false)
        terminal.set("NO_COLOR", "1")
        #expect(await terminal.run("accounts").output.contains("\u{1B}") == false)
    }

    @Test func `help and --help print the same text, which ends with one newline`() async throws {
        let terminal = try await Terminal()
        let help = await terminal.run("help", "search")
        #expect(help.status == 0 && help.output.hasPrefix("Search for users.\n") && help.errors.isEmpty)
        #expect(help.output.hasSuffix("lodge help options\n") && !help.output.hasSuffix("\n\n"))
        #expect(await terminal.run("search", "--help").output == help.output)
        #expect(await terminal.run("-h", "search", "--limit", "wrong").output == help.output)
        #expect(await terminal.run().output == (await terminal.run("--help")).output)
        for page in commandSyntax.reference.pages {
            #expect(await terminal.run("help", page.name).output.hasPrefix(page.summary + "\n"))
        }
        let wrong = await terminal.run("help", "exit-status")
        #expect(wrong.status == 2 && wrong.errors.contains("did you mean lodge help exit-statuses?"))
        #expect(await terminal.run("--version").output == "lodge \(Program.version)\n")
    }

    @Test func `serve applies its options and runs until it is interrupted`() async throws {
        let terminal = try await Terminal()
        let file = terminal.folder.appending(path: "port")
        let serving = Task {
            await terminal.run(
                "serve", "--port", "0", "--users", "7", "--port-file", file.path, "--token-lifetime", "60", "--quota",
                "100000", "--fault", "directory-503:1", "--log", "--scope", "tasks.read")
        }
        var port = ""
        try await until {
            port = ((try? String(contentsOf: file, encoding: .utf8)) ?? "").trimmingCharacters(
                in: .whitespacesAndNewlines)
            return !port.isEmpty
        }
        let address = try #require(URL(string: "http://127.0.0.1:\(port)/.well-known/openid-configuration"))
        let answer = try await CurlTransport(userAgent: "a test").send(HTTPRequest(.get, address))
        #expect(answer.status == 200)
        serving.cancel()
        let served = await serving.value
        #expect(served.status == 0 && served.output == "http://127.0.0.1:\(port)\n", "\(served)")
        #expect(served.errors.contains("7 sample users") && served.errors.hasSuffix("Stopped.\n"))
        #expect(served.errors.contains("GET /.well-known/openid-configuration 200"))
        #expect(served.errors.contains("\n               tasks.read\n"), "\(served.errors)")
        let wrong = await terminal.run("serve", "--fault", "nix")
        #expect(wrong.status == 2 && wrong.errors.hasSuffix("hint: lodge help faults\n"))
        #expect(await terminal.run("serve", "--port", "70000").status == 2)
    }

    @Test func `serve with TLS prints its CA and the client of the command line`() async throws {
        let terminal = try await Terminal()
        let file = terminal.folder.appending(path: "port")
        let serving = Task {
            await terminal.run(
                "serve", "--tls", "--client", "web:cf136dc3c1fc", "--redirect-uri", "https://app.example/cb",
                "--approve",
                "--port-file", file.path, "--output", "json")
        }
        try await until { FileManager.default.fileExists(atPath: file.path) }
        serving.cancel()
        let served = await serving.value
        #expect(served.status == 0, "\(served)")
        let facts = try JSONValue(parsing: served.output).object
        #expect(facts?["issuer"]?.string?.hasPrefix("https://") == true, "\(served.output)")
        #expect(served.output.contains("cf136dc3c1fc"))
    }

    @Test func `serve rejects a scope with a space`() async throws {
        let wrong = try await Terminal().run("serve", "--scope", "tasks.read tasks.write")
        #expect(wrong.status == 2)
        #expect(wrong.errors.contains("cannot offer the scope \"tasks.read tasks.write\""), "\(wrong.errors)")
    }

    @Test func `serve writes its CA to the named file, and deletes only its own`() async throws {
        let terminal = try await Terminal()
        let (port, authority) = (terminal.folder.appending(path: "port"), terminal.folder.appending(path: "ca.pem"))
        for isReplaced in [false, true] {
            let serving = Task {
                await terminal.run(
                    "serve", "--tls", "--write-ca", authority.path, "--port-file", port.path, "--output", "json")
            }
            try await until { FileManager.default.fileExists(atPath: port.path) }
            let text = try String(contentsOf: authority, encoding: .utf8)
            #expect(text.hasPrefix("-----BEGIN CERTIFICATE-----") && !text.contains("PRIVATE KEY"))
            if isReplaced { try "another".write(to: authority, atomically: true, encoding: .utf8) }
            serving.cancel()
            let served = await serving.value
            #expect(served.status == 0, "\(served)")
            #expect(try JSONValue(parsing: served.output)[path: "caFile"]?.string == authority.path)
            #expect(FileManager.default.fileExists(atPath: authority.path) == isReplaced)
            try FileManager.default.removeItem(at: port)
        }
        #expect(await terminal.run("serve", "--write-ca", authority.path).status == 2)
    }
}
