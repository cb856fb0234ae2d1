import Foundation
import HTTPExchange
import LocalProvider
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// An account type without a provider: a SCIM service, and a token that the user supplies.
@MainActor @Suite struct StaticTokenTests {
    /// Returns a terminal with the settings of a SCIM service, and a token that the service accepts.
    private func service() async throws -> (Terminal, token: String) {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let token = await terminal.run("token").output.trimmingCharacters(in: .newlines)
        #expect(await terminal.run("sign-out", "--local").status == 0)
        try FileManager.default.removeItem(at: terminal.settings)
        let added = await terminal.run(
            "providers", "add", "hr", "--directory", "scim", "--directory-base",
            "\(terminal.provider.issuer)/scim/v2")
        #expect(added.status == 0 && added.errors.contains("To sign in: lodge sign-in hr"), "\(added.errors)")
        return (terminal, token)
    }

    @Test func `a SCIM service needs only its URL and a token`() async throws {
        let (terminal, token) = try await service()
        let keys = try JSONValue(parsing: String(contentsOf: terminal.settings, encoding: .utf8))
        #expect(
            keys[path: "types", "hr"]
                == ["directory": "scim", "directoryBase": .string("\(terminal.provider.issuer)/scim/v2")])
        #expect(await terminal.run("search", "ada").errors.contains("hint: lodge sign-in hr\n"))
        let saved = await terminal.run("sign-in", "--with-token", input: "\(token)\r\n")
        #expect(saved.status == 0 && saved.errors == "Saved the token of hr.\n", "\(saved.errors)")
        #expect(await terminal.run("token").output == token + "\n")
        #expect(await terminal.run("search", "ada").output.contains("Ada Lovelace\tada@contoso.example"))
        #expect(await terminal.run("show", "ada@contoso.example").output.contains("Ada Lovelace"))
        #expect(
            await terminal.run("lookup", input: "ada@contoso.example\n").output.contains("Ada Lovelace"))
        let all = await terminal.run("search", "--all", "--output", "jsonl")
        #expect(all.status == 0 && all.lines.count > 100)
        #expect(await terminal.run("accounts").lines.last == "*\thr\thr\thr\tsigned in")
        let status = await terminal.run("status", "--output", "json")
        #expect(status.status == 0 && !status.output.contains(token), "\(status.errors)")
        let account = try JSONValue(parsing: status.output)[path: "accounts"]?.array?.first?.object
        #expect(account?["refreshable"] == false && account?["expires"] == .null && account?["issuer"] == .null)
        let out = await terminal.run("sign-out")
        #expect(out.status == 0, "\(out.errors)")
        #expect(
            out.errors == """
                Removed hr (hr) here.
                lodge cannot revoke a token that you supplied. To revoke it, use the service that issued it.

                """)
    }

    @Test func `an unsupported operation of a service without a provider suggests another command`() async throws {
        let (terminal, token) = try await service()
        for words in [["--device"], ["--client-credentials"], ["--no-browser"]] {
            let other = await terminal.run(words: ["sign-in", "hr"] + words)
            #expect(other.status == 8, "\(other.errors)")
            #expect(other.errors.contains("it uses a token that you supply\nhint: lodge sign-in hr --with-token\n"))
        }
        #expect(await terminal.run("sign-in", input: token).status == 0)
        let me = await terminal.run("me")
        #expect(me.status == 1 && me.errors.contains("hint: to show a user, run: lodge show USER\n"), "\(me.errors)")
        let sync = await terminal.run("sync")
        #expect(sync.status == 2, "\(sync.errors)")
        #expect(sync.errors.hasPrefix("lodge: cannot create an offline copy for hr: SCIM has no list of changes\n"))
        #expect(sync.errors.contains("run: lodge search --all --output jsonl > users.jsonl\n"))
        let refreshed = await terminal.run("token", "--refresh")
        #expect(refreshed.status == 4, "\(refreshed.errors)")
        #expect(
            refreshed.errors == """
                lodge: no other token: there is no refresh token; the saved access token is unchanged
                hint: lodge sign-in hr --with-token

                """)
        #expect(await terminal.run("providers", "show", "hr").output.contains("none: you supply the token"))
        #expect(await terminal.run("providers").output.contains("hr\t(you supply the token)\tsettings, default"))
        let checked = await terminal.run("providers", "check", "hr")
        #expect(checked.status == 0, "\(checked.errors)")
        #expect(checked.output.contains("provider\tnot offered\tnone: you supply the token\ndirectory\tok\t"))
        let doctor = await terminal.run("doctor")
        #expect(doctor.status == 0, "\(doctor.output)\(doctor.errors)")
        #expect(doctor.output.contains("discovery\tok\thr\tno provider: you supply the token"))
        #expect(!doctor.output.contains("redirect"))
    }

    @Test func `a new token replaces a token that the service rejected`() async throws {
        let (terminal, token) = try await service()
        #expect(await terminal.run("sign-in", "hr", input: "1|rejected:token").status == 0)
        for command in ["search", "token", "status"] {
            let rejected = await terminal.run(words: command == "search" ? ["search", "ada"] : [command])
            #expect(rejected.status == 4, "\(rejected.errors)")
            guard command != "status" else { continue }
            #expect(rejected.errors.hasSuffix("hint: lodge sign-in hr --with-token\n"), "\(rejected.errors)")
        }
        #expect(await terminal.run("sign-in", "hr", input: token).status == 0)
        #expect(await terminal.run("search", "ada").status == 0)
        #expect(await terminal.run("accounts").lines.count == 2)
    }

    @Test(arguments: ["", " \n", "a b", "\"AT\"", "<html>", "[1]", "{", #"{"token_type":"Bearer"}"#, "to\u{e9}ken"])
    func `input without a token is not printed`(input: String) async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: #"{"types":{"hr":{"directory":"scim","directoryBase":"https://hr.example/scim/v2"}}}"#)
        let answer = await terminal.run("sign-in", "--with-token", input: input)
        #expect(answer.status == 2, "\(answer.errors)")
        #expect(answer.errors.hasPrefix("lodge: standard input has no token: "))
        #expect(answer.errors.contains("lodge sign-in hr --with-token < FILE\n"))
        #expect(input.count < 4 || !answer.errors.contains(input))
        #expect(await terminal.run("accounts").status == 3)
    }

    @Test func `sign-in prompts for the token on a terminal, but not with --no-input`() async throws {
        let (terminal, token) = try await service()
        terminal.isTerminal = true
        let saved = await terminal.run("sign-in", "hr", input: token)
        #expect(saved.status == 0)
        #expect(saved.errors == "Token of hr, which is not shown while you type:\nSaved the token of hr.\n")
        let refused = await terminal.run("sign-in", "hr", "--no-input", input: token)
        #expect(refused.status == 4 && refused.errors.contains("lodge sign-in hr --with-token < FILE"))
    }

    @Test func `the refresh token of a token response is not saved`() async throws {
        let (terminal, token) = try await service()
        let response =
            #"{"access_token":"\#(token)","token_type":"Bearer","expires_in":3600,"refresh_token":"RT_s3cr3t"}"#
        #expect(await terminal.run("sign-in", input: response).status == 0)
        let exported = await terminal.run("accounts", "export", "--reveal-secrets")
        #expect(exported.output.contains(token) && !exported.output.contains("RT_s3cr3t"))
        #expect(await terminal.run("token", "--expires").status == 0)
        // Import the account as on another machine.
        #expect(await terminal.run("sign-out").status == 0)
        #expect(await terminal.run("accounts", "import", input: exported.output).status == 0)
        #expect(await terminal.run("search", "ada").status == 0)
    }

    @Test func `client options require a provider`() async throws {
        let terminal = try await Terminal()
        for words in [
            ["--client-id", "c"], ["--scope", "a"], ["--register"], ["--redirect-uri", "http://127.0.0.1/"],
        ] {
            let refused = await terminal.run(
                words: ["providers", "add", "hr", "--directory", "scim", "--directory-base", "https://hr.example/"]
                    + words)
            #expect(refused.status == 2, "\(refused.errors)")
            #expect(refused.errors.hasPrefix("lodge: \(words[0]) requires a provider: "))
        }
        let none = await terminal.run("providers", "add", "hr", "--directory", "scim")
        #expect(none.status == 2 && none.errors.contains("the provider is missing"))
        let both = await terminal.run(
            "providers", "add", "both", "--issuer", "https://id.example", "--client-id", "c", "--directory", "scim",
            "--directory-base", "https://hr.example/scim/v2", "--offline")
        #expect(both.status == 0, "\(both.errors)")
        let text = try String(contentsOf: terminal.settings, encoding: .utf8)
        #expect(text.contains(#""directoryBase": "https://hr.example/scim/v2""#) && text.contains(#""clientId": "c""#))
    }

    @Test func `sign-in --with-token accepts a bare token for a provider too`() async throws {
        let terminal = try await Terminal()
        #expect(await terminal.run("sign-in").status == 0)
        let token = await terminal.run("token").output
        #expect(await terminal.run("sign-out", "--local").status == 0)
        let saved = await terminal.run("sign-in", "--with-token", input: token)
        #expect(saved.errors == "Signed in to local as Ada Lovelace (ada@contoso.example).\n")
        #expect(await terminal.run("me").status == 0)
    }
}
