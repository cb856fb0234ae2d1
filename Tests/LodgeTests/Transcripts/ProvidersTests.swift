import Foundation
import HTTPExchange
import LocalProvider
import LoopbackHTTP
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

@MainActor @Suite struct ProvidersTests {
    /// Returns the rows of a table by their first cell.
    private func rows(_ transcript: Terminal.Transcript) -> [String: [String]] {
        transcript.lines.map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
            .reduce(into: [:]) { $0[$1[0]] = $1 }
    }

    // MARK: list and show

    @Test func `providers lists the types of the settings first, then the presets with required values`() async throws {
        let terminal = try await Terminal()
        let list = await terminal.run("providers")
        #expect(list.status == 0 && list.lines[0] == "NAME\tPROVIDER\tFROM\tMISSING OR WRONG")
        #expect(list.lines[1] == "local\t\(terminal.provider.issuer)\tsettings, default\t")
        #expect(
            rows(list)["github"] == [
                "github", "https://github.com/login/oauth/authorize", "preset", "clientId, clientSecret",
            ])
        #expect(list.lines.count == 1 + ProviderPreset.all.count)
        let json = try JSONValue(parsing: await terminal.run("providers", "list", "-o", "json").output).array
        #expect(json?.count == ProviderPreset.all.count)
        #expect(json?.first?.object?["from"] == "settings")
    }

    @Test func `providers lists the presets without a settings file`() async throws {
        let terminal = try await Terminal()
        terminal.set("LODGE_SETTINGS", nil)
        let list = await terminal.run("providers", "list")
        #expect(list.status == 0 && list.lines.count == 1 + ProviderPreset.all.count)
        let show = await terminal.run("providers", "show", "entra-tenant")
        #expect(show.status == 0)
        #expect(show.output.contains("Required keys\ttenant: the tenant's identifier, or one of its domains\n"))
        #expect(
            show.output.contains("To set it up\tlodge providers add entra-tenant --set tenant=… --client-id ID\n"))
        let json = try JSONValue(parsing: await terminal.run("providers", "show", "google", "-o", "json").output)
        #expect(json.object?["toFillIn"] == ["clientId", "clientSecret"])
        let unknown = await terminal.run("providers", "show", "gihtub")
        #expect(unknown.status == 3 && unknown.errors.contains("did you mean github?"))
    }

    @Test func `providers show does not print the client secret`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: """
                {"types": {"mine": {"provider": "zoom", "clientId": "c1", "clientSecret": "s3cret-value"}}}
                """)
        for words in [["providers"], ["providers", "show", "mine"], ["providers", "show", "mine", "-o", "json"]] {
            let answer = await terminal.run(words: words)
            #expect(answer.status == 0 && !answer.output.contains("s3cret"), "\(answer.output)")
        }
        let show = await terminal.run("providers", "show", "mine")
        #expect(show.output.contains("Client secret\tin the settings\n") && show.output.contains("Preset\tzoom\n"))
    }

    // MARK: Presets as types

    @Test func `a preset without a client is an error with the command to add the type`() async throws {
        let terminal = try await Terminal()
        for words in [["sign-in", "github"], ["me", "--type", "github"]] {
            let answer = await terminal.run(words: words)
            #expect(answer.status == 8)
            #expect(answer.errors.contains(terminal.settings.path) && answer.errors.contains("clientId, clientSecret"))
            #expect(
                answer.errors.contains("hint: lodge providers add github --client-id ID --client-secret-file FILE"))
        }
        #expect(await terminal.run("sign-in", "nothing").status == 8)
    }

    @Test func `a complete preset can be used as a type without settings`() async throws {
        let terminal = try await Terminal()
        terminal.set("LODGE_SETTINGS", nil)
        // The command gets past the settings and finds no account.
        let me = await terminal.run("me", "--type", "local")
        #expect(me.status == 4 && me.errors.contains("there is no account of type local"), "\(me.errors)")
    }

    @Test func `sign-in accepts a type that is based on a preset`() async throws {
        let terminal = try await Terminal()
        try terminal.write(
            settings: #"{"types": {"mine": {"provider": "local", "port": "\#(terminal.provider.port)"}}}"#)
        let signIn = await terminal.run("sign-in", "mine")
        #expect(signIn.status == 0, "\(signIn.errors)")
        #expect(await terminal.run("me").lines.first == "Name\tAda Lovelace")
    }

    // MARK: check

    @Test func `providers check lists the capabilities of the provider`() async throws {
        let terminal = try await Terminal()
        for words in [["providers", "check"], ["providers", "check", "--issuer", "\(terminal.provider.issuer)"]] {
            let answer = await terminal.run(words: words)
            #expect(answer.status == 0, "\(answer.errors)")
            let found = rows(answer)
            #expect(found["discovery"]?[1] == "ok" && found["token_endpoint"]?[1] == "ok")
            #expect(found["PKCE S256"]?[1] == "ok" && found["issuer in the redirect"]?[1] == "ok")
            #expect(found["registration_endpoint"]?[1] == "ok")
            #expect(found["DPoP"]?[1] == "not offered" && found["keys"]?[2] == "1 usable")
            #expect(found["grant device_code"]?[1] == "ok" && found["clock"]?[1] == "ok")
            #expect(!found.values.contains { $0[1] == "problem" })
        }
        let json = try JSONValue(parsing: await terminal.run("providers", "check", "local", "-o", "json").output).array
        #expect(json?.first?.object?["state"] == "ok")
    }

    @Test func `providers check reports each missing or invalid value and exits with 1`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.answer(
            ScriptedProvider.metadata,
            """
            {"issuer": "ISSUER", "authorization_endpoint": "http://id.example/authorize", "jwks_uri": "ISSUER/jwks",
            "grant_types_supported": ["implicit"], "code_challenge_methods_supported": ["plain"],
            "id_token_signing_alg_values_supported": ["none", "RS1"], "scopes_supported": "openid",
            "require_pushed_authorization_requests": true}
            """)
        provider.answer("/jwks", #"{"keys": [{"kty": "unknown"}]}"#)
        provider.tellTime("Sun, 06 Nov 1994 08:49:37 GMT")
        let answer = await terminal.run("providers", "check", "--issuer", provider.issuer)
        #expect(answer.status == 1)
        let found = rows(answer)
        let problems = Set(found.filter { $0.value[1] == "problem" }.keys)
        #expect(
            problems == [
                "authorization_endpoint", "token_endpoint", "grant authorization_code", "PKCE S256",
                "ID token algorithms", "pushed requests", "scopes_supported", "clock", "keys",
            ])
        #expect(found["authorization_endpoint"]?[2].contains("plain http is only for this machine") == true)
        #expect(found["clock"]?[2].contains("ahead of the provider's") == true)
        #expect(answer.errors.hasPrefix("lodge: 9 things are wrong with \(provider.issuer): clock: "))
    }

    @Test(arguments: [
        (200, #"{"issuer": "https://other.example"}"#, 1, "belongs to the issuer"), (200, "<html>", 7, "A web page"),
        (200, "[]", 1, "an array"), (404, "", 1, "HTTP status 404"), (503, "", 6, "HTTP status 503"),
        (302, "", 7, "A redirect"),
    ])
    func `providers check reports invalid metadata, which determines the status`(
        answer: Int, body: String, status: Int32, reason: String
    ) async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.answer(ScriptedProvider.metadata, answer, body)
        let check = await terminal.run("providers", "check", "--issuer", provider.issuer)
        #expect(check.status == status, "\(check.errors)")
        #expect(rows(check)["discovery"]?[1] == "problem" && rows(check)["discovery"]?[2].contains(reason) == true)
        #expect(check.errors.hasPrefix("lodge: cannot find out what the provider can do: "))
        #expect(check.errors.contains("\nhint: "))
    }

    @Test func `providers check finds the metadata of a plain OAuth provider (RFC 8414)`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.answer(
            "/.well-known/oauth-authorization-server",
            #"{"issuer": "ISSUER", "authorization_endpoint": "ISSUER/a", "token_endpoint": "ISSUER/t", "jwks_uri": "ISSUER/jwks"}"#
        )
        provider.answer("/jwks", #"{"keys": [{"kty": "oct", "k": "AA"}]}"#)
        let check = await terminal.run("providers", "check", "--issuer", provider.issuer)
        #expect(rows(check)["discovery"]?[2].hasSuffix("/.well-known/oauth-authorization-server") == true)
        #expect(rows(check)["issuer"]?[2] == provider.issuer)
    }

    // MARK: the client

    private func settings(_ terminal: Terminal, _ change: (inout JSONObject) -> Void) throws {
        var type = try #require(try JSONValue(parsing: terminal.nested)[path: "types", "local"]?.object)
        change(&type)
        try terminal.write(settings: JSONValue.object(["types": ["local": .object(type)]]).text())
    }

    @Test(arguments: [
        ("clientId", "nope", "rejects the client ID nope"),
        ("redirectUri", "https://app.example/callback", "the redirect URI https://app.example/callback"),
        ("scopes", "openid Nope.Read", "invalid_scope"),
    ])
    func `doctor and check find a client, redirect URI or scope that the provider rejects, without a secret`(
        key: String, value: String, reason: String
    ) async throws {
        let terminal = try await Terminal()
        #expect(rows(await terminal.run("providers", "check"))["client"]?[1] == "ok")
        try settings(terminal) {
            $0[key] = .string(value)
            $0["clientSecret"] = "s3cret"
        }
        let hint = "correct clientId, redirectUri and scopes of local in the settings"
        let check = await terminal.run("providers", "check")
        #expect(check.status == 1 && check.errors.contains("hint: \(hint)\n"), "\(check.errors)")
        let found = rows(check)["client"]
        #expect(found?[1] == "problem" && found?[2].contains(reason) == true, "\(check.output)")
        let doctor = await terminal.run("doctor")
        let line = doctor.lines.first { $0.hasPrefix("client\tproblem\tlocal\t") } ?? doctor.output
        #expect(doctor.status == 8 && line.contains(reason) && line.hasSuffix("\t\(hint)"), "\(line)")
        #expect(!doctor.output.contains("discovery\tproblem"))
    }

    @Test func `the client is checked by one request that needs no user and has no secret`() async throws {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        provider.describe(#", "code_challenge_methods_supported": ["S256"]"#)
        func check(_ type: (inout JSONObject) -> Void = { _ in }) async throws -> String {
            try settings(terminal) {
                $0["issuer"] = .string(provider.issuer)
                $0["clientSecret"] = "s3cret"
                type(&$0)
            }
            let row = rows(await terminal.run("providers", "check"))["client"]
            return row.map { "\($0[1]): \($0[2])" } ?? "nothing"
        }
        func redirect(_ error: String) -> @Sendable (LoopbackRequest) -> LoopbackResponse {
            { request in
                let query = FormEncoding.decode(request.query ?? "") ?? []
                let uri = query.first { $0.name == "redirect_uri" }?.value ?? ""
                return LoopbackResponse(status: 302, fields: ["Location": "\(uri)?error=\(error)&state=x"])
            }
        }
        provider.answer("/authorize", by: redirect("login_required"))
        #expect(try await check() == "ok: the provider knows it and its redirect URI")
        let request = try #require(provider.requests("/authorize").first)
        let query = FormEncoding.decode(request.query ?? "") ?? []
        #expect(query.contains { $0.name == "prompt" && $0.value == "none" })
        #expect(provider.requests("/authorize").count == 1 && provider.requests("/token").isEmpty)
        #expect(!provider.requests.contains { "\($0)".contains("s3cret") || $0.fields["Authorization"] != nil })
        provider.answer("/authorize", by: redirect("unauthorized_client"))
        #expect(try await check() == "ok: known, but not allowed to sign in with the browser")
        // A page of Entra has the number of its error, with any status.
        provider.answer("/authorize", 200, "<html>AADSTS700016: Application with identifier 'lodge' was not found")
        let entra = try await check()
        #expect(entra.hasPrefix("problem: ") && entra.contains("AADSTS700016"), "\(entra)")
        let advice = await terminal.run("doctor").output
        #expect(advice.contains("\tcorrect clientId, or the tenant in authority\n"), "\(advice)")
        // Other pages and redirects prove nothing.
        provider.answer("/authorize", 200, "<html>Sign in")
        #expect(try await check().hasPrefix("not offered: not checked: "))
        provider.answer("/authorize") { _ in
            LoopbackResponse(status: 302, fields: ["Location": "https://id.example/login"])
        }
        let silent = try await check()
        #expect(silent == "not offered: not checked: the provider did not redirect the request; a sign-in checks it")
        #expect(await terminal.run("doctor").output.contains("client\tok\tlocal\tnot checked: "))
        let count = provider.requests("/authorize").count
        let pushed = try await check { $0["pushedAuthorizationRequests"] = true }
        #expect(pushed == "not offered: not checked: its sign-in requires authentication; a sign-in checks it")
        #expect(provider.requests("/authorize").count == count)
    }

    @Test func `the client of a type with endpoints is checked, and none without a type`() async throws {
        let terminal = try await Terminal()
        try settings(terminal) {
            $0["issuer"] = nil
            $0["authorizationEndpoint"] = .string("\(terminal.provider.issuer)/authorize")
            $0["tokenEndpoint"] = .string("\(terminal.provider.issuer)/token")
            $0["clientId"] = "nope"
        }
        let doctor = await terminal.run("doctor")
        #expect(doctor.status == 8 && doctor.output.contains("client\tproblem\tlocal\t"), "\(doctor.output)")
        let check = await terminal.run("providers", "check", "--issuer", "\(terminal.provider.issuer)")
        #expect(check.status == 0 && rows(check)["client"] == nil, "\(check.output)")
    }

    @Test func `providers check without a required value is a usage error`() async throws {
        let terminal = try await Terminal()
        let tenant = await terminal.run("providers", "check", "entra-tenant")
        #expect(tenant.status == 2 && tenant.errors.contains("--set tenant=…"))
        let generic = await terminal.run("providers", "check", "openid")
        #expect(generic.status == 2 && generic.errors.contains("--issuer URL"))
        let issuer = await terminal.run("providers", "check", "--issuer", "http://id.example")
        #expect(issuer.status == 2 && issuer.errors.contains("wrong value of --issuer"))
        let both = await terminal.run("providers", "check", "local", "--issuer", "https://id.example")
        #expect(both.status == 2)
        #expect(await terminal.run("providers", "check", "gihtub").status == 3)
        #expect(await terminal.run("providers", "check", "keycloak", "--set", "host").status == 2)
        let closed = await terminal.run("providers", "check", "--issuer", "http://127.0.0.1:1")
        #expect(closed.status == 7)
    }
}
