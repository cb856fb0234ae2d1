import Foundation
import StrictJSON
import Testing

@testable import lodge

/// Settings in which one account type has an error.
@MainActor @Suite struct UnusableTypeTests {
    /// Returns a terminal with an account and unusable types before and after the usable type.
    private func scene() async throws -> Terminal {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        try write(terminal)
        return terminal
    }

    private func write(_ terminal: Terminal, breakingLocal: Bool = false) throws {
        let local = try #require(try JSONValue(parsing: terminal.nested)[path: "types", "local"]?.object)
        var own = local
        if breakingLocal { own["issuer"] = "ftp://id.example" }
        let file: JSONValue = [
            "types": [
                "typo": ["provider": "gogle", "clientId": "x"], "local": .object(own),
                "entra": ["issuer": "ftp://id.example", "clientId": "x", "redirectUri": "http://127.0.0.1/callback"],
            ]
        ]
        try terminal.write(settings: file.text())
    }

    @Test func `commands of other types work without a message about the unusable type`() async throws {
        let terminal = try await scene()
        terminal.replacement = { _, _ in 0 }
        for words in [
            ["token"], ["token", "--refresh"], ["me"], ["search", "ada"], ["show", "ada@contoso.example"], ["accounts"],
            ["exec", "true"], ["request", "GET", "/me"], ["sign-in", "local"], ["providers", "check", "local"],
        ] {
            let done = await terminal.run(words: words)
            #expect(done.status == 0 || words[0] == "exec", "\(words): \(done.errors)")
            #expect(!done.errors.contains("typo"), "\(words): \(done.errors)")
        }
        let verbose = await terminal.run("token", "--verbose")
        #expect(verbose.errors.contains("Cannot use the account type typo: "), "\(verbose.errors)")
    }

    @Test func `a command that needs an unusable type fails with the error of the type`() async throws {
        let terminal = try await scene()
        for words in [
            ["token", "--type", "typo"], ["sign-in", "typo"], ["sign-in"], ["providers", "check", "typo"],
            ["search", "ada", "--type", "typo"], ["search", "ada", "--explain", "--type", "typo"],
        ] {
            let done = await terminal.run(words: words)
            #expect(done.status == 8 && done.errors.contains("types.typo.provider"), "\(words): \(done.errors)")
            #expect(done.errors.contains("hint: did you mean google?"), "\(words): \(done.errors)")
        }
    }

    @Test func `git shows why a host of an unusable type gets no token`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"forge": {"provider": "gitlab"}, "api": {"resourceHosts": ["api.example"], "typo": 1},
                "own": {"issuer": "https://id.example", "redirectUri": "http://127.0.0.1/callback"}}}
                """)
        for (host, key) in [
            ("gitlab.com", "types.forge.clientId"), ("api.example", "types.api."), ("id.example", "types.own."),
        ] {
            let answer = await terminal.run("credential", "git", "get", input: "protocol=https\nhost=\(host)\n")
            #expect(answer.status == 8 && answer.output.isEmpty && answer.errors.contains(key), "\(host): \(answer)")
            #expect(answer.errors.contains("hint: "), "\(answer)")
        }
        let other = await terminal.run("credential", "git", "get", input: "protocol=https\nhost=github.com\n")
        #expect(other.status == 0 && other.output.isEmpty && other.errors.isEmpty, "\(other)")
    }

    /// Tests that no token is sent to another provider.
    @Test func `neither the preset of its name nor another type replaces an unusable type`() async throws {
        let terminal = try await scene()
        for words in [["sign-in", "entra"], ["token", "--type", "entra"], ["providers", "check", "entra"]] {
            let done = await terminal.run(words: words)
            #expect(done.status == 8 && done.errors.contains("types.entra.issuer"), "\(words): \(done.errors)")
        }
        let list = await terminal.run("providers", "-o", "json")
        let entra = try JSONValue(parsing: list.output).array?.filter { $0.object?["name"] == "entra" }
        #expect(entra?.count == 1 && entra?.first?.object?["from"] == "settings", "\(list.output)")
    }

    @Test func `lists and doctor show each unusable type with its error and its remedy`() async throws {
        let terminal = try await scene()
        let list = await terminal.run("providers")
        #expect(list.status == 0)
        let line = list.lines.first { $0.hasPrefix("typo\t") } ?? ""
        #expect(
            line.contains("types.typo.provider: expected the name of a preset") && line.contains("did you mean google?")
        )
        let show = await terminal.run("providers", "show", "entra")
        #expect(show.status == 0 && show.output.contains("types.entra.issuer"), "\(show.output)")
        let status = await terminal.run("status")
        #expect(status.status == 0 && status.output.contains("types.typo.provider"), "\(status.output)")
        let doctor = await terminal.run("doctor", "--offline")
        #expect(doctor.status == 8 && doctor.output.contains("settings\tok\t\t1 usable account type in "))
        #expect(doctor.output.contains("settings\tproblem\ttypo\t"), "\(doctor.output)")
        #expect(doctor.output.contains("did you mean google?") && doctor.output.contains("types.entra.issuer"))
        #expect(doctor.output.contains("accounts\tok\tada@contoso.example\tsigned in"), "\(doctor.output)")
        #expect(await terminal.run("doctor", "--offline", "--type", "local").status == 0)
        #expect(await terminal.run("doctor", "--offline", "--type", "typo").status == 8)
        let check = await terminal.run("providers", "check", "typo", "-o", "json")
        #expect(try JSONValue(parsing: check.output).array?.first?.object?["state"] == "problem")
    }

    @Test func `the account of an unusable type remains active and needs sign-out --local`()
        async throws
    {
        let terminal = try await scene()
        try write(terminal, breakingLocal: true)
        #expect(await terminal.run("accounts").output.contains("*\tada@contoso.example"))
        #expect(await terminal.run("status").output.contains("ada@contoso.example\tlocal\tsigned in"))
        for words in [
            ["token", "--refresh"], ["me"], ["search", "ada"], ["request", "GET", "/me"], ["sync"],
            ["sign-in", "local"],
            ["sign-out"], ["sign-out", "--all"], ["providers", "remove", "local"],
        ] {
            let done = await terminal.run(words: words)
            let status: Int32 = words[0] == "providers" ? 1 : 8
            #expect(done.status == status, "\(words): \(done.errors)")
            #expect(words[0] == "providers" || done.errors.contains("types.local.issuer"), "\(words): \(done.errors)")
        }
        try write(terminal)
        #expect(await terminal.run("token", "--refresh").status == 0)
        try write(terminal, breakingLocal: true)
        let out = await terminal.run("sign-out", "--local")
        #expect(out.status == 0, "\(out.errors)")
        let removed = await terminal.run("providers", "remove", "local")
        #expect(removed.status == 0, "\(removed.errors)")
    }

    @Test func `accounts of an unusable type are not imported to another type with its client`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let path = terminal.folder.appending(path: "export.json").path
        let exported = await terminal.run("accounts", "export", "--reveal-secrets", "--output-file", path)
        #expect(exported.status == 0, "\(exported.errors)")
        let usable = try #require(try JSONValue(parsing: terminal.nested)[path: "types", "local"]?.object)
        var broken = usable
        broken["issuer"] = "ftp://id.example"
        let file: JSONValue = ["types": ["twin": .object(usable), "local": .object(broken)]]
        try terminal.write(settings: file.text())
        terminal.set("LODGE_STORE", terminal.folder.appending(path: "other").path)
        let named = await terminal.run("accounts", "import", path)
        #expect(named.status == 3 && named.output.contains("types.local.issuer"), "\(named)")
        let chosen = await terminal.run("accounts", "import", path, "--type", "local")
        #expect(chosen.status == 8 && chosen.errors.contains("types.local.issuer"), "\(chosen)")
        // An MSAL cache does not name the type, so the client would select the other type.
        let cache: JSONValue = [
            "RefreshToken": [
                "k": [
                    "home_account_id": "a.b", "secret": "RT", "environment": "127.0.0.1",
                    "client_id": .string(terminal.provider.clientID),
                ]
            ]
        ]
        let guessed = await terminal.run("accounts", "import", input: cache.text())
        #expect(guessed.status == 3 && guessed.output.contains("the account type local has its client"), "\(guessed)")
        #expect(await terminal.run("accounts").status == 3)
    }

    @Test func `a client that an unusable type may use is not deleted with another type`() async throws {
        let terminal = try await Terminal(.init())
        terminal.set("LODGE_SETTINGS", nil)
        let added = await terminal.run(
            "providers", "add", "company", "--issuer", "\(terminal.provider.issuer)", "--register")
        #expect(added.status == 0, "\(added.errors)")
        let file = terminal.folder.appending(path: ".config/lodge/settings.json")
        var settings = try #require(try JSONValue(parsing: Data(contentsOf: file)).object)
        var types = try #require(settings["types"]?.object)
        var other = try #require(types["company"]?.object)
        other["issuer"] = "ftp://id.example"
        types.append("other", .object(other))
        settings["types"] = .object(types)
        try JSONValue.object(settings).text().write(to: file, atomically: false, encoding: .utf8)
        let removed = await terminal.run("providers", "remove", "company")
        #expect(
            removed.status == 0 && removed.errors.contains("remains registered: the type other uses it"), "\(removed)")
        let blocked = await terminal.run("providers", "remove", "other")
        #expect(blocked.status == 8 && blocked.errors.contains("types.other.issuer"), "\(blocked)")
        #expect(await terminal.run("providers", "remove", "other", "--local").status == 0)
    }
}
