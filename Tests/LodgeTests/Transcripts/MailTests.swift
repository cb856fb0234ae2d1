import Foundation
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests the commands for mail programs and cron: `token --sasl`, `accounts refresh`, `sign-in --name`.
@MainActor @Suite struct MailTests {
    private func signedIn() async throws -> Terminal {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        return terminal
    }

    /// Returns the decoded response of `--sasl`, with TOKEN in place of the token.
    private func response(_ transcript: Terminal.Transcript, _ token: some StringProtocol) throws -> String {
        #expect(transcript.status == 0 && transcript.errors.isEmpty, "\(transcript)")
        #expect(transcript.lines.count == 1 && transcript.output.hasSuffix("\n"))
        let bytes = try #require(Data(base64Encoded: String(transcript.output.dropLast())))
        return String(decoding: bytes, as: UTF8.self).replacing(token, with: "TOKEN")
    }

    @Test func `token --sasl prints the initial response of each mechanism on one line`() async throws {
        let terminal = try await signedIn()
        let token = await terminal.run("token").output.dropLast()
        #expect(
            try response(await terminal.run("token", "--sasl", "xoauth2"), token)
                == "user=ada@contoso.example\u{1}auth=Bearer TOKEN\u{1}\u{1}")
        #expect(
            try response(await terminal.run("token", "--sasl", "oauthbearer"), token)
                == "n,a=ada@contoso.example,\u{1}auth=Bearer TOKEN\u{1}\u{1}")
        // RFC 5801 section 4. XOAUTH2 has no such rule.
        let odd = await terminal.run("token", "--sasl", "oauthbearer", "--user", "a,b=c=2C@Zürich.example")
        #expect(try response(odd, token) == "n,a=a=2Cb=3Dc=3D2C@Zürich.example,\u{1}auth=Bearer TOKEN\u{1}\u{1}")
        let plain = await terminal.run("token", "--sasl", "xoauth2", "--user", "a,b=c@d.example")
        #expect(try response(plain, token) == "user=a,b=c@d.example\u{1}auth=Bearer TOKEN\u{1}\u{1}")
        // LODGE_OUTPUT does not apply to --sasl.
        terminal.set("LODGE_OUTPUT", "json")
        #expect(try response(await terminal.run("token", "--sasl", "xoauth2"), token).hasPrefix("user="))
    }

    @Test func `token --sasl works with the options that select the token`() async throws {
        let terminal = try await signedIn()
        let old = await terminal.run("token").output.dropLast()
        for option in [["--refresh"], ["--scope", "User.Read"], ["--min-validity", "10m"]] {
            let printed = await terminal.run(words: ["token", "--sasl", "xoauth2"] + option)
            let token = await terminal.run("token").output.dropLast()
            #expect(try response(printed, token) == "user=ada@contoso.example\u{1}auth=Bearer TOKEN\u{1}\u{1}")
        }
        #expect(await terminal.run("token").output.dropLast() != old)
    }

    @Test func `token --sasl rejects user names with control characters and other outputs`() async throws {
        let terminal = try await signedIn()
        for user in ["a\u{1}auth=Bearer x", "a\nb", "a\rb", "a\u{7F}", "a\u{85}b", "\t"] {
            let refused = await terminal.run("token", "--sasl", "xoauth2", "--user", user)
            #expect(refused.status == 2 && refused.output.isEmpty, "\(refused)")
            #expect(refused.errors.contains("expected a user name without control characters"))
        }
        for other in [
            ["--header"], ["--expires"], ["--introspect"], ["--output", "json"], ["--output=csv"],
        ] {
            let refused = await terminal.run(words: ["token", "--sasl", "xoauth2"] + other)
            #expect(refused.status == 2 && refused.output.isEmpty && refused.errors.contains("hint"), "\(refused)")
        }
        for wrong in [
            ["--user", "ada@contoso.example"], ["--sasl", "plain"], ["--refresh", "--min-validity", "5m"],
            ["--min-validity", "soon"], ["--min-validity", "-1"], ["--min-validity", "5d"],
        ] {
            let refused = await terminal.run(words: ["token"] + wrong)
            #expect(refused.status == 2 && refused.output.isEmpty, "\(refused)")
        }
    }

    @Test func `token --sasl needs --user if the account has no name`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"mail": {"tokenEndpoint": "https://id.example/token", "clientId": "c", "scopes": ["m"],
                "redirectUri": "http://127.0.0.1/callback"}}}
                """)
        let token = #"{"access_token": "AT", "token_type": "Bearer", "expires_in": 3600}"#
        #expect(await terminal.run("sign-in", "mail", "--with-token", input: token).status == 0)
        let nameless = await terminal.run("token", "--sasl", "xoauth2")
        #expect(nameless.status == 2 && nameless.output.isEmpty)
        #expect(nameless.errors.contains("is unknown\nhint: pass it with --user\n"), "\(nameless)")
        let named = await terminal.run("token", "--sasl", "xoauth2", "--user", "ada@contoso.example")
        #expect(named.output == "dXNlcj1hZGFAY29udG9zby5leGFtcGxlAWF1dGg9QmVhcmVyIEFUAQE=\n")
    }

    @Test func `token --min-validity refreshes a token that expires earlier`() async throws {
        let terminal = try await signedIn()
        let token = await terminal.run("token").output
        // Move the account to another store as if the provider had issued the token 50 minutes ago.
        let export = await terminal.run("accounts", "export", "--reveal-secrets").output
        let aged = export.replacing(
            /"received": [0-9]+/, with: "\"received\": \(Int(Date.now.timeIntervalSince1970) - 3000)")
        #expect(aged != export)
        terminal.set("LODGE_STORE", terminal.folder.appending(path: "other").path)
        #expect(await terminal.run("accounts", "import", input: aged).status == 0)
        for short in ["1", "60s", "5m"] {
            #expect(await terminal.run("token", "--min-validity", short).output == token, "\(short)")
        }
        let later = await terminal.run("token", "--min-validity", "20m")
        #expect(later.status == 0 && later.output != token && !later.output.isEmpty)
        let longest = await terminal.run("token", "--min-validity", "1h")
        #expect(
            longest.output == later.output && longest.errors.contains("before the time of --min-validity"),
            "\(longest.errors)")
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 1)
    }

    // MARK: accounts refresh

    @Test func `accounts refresh refreshes the token and prints no output without a terminal`() async throws {
        let terminal = try await signedIn()
        let token = await terminal.run("token").output
        for words in [[], ["ada@contoso.example"], ["--all"], ["--all", "--type", "local"]] {
            let done = await terminal.run(words: ["accounts", "refresh"] + words)
            #expect(done.status == 0 && done.output.isEmpty && done.errors.isEmpty, "\(done)")
        }
        #expect(terminal.provider.tokenRequestCount(grantType: "refresh_token") == 4)
        #expect(await terminal.run("token").output != token)
        terminal.isTerminal = true
        let shown = await terminal.run("accounts", "refresh", "--all")
        #expect(shown.errors == "Refreshed ada@contoso.example (local): it expires in 59 min.\n", "\(shown)")
        let json = await terminal.run("accounts", "refresh", "--output", "json")
        let record = try #require(try JSONValue(parsing: json.output).array?.first?.object)
        #expect(record["result"] == "refreshed" && record["status"] == 0 && record["expires"]?.string != nil)
    }

    @Test func `accounts refresh reports each failed account on one line and continues`() async throws {
        let terminal = try await Terminal()
        let issuer = "\(terminal.provider.issuer)", client = terminal.provider.clientID
        try terminal.write(
            settings: """
                {"defaultType": "local", "types": {
                "local": {"issuer": "\(issuer)", "clientId": "\(client)",
                "redirectUri": "http://127.0.0.1/callback", "scopes": ["openid", "profile", "offline_access"]},
                "offline": {"tokenEndpoint": "http://127.0.0.1:1/token", "clientId": "c", "scopes": ["m"],
                "redirectUri": "http://127.0.0.1/callback"},
                "brief": {"tokenEndpoint": "https://id.example/token", "clientId": "c", "scopes": ["m"],
                "redirectUri": "http://127.0.0.1/callback"},
                "fixed": {"resourceHosts": ["api.example"]}}}
                """)
        func add(_ type: String, _ token: String) async {
            #expect(await terminal.run("sign-in", type, "--with-token", "--name", type, input: token).status == 0)
        }
        await add(
            "offline", #"{"access_token": "A1", "token_type": "Bearer", "refresh_token": "R", "expires_in": 3600}"#)
        await add("fixed", "A2")
        #expect(await terminal.run("sign-in", "local", "--name", "home").status == 0)
        let token = await terminal.run("token").output
        // A token that never expires is not an error.
        let network = await terminal.run("accounts", "refresh", "--all")
        #expect(network.status == 7 && network.output.isEmpty, "\(network)")
        #expect(
            network.lines.isEmpty && network.errors.split(separator: "\n").count == 1
                && network.errors.hasPrefix("lodge: cannot refresh offline (offline): "), "\(network)")
        #expect(await terminal.run("token").output != token)
        #expect(await terminal.run("accounts", "refresh", "fixed").status == 4)
        // A token that expires and cannot be refreshed needs a sign-in, which determines the status.
        await add("brief", #"{"access_token": "A3", "token_type": "Bearer", "expires_in": 3600}"#)
        let needed = await terminal.run("accounts", "refresh", "--all")
        #expect(needed.status == 4 && needed.errors.split(separator: "\n").count == 2, "\(needed)")
        #expect(
            needed.errors.contains("lodge: cannot refresh brief (brief): ")
                && needed.errors.contains("no refresh token"))
        #expect(needed.errors.contains("lodge sign-in brief"), "\(needed)")
        let json = await terminal.run("accounts", "refresh", "--all", "-o", "json")
        let results = try #require(try JSONValue(parsing: json.output).array)
        #expect(json.status == 4 && json.errors.isEmpty)
        #expect(results.compactMap { $0.object?["account"]?.string } == ["offline", "fixed", "home", "brief"])
        #expect(
            results.compactMap { $0.object?["result"]?.string } == ["failed", "unchanged", "refreshed", "failed"])
        #expect(results.last?.object?["hint"]?.string?.contains("lodge sign-in brief") == true)
        let quiet = await terminal.run("accounts", "refresh", "--all", "--quiet")
        #expect(quiet.status == 4 && quiet.errors.split(separator: "\n").count == 2)
    }

    @Test func `accounts refresh ends with 4 if the provider rejects an account, and with 7 after --timeout`()
        async throws
    {
        let terminal = try await signedIn()
        terminal.provider.revokeGrants()
        let rejected = await terminal.run("accounts", "refresh", "--all")
        #expect(rejected.status == 4 && rejected.errors.contains("lodge sign-in local"), "\(rejected)")
        #expect(rejected.errors.hasPrefix("lodge: cannot refresh ada@contoso.example (local): "))
        #expect(await terminal.run("sign-in").status == 0)
        let late = await terminal.run("accounts", "refresh", "--all", "--timeout", "0.001")
        #expect(late.status == 7 && late.output.isEmpty, "\(late)")
    }

    @Test func `accounts refresh rejects invalid combinations and unknown accounts`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("accounts", "refresh").status == 4)
        #expect(await terminal.run("accounts", "refresh", "--all").status == 3)
        for words in [["--all", "ada"], ["--all", "--account", "ada"], ["-o", "csv"]] {
            #expect(await terminal.run(words: ["accounts", "refresh"] + words).status == 2, "\(words)")
        }
        #expect(await terminal.run("accounts", "refresh", "nobody").status == 3)
        #expect(await terminal.run("accounts", "refresh", "--all", "--type", "nowhere").status == 8)
    }

    @Test func `accounts refresh refreshes many accounts, a few at the same time`() async throws {
        let terminal = try await Terminal()
        var accounts = JSONObject()
        let names = (0..<40).map { "user-\($0)" }
        accounts.append("format", "oauth2-accounts")
        accounts.append("version", 1)
        accounts.append(
            "accounts",
            .array(
                names.map {
                    [
                        "type": "local", "label": .string($0), "refreshToken": .string("R-\($0)"),
                        "clientId": .string(terminal.provider.clientID),
                    ]
                }))
        #expect(await terminal.run("accounts", "import", input: JSONValue.object(accounts).text()).status == 0)
        let done = await terminal.run("accounts", "refresh", "--all")
        // The provider rejects all of them. lodge reports all in order.
        #expect(done.status == 4, "\(done)")
        let reported = done.errors.split(separator: "\n").compactMap {
            $0.split(separator: " ").dropFirst(3).first.map(String.init)
        }
        #expect(reported == names, "\(reported)")
    }

    // MARK: sign-in --name

    @Test func `sign-in --name labels the account on every sign-in`() async throws {
        let terminal = try await Terminal()
        for _ in 0..<2 {
            let named = await terminal.run("sign-in", "--name", "work")
            #expect(named.status == 0 && named.errors.hasSuffix("The account is called work.\n"), "\(named)")
        }
        #expect(await terminal.run("accounts").output.contains("\twork\t"))
        #expect(await terminal.run("token", "--account", "work").status == 0)
        // Sign in as a different user: only the sign-in shows that it is another account.
        terminal.person(.approvesAs("li.ming@contoso.example"))
        let taken = await terminal.run("sign-in", "--name", "work")
        #expect(taken.status == 2 && taken.errors.contains("another account has this name"), "\(taken)")
        #expect(taken.errors.contains("hint: you are signed in; for another name, run: lodge accounts rename "))
        #expect(await terminal.run("accounts").lines.count == 3)
    }

    @Test func `sign-in --name rejects an invalid name before the sign-in`() async throws {
        let terminal = try await signedIn()
        let requests = terminal.provider.requestCount()
        for name in ["a\u{202E}b", "a\nb", String(repeating: "x", count: 201)] {
            let refused = await terminal.run("sign-in", "--name", name)
            #expect(
                refused.status == 2 && refused.errors.contains("expected a name of at most 200 bytes"), "\(refused)")
        }
        try terminal.write(settings: terminal.nested.replacing("\"local\":", with: "\"other\":"))
        let taken = await terminal.run("sign-in", "other", "--name", "ADA@contoso.example")
        #expect(taken.status == 2 && taken.errors.contains("another account has this name"), "\(taken)")
        #expect(terminal.provider.requestCount() == requests)
    }
}
