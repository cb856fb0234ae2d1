import CurlHTTP
import Foundation
import HTTPExchange
import LocalProvider
import LodgePlatform
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import CommandLineKit
@testable import lodge

/// `exec --azure`: the managed identity endpoint for a program.
@MainActor @Suite struct AzureIdentityTests {
    /// The requests of a program to the endpoint in its environment.
    private struct Client: Sendable {
        let endpoint: String
        let secret: String

        init(_ environment: [String: String]) throws {
            endpoint = try #require(environment["IDENTITY_ENDPOINT"])
            secret = try #require(environment["IDENTITY_HEADER"])
        }

        func send(
            _ query: [FormEncoding.Pair], secrets: [String]? = nil, method: HTTPMethod = .get, at url: String? = nil
        ) async throws -> (status: Int, content: JSONObject) {
            var request = HTTPRequest(method, try #require(URL(string: url ?? endpoint)))
            request.url = try #require(URL(string: "\(url ?? endpoint)?\(FormEncoding.encode(query))"))
            request.fields["Metadata"] = "true"
            for secret in secrets ?? [secret] { request.fields.append(name: "X-IDENTITY-HEADER", value: secret) }
            let response = try await CurlTransport(userAgent: "a program").send(request)
            let content = (try? JSONValue(parsing: Array(response.body)))?.object ?? [:]
            #expect(response.status == 200 || content["access_token"] == nil)
            return (response.status, content)
        }

        func get(_ resource: String, _ more: FormEncoding.Pair...) async throws -> (status: Int, content: JSONObject) {
            try await send([("api-version", "2019-08-01"), ("resource", resource)] + more)
        }
    }

    private func signedIn(_ change: (Terminal) throws -> Void = { _ in }) async throws -> Terminal {
        let terminal = try await Terminal()
        try change(terminal)
        let done = await terminal.run("sign-in")
        #expect(done.status == 0, "\(done.errors)")
        return terminal
    }

    /// Runs a program that sends requests.
    private func run(
        _ terminal: Terminal, _ body: @escaping @MainActor @Sendable (Client) async throws -> Void
    ) async -> Terminal.Transcript {
        let isRun = Mutex(false)
        // The body can refer to the terminal, which then would never be released.
        let child = terminal.child
        defer { terminal.child = child }
        terminal.child = { words, environment in
            #expect(words == ["upload", "a b", "--env"])
            isRun.withLock { $0 = true }
            do { try await body(try Client(environment)) } catch { Issue.record(error) }
            return .success(42)
        }
        let done = await terminal.run("exec", "--azure", "--", "upload", "a b", "--env")
        #expect(isRun.withLock { $0 } && done.status == 42 && done.output.isEmpty && done.errors.isEmpty, "\(done)")
        return done
    }

    @Test func `the program gets a token for a host of the account type`() async throws {
        let terminal = try await signedIn()
        let token = String(await terminal.run("token").output.dropLast())
        let resource = terminal.provider.issuer.absoluteString
        let endpoint = Mutex("")
        _ = await run(terminal) { client in
            endpoint.withLock { $0 = client.endpoint }
            let answer = try await client.get(resource)
            #expect(answer.status == 200)
            #expect(answer.content.members.map(\.name) == ["access_token", "expires_on", "resource", "token_type"])
            #expect(answer.content["access_token"] == .string(token))
            #expect(answer.content["resource"] == .string(resource) && answer.content["token_type"] == "Bearer")
            let expiry = try #require(answer.content["expires_on"]?.string.flatMap(Double.init))
            #expect(expiry > Date.now.timeIntervalSince1970)
            // The client of the account type is the identity.
            let own = try await client.get(resource, ("client_id", terminal.provider.clientID.uppercased()))
            #expect(own.status == 200)
        }
        // The port closes with the program.
        let url = try #require(URL(string: endpoint.withLock { $0 }))
        await #expect(throws: HTTPTransportError.self) {
            try await CurlTransport(userAgent: "a program").send(HTTPRequest(.get, url))
        }
    }

    @Test func `a program without the secret, the path or the parameters gets no token`() async throws {
        let terminal = try await signedIn()
        let resource = terminal.provider.issuer.absoluteString
        let valid: [FormEncoding.Pair] = [("api-version", "2019-08-01"), ("resource", resource)]
        _ = await run(terminal) { client in
            #expect(client.secret.utf8.count == 43)
            let secrets: [[String]] = [
                [], ["wrong"], [client.secret + "x"], [String(client.secret.dropLast())],
                [client.secret, client.secret], [String(repeating: "A", count: 43)],
            ]
            for secrets in secrets { #expect(try await client.send(valid, secrets: secrets).status == 401) }
            let local = client.endpoint.replacing("127.0.0.1", with: "localhost")
            #expect(try await client.send(valid, at: local).status == 421)
            #expect(try await client.send(valid, at: client.endpoint + "/x").status == 404)
            #expect(try await client.send(valid, method: .post).status == 405)
            for wrong: [FormEncoding.Pair] in [
                [], [("resource", resource)], [("api-version", "2017-09-01"), ("resource", resource)],
                [("api-version", "2019-08-01")], valid + [("resource", "https://other.example")],
            ] {
                let refused = try await client.send(wrong)
                #expect(refused.status == 400 && refused.content["statusCode"] == 400)
                #expect(refused.content["message"]?.string?.isEmpty == false)
            }
        }
    }

    @Test func `a resource or an identity outside of the account gets no token`() async throws {
        let terminal = try await signedIn()
        let resource = terminal.provider.issuer.absoluteString
        let port = try #require(terminal.provider.issuer.port)
        _ = await run(terminal) { client in
            for other in [
                "https://vault.azure.net", "http://127.0.0.1:1", "127.0.0.1:\(port)",
                "https://evil.example@127.0.0.1:\(port)",
                "http://127.0.0.1:\(port)?a", "http://127.0.0.1:\(port)#a", "http://127.0.0.1:\(port)/ openid",
                "http://127.0.0.1:\(port)\"", "http://127.0.0.1:\(port)\\@vault.azure.net", "", "graph",
                "api://\(port)", "00000003-0000-0000-c000-000000000000",
            ] {
                let refused = try await client.get(other)
                #expect(refused.status == 400, "\(other)")
                #expect(refused.content["message"]?.string?.contains("127.0.0.1:\(port)") == true, "\(other)")
            }
            for name in ["client_id", "mi_res_id", "msi_res_id", "object_id", "principal_id"] {
                let refused = try await client.get(resource, (name, "another"))
                #expect(refused.status == 400, "\(name)")
                #expect(refused.content["message"]?.string?.hasPrefix("no such managed identity") == true)
            }
        }
    }

    @Test func `Entra issues a token for the resource`() async throws {
        let terminal = try await signedIn { terminal in
            try terminal.write(
                settings: terminal.nested.replacing(
                    "\"issuer\": \"\(terminal.provider.issuer)\"",
                    with: "\"authority\": \"\(terminal.provider.tenantAuthority)\""))
        }
        let token = String(await terminal.run("token").output.dropLast())
        let resource = terminal.provider.issuer.absoluteString
        let found = Mutex<[String?]>([])
        _ = await run(terminal) { client in
            for _ in 0..<2 {
                let answer = try await client.get(resource)
                #expect(answer.status == 200, "\(answer)")
                found.withLock { $0.append(answer.content["access_token"]?.string) }
            }
        }
        let tokens = found.withLock { $0 }
        #expect(tokens.count == 2 && tokens[0] == tokens[1] && tokens[0] != nil && tokens[0] != token)
        // The store saved it.
        #expect(await terminal.run("token", "--scope", "\(resource)/.default").output == (tokens[0] ?? "") + "\n")
        #expect(await terminal.run("token").output == token + "\n")
    }

    @Test func `the program gets the error of the account, and a temporary one with 503`() async throws {
        let terminal = try await signedIn()
        let resource = terminal.provider.issuer.absoluteString
        #expect(await terminal.run("sign-in").status == 0)
        _ = await run(terminal) { client in
            #expect(await terminal.run("sign-out").status == 0)
            try await until { try await client.get(resource).status != 200 }
            let refused = try await client.get(resource)
            #expect(refused.status == 400 && refused.content["statusCode"] == 400, "\(refused)")
        }
    }

    @Test func `only the variables of the endpoint change`() async throws {
        let terminal = try await signedIn()
        terminal.set("MSI_ENDPOINT", "http://127.0.0.1:1")
        terminal.set("MSI_SECRET", "old")
        terminal.set("IDENTITY_SERVER_THUMBPRINT", "old")
        terminal.set("AZURE_CLIENT_ID", "c")
        let found = Mutex<[[String: String]]>([])
        terminal.child = { _, environment in
            found.withLock { $0.append(environment) }
            return .success(0)
        }
        for (proxy, exceptions) in [
            (nil, nil), ("http://proxy.example", nil), ("http://proxy.example", "a.example"),
            ("http://proxy.example", "*"),
        ]
            as [(String?, String?)]
        {
            terminal.set("HTTP_PROXY", proxy)
            terminal.set("no_proxy", exceptions)
            #expect(await terminal.run("exec", "--azure", "upload").status == 0)
        }
        let environments = found.withLock { $0 }
        #expect(environments.count == 4 && Set(environments.compactMap { $0["IDENTITY_HEADER"] }).count == 4)
        for environment in environments {
            #expect(!environment.keys.contains { $0.hasPrefix("OAUTH2_") || $0.hasPrefix("MSI_") })
            #expect(environment["IDENTITY_SERVER_THUMBPRINT"] == nil && environment["AZURE_CLIENT_ID"] == "c")
            #expect(environment["HOME"] != nil)
            #expect(
                environment["IDENTITY_ENDPOINT"]?.wholeMatch(of: /http:\/\/127\.0\.0\.1:[0-9]+\/msi\/token/) != nil)
        }
        // The secret does not go through a proxy.
        #expect(environments.map { $0["NO_PROXY"] } == [nil, "127.0.0.1", "a.example,127.0.0.1", nil])
        #expect(environments.map { $0["no_proxy"] } == [nil, "127.0.0.1", "a.example,127.0.0.1", "*"])
    }

    @Test func `exec --azure starts no program if it cannot serve it`() async throws {
        let terminal = try await Terminal()
        let missing = await terminal.run("exec", "--azure", "--", "upload")
        #expect(missing.status == 4 && missing.errors.contains("lodge sign-in local"))
        #expect(!FileManager.default.fileExists(atPath: terminal.store.path))
        #expect(await terminal.run("sign-in").status == 0)
        for words in [["--env", "NAME"], ["--scope", "User.Read"], ["--refresh"]] {
            let refused = await terminal.run(words: ["exec", "--azure"] + words + ["--", "upload"])
            #expect(refused.status == 2 && refused.errors.contains("--azure"), "\(refused)")
        }
        #expect(await terminal.run("exec", "--azure").status == 2)
    }

    @Test func `exec --azure names the program that cannot run`() async throws {
        let terminal = try await signedIn()
        terminal.child = { _, _ in .failure(SystemError(ENOENT)) }
        let missing = await terminal.run("exec", "--azure", "--", "upload")
        #expect(missing.status == 127 && missing.errors.contains(#"cannot run "upload""#))
        terminal.child = { _, _ in .failure(SystemError(EACCES)) }
        // A time limit is not for the program.
        #expect(await terminal.run("exec", "--azure", "--timeout", "1", "--", "upload").status == 126)
    }
}
