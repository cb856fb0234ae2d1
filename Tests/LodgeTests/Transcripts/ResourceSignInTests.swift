import Foundation
import HTTPExchange
import LoopbackHTTP
import OAuth2AccountStore
import StrictJSON
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests sign-ins with the URL of an API, and requests that need more scopes.
@MainActor @Suite struct ResourceSignInTests {
    private func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

    @Test func `sign-in accepts the URL of an API`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        let signIn = await terminal.run("sign-in", scene.url, "--yes")
        #expect(signIn.status == 0, "\(signIn.errors)")
        for line in [
            "\(scene.url) requires a sign-in:\n", "  Issuer:       \(scene.server.issuer)\n",
            "  Scopes:       mcp:read\n", "  Client:       will be registered at the issuer\n",
            "Registered the client c7 at \(scene.server.issuer).\n",
            "Added \(scene.name()) to \(terminal.settings.path).\n", "Signed in to \(scene.name()) as ",
        ] { #expect(signIn.errors.contains(line), "\(signIn.errors)") }

        // The first request has no token. Every other request has the resource parameter (RFC 8707).
        #expect(scene.resource.requests.allSatisfy { $0.fields["Authorization"] == nil })
        let register = try #require(scene.server.requests("/register").first)
        let registration = try #require(JSONValue(parsing: register.body).object)
        // The registration includes the scopes that later requests may require.
        #expect(registration["scope"] == "mcp:read mcp:all")
        #expect(registration["application_type"] == "native" && registration["token_endpoint_auth_method"] == "none")
        // A fixed port is also accepted by servers that compare the port of the redirect URI.
        let redirect = try #require(registration["redirect_uris"]?.array?.first?.string)
        #expect(redirect.wholeMatch(of: /http:\/\/127\.0\.0\.1:(2\d{4}|3[01]\d{3})\/callback/) != nil)
        let authorization = ResourceScene.query(try #require(scene.server.requests("/authorize").first))
        #expect(authorization["resource"] == scene.url && authorization["scope"] == "mcp:read")
        #expect(authorization["code_challenge_method"] == "S256" && authorization["client_id"] == "c7")
        #expect(authorization["redirect_uri"] == redirect)
        let token = ResourceScene.form(try #require(scene.server.requests("/token").first))
        #expect(token["resource"] == scene.url)

        let type = try #require(try Settings(contentsOf: terminal.settings)[scene.name()])
        #expect(type.hasIssuer(scene.server.issuer) && type.resources == [scene.url] && type.clientID == "c7")
        #expect(type.resourceHosts == [scene.name()])

        // The default type of the settings is a different one.
        let request = await terminal.run("request", "GET", scene.url)
        #expect(request.status == 0 && request.output == #"{"token": "t1"}"#, "\(request.errors)")
        let refresh = await terminal.run("token", "--type", scene.name(), "--refresh")
        #expect(refresh.status == 0 && refresh.output == "t2\n", "\(refresh.errors)")
        let refreshed = ResourceScene.form(try #require(scene.server.requests("/token").last))
        #expect(refreshed["grant_type"] == "refresh_token" && refreshed["resource"] == scene.url)
        // The type of the account differs from the default type.
        scene.server.answer("/token", 400, #"{"error": "invalid_grant"}"#)
        scene.challenge("", accepting: [])
        let gone = await terminal.run("request", "GET", scene.url)
        #expect(gone.status == 4 && gone.errors.contains("hint: lodge sign-in \(scene.name())\n"), "\(gone.errors)")
        let elsewhere = await terminal.run("request", "GET", "https://api.example/mcp", "--type", scene.name())
        #expect(elsewhere.status == 8 && elsewhere.errors.contains("is not a host that may have the tokens"))
    }

    @Test func `sign-in with a URL needs no settings file`() async throws {
        let terminal = try await Terminal()
        terminal.set("LODGE_SETTINGS", nil)
        let scene = try ResourceScene()
        #expect(await terminal.run("sign-in", scene.url, "--yes").status == 0)
        let file = terminal.folder.appending(path: ".config/lodge/settings.json")
        #expect(try Settings(contentsOf: file).types.map(\.name) == [scene.name()])
        #expect(await terminal.run("request", "GET", scene.url).status == 0)
    }

    @Test func `a second sign-in reuses the type and the client of the first one`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        #expect(await terminal.run("sign-in", scene.url, "--yes").status == 0)
        let settings = try text(terminal.settings)
        // The sign-in adds no type and needs no confirmation.
        let again = await terminal.run("sign-in", scene.url)
        #expect(again.status == 0, "\(again.errors)")
        #expect(try text(terminal.settings) == settings)

        let other = scene.resource.issuer + "/other"
        scene.challenge(#"resource_metadata="\#(scene.resource.issuer)/other-metadata""#, at: "/other")
        scene.describeResource(at: "/other-metadata", resource: other)
        let second = await terminal.run("sign-in", other, "--yes")
        #expect(second.status == 0, "\(second.errors)")
        #expect(second.errors.contains("  Client:       c7, of the account type \(scene.name())\n"))
        let type = try #require(try Settings(contentsOf: terminal.settings)[scene.name("/other")])
        #expect(type.clientID == "c7" && type.resources == [other] && type.scope.tokens == ["mcp:all"])
        #expect(scene.server.requests("/register").count == 1)
        // Each URL has a separate token.
        #expect(await terminal.run("request", "GET", other).errors.contains("HTTP 401") == true)
        #expect(await terminal.run("request", "GET", scene.url).status == 0)
    }

    @Test func `a client that two types use is deleted with the second type`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        scene.server.answer(
            "/register", 201,
            #"{"client_id": "c7", "token_endpoint_auth_method": "none", "registration_client_uri": "ISSUER/register/c7", "registration_access_token": "reg"}"#
        )
        scene.server.answer("DELETE /register/c7", 204, "")
        #expect(await terminal.run("sign-in", scene.url, "--yes").status == 0)
        let other = scene.resource.issuer + "/other"
        scene.describeResource(at: ResourceScene.resourceMetadata + "/other", resource: other)
        #expect(await terminal.run("sign-in", other, "--yes").status == 0)
        #expect(await terminal.run("sign-out", "--all", "--local").status == 0)

        let first = await terminal.run("providers", "remove", scene.name())
        #expect(
            first.status == 0 && first.errors.contains("remains registered: the type \(scene.name("/other")) uses it"))
        #expect(scene.server.requests("/register/c7").isEmpty)
        let second = await terminal.run("providers", "remove", scene.name("/other"))
        #expect(second.status == 0 && second.errors.contains("Deleted the client c7"), "\(second.errors)")
        #expect(scene.server.requests("/register/c7").map(\.method) == [.delete])
    }

    @Test func `a registration access token is sent only to the server that issued it`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        // The port differs.
        scene.server.answer(
            "/register", 201,
            #"{"client_id": "c7", "token_endpoint_auth_method": "none", "registration_client_uri": "\#(scene.resource.issuer)/register/c7", "registration_access_token": "reg"}"#
        )
        let signIn = await terminal.run("sign-in", scene.url, "--yes")
        #expect(signIn.status == 0, "\(signIn.errors)")
        #expect(
            signIn.errors.contains("The registration is at another server, \(scene.resource.issuer)/register/c7."),
            "\(signIn.errors)")
        #expect(await terminal.run("sign-out", "--all", "--local").status == 0)
        let removed = await terminal.run("providers", "remove", scene.name())
        #expect(removed.status == 0 && !removed.errors.contains("Deleted the client"), "\(removed.errors)")
        #expect(!scene.resource.requests.contains { $0.path == "/register/c7" })
    }

    @Test func `a client is registered with an authentication method of the server`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        scene.describeServer([
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
            "scopes_supported": ["mcp:read", "other"], "device_authorization_endpoint": .string(scene.url),
        ])
        scene.server.answer(
            "/register", 201,
            #"{"client_id": "c7", "client_secret": "s3cret", "client_secret_expires_at": 0, "token_endpoint_auth_method": "client_secret_post"}"#
        )
        let signIn = await terminal.run("sign-in", scene.url, "--yes")
        #expect(signIn.status == 0 && !signIn.errors.contains("s3cret"), "\(signIn.errors)")
        let register = try #require(scene.server.requests("/register").first)
        let registration = try #require(JSONValue(parsing: register.body).object)
        #expect(registration["token_endpoint_auth_method"] == "client_secret_post")
        #expect(registration["scope"] == "mcp:read" && registration["grant_types"]?.array?.count == 3)
        #expect(ResourceScene.form(try #require(scene.server.requests("/token").first))["client_secret"] == "s3cret")
        let mode = try FileManager.default.attributesOfItem(atPath: terminal.settings.path)[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func `a provider that rejects the device grant registers a client without it`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        scene.describeServer(["device_authorization_endpoint": .string(scene.url)])
        scene.server.answer("/register") { request in
            let metadata = (try? JSONValue(parsing: request.body))?.object ?? [:]
            let isRejected = metadata["grant_types"]?.array?.count != 2
            return LoopbackResponse(
                status: isRejected ? 400 : 201, fields: ["Content-Type": "application/json"],
                body: Data((isRejected ? #"{"error": "invalid_client_metadata"}"# : #"{"client_id": "c7"}"#).utf8))
        }
        let signIn = await terminal.run("sign-in", scene.url, "--yes")
        #expect(signIn.status == 0 && signIn.errors.contains("Registered the client c7"), "\(signIn.errors)")
        #expect(scene.server.requests("/register").count == 2)
        // After a different error there is no second attempt.
        scene.server.answer("/register", 400, #"{"error": "invalid_redirect_uri"}"#)
        let added = await terminal.run("providers", "add", "second", "--issuer", scene.server.issuer, "--register")
        #expect(added.status == 1 && added.errors.contains("invalid_redirect_uri"), "\(added.errors)")
        #expect(scene.server.requests("/register").count == 3)
    }

    @Test func `a client of a different issuer is not used`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        // With the slash at the end it is a different issuer.
        try terminal.write(
            settings: """
                {"types": {"near": {"issuer": "\(scene.server.issuer)/", "clientId": "secret-client",
                "redirectUri": "http://127.0.0.1/callback", "scopes": []}}}
                """)
        #expect(await terminal.run("sign-in", scene.url, "--yes").status == 0)
        #expect(try Settings(contentsOf: terminal.settings)[scene.name()]?.clientID == "c7")
    }

    // MARK: The user

    @Test func `a client is registered only after a confirmation`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        let old = try text(terminal.settings)
        let unasked = await terminal.run("sign-in", scene.url)
        #expect(unasked.status == 4 && unasked.errors.contains("lodge sign-in \(scene.url) --yes"), "\(unasked.errors)")
        terminal.isTerminal = true
        for answer in ["n", "", "maybe", nil] {
            terminal.pastes = { _ in answer }
            let refused = await terminal.run("sign-in", scene.url)
            #expect(refused.status == 1 && refused.errors.contains("[y/N]"), "\(refused.errors)")
        }
        for options in [["--no-input"], ["--no-input", "--yes"]] {
            let refused = await terminal.run(words: ["sign-in", scene.url] + options)
            #expect(refused.status == 4 && refused.errors.contains("--no-input forbids"), "\(refused.errors)")
        }
        for option in ["--client-credentials", "--with-token"] {
            #expect(await terminal.run("sign-in", scene.url, "--yes", option).status == 2)
        }
        #expect(scene.signInRequests.isEmpty)
        #expect(try text(terminal.settings) == old)
        terminal.pastes = { said in
            #expect(
                said.contains("  Token hosts:  ") && said.contains(scene.name()) && said.contains(scene.server.issuer),
                "\(said)")
            return "Y\r"
        }
        let confirmed = await terminal.run("sign-in", scene.url)
        #expect(confirmed.status == 0, "\(confirmed.errors)")
    }

    @Test func `a prompt times out`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        let old = try text(terminal.settings)
        terminal.isTerminal = true
        @MainActor func run(_ prompt: String) async {
            terminal.pastes = { said in
                #expect(said.hasSuffix(prompt + "\n"), "\(said)")
                try await Task.sleep(for: .seconds(3_600))
                return "y"
            }
            // The time limit includes the requests.
            let ended = await terminal.run("sign-in", scene.url, "--timeout", "\(TestTime.seconds(3))")
            #expect(ended.status == 4 && ended.errors.contains("not finished: no input within"), "\(ended.errors)")
            #expect(ended.errors.contains("with a longer --timeout"), "\(ended.errors)")
        }
        await run("[y/N]")
        scene.describeServer(["registration_endpoint": .null])
        await run("then enter its client identifier:")
        scene.describeResource(servers: ["https://id.example", scene.server.issuer])
        await run("sign in to (1):")
        #expect(scene.signInRequests.isEmpty)
        #expect(try text(terminal.settings) == old)
    }

    @Test func `a scope that the API requires is requested even if the server does not list it`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        scene.describeServer(["scopes_supported": ["openid", "profile"]])
        let signIn = await terminal.run("sign-in", scene.url, "--yes")
        #expect(signIn.status == 0 && !signIn.errors.contains("omits"), "\(signIn.errors)")
        #expect(try Settings(contentsOf: terminal.settings)[scene.name()]?.scope.tokens == ["mcp:read"])
        let authorization = ResourceScene.query(try #require(scene.server.requests("/authorize").first))
        #expect(authorization["scope"] == "mcp:read")
    }

    @Test func `no message contains the query or the password of the URL`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        let query = await terminal.run("sign-in", scene.url + "?key=geheim")
        #expect(query.status != 0 && !query.errors.contains("geheim"), "\(query.errors)")
        let url = scene.url.replacing("http://", with: "http://ada:geheim@")
        let password = await terminal.run("sign-in", url)
        #expect(password.status == 2 && password.errors.contains("user or a password"), "\(password.errors)")
        #expect(!password.errors.contains("geheim"), "\(password.errors)")
    }

    @Test func `the user chooses among several authorization servers`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        scene.describeResource(servers: ["https://id.example", scene.server.issuer])
        terminal.isTerminal = true
        terminal.pastes = { $0.hasSuffix("[y/N]\n") ? "y" : "2" }
        let signIn = await terminal.run("sign-in", scene.url)
        #expect(signIn.status == 0 && signIn.errors.contains("  2  \(scene.server.issuer)\n"), "\(signIn.errors)")
        terminal.pastes = { _ in "3" }
        #expect(await terminal.run("sign-in", scene.url).status == 2)
    }

    @Test func `the user enters a client identifier if the server does not offer registration`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        scene.describeServer(["registration_endpoint": .null])
        let unasked = await terminal.run("sign-in", scene.url, "--yes")
        #expect(unasked.errors.contains("lodge providers add NAME --issuer \(scene.server.issuer) --client-id ID"))
        terminal.isTerminal = true
        terminal.pastes = { $0.hasSuffix("[y/N]\n") ? "y" : " typed client \r" }
        #expect(await terminal.run("sign-in", scene.url).status == 0)
        #expect(try Settings(contentsOf: terminal.settings)[scene.name()]?.clientID == "typed client")
        #expect(scene.signInRequests == ["/authorize", "/token"])
    }

    @Test func `the client of the settings is used as the hint says`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        #expect(
            await terminal.run("providers", "add", "own", "--issuer", scene.server.issuer, "--client-id", "own-client")
                .status == 0)
        let signIn = await terminal.run("sign-in", scene.url, "--yes", "--scope", "mcp:write")
        #expect(signIn.status == 0, "\(signIn.errors)")
        let type = try #require(try Settings(contentsOf: terminal.settings)[scene.name()])
        #expect(type.clientID == "own-client" && type.scope.tokens == ["mcp:write"])
        #expect(scene.signInRequests == ["/authorize", "/token"])
    }

    @Test func `the URL of the client's metadata document is the client ID if the server supports it`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        let document = "https://lodge.example/client.json"
        try terminal.write(settings: #"{"clientMetadataDocument": "\#(document)", "types": {}}"#)
        // This server does not support it.
        #expect(await terminal.run("sign-in", scene.url, "--yes").status == 0)
        #expect(try Settings(contentsOf: terminal.settings)[scene.name()]?.clientID == "c7")
        #expect(try text(terminal.settings).contains(document))

        try terminal.write(settings: #"{"clientMetadataDocument": "\#(document)", "types": {}}"#)
        scene.describeServer(["client_id_metadata_document_supported": true])
        let signIn = await terminal.run("sign-in", scene.url, "--yes")
        #expect(signIn.status == 0 && signIn.errors.contains("  Client:       \(document)\n"), "\(signIn.errors)")
        #expect(scene.server.requests("/register").count == 1)
        let token = ResourceScene.form(try #require(scene.server.requests("/token").last))
        #expect(token["client_id"] == document)
        for wrong in [
            "https://lodge.example", "https://lodge.example/", "http://127.0.0.1/c", "https://l.example/a/../c",
        ] {
            try terminal.write(settings: #"{"clientMetadataDocument": "\#(wrong)", "types": {}}"#)
            let refused = await terminal.run("sign-in", scene.url, "--yes")
            #expect(refused.status == 8 && refused.errors.contains("clientMetadataDocument"), "\(refused.errors)")
        }
    }

    // MARK: More scopes

    private func requireScope(_ scene: ResourceScene, of token: String, _ scope: String = "mcp:write") {
        scene.resource.answer("/mcp") { request in
            guard request.fields["Authorization"] == "Bearer \(token)" else {
                let error = #"Bearer error="insufficient_scope", scope="\#(scope)""#
                return LoopbackResponse(status: 403, fields: ["WWW-Authenticate": error])
            }
            return ResourceScene.json(String(decoding: request.body, as: UTF8.self))
        }
    }

    @Test func `a request that needs more scopes is sent again after a sign-in with all of them`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        #expect(await terminal.run("sign-in", scene.url, "--yes").status == 0)
        requireScope(scene, of: "t2")
        let unasked = await terminal.run("request", "POST", scene.url, "--json", "{}")
        #expect(unasked.status == 5, "\(unasked.errors)")
        #expect(
            unasked.errors.contains("lodge sign-in \(scene.name()) --scope 'mcp:read mcp:write'"), "\(unasked.errors)")
        #expect(scene.server.requests("/authorize").count == 1)

        terminal.isTerminal = true
        terminal.pastes = { _ in "n" }
        #expect(await terminal.run("request", "POST", scene.url, "--json", "{}").status == 5)
        #expect(scene.server.requests("/authorize").count == 1)
        terminal.pastes = { _ in "y" }
        let request = await terminal.run("request", "POST", scene.url, "--json", #"{"a": 1}"#)
        #expect(request.status == 0 && request.output == #"{"a": 1}"#, "\(request.errors)")
        let authorization = ResourceScene.query(try #require(scene.server.requests("/authorize").last))
        #expect(authorization["scope"] == "mcp:read mcp:write" && authorization["resource"] == scene.url)
    }

    @Test func `scopes that only the metadata lists are requested too`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        #expect(await terminal.run("sign-in", scene.url, "--yes").status == 0)
        scene.describeResource(at: ResourceScene.resourceMetadata + "/mcp")
        requireScope(scene, of: "t2", "")
        terminal.isTerminal = true
        terminal.pastes = { _ in "y" }
        let request = await terminal.run("request", "POST", scene.url, "--json", "{}")
        #expect(request.status == 0 && request.errors.contains("requires the scope mcp:all."), "\(request.errors)")
        let authorization = ResourceScene.query(try #require(scene.server.requests("/authorize").last))
        #expect(authorization["scope"] == "mcp:read mcp:all")
    }

    @Test func `a second insufficient_scope response is the result`() async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        #expect(await terminal.run("sign-in", scene.url, "--yes").status == 0)
        requireScope(scene, of: "never", "other")
        terminal.isTerminal = true
        terminal.pastes = { _ in "y" }
        let request = await terminal.run("request", "GET", scene.url)
        #expect(request.status == 5, "\(request.errors)")
        #expect(scene.server.requests("/authorize").count == 2)
    }
}
