import Foundation
import LocalProvider
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests the options for the account features of MSAL.
@MainActor @Suite struct AccountOptionTests {
    @Test func `sign-in sends prompt, hints and claims`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run(
            "sign-in", "--no-browser", "--timeout", "2", "--prompt", "login consent", "--login-hint",
            "ada@contoso.example", "--domain-hint", "contoso.example", "--claims", #"{"id_token":{"acr":null}}"#)
        let line = try #require(answer.errors.split(separator: "\n").first { $0.hasPrefix("http") })
        let items = try #require(URLComponents(string: String(line))?.queryItems)
        func value(_ name: String) -> String? { items.first { $0.name == name }?.value }
        #expect(value("prompt") == "login consent")
        #expect(value("login_hint") == "ada@contoso.example")
        #expect(value("domain_hint") == "contoso.example")
        #expect(value("claims") == #"{"id_token":{"acr":null}}"#)
    }

    @Test func `sign-in with a policy that the settings do not name is a settings error`() async throws {
        let terminal = try await Terminal()
        let answer = await terminal.run("sign-in", "--policy", "editProfile")
        #expect(answer.status == 8)
        #expect(answer.errors.contains("the settings of local do not have policies"))
    }

    @Test func `token --scope prints a separate token, and a scope that was not granted needs a sign-in`() async throws
    {
        let terminal = try await Terminal()
        _ = await terminal.run("sign-in")
        let main = await terminal.run("token").output
        #expect(await terminal.run("token", "--scope", "User.Read").output == main)
        let renewed = await terminal.run("token", "--scope", "User.Read", "--refresh").output
        #expect(renewed != main)
        #expect(await terminal.run("token", "--expires", "--scope", "User.Read").output.hasSuffix("Z\n"))
        let refused = await terminal.run("token", "--scope", "Mail.Send")
        #expect(refused.status == 4)
        #expect(refused.output.isEmpty)
        #expect(refused.errors.contains("not granted: Mail.Send"))
        #expect(refused.errors.contains("hint: lodge sign-in local --scope 'openid"))
        #expect(refused.errors.contains("Mail.Send'"))
        // The account is still signed in.
        #expect(await terminal.run("status").status == 0)
        #expect(await terminal.run("token").output == renewed)
    }

    @Test func `the account that signed in last is active in every command`() async throws {
        let terminal = try await Terminal()
        let type = try #require(try JSONValue(parsing: terminal.nested).object?["types"]?.object?["local"]).text()
        try terminal.write(settings: #"{"types": {"local": \#(type), "second": \#(type)}}"#)
        func active() async throws -> [String] {
            let accounts = try JSONValue(parsing: await terminal.run("accounts", "-o", "json").output).array ?? []
            return accounts.compactMap { $0.object?["active"] == true ? $0.object?["type"]?.string : nil }
        }
        let none = await terminal.run("token")
        #expect(none.status == 4 && none.errors.contains("there is no account\nhint: lodge sign-in local"))
        #expect(await terminal.run("sign-in", "second").status == 0)
        #expect(try await active() == ["second"])
        for words in [["token"], ["me"], ["search", "ada"], ["request", "GET", "/me"]] {
            let run = await terminal.run(words: words)
            #expect(run.status == 0, "\(words): \(run.errors)")
        }
        #expect(await terminal.run("search", "ada", "--explain").status == 0)
        let first = await terminal.run("token", "--type", "local")
        #expect(first.status == 4 && first.errors.contains("there is no account of type local"), "\(first.errors)")
        terminal.person(.approvesAs("li.ming@contoso.example"))
        #expect(await terminal.run("sign-in").status == 0)
        #expect(try await active() == ["local"])
        #expect(await terminal.run("accounts", "use", "ada@contoso.example").status == 0)
        #expect(try await active() == ["second"])
        #expect(await terminal.run("me").output.contains("Ada"))
        #expect(await terminal.run("me", "--type", "local").output.contains("li.ming"))
        #expect(await terminal.run("sign-out").status == 0)
        #expect(try await active() == ["local"])
    }

    @Test func `sign-out suggests --browser only if the provider can end the session`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let offered = await terminal.run("sign-out")
        #expect(offered.errors.contains("The browser's session continues (--browser ends it).\n"), "\(offered.errors)")
        let issuer = terminal.provider.issuer.absoluteString
        try terminal.write(
            settings: """
                {"types": {"plain": {"authorizationEndpoint": "\(issuer)/authorize", "tokenEndpoint": "\(issuer)/token",
                "clientId": "\(terminal.provider.clientID)", "redirectUri": "http://127.0.0.1/callback",
                "scopes": ["User.Read"]}}}
                """)
        let signedIn = await terminal.run("sign-in")
        #expect(signedIn.status == 0, "\(signedIn.errors)")
        let out = await terminal.run("sign-out")
        #expect(out.status == 0 && out.errors.contains("The browser's session continues.\n"), "\(out.errors)")
    }

    @Test func `status and sign-out show the mode of a shared device`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: terminal.nested.replacingOccurrences(
                of: "{\"types\"", with: "{\"deviceMode\": \"shared\", \"types\""))
        #expect(await terminal.run("sign-in").status == 0)
        #expect(await terminal.run("status").output.contains("shared"))
        let status = try JSONValue(parsing: await terminal.run("status", "--output", "json").output)
        #expect(status.object?["deviceMode"] == "shared")
        // Another user cannot sign in until Ada signs out.
        terminal.person(.approvesAs("li.ming@contoso.example"))
        let second = await terminal.run("sign-in")
        #expect(second.status == 1)
        #expect(second.errors.contains("hint: ada@contoso.example has to sign out first"))
        terminal.person(.walksAway)
        let out = await terminal.run("sign-out", "--output", "json")
        #expect(out.status == 0)
        #expect(out.errors.contains("The browser opened the sign-out page."))
        terminal.person(.approvesAs("li.ming@contoso.example"))
        #expect(await terminal.run("sign-in").status == 0)
        #expect(try JSONValue(parsing: out.output).array?.first?.object?["browserSession"] == "asked")
    }
}
