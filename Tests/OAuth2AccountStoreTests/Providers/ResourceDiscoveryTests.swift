import Foundation
import HTTPExchange
import OAuth2Protocol
import Synchronization
import Testing

@testable import OAuth2AccountStore
import ProviderSettings

/// A transport that represents Internet servers. The test sets their responses.
private final class ScriptedInternet: HTTPTransport {
    private let responses: [String: HTTPResponse]
    private let seen = Mutex<[HTTPRequest]>([])

    init(_ responses: [String: HTTPResponse]) { self.responses = responses }

    var requests: [HTTPRequest] { seen.withLock { $0 } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        seen.withLock { $0.append(request) }
        return responses[request.url.absoluteString] ?? HTTPResponse(status: 404)
    }

    func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        let response = try await send(request)
        return HTTPStreamedResponse(
            status: response.status, fields: response.fields, body: HTTPResponseBody(response.body), url: request.url)
    }
}

@Suite struct ResourceDiscoveryTests {
    private static let url = "https://api.example/mcp"
    private static let metadataURL = "https://api.example/.well-known/oauth-protected-resource/mcp"

    private static func json(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: Data(text.utf8))
    }

    private static func challenge(_ text: String) -> HTTPResponse {
        HTTPResponse(status: 401, fields: ["WWW-Authenticate": text])
    }

    private static let metadata = json(
        #"{"resource": "https://api.example/mcp", "authorization_servers": ["https://id.example"], "scopes_supported": ["b"]}"#
    )

    private func describe(_ responses: [String: HTTPResponse]) async throws -> ResourceDiscovery.Description {
        try await ResourceDiscovery(transport: ScriptedInternet(responses)).describe(Self.url)
    }

    @Test func `the scope of the challenge has precedence over the scopes of the metadata`() async throws {
        let named = try await describe([
            Self.url: Self.challenge(#"Bearer resource_metadata="\#(Self.metadataURL)", scope="a offline_access""#),
            Self.metadataURL: Self.metadata,
        ])
        #expect(named.scope.tokens == ["a", "offline_access"])
        let unnamed = try await describe([
            Self.url: Self.challenge(#"Basic realm="x", Bearer"#), Self.metadataURL: Self.metadata,
        ])
        #expect(unnamed.scope.tokens == ["b"] && !unnamed.isParent && !unnamed.requiresDPoP)
        let none = try await describe([
            Self.url: HTTPResponse(status: 200),
            Self.metadataURL: Self.json(
                #"{"resource": "https://api.example", "authorization_servers": ["https://id.example"], "dpop_bound_access_tokens_required": true}"#
            ),
        ])
        #expect(none.scope.isEmpty && none.isParent && none.requiresDPoP && none.resource == "https://api.example")
    }

    @Test func `no request has a token, and no redirect is followed`() async throws {
        let internet = ScriptedInternet([Self.metadataURL: Self.metadata])
        _ = try await ResourceDiscovery(transport: internet).describe(Self.url)
        #expect(internet.requests.map(\.url.absoluteString) == [Self.url, Self.metadataURL])
        #expect(internet.requests.allSatisfy { $0.fields["Authorization"] == nil && $0.redirects == .none })
    }

    @Test(arguments: [
        "http://127.0.0.1:8080", "http://localhost", "http://id.example", "ftp://id.example", "https://id.example?x",
        "https://id.example#x", "https://user@id.example", "",
    ])
    func `a resource on the Internet can only name authorization servers with https`(issuer: String) async throws {
        let error = await #expect(throws: AccountStoreError.self) {
            try await describe([
                Self.metadataURL: Self.json(
                    #"{"resource": "https://api.example/mcp", "authorization_servers": ["\#(issuer)"]}"#)
            ])
        }
        #expect(error?.kind == .invalidAnswer, "\(error as Any)")
        let other = try await describe([
            Self.metadataURL: Self.json(
                #"{"resource": "https://api.example/mcp", "authorization_servers": ["\#(issuer)", "https://b.example"]}"#
            )
        ])
        #expect(other.authorizationServers == ["https://b.example"])
    }

    @Test(arguments: [
        "https://evil.example/.well-known/oauth-protected-resource", "http://api.example/metadata",
        "https://api.example:8443/metadata", "http://127.0.0.1/metadata", "/metadata", "https://u@api.example/metadata",
    ])
    func `metadata on another origin is not requested`(metadata: String) async throws {
        let internet = ScriptedInternet([
            Self.url: Self.challenge(#"Bearer resource_metadata="\#(metadata)""#), metadata: Self.metadata,
            Self.metadataURL: Self.metadata,
        ])
        let error = await #expect(throws: AccountStoreError.self) {
            try await ResourceDiscovery(transport: internet).describe(Self.url)
        }
        #expect(error?.kind == .invalidAnswer && error?.reason.contains("resource") == true, "\(error as Any)")
        #expect(internet.requests.count == 1)
    }

    @Test(arguments: [(429, "7"), (503, "7"), (500, "7")])
    func `a transient error of the resource ends the discovery`(status: Int, wait: String) async throws {
        let internet = ScriptedInternet([
            Self.url: HTTPResponse(status: status, fields: ["Retry-After": wait]), Self.metadataURL: Self.metadata,
        ])
        let error = await #expect(throws: AccountStoreError.self) {
            try await ResourceDiscovery(transport: internet).describe(Self.url)
        }
        #expect(error?.kind == .unavailable && error?.remedy == .retryLater(after: .seconds(7)), "\(error as Any)")
        #expect(internet.requests.count == 1)
    }

    @Test(arguments: [
        ("/mcp/", "https://api.example/mcp/"), ("https://api.example/v2/mcp", "https://api.example/v2/mcp"),
        ("https://evil.example/mcp", nil), ("/a;reboot", nil),
    ])
    func `a redirect on the same server is suggested as the next sign-in, and not followed`(
        location: String, next: String?
    ) async throws {
        let error = await #expect(throws: AccountStoreError.self) {
            try await describe([Self.url: HTTPResponse(status: 307, fields: ["Location": location])])
        }
        let actions = try #require(error?.hint).actions.compactMap { $0 as? AccountRemedy }
        #expect(actions == (next.map { [.signIn(type: $0)] } ?? []))
    }

    @Test func `a web page for an unknown path is not metadata`() async throws {
        let root = "https://api.example/.well-known/oauth-protected-resource"
        let found = try await describe([
            Self.metadataURL: HTTPResponse(status: 200, body: Data("<!doctype html>".utf8)), root: Self.metadata,
        ])
        #expect(found.resource == Self.url)
        let error = await #expect(throws: AccountStoreError.self) { try await describe([:]) }
        #expect(error?.reason.contains("RFC 9728") == true)
    }

    // MARK: The authorization server of a resource

    private func server(
        _ issuer: String, _ responses: [String: HTTPResponse], scope: Scope = []
    ) async throws -> (AuthorizationServer, [String]) {
        var type = AccountType(
            name: "t", provider: .issuer(issuer), clientID: "c",
            redirectURI: try RedirectURI("http://127.0.0.1/callback"),
            scope: scope)
        type.resources = [Self.url]
        let internet = ScriptedInternet(responses)
        let metadata = try await ProviderDiscovery(type) {
            let response = try await internet.send($0)
            try response.checkIsFromServer(of: $0.url)
            return response
        }.read()
        return (metadata.server, internet.requests.map(\.url.absoluteString))
    }

    @Test func `the server's metadata is searched in the order of the Model Context Protocol`() async throws {
        let last = "https://id.example/a/.well-known/openid-configuration"
        let (_, path) = try await server(
            "https://id.example/a", [last: Self.json(#"{"issuer": "https://id.example/a"}"#)])
        #expect(
            path == [
                "https://id.example/.well-known/oauth-authorization-server/a",
                "https://id.example/.well-known/openid-configuration/a", last,
            ])
        let root = "https://id.example/.well-known/openid-configuration"
        let (_, noPath) = try await server(
            "https://id.example",
            [
                root: Self.json(#"{"issuer": "https://id.example"}"#),
                "https://id.example/.well-known/oauth-authorization-server": HTTPResponse(
                    status: 200, body: Data("<html>".utf8)),
            ])
        #expect(noPath == ["https://id.example/.well-known/oauth-authorization-server", root])
    }

    @Test(arguments: [400, 401, 403, 404, 405, 410]) func `a server can reject an unknown path with any status`(
        status: Int
    ) async throws {
        let found = try await server(
            "https://id.example",
            [
                "https://id.example/.well-known/oauth-authorization-server": HTTPResponse(status: status),
                "https://id.example/.well-known/openid-configuration": Self.json(#"{"issuer": "https://id.example"}"#),
            ])
        #expect(found.0.issuer == "https://id.example")
    }

    @Test(arguments: [429, 500, 503])
    func `a server that is temporarily unavailable is an error, not a server without metadata`(
        status: Int
    ) async throws {
        await #expect(throws: OAuth2Error.self) {
            try await server(
                "https://id.example",
                [
                    "https://id.example/.well-known/oauth-authorization-server": HTTPResponse(status: status),
                    "https://id.example/.well-known/openid-configuration": Self.json(
                        #"{"issuer": "https://id.example"}"#),
                ])
        }
    }

    @Test func `a sign-in with openid reads the document that has the keys of ID tokens`() async throws {
        let documents = [
            "https://id.example/.well-known/oauth-authorization-server": Self.json(
                #"{"issuer": "https://id.example"}"#),
            "https://id.example/.well-known/openid-configuration": Self.json(
                #"{"issuer": "https://id.example", "jwks_uri": "https://id.example/keys", "id_token_signing_alg_values_supported": ["ES256"]}"#
            ),
        ]
        let found = try await server("https://id.example", documents, scope: ["openid", "notes"]).0
        #expect(found.jwksURI?.path() == "/keys" && found.idTokenSigningAlgorithms == ["ES256"])
        #expect(try await server("https://id.example", documents).0.jwksURI == nil)
    }

    @Test(arguments: [401, 500]) func `no error contains the query of the URL`(status: Int) async throws {
        let address = Self.url + "?key=geheim"
        for responses in [
            [address: HTTPResponse(status: status)],
            [
                address: HTTPResponse(status: 401),
                Self.metadataURL + "?key=geheim": Self.json(#"{"resource": "https://other.example/?key=geheim"}"#),
            ],
            [address: HTTPResponse(status: 401), Self.metadataURL + "?key=geheim": Self.json("{}")],
        ] {
            let error = await #expect(throws: AccountStoreError.self) {
                try await ResourceDiscovery(transport: ScriptedInternet(responses)).describe(address)
            }
            var text = ""
            dump(error, to: &text)
            #expect(!text.contains("geheim"), "\(text)")
        }
    }

    /// Reads both documents of a provider below a path, and returns the paths of the requests.
    private func completed(
        _ documents: [String: String], statuses: [String: Int] = [:]
    ) async throws -> (AuthorizationServer, [String]) {
        let issuer = "https://id.example/o"
        let responses =
            documents.map { ("https://id.example\($0.key)", Self.json($0.value)) }
            + statuses.map { ("https://id.example\($0.key)", HTTPResponse(status: $0.value)) }
        let internet = ScriptedInternet(Dictionary(responses) { first, _ in first })
        let discovery = ProviderDiscovery(
            AccountType(
                name: "t", provider: .issuer(issuer), clientID: "c",
                redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: [])
        ) { try await internet.send($0) }
        var metadata = try await discovery.read()
        try await discovery.complete(&metadata)
        // The document is requested only once.
        try await discovery.complete(&metadata)
        return (metadata.server, internet.requests.map { $0.url.path() })
    }

    private static let openID = "/o/.well-known/openid-configuration"
    private static let inserted = "/.well-known/oauth-authorization-server/o"
    private static let appended = "/o/.well-known/oauth-authorization-server"

    private static func document(_ endpoint: String, issuer: String = "https://id.example/o") -> String {
        #"{"issuer": "\#(issuer)", "\#(endpoint)": "https://id.example/o/x"}"#
    }

    @Test func `the document of RFC 8414 is also found with its path appended to the issuer`() async throws {
        let (server, paths) = try await completed([
            Self.openID: Self.document("token_endpoint"), Self.appended: Self.document("revocation_endpoint"),
        ])
        #expect(server.revocationEndpoint != nil && server.tokenEndpoint != nil)
        #expect(paths == [Self.openID, Self.inserted, Self.appended])
    }

    @Test func `the appended path is not read after a document at the inserted one`() async throws {
        let (server, paths) = try await completed([
            Self.openID: Self.document("token_endpoint"), Self.inserted: Self.document("introspection_endpoint"),
            Self.appended: Self.document("revocation_endpoint"),
        ])
        #expect(server.introspectionEndpoint != nil && server.revocationEndpoint == nil)
        #expect(paths == [Self.openID, Self.inserted])
    }

    @Test func `a document of another issuer at the appended path is ignored`() async throws {
        let (server, paths) = try await completed([
            Self.openID: Self.document("token_endpoint"),
            Self.appended: Self.document("revocation_endpoint", issuer: "https://id.example"),
        ])
        #expect(server.revocationEndpoint == nil && paths == [Self.openID, Self.inserted, Self.appended])
    }

    @Test func `a provider with a document only at the appended path is found`() async throws {
        let (server, paths) = try await completed([Self.appended: Self.document("token_endpoint")])
        #expect(server.tokenEndpoint != nil)
        #expect(
            paths == [
                Self.openID, Self.inserted, "/.well-known/openid-configuration/o", Self.appended,
            ])
    }

    @Test func `an overloaded provider is an error, not a provider without metadata`() async throws {
        await #expect(throws: OAuth2Error.self) {
            try await completed([Self.openID: Self.document("token_endpoint")], statuses: [Self.inserted: 503])
        }
    }

    @Test func `endpoints of a server on the Internet may not be on this machine`() async throws {
        let (found, _) = try await server(
            "https://id.example",
            [
                "https://id.example/.well-known/oauth-authorization-server": Self.json(
                    #"{"issuer": "https://id.example", "registration_endpoint": "http://127.0.0.1:9/", "token_endpoint": "https://id.example/token"}"#
                )
            ])
        #expect(found.registrationEndpoint == nil && found.unusable["registration_endpoint"] != nil)
        #expect(found.tokenEndpoint != nil)
    }
}
