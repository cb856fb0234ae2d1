import Foundation
import LocalProvider
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct FailureTests {
    @Test func `a claims challenge is satisfied with a new token, or by a sign-in if that is not enough`() async throws
    {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        var faults = InjectedErrors()
        try faults.add(parsing: "directory-401-claims:1")
        terminal.provider.setInjectedErrors(faults)
        let met = await terminal.run("search", "ada")
        #expect(met.status == 0 && met.output.contains("Ada Lovelace"), "\(met.errors)")
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 1)
        try faults.add(parsing: "directory-401-claims:9")
        terminal.provider.setInjectedErrors(faults)
        let unmet = await terminal.run("search", "ada")
        #expect(
            unmet.status == 4 && unmet.errors.contains("hint: lodge sign-in local --claims '{"), "\(unmet.errors)")
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 2)
        terminal.provider.setInjectedErrors(InjectedErrors())
        #expect(await terminal.run("search", "ada").status == 0)
    }

    @Test func `metadata of another issuer shows both, and the hint names the setting`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.answer(ScriptedProvider.metadata, #"{"issuer": "ISSUER/"}"#)
        let settings =
            #"{"types": {"company": {"issuer": "\#(provider.issuer)", "clientId": "c", "scopes": ["openid"], "#
        try Data((settings + #""redirectUri": "http://127.0.0.1/callback"}}}"#).utf8).write(to: terminal.settings)
        let signIn = await terminal.run("sign-in", "company")
        #expect(signIn.status == 1, "\(signIn.errors)")
        #expect(
            signIn.errors.contains(#"issuer "\#(provider.issuer)/", not to "\#(provider.issuer)""#), "\(signIn.errors)")
        #expect(signIn.errors.contains("hint: if this is the right provider, correct its issuer"), "\(signIn.errors)")
    }

    @Test(arguments: [
        ("directory-401", 4), ("directory-403", 5), ("directory-404", 3), ("directory-html", 6), ("directory-cut", 7),
        ("directory-nextlink-foreign", 1), ("directory-nextlink-loop", 1),
    ])
    func `the response of the directory determines the exit status`(fault: String, status: Int32) async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        var faults = InjectedErrors()
        try faults.add(parsing: fault)
        terminal.provider.setInjectedErrors(faults)
        let answer = await terminal.run("search", "--all", "a")
        #expect(answer.status == status, "\(answer.errors)")
        #expect(answer.errors.hasPrefix("lodge: "))
        #expect(answer.errors.contains("\nhint: "))
        if ["directory-403", "directory-404"].contains(fault) { #expect(answer.errors.contains("\nrequest id: ")) }
        terminal.provider.setInjectedErrors(InjectedErrors())
        #expect(await terminal.run("search", "ada").status == 0)
    }

    @Test(arguments: [
        ("token-html", 7), ("token-half-json", 1), ("token-huge", 1), ("token-nothing", 7), ("token-slow=1", 7),
        ("token-500", 6), ("token-503", 6), ("token-429", 6), ("token-temporarily-unavailable", 6),
        ("token-invalid-client", 8),
        ("token-invalid-grant", 4),
    ])
    func `the response of the token endpoint determines the exit status, and no account is lost`(
        fault: String, status: Int32
    ) async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        terminal.provider.expireAccessTokens()
        var faults = InjectedErrors()
        try faults.add(parsing: fault)
        terminal.provider.setInjectedErrors(faults)
        let answer = await terminal.run("search", "ada", "--timeout", fault.hasPrefix("token-slow") ? "0.2" : "30")
        #expect(answer.status == status, "\(answer.errors)")
        terminal.provider.setInjectedErrors(InjectedErrors())
        let expected: Int32 = fault == "token-invalid-grant" ? 4 : 0
        // All commands get a saved transient error for a few seconds.
        if [6, 7].contains(status) { try await until { await terminal.run("search", "ada").status == expected } }
        let after = await terminal.run("search", "ada")
        #expect(after.status == expected, "\(after.errors)")
        #expect(await terminal.run("accounts").lines.count == 2)
    }

    @Test func `a throttled search reports when to retry`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        for fault in ["directory-429:1", "directory-503:1"] {
            var faults = InjectedErrors()
            try faults.add(parsing: fault)
            terminal.provider.setInjectedErrors(faults)
            let answer = await terminal.run("search", "ada")
            #expect([0, 6].contains(answer.status), "\(fault) \(answer.errors)")
            if answer.status == 6 { #expect(answer.errors.contains("retry at")) }
        }
    }

    @Test(arguments: [
        "O'Brien", "''", "%27", "李", "🎉", "a&b", "50%", "C#", "a+b", "x/y", "Ünal", "') or startswith(mail,'", "\\",
        "\"",
    ])
    func `search accepts any string`(text: String) async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        for option in ["--given-name", "--surname", "--name"] {
            let answer = await terminal.run("search", "\(option)=\(text)", "-o", "json")
            #expect([0, 3].contains(answer.status), "\(option) \(text) \(answer.errors)")
            let found = try #require(try JSONValue(parsing: answer.output).array)
            let member = ["--given-name": "givenName", "--surname": "surname", "--name": "displayName"][option] ?? ""
            let expected = terminal.provider.users.filter { person in
                let value =
                    option == "--given-name"
                    ? person.givenName : option == "--surname" ? person.surname : person.displayName
                return value?.lowercased().hasPrefix(text.lowercased()) == true
            }
            #expect(found.count == min(expected.count, 100), "\(option) \(text)")
            #expect(found.allSatisfy { $0.object?[member]?.string?.lowercased().hasPrefix(text.lowercased()) == true })
        }
    }

    @Test func `search finds the surname O'Brien`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let answer = await terminal.run("search", "--surname", "O'Brien")
        #expect(answer.status == 0)
        #expect(answer.output.contains("Aoife O'Brien"))
        let explained = await terminal.run("search", "--surname", "O'Brien", "--explain")
        #expect(explained.output.contains("startswith%28surname%2C%27O%27%27Brien%27%29"))
    }

    @Test func `an empty search is a usage error without a request`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let before = terminal.provider.log().count
        for words in [["--"], [""], [" "], ["\t"], ["", "--all"], ["--limit", "5"], ["--count"], ["--limit", "0"]] {
            let answer = await terminal.run(words: ["search"] + words)
            #expect(answer.status == 2, "\(words) \(answer.errors)")
        }
        #expect(terminal.provider.log().count == before)
    }

    @Test func `a search without matches exits with 3 and states the search`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let table = await terminal.run("search", "zzz")
        #expect(table.status == 3)
        #expect(table.errors.hasPrefix("No user has a name or address that starts with \"zzz\".\nhint: "))
        let both = await terminal.run("search", "ada", "--search", "zzz")
        #expect(
            both.errors
                == "No user has a name or address that starts with \"ada\" and has a display name with words that start "
                + "with \"zzz\".\n",
            "\(both.errors)")
        let json = await terminal.run("search", "zzz", "-o", "json", "--quiet")
        #expect(json.status == 3 && json.errors.isEmpty)
        #expect(try JSONValue(parsing: json.output) == [])
        let show = await terminal.run("show", "nobody@contoso.example")
        #expect(show.status == 3)
        #expect(show.errors.hasPrefix("lodge: no user nobody@contoso.example"))
    }

    @Test(arguments: [
        (#"{"types": {"a": {"clientIdd": "x"}}}"#, "types.a.clientIdd", "did you mean clientId?"),
        (
            #"{"types": {"a": {"issuer": "https://x.example", "redirectUri": "http://127.0.0.1/"}}}"#,
            "types.a.clientId", "nothing"
        ),
        (
            #"{"types": {"a": {"issuer": "http://x.example", "clientId": "x", "redirectUri": "http://127.0.0.1/"}}}"#,
            "types.a.issuer", "http://x.example"
        ),
        (
            #"{"types": {"a": {"issuer": 7, "clientId": "x", "redirectUri": "http://127.0.0.1/"}}}"#, "types.a.issuer",
            "found 7"
        ),
        (#"{"types": []}"#, "types", "an array"), ("{", "settings.json", "line 1"), ("[]", "settings.json", "an array"),
        ("<plist><dict>", "settings.json", "property list"), (#"{"types": {}}"#, "types", "at least one"),
        ("", "settings.json", "line 1"),
        (#"{"authority": "https://x.example", "clientId": "x"}"#, "redirectUri", "nothing"),
    ])
    func `an error in the settings names the file, the key, and the expected and actual values`(
        text: String, key: String, found: String
    ) async throws {
        let terminal = try await Terminal()
        try terminal.write(settings: text)
        let answer = await terminal.run("sign-in")
        #expect(answer.status == 8, "\(answer.errors)")
        #expect(answer.errors.hasPrefix("lodge: wrong settings: \(terminal.settings.path)"), "\(answer.errors)")
        #expect(answer.errors.contains(key) && answer.errors.contains(found), "\(answer.errors)")
        #expect(answer.errors.contains("expected "))
    }

    @Test func `missing settings are an error with the next command`() async throws {
        let terminal = try await Terminal()
        let missing = await terminal.run("accounts", "--settings", "/nowhere/settings.json")
        #expect(missing.status == 8)
        #expect(missing.errors.contains("/nowhere/settings.json") && missing.errors.contains("No such file"))
        terminal.set("LODGE_SETTINGS", nil)
        let none = await terminal.run("accounts")
        #expect(none.status == 8)
        #expect(none.errors.contains(".config/lodge/settings.json") && none.errors.contains("lodge demo"))
    }

    @Test func `an unusable store is an error, not an empty store`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let file = terminal.store.appending(path: "accounts.sqlite")
        let key = terminal.store.appending(path: "accounts.key")
        let whole = try Data(contentsOf: file)
        let secret = try Data(contentsOf: key)

        try Data("this is not a database, but a file of the user".utf8).write(to: file)
        let garbage = await terminal.run("accounts")
        #expect(garbage.status == 9 && garbage.errors.contains("\nhint: "), "\(garbage.errors)")
        #expect(try Data(contentsOf: file) == Data("this is not a database, but a file of the user".utf8))
        try whole.write(to: file)

        try FileManager.default.removeItem(at: key)
        let keyless = await terminal.run("accounts")
        #expect(keyless.status == 9 && keyless.errors.contains("the key of this store is missing"), "\(keyless.errors)")
        #expect(!FileManager.default.fileExists(atPath: key.path))
        try secret.write(to: key)
        try #require(chmod(key.path, 0o644) == 0)
        let open = await terminal.run("accounts")
        #expect(open.status == 9 && open.errors.contains("other users can read it"), "\(open.errors)")
        try #require(chmod(key.path, 0o600) == 0)

        try #require(chmod(terminal.store.path, 0o755) == 0)
        let wide = await terminal.run("accounts")
        #expect(wide.status == 9 && wide.errors.contains("chmod 700"), "\(wide.errors)")
        try #require(chmod(terminal.store.path, 0o700) == 0)
        #expect(await terminal.run("accounts").status == 0)
    }

    @Test func `--output json prints errors as objects`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run("me", "--output", "json")
        #expect(answer.status == 4 && answer.output.isEmpty)
        let error = try #require(try JSONValue(parsing: answer.errors).object?["error"]?.object)
        #expect(error["status"] == 4)
        #expect(error["hint"] == "lodge sign-in local")
        let usage = await terminal.run("serach", "ada")
        #expect(usage.status == 2 && usage.errors.contains("search"))
    }

    @Test func `no output contains a secret, even with --debug`() async throws {
        let terminal = try await Terminal()
        let signIn = await terminal.run("sign-in", "--debug")
        let token = await terminal.run("token").output.trimmingCharacters(in: .newlines)
        terminal.provider.expireAccessTokens()
        let search = await terminal.run("search", "ada", "--debug")
        #expect(search.errors.contains("> GET ") && search.errors.contains("> POST "))
        let said = signIn.errors + search.errors + (await terminal.run("status", "--debug").output)
        let renewed = await terminal.run("token").output.trimmingCharacters(in: .newlines)
        for secret in [token, renewed, "code=", "code_verifier="] { #expect(!said.contains(secret), "\(secret)") }
    }
}

@MainActor @Suite struct DeadlineTests {
    @Test func `--timeout includes the retries`() async throws {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        var faults = InjectedErrors()
        try faults.add(parsing: "directory-503=50")
        terminal.provider.setInjectedErrors(faults)
        let before = terminal.provider.log().count
        let begin = ContinuousClock.now
        let answer = await terminal.run("search", "ada", "--timeout", "45")
        #expect(answer.status == 6, "\(answer.errors)")
        #expect(answer.errors.contains("retry at"))
        // The first retry, after 50 s, would exceed the deadline, so the command does not wait for it.
        #expect(begin.duration(to: .now) < .seconds(45))
        #expect(terminal.provider.log().count <= before + 1)
    }
}
