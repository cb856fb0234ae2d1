import Foundation
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests sign-in with a user name and a password, introspection and token exchange.
@MainActor @Suite struct PasswordTests {
    private func terminal(_ keys: String, _ provider: ScriptedProvider) async throws -> Terminal {
        provider.describe(#", "introspection_endpoint": "ISSUER/introspect""#)
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"old": {"issuer": "\(provider.issuer)", "clientId": "c", "clientSecret": "client-secret-1", "scopes": ["read"],
                "clientAuthentication": "client_secret_post", "redirectUri": "http://127.0.0.1/callback"\(keys)}}}
                """)
        return terminal
    }

    private static let answer =
        #"{"access_token": "token-1", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "refresh-1"}"#

    @Test func `sign-in --username reads the password from standard input if the settings allow it`() async throws {
        let provider = try ScriptedProvider()
        let terminal = try await terminal(#", "allowsPasswordGrant": true"#, provider)
        provider.answer("/token", Self.answer)
        let signedIn = await terminal.run("sign-in", "old", "--username", "ada", input: "pass word\n")
        #expect(signedIn.status == 0, "\(signedIn.errors)")
        #expect(signedIn.errors.contains("Signed in to old as ") && !signedIn.errors.contains("pass word"))
        let form = String(decoding: try #require(provider.requests("/token").first).body, as: UTF8.self)
        #expect(
            form.contains("grant_type=password&username=ada&password=pass+word")
                || form.contains("password=pass%20word"))
        #expect(await terminal.run("token").output == "token-1\n")
    }

    @Test func `without allowsPasswordGrant no password is sent, and the error names the setting`() async throws {
        let provider = try ScriptedProvider()
        let terminal = try await terminal("", provider)
        let refused = await terminal.run("sign-in", "old", "--username", "ada", input: "pass word\n")
        #expect(refused.status == 8)
        #expect(refused.errors.contains("allowsPasswordGrant") && !refused.errors.contains("pass word"))
        #expect(provider.requests("/token").isEmpty)
    }

    @Test func `a missing password and --username with --device are usage errors`() async throws {
        let provider = try ScriptedProvider()
        let terminal = try await terminal(#", "allowsPasswordGrant": true"#, provider)
        let empty = await terminal.run("sign-in", "old", "--username", "ada")
        #expect(empty.status == 2 && empty.errors.contains("standard input is empty"))
        let both = await terminal.run("sign-in", "old", "--username", "ada", "--device", input: "p\n")
        #expect(both.status == 2 && both.errors.contains("--device and --username cannot be combined"))
        #expect(provider.requests("/token").isEmpty)
    }

    @Test func `token --introspect prints the provider's response, and only active for an inactive token`()
        async throws
    {
        let provider = try ScriptedProvider()
        let terminal = try await terminal("", provider)
        #expect(await terminal.run("sign-in", "old", "--with-token", input: Self.answer).status == 0)
        provider.answer("/introspect", #"{"active": true, "scope": "read", "username": "ada"}"#)
        let good = await terminal.run("token", "--introspect")
        #expect(good.status == 0, "\(good.errors)")
        #expect(good.output == "{\n  \"active\": true,\n  \"scope\": \"read\",\n  \"username\": \"ada\"\n}\n")
        let form = String(decoding: try #require(provider.requests("/introspect").first).body, as: UTF8.self)
        #expect(form.contains("token=token-1&token_type_hint=access_token&client_id=c&client_secret=client-secret-1"))
        provider.answer("/introspect", #"{"active": false, "username": "ada"}"#)
        #expect(await terminal.run("token", "--introspect").output == "{\n  \"active\": false\n}\n")
        provider.answer(
            "/introspect", 401, #"{"error": "invalid_client", "error_description": "token-1 client-secret-1"}"#)
        let refused = await terminal.run("token", "--introspect")
        #expect(refused.status == 8, "\(refused.errors)")
        #expect(!refused.errors.contains("token-1") && !refused.errors.contains("client-secret-1"))
        #expect(await terminal.run("token", "--introspect", "--expires").status == 2)
    }

    @Test func `token --exchange prints a token of another service and saves no token`() async throws {
        let provider = try ScriptedProvider()
        let terminal = try await terminal("", provider)
        #expect(await terminal.run("sign-in", "old", "--with-token", input: Self.answer).status == 0)
        provider.answer(
            "/token",
            #"{"access_token": "token-2", "token_type": "Bearer", "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}"#
        )
        let exchanged = await terminal.run(
            "token", "--exchange", "--audience", "billing", "--resource", "https://pay.example/", "--scope", "read")
        #expect(exchanged.status == 0, "\(exchanged.errors)")
        #expect(exchanged.output == "token-2\n")
        let form = String(decoding: try #require(provider.requests("/token").first).body, as: UTF8.self)
        for pair in [
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange", "subject_token=token-1",
            "audience=billing", "resource=https%3A%2F%2Fpay.example%2F", "scope=read",
        ] { #expect(form.contains(pair), "\(form)") }
        #expect(await terminal.run("token").output == "token-1\n")
    }

    @Test(arguments: [
        (["--audience", "billing"], "--audience requires --exchange"),
        (["--resource", "https://pay.example/"], "--resource requires --exchange"),
        (["--exchange", "--introspect"], "--exchange and --introspect"),
        (["--exchange", "--refresh"], "--exchange and --refresh"),
    ])
    func `options of token that cannot be combined are a usage error`(options: [String], message: String) async throws {
        let provider = try ScriptedProvider()
        let terminal = try await terminal("", provider)
        #expect(await terminal.run("sign-in", "old", "--with-token", input: Self.answer).status == 0)
        let refused = await terminal.run(words: ["token"] + options)
        #expect(refused.status == 2 && refused.errors.contains(message), "\(refused.errors)")
        #expect(provider.requests("/token").isEmpty)
    }
}
