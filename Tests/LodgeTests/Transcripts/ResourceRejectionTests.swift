import Foundation
import HTTPExchange
import LoopbackHTTP
import OAuth2AccountStore
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// Tests the metadata of an API and its authorization server: its location, and errors that end the sign-in.
@MainActor @Suite struct ResourceRejectionTests {
    private func text(_ url: URL) throws -> String { try String(contentsOf: url, encoding: .utf8) }

    // MARK: Location of the metadata

    @Test(arguments: [
        ("/a/b", "/a/b", "/a/b"), ("/a/b", "", "/a/b"), ("/a/b", "", ""), ("/a/b", "/a/b", "/a"), ("/a/", "/a/", "/a/"),
        ("/a", "/a", "/a/"), ("/", "", "/"), ("", "", ""), ("", "", "/"), ("/?v=1", "/?v=1", "/?v=1"),
    ])
    func `the metadata is found with the path inserted and at the root`(
        path: String, inserted: String, named: String
    ) async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        let origin = scene.resource.issuer
        scene.challenge(#"realm="x""#, at: path.isEmpty ? "/" : String(path.prefix { $0 != "?" }))
        scene.describeResource(
            at: ResourceScene.resourceMetadata + inserted.prefix { $0 != "?" }, resource: origin + named)
        let signIn = await terminal.run("sign-in", origin + path, "--yes")
        #expect(signIn.status == 0, "\(signIn.errors)")
        let type = try #require(try Settings(contentsOf: terminal.settings)[scene.name()])
        #expect(type.resources == [origin + named])
        let isParent = named != path && !(path.isEmpty && named == "/")
        #expect(signIn.errors.contains("The tokens will be for \(origin + named)") == isParent, "\(signIn.errors)")
        #expect(scene.resource.requests.map(\.target).last == ResourceScene.resourceMetadata + inserted)
    }

    // MARK: Rejections

    fileprivate struct Rejection: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var status: Int32 = 1
        let reason: String
        let change: @Sendable (ResourceScene) -> Void

        init(_ text: String, _ reason: String, status: Int32 = 1, _ change: @escaping @Sendable (ResourceScene) -> Void)
        {
            (testDescription, self.reason, self.status, self.change) = (text, reason, status, change)
        }
    }

    fileprivate nonisolated static let rejections: [Rejection] = [
        Rejection("a resource with another path", "belongs to the resource") {
            $0.describeResource(resource: $0.resource.issuer + "/other")
        },
        Rejection("a resource whose name only begins alike", "belongs to the resource") {
            $0.describeResource(resource: $0.resource.issuer + "/mc")
        },
        Rejection("a resource below the address", "belongs to the resource") {
            $0.describeResource(resource: $0.url + "/more")
        },
        Rejection("a resource on another origin", "belongs to the resource") {
            $0.describeResource(resource: $0.server.issuer + "/mcp")
        },
        Rejection("metadata without a resource", "lacks the resource") {
            $0.resource.answer("/metadata", #"{"authorization_servers": ["\#($0.server.issuer)"]}"#)
        },
        Rejection("metadata on another origin", "metadata on another server") {
            $0.challenge(#"resource_metadata="\#($0.server.issuer)/metadata""#)
            $0.server.answer("/metadata", #"{"resource": "\#($0.url)", "authorization_servers": ["ISSUER"]}"#)
        },
        Rejection("metadata with plain http", "only for this machine") {
            $0.challenge(#"resource_metadata="http://api.example/metadata""#)
        },
        Rejection("metadata that are missing", "HTTP status 404") {
            $0.challenge(#"resource_metadata="\#($0.resource.issuer)/missing""#)
        },
        Rejection("no metadata at all", "RFC 9728") { $0.challenge("") },
        Rejection("no authorization server", "lacks an authorization server") { $0.describeResource(servers: []) },
        Rejection("an authorization server with plain http", "only for this machine") {
            $0.describeResource(servers: ["http://id.example"])
        },
        Rejection("the metadata of another authorization server", "belongs to the issuer") {
            $0.describeServer(["issuer": "https://id.example"])
        },
        Rejection("an issuer with a slash more", "belongs to the issuer") {
            $0.describeResource(servers: [$0.server.issuer + "/"])
        },
        Rejection("no metadata of the authorization server", "404") {
            $0.describeResource(servers: [$0.server.issuer + "/tenant"])
        },
        Rejection("a server that does not announce PKCE", "PKCE") {
            $0.describeServer(["code_challenge_methods_supported": .null])
        },
        Rejection("a server with plain PKCE only", "PKCE") {
            $0.describeServer(["code_challenge_methods_supported": ["plain"]])
        },
        Rejection("no authorization endpoint", "authorization_endpoint") {
            $0.describeServer(["authorization_endpoint": .null])
        },
        Rejection("a token endpoint with plain http", "token_endpoint") {
            $0.describeServer(["token_endpoint": "http://id.example/token"])
        },
        Rejection("a scope that cannot be sent", "which is invalid") {
            $0.challenge(#"scope="a\\b", resource_metadata="\#($0.resource.issuer)/metadata""#)
        },
        Rejection("an overloaded resource", "503", status: 6) {
            $0.resource.answer("/mcp") { _ in .init(status: 503) }
        },
        Rejection("a resource elsewhere", "redirects to") {
            let target = $0.server.issuer + "/mcp"
            $0.resource.answer("/mcp") { _ in .init(status: 307, fields: ["Location": target]) }
        },
        Rejection("no client registration", "does not offer client registration", status: 8) {
            $0.describeServer(["registration_endpoint": .null])
        },
        Rejection("a registration endpoint with plain http", "does not offer client registration", status: 8) {
            $0.describeServer(["registration_endpoint": "http://id.example/register"])
        },
    ]

    @Test(arguments: rejections)
    fileprivate func `an invalid API is rejected before registration, code, token and changes of the settings`(
        rejection: Rejection
    ) async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        rejection.change(scene)
        let old = try text(terminal.settings)
        let signIn = await terminal.run("sign-in", scene.url, "--yes")
        #expect(signIn.status == rejection.status, "\(signIn.errors)")
        #expect(signIn.errors.contains(rejection.reason) && signIn.errors.contains("\nhint: "), "\(signIn.errors)")
        #expect(rejection.status != 1 || !signIn.errors.contains("the saved sign-in"), "\(signIn.errors)")
        #expect(scene.signInRequests.isEmpty)
        #expect((scene.resource.requests + scene.server.requests).allSatisfy { $0.fields["Authorization"] == nil })
        #expect(try text(terminal.settings) == old)
        #expect(!FileManager.default.fileExists(atPath: terminal.store.path))
    }

    @Test(arguments: ["http://api.example/mcp", "https://api.example/a/../b", "ftp://api.example", "https://", "://"])
    func `an invalid URL is an error before any request`(address: String) async throws {
        let terminal = try await Terminal()
        let signIn = await terminal.run("sign-in", address, "--yes")
        #expect([2, 8].contains(signIn.status) && signIn.errors.contains("expected"), "\(signIn.errors)")
    }

    @Test func `a URL without a scheme suggests the complete command`() async throws {
        let terminal = try await Terminal()
        let signIn = await terminal.run("sign-in", "api.example/mcp")
        #expect(signIn.status == 8, "\(signIn.errors)")
        #expect(signIn.errors.contains("run: lodge sign-in https://api.example/mcp\n"), "\(signIn.errors)")
        terminal.set("LODGE_SETTINGS", nil)
        #expect(
            await terminal.run("sign-in", "api.example").errors.contains("run: lodge sign-in https://api.example\n"))
        #expect(!(await terminal.run("sign-in", "gihtub").errors.contains("https://gihtub")))
    }

    @Test func `a URL without a response is a network error that names the URL`() async throws {
        let terminal = try await Terminal()
        let signIn = await terminal.run("sign-in", "http://127.0.0.1:1/mcp", "--yes")
        #expect(signIn.status == 7 && signIn.errors.contains("hint: check the URL"), "\(signIn.errors)")
    }

    @Test(arguments: [[:], ["iss": "https://evil.example"], ["iss": "ISSUER/"]])
    func `a redirect with a missing or different issuer sends no code`(parameters: [String: String]) async throws {
        let terminal = try await Terminal()
        let scene = try ResourceScene()
        let more = parameters.mapValues { $0.replacing("ISSUER", with: scene.server.issuer) }
        scene.server.answer("/authorize") { ResourceScene.redirect($0, more) }
        // The command does not wait for the time limit.
        let signIn = await terminal.run("sign-in", scene.url, "--yes")
        #expect(signIn.status == 1 && signIn.errors.contains("\nhint: no code was sent; "), "\(signIn.errors)")
        let reason = more["iss"].map {
            "it comes from a different issuer (iss: expected \"\(scene.server.issuer)\", received \"\($0)\")"
        }
        #expect(signIn.errors.contains(reason ?? "the issuer is missing although this provider announces it"))
        #expect(scene.signInRequests == ["/register", "/authorize"])
        #expect(await terminal.run("accounts", "--output", "json").output == "[]\n")
    }
}
