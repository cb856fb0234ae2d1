import AccountKeys
import Foundation
import HTTPExchange
import OAuth2AccountStore
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import StoreTestSupport
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import Diagnostics

@Suite(.timeLimit(.scaled(minutes: 5)))
struct WorkingIssuerTests {
    /// The metadata documents of some issuers, as a transport. It records the requested URLs.
    private final class Servers: HTTPTransport {
        private let issuers: [String: String]
        private let isReachable: Bool
        private let requested = Mutex<[String]>([])

        var urls: [String] { requested.withLock { $0 } }

        /// Creates servers that have these documents.
        ///
        /// - Parameter issuers: the `issuer` member of each metadata document, by the URL of the document.
        init(_ issuers: [String: String], isReachable: Bool = true) {
            self.issuers = issuers
            self.isReachable = isReachable
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            requested.withLock { $0.append(request.url.absoluteString) }
            guard isReachable else {
                throw HTTPTransportError(.connectionLost, host: request.url.host() ?? "", reason: "connection refused")
            }
            guard let issuer = issuers[request.url.absoluteString] else { return HTTPResponse(status: 404) }
            let metadata: JSONObject = [
                "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
                "token_endpoint": .string(issuer + "/token"), "jwks_uri": .string(issuer + "/keys"),
                "response_types_supported": ["code"],
            ]
            return HTTPResponse(
                status: 200, fields: ["Content-Type": "application/json"],
                body: Data(JSONValue.object(metadata).serialized()))
        }
    }

    private func workingIssuer(for issuer: String, _ servers: Servers) async throws -> String? {
        var type = try TestStore.type(redirect: "http://127.0.0.1/callback")
        type.provider = .issuer(issuer)
        return try await ProviderReport.workingIssuer(
            for: type, dependencies: Dependencies(transport: servers, environment: [:]))
    }

    @Test func `a URL below the issuer proposes the issuer`() async throws {
        let issuer = "https://id.example/realms/staff"
        let servers = Servers(["\(issuer)/.well-known/openid-configuration": issuer])
        for path in ["/login", "/account/sign-in", "/login?next=/a/b", "/login#top"] {
            #expect(try await workingIssuer(for: issuer + path, servers) == issuer, "\(path)")
        }
        #expect(try await workingIssuer(for: issuer + "/a/b/c/d/e", servers) == nil, "more than four parents")
        #expect(try await workingIssuer(for: "https://id.example/realms/guests", servers) == nil)
    }

    @Test func `the issuer in a metadata document is proposed only if its own metadata agree`() async throws {
        let document = "https://id.example/.well-known/openid-configuration"
        let other = "https://login.example"
        #expect(try await workingIssuer(for: "https://id.example", Servers([document: other])) == nil)
        let both = Servers([document: other, "\(other)/.well-known/openid-configuration": other])
        #expect(try await workingIssuer(for: "https://id.example", both) == other)
        #expect(try await workingIssuer(for: document, both) == other)
    }

    @Test func `only a server on this machine can name an issuer on this machine`() async throws {
        let local = "http://127.0.0.1:8080"
        let remote = Servers([
            "https://id.example/.well-known/openid-configuration": local,
            "\(local)/.well-known/openid-configuration": local,
        ])
        #expect(try await workingIssuer(for: "https://id.example", remote) == nil)
        #expect(!remote.urls.contains { $0.hasPrefix(local) })
        let here = Servers([
            "http://127.0.0.1:9090/.well-known/openid-configuration": local,
            "\(local)/.well-known/openid-configuration": local,
        ])
        #expect(try await workingIssuer(for: "http://127.0.0.1:9090", here) == local)
    }

    @Test func `an unreachable server gets one request`() async throws {
        let servers = Servers([:], isReachable: false)
        #expect(try await workingIssuer(for: "https://id.example/a/b/c", servers) == nil)
        #expect(servers.urls.count == 1)
    }
}
