import LodgePlatform
import Foundation
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published discovery cases.
struct DiscoveryTests {
    static let file = VectorFile("discovery")
    static let addresses = file.cases { $0.kind == "url" }
    static let documents = file.cases { $0.kind == "metadata" }

    @Test(arguments: addresses)
    func `the metadata URL is created as its case says`(vector: VectorCase) throws {
        let placement: Discovery.Placement
        switch vector.input["algorithm"]?.string {
        case "oidc": placement = .openID
        case "oauth2": placement = .oauth
        case "oidc_inserted": placement = .openIDInserted
        case "resource":
            let url = try ProtectedResource.url(for: vector.input["issuer"]?.string ?? "")
            #expect(vector.outcome == "url")
            #expect(url.absoluteString == vector.expect["url"]?.string)
            return
        default: throw Unknown()
        }
        let issuer = try #require(vector.input["issuer"]?.string)
        do {
            let discovery = try Discovery(issuer: issuer, placement: placement)
            #expect(vector.outcome == "url")
            #expect(discovery.url.absoluteString == vector.expect["url"]?.string)
        } catch {
            #expect(vector.outcome == "reject")
            let words = [
                "http_issuer": "https", "query": "no query", "fragment": "fragment", "scheme": "https",
                "no_host": "absolute", "empty": "empty",
            ]
            #expect(error.description.contains(try #require(words[vector.reason ?? ""])))
        }
    }

    @Test func `loopback HTTP is accepted if it is allowed`() throws {
        let discovery = try Discovery(issuer: "http://127.0.0.1:8080", allowsLoopbackHTTP: true)
        #expect(discovery.url.absoluteString == "http://127.0.0.1:8080/.well-known/openid-configuration")
    }

    @Test func `loopback endpoints may use plain HTTP if it is allowed`() throws {
        let body =
            #"{"issuer":"http://127.0.0.1:8080","token_endpoint":"http://127.0.0.1:8080/token","jwks_uri":"http://a.example/k"}"#
        let discovery = try Discovery(issuer: "http://127.0.0.1:8080", allowsLoopbackHTTP: true)
        let server = try discovery.read(HTTPResponse(status: 200, body: Data(body.utf8)))
        #expect(server.tokenEndpoint?.absoluteString == "http://127.0.0.1:8080/token")
        #expect(server.jwksURI == nil && server.unusable["jwks_uri"] != nil)
    }

    @Test(arguments: documents)
    func `metadata is accepted or rejected as its case says`(vector: VectorCase) throws {
        var response = vector.input.response
        if let metadata = vector.input["metadata"] { response.body = Data(metadata.serialized()) }
        let discovery = try Discovery(issuer: try #require(vector.input["expected_issuer"]?.string))
        let server: AuthorizationServer
        do {
            server = try discovery.read(response)
        } catch {
            #expect(vector.outcome == "reject", "\(error)")
            let outcomes: [String: Outcome] = [
                "issuer": .invalidResponse("issuer"), "issuer_mismatch": .invalidResponse("issuer"),
                "redirect": .httpError(response.status), "http_status": .httpError(response.status),
                "duplicate_member": .invalidResponse("token_endpoint"), "not_json": .invalidResponse("not_json"),
            ]
            // A body that is not JSON is not an object either.
            let expected = vector.reason == "not_object" && vector.id != "DI-103" ? "not_json" : vector.reason
            #expect(Outcome(error) == outcomes[expected ?? ""] ?? .invalidResponse(expected ?? ""))
            return
        }
        #expect(vector.outcome.hasPrefix("accept"))
        for name in vector.expect.texts("unusable") ?? [] {
            let endpoint = AuthorizationServer.endpointNames.first { $0.name == name }
            if let endpoint {
                #expect(server[keyPath: endpoint.path] == nil)
            } else {
                #expect(server.unusable[name] != nil)
            }
        }
        if vector.outcome == "accept" { #expect(server.unusable.isEmpty) }
        if let algorithms = vector.expect.texts("id_token_allowed_algs") {
            #expect(server.idTokenSigningAlgorithms == algorithms)
        }
        if let must = vector.expect["must_use"]?.string {
            #expect(must == "par")
            #expect(server.requiresPushedAuthorizationRequests)
        }
        try checkPKCE(vector.expect, server)
        try checkSecretMethod(vector.expect, server)
    }

    private func checkPKCE(_ expect: JSONObject, _ server: AuthorizationServer) throws {
        guard let pkce = expect["pkce"]?.string else { return }
        let redirect = try RedirectURI("http://127.0.0.1:1/cb")
        let request = Result {
            try AuthorizationRequest(server: server, client: Client(id: "c"), redirectURI: redirect, scope: [])
        }
        switch pkce {
        case "S256": #expect(try request.get().url.absoluteString.contains("code_challenge_method=S256"))
        case "refuse_or_explicit_opt_in": #expect(throws: OAuth2Error.self) { try request.get() }
        default: Issue.record("unknown expectation \(pkce)")
        }
    }

    private func checkSecretMethod(_ expect: JSONObject, _ server: AuthorizationServer) throws {
        guard let method = expect["auth_method_for_secret"]?.string else { return }
        let chosen = Result {
            try ClientAuthentication.secret(Secret("s"), announced: server.tokenEndpointAuthenticationMethods)
        }
        switch method {
        case "client_secret_basic": #expect(try chosen.get() == .secretBasic(Secret("s")))
        case "client_secret_post": #expect(try chosen.get() == .secretPost(Secret("s")))
        case "configuration_error": #expect(throws: OAuth2Error.self) { try chosen.get() }
        default: Issue.record("unknown expectation \(method)")
        }
    }

    @Test func `an Entra authority accepts the tenant template and rejects other hosts`() throws {
        let discovery = try Discovery(authority: "https://login.microsoftonline.com/common")
        func read(_ issuer: String) throws -> AuthorizationServer {
            try discovery.read(HTTPResponse(status: 200, body: Data(#"{"issuer":"\#(issuer)"}"#.utf8)))
        }
        #expect(
            discovery.url.absoluteString
                == "https://login.microsoftonline.com/common/v2.0/.well-known/openid-configuration")
        #expect(throws: Never.self) { try read("https://login.microsoftonline.com/{tenantid}/v2.0") }
        #expect(throws: OAuth2Error.self) { try read("https://login.microsoftonline.com.evil.example/{tenantid}/v2.0") }
        #expect(throws: OAuth2Error.self) { try read("http://login.microsoftonline.com/{tenantid}/v2.0") }
    }

    @Test(arguments: [
        ("common", "{tenantid}", true), ("organizations", "{tenantid}", true),
        ("consumers", "9188040d-6c67-4c5b-b112-36a304b66dad", true),
        ("consumers", "72f988bf-86f1-41af-91ab-2d7cd011db47", false),
        ("72F988BF-86f1-41af-91ab-2d7cd011db47", "72f988bf-86f1-41af-91ab-2d7cd011db47", true),
        ("72f988bf-86f1-41af-91ab-2d7cd011db47", "72f988bf-86f1-41af-91ab-2d7cd011db48", false),
        ("72f988bf-86f1-41af-91ab-2d7cd011db47", "{tenantid}", false), ("contoso.com", "{tenantid}", false),
        ("contoso.com", "72f988bf-86f1-41af-91ab-2d7cd011db47", true),
    ])
    func `an Entra authority rejects the metadata of another tenant`(path: String, tenant: String, isAccepted: Bool)
        throws
    {
        let discovery = try Discovery(authority: "https://login.microsoftonline.com/\(path)")
        let body = #"{"issuer":"https://login.microsoftonline.com/\#(tenant)/v2.0"}"#
        let server = try? discovery.read(HTTPResponse(status: 200, body: Data(body.utf8)))
        #expect((server != nil) == isAccepted)
    }

    @Test func `protected resource metadata must name the requested resource`() throws {
        let body = #"{"resource":"https://rs.example.com/a","authorization_servers":["https://as.example.com"]}"#
        let response = HTTPResponse(status: 200, body: Data(body.utf8))
        let resource = try ProtectedResource.read(response, resource: "https://rs.example.com/a")
        #expect(resource.authorizationServers == ["https://as.example.com"])
        #expect(throws: OAuth2Error.self) {
            try ProtectedResource.read(response, resource: "https://rs.example.com/a/")
        }
    }

    @Test(arguments: [
        (
            "https://rs.example/a/b",
            ["/.well-known/oauth-protected-resource/a/b", "/.well-known/oauth-protected-resource"]
        ),
        (
            "https://rs.example/a/",
            ["/.well-known/oauth-protected-resource/a/", "/.well-known/oauth-protected-resource"]
        ),
        ("https://rs.example/", ["/.well-known/oauth-protected-resource"]),
        ("https://rs.example", ["/.well-known/oauth-protected-resource"]),
        (
            "https://rs.example/a?b=c",
            ["/.well-known/oauth-protected-resource/a?b=c", "/.well-known/oauth-protected-resource"]
        ),
    ])
    func `protected resource metadata is at the path of the resource, then at the root`(
        resource: String, paths: [String]
    ) throws {
        let urls = try ProtectedResource.urls(for: resource, allowsLoopbackHTTP: false)
        #expect(urls.map(\.absoluteString) == paths.map { "https://rs.example" + $0 })
    }

    @Test(arguments: [
        ("https://rs.example/a/b", true), ("https://rs.example/a", true), ("https://rs.example/a/", true),
        ("https://rs.example/", true), ("https://rs.example", true), ("HTTPS://RS.example:443/a", true),
        ("https://rs.example/a/b/", true), ("https://rs.example/a/b/c", false), ("https://rs.example/b", false),
        ("https://rs.example/a/bb", false), ("https://rs.example/a?x", false), ("https://rs.example/a/b#", false),
        ("https://rs.example:8443/a", false), ("http://rs.example/a", false),
        ("https://rs.example.evil.example", false),
        ("https://rs.example@evil.example/a", false), ("https://rs.example/c/../a", false),
        ("https://rs.example/c/%2e%2E/a", false), ("rs.example/a", false), ("", false),
    ])
    func `a resource covers a URL on its origin and below its path`(resource: String, covers: Bool) {
        #expect(ProtectedResource.covers(resource, "https://rs.example/a/b") == covers)
        let response = HTTPResponse(
            status: 200, body: Data(JSONValue.object(["resource": .string(resource)]).serialized()))
        let read = try? ProtectedResource.read(response, covering: "https://rs.example/a/b")
        #expect((read != nil) == covers)
    }

    @Test func `a URL with dot segments is not covered by a resource outside its resolved path`() {
        #expect(!ProtectedResource.covers("https://rs.example/a", "https://rs.example/a/../b"))
        #expect(!ProtectedResource.covers("https://rs.example/a", "https://rs.example/a/%2E./b"))
        #expect(ProtectedResource.covers("https://rs.example/a", "https://rs.example/a/.b/c..d?e=/../f"))
    }

    struct Unknown: Error {}
}
