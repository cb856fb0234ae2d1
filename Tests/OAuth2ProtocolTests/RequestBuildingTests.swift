import LodgePlatform
import Foundation
import HTTPExchange
import JOSE
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published requests.
struct RequestBuildingTests {
    static let file = VectorFile("request-building")
    static let leftOut = [
        "RB-041": "the store uses a pushed request once: it removes the pending sign-in",
        "RB-052": "the store decides whether a type may use the password grant",
        "RB-054": "the store decides how often it sends a request",
        "RB-060": "the store decides when to refresh", "RB-061": "the store decides when to refresh",
        "RB-062": "the store decides when to refresh", "RB-064": "the store decides when to refresh",
        "RB-074": "the store deletes tokens",
    ]

    static func cases(_ kind: String) -> [VectorCase] { file.cases(except: leftOut) { $0.kind == kind } }

    /// The cases in which the alternative outcome applies.
    static let other = [
        "RB-028": "the out-of-band redirect URI is accepted with a warning, for compatibility",
        "RB-032": "Entra and Google return refresh tokens without a prompt; settings and callers can request one",
    ]

    @Test(arguments: cases("authorization_url"))
    func `an authorization request is built as its case says`(vector: VectorCase) throws {
        let expect = (Self.other[vector.id] == nil ? nil : vector.alsoAcceptable) ?? vector.expect
        let outcome = expect["outcome"]?.string
        do {
            let request = try Self.authorizationRequest(vector.input)
            #expect(outcome == nil || outcome == "ok")
            try check(request, expect, vector.input)
        } catch let error as OAuth2Error {
            #expect(["usage_error", "configuration_error"].contains(outcome), "\(error)")
            #expect(Outcome(error) == .configuration)
        }
    }

    static func authorizationRequest(_ input: JSONObject) throws -> AuthorizationRequest {
        var server = AuthorizationServer(issuer: "https://server.example.com")
        server.authorizationEndpoint = URL(string: try #require(input["authorization_endpoint"]?.string))
        let client = Client(
            id: try #require(input["client_id"]?.string),
            authentication: input["client_secret"]?.string.map { .secretPost(Secret($0)) } ?? .none)
        var options = AuthorizationRequest.Options()
        options.prompt = input.texts("prompt") ?? []
        options.maximumAge = input.int("max_age")
        options.resources = input.texts("resource") ?? []
        options.authorizationDetails = input["authorization_details"]?.array?.compactMap(\.object) ?? []
        for pair in input["extra"]?.array ?? [] {
            let pair = pair.array?.compactMap(\.string) ?? []
            options.parameters[pair[0]] = pair[1]
        }
        // Only an additional parameter can set another response type.
        if let type = input["response_type"]?.string { options.parameters["response_type"] = type }
        options.resources += input["request_object"] == nil ? [] : ["https://a.example/", "https://b.example/"]
        let redirect = try RedirectURI(input["redirect_uri"]?.string ?? "http://127.0.0.1:51004/cb")
        let scope = Scope(input.texts("scope") ?? [])
        let fresh = try AuthorizationRequest(
            server: server, client: client, redirectURI: redirect, scope: scope, options: options)
        if let uri = input["request_uri"]?.string {
            let pushed = PushedAuthorizationResponse(requestURI: uri, expiresIn: 60)
            return try AuthorizationRequest(pushed: pushed, server: server, client: client, pending: fresh.pending)
        }
        if input["request_object"]?.bool == true {
            let key = try SigningKey(JWK.generate(for: .es256), algorithm: .es256)
            return try AuthorizationRequest(
                signedWith: key, server: server, client: client, pending: fresh.pending, options: options,
                now: 1_700_000_000)
        }
        guard let verifier = input["code_verifier"]?.string.flatMap(CodeVerifier.init) else { return fresh }
        let pending = PendingAuthorization(
            state: input["state"]?.string ?? fresh.pending.state, nonce: fresh.pending.nonce, verifier: verifier,
            redirectURI: redirect, issuer: server.issuer, expectsIssuer: false, scope: scope)
        return try AuthorizationRequest(server: server, client: client, pending: pending, options: options)
    }

    private func check(_ request: AuthorizationRequest, _ expect: JSONObject, _ input: JSONObject) throws {
        let address = request.url.absoluteString
        let query = query(request)
        if let exact = expect["params"]?.array { #expect(query == Self.grouped(exact)) }
        for (name, values) in Self.grouped(expect["params_include"]?.array ?? []) { #expect(query[name] == values) }
        for name in expect.texts("params_present") ?? [] { #expect(query[name]?.first?.isEmpty == false) }
        for name in expect.texts("params_absent") ?? [] { #expect(query[name] == nil) }
        for member in (expect["params_json"]?.object ?? [:]).members {
            #expect(try JSONValue(parsing: query[member.name]?.first ?? "") == member.value)
        }
        if let any = expect.texts("raw_contains_any") { #expect(any.contains { address.contains($0) }) }
        for part in expect.texts("raw_must_not_contain") ?? [] { #expect(!address.contains(part)) }
        if let wanted = expect["jwt_claims"]?.object {
            #expect(query.count == 2)
            let object = try JWT(parsing: query["request"]?.first ?? "")
            for member in wanted.members { #expect(object.unverifiedClaims[member.name] == member.value) }
            for name in expect.texts("jwt_claims_absent") ?? [] { #expect(object.unverifiedClaims[name] == nil) }
            for member in (expect["jwt_header"]?.object ?? [:]).members {
                #expect(object.header[member.name] == member.value)
            }
            #expect(object.unverifiedClaims["state"] == .string(request.pending.state))
            #expect(object.unverifiedClaims["resource"] == ["https://a.example/", "https://b.example/"])
        }
        if let warning = expect["warning"]?.bool { #expect((request.pending.redirectURI.warning != nil) == warning) }
        if let count = input.int("repeat") {
            let states = try (0..<count).map { _ in try Self.authorizationRequest(input).pending.state }
            #expect((Set(states).count == count) == expect["state_distinct"]?.bool)
            // A state is random bytes in base64url: six bits for each character.
            let bits = try #require(expect.int("state_min_bits")),
                charset = try #require(expect["state_charset"]?.string)
            let unreserved = try Regex("[\(charset)]+")
            #expect(states.allSatisfy { $0.count * 6 >= bits && $0.wholeMatch(of: unreserved) != nil })
        }
    }

    private static func grouped(_ pairs: [JSONValue]) -> [String: [String]] {
        let pairs = pairs.compactMap { $0.array?.compactMap(\.string) }
        return Dictionary(grouping: pairs, by: { $0[0] }).mapValues { $0.map { $0[1] } }
    }

    @Test(arguments: cases("token_request"))
    func `a token request is built as its case says`(vector: VectorCase) throws {
        do {
            let request = try Self.tokenRequest(vector.input)
            #expect(vector.outcome.isEmpty)
            #expect(request.redirects == .none)
            if let method = vector.expect["method"]?.string { #expect(request.method.rawValue == method) }
            for member in (vector.expect["headers"]?.object ?? [:]).members {
                #expect(request.fields[member.name] == member.value.string)
            }
            if let wanted = vector.expect["form"]?.object {
                var form = form(request)
                // A case without a verifier is from a client without PKCE, which this library does not support.
                if vector.input["code_verifier"] == nil { form["code_verifier"] = nil }
                let pairs = wanted.members.map { ($0.name, [$0.value.string ?? ""]) }
                #expect(form == Dictionary(uniqueKeysWithValues: pairs))
            }
            if let part = vector.expect["body_contains"]?.string {
                #expect(String(decoding: request.body ?? Data(), as: UTF8.self).contains(part))
            }
        } catch let error as OAuth2Error {
            expectFailure(error, vector.expect)
        }
    }

    private static func tokenRequest(_ input: JSONObject) throws -> HTTPRequest {
        let wanted = input["client"]?.object ?? [:]
        let client = Client(
            id: wanted["id"]?.string ?? "c",
            authentication: try ClientAuthentication(
                method: wanted["auth"]?.string ?? "none", secret: wanted["secret"]?.string.map(Secret.init)))
        let grant: TokenRequest.Grant
        switch input["grant"]?.string {
        case "authorization_code":
            let verifier = input["code_verifier"]?.string.flatMap(CodeVerifier.init)
            // "REDIRECT_URL" is a placeholder for a redirect URI.
            let redirect = input["redirect_uri"]?.string.flatMap { $0 == "REDIRECT_URL" ? "redirect.url:/" : $0 }
            let pending = PendingAuthorization(
                state: "s", nonce: nil, verifier: verifier ?? CodeVerifier(random: Array(repeating: 1, count: 32)),
                redirectURI: try RedirectURI(redirect ?? "http://127.0.0.1/cb"), issuer: nil, expectsIssuer: false,
                scope: [])
            grant = .authorizationCode(Secret(try #require(input["code"]?.string)), pending)
        case "client_credentials": grant = .clientCredentials(scope: input.texts("scope").map(Scope.init))
        default: throw DiscoveryTests.Unknown()
        }
        var request = try TokenRequest(grant, server: PKCETests.server, client: client).request
        let body = String(decoding: request.body ?? Data(), as: UTF8.self)
        request.body = Data(body.replacing("redirect.url%3A%2F", with: "REDIRECT_URL").utf8)
        return request
    }

    @Test(arguments: cases("resource_request"))
    func `an access token is sent only to the URLs that its case allows`(vector: VectorCase) throws {
        let url = try #require(URL(string: vector.input["url"]?.string ?? ""))
        let token = Secret(try #require(vector.input["token"]?.object?["access_token"]?.string))
        do {
            let request = try ResourceRequest.authorized(HTTPRequest(.get, url), accessToken: token)
            #expect(vector.outcome.isEmpty)
            #expect(request.fields["Authorization"] == vector.expect["headers"]?.object?["Authorization"]?.string)
            #expect(request.url == url)
        } catch {
            expectFailure(error, vector.expect)
        }
    }

    @Test func `an access token is sent to loopback HTTP if it is allowed`() throws {
        let local = try #require(URL(string: "http://127.0.0.1:8080/r")),
            far = try #require(URL(string: "http://a.example/"))
        #expect(throws: Never.self) {
            try ResourceRequest.authorized(HTTPRequest(.get, local), accessToken: Secret("t"), allowsLoopbackHTTP: true)
        }
        #expect(throws: OAuth2Error.self) {
            try ResourceRequest.authorized(HTTPRequest(.get, far), accessToken: Secret("t"), allowsLoopbackHTTP: true)
        }
    }

    @Test(arguments: cases("end_session"))
    func `a sign-out request and its response follow their case`(vector: VectorCase) throws {
        let input = vector.input
        if let callback = input["callback"]?.string {
            let isResponse = EndSessionRequest.isResponse(
                callback, returnURI: try RedirectURI("http://127.0.0.1:51004/out"),
                state: try #require(input["expected_state"]?.string))
            switch vector.outcome {
            case "logged_out": #expect(isResponse)
            case "ignored": #expect(!isResponse)
            default: Issue.record("unknown outcome \(vector.outcome)")
            }
            // The store deletes the tokens before it returns the URL for the browser: RB-074 tests this.
            if let tokens = vector.expect["local_tokens"] { #expect(tokens == "already deleted") }
            return
        }
        let metadata: JSONObject = ["end_session_endpoint": input["end_session_endpoint"] ?? .null]
        let server = try AuthorizationServer(
            metadata: metadata, issuer: "https://op.example.com", allowsLoopbackHTTP: false)
        let url = EndSessionRequest.url(
            server: server, client: Client(id: input["client_id"]?.string ?? "c"),
            idToken: input["id_token"]?.string.map(Secret.init),
            returnURI: try input["post_logout_redirect_uri"]?.string.map(RedirectURI.init),
            state: input["state"]?.string)
        if let wanted = vector.expect["params"]?.array {
            #expect(parameters(try #require(url).absoluteString) == Self.grouped(wanted))
        } else {
            #expect(url == nil)
            switch vector.outcome {
            case "local_only": #expect(server.unusable["end_session_endpoint"] == nil)
            case "refused": #expect(server.unusable["end_session_endpoint"] != nil)
            default: Issue.record("unknown outcome \(vector.outcome)")
            }
        }
    }

    @Test func `the other grants send the parameters of their specifications`() throws {
        func sent(_ grant: TokenRequest.Grant, resources: [String] = []) throws -> [String: [String]] {
            let client = Client(id: "c", authentication: .secretBasic(Secret("s")))
            return form(
                try TokenRequest(grant, server: PKCETests.server, client: client, resources: resources).request)
        }
        #expect(
            try sent(.jwtBearer(Secret("e.y.J"), scope: ["a", "b"])) == [
                "grant_type": ["urn:ietf:params:oauth:grant-type:jwt-bearer"], "assertion": ["e.y.J"], "scope": ["a b"],
            ])
        #expect(
            try sent(.samlBearer(Secret("<a>"), scope: nil)) == [
                "grant_type": ["urn:ietf:params:oauth:grant-type:saml2-bearer"], "assertion": ["PGE-"],
            ])
        #expect(
            try sent(.password(username: "ada", Secret("p&w"), scope: nil)) == [
                "grant_type": ["password"], "username": ["ada"], "password": ["p&w"],
            ])
        var exchange = TokenExchange(subject: .init(Secret("s"), type: TokenExchange.accessTokenType))
        exchange.actor = .init(Secret("a"), type: TokenExchange.jwtType)
        exchange.audiences = ["x", "y"]
        exchange.resources = ["https://a.example/"]
        exchange.scope = ["r"]
        #expect(
            try sent(.tokenExchange(exchange)) == [
                "grant_type": ["urn:ietf:params:oauth:grant-type:token-exchange"], "subject_token": ["s"],
                "subject_token_type": [TokenExchange.accessTokenType], "actor_token": ["a"],
                "actor_token_type": [TokenExchange.jwtType], "audience": ["x", "y"],
                "resource": ["https://a.example/"], "scope": ["r"],
            ])
        #expect(
            try sent(.refreshToken(Secret("r"), scope: nil), resources: ["https://a.example/", "https://b.example/"])[
                "resource"] == ["https://a.example/", "https://b.example/"])
        #expect(throws: OAuth2Error.self) { try sent(.refreshToken(Secret("r"), scope: nil), resources: ["/a"]) }
        #expect(throws: OAuth2Error.self) { try sent(.refreshToken(Secret("r"), scope: ["a\u{7F}"])) }
    }

    @Test func `the provider's separator is between the scopes of every request`() throws {
        var server = PKCETests.server
        server.deviceAuthorizationEndpoint = .init(string: "https://as.example.com/device")
        server.backchannelAuthenticationEndpoint = .init(string: "https://as.example.com/backchannel")
        let client = Client(id: "c", authentication: .secretBasic(Secret("s")))
        let redirect = try RedirectURI("http://127.0.0.1/cb")
        for (separator, text) in [(" ", "openid b"), (",", "openid,b")] {
            server.scopeSeparator = separator
            let scope: Scope = ["openid", "b"]
            let signIn = try AuthorizationRequest(server: server, client: client, redirectURI: redirect, scope: scope)
            #expect(parameters(signIn.url.absoluteString)["scope"] == [text])
            let requests = [
                try DeviceAuthorizationRequest(server: server, client: client, scope: scope).request,
                try BackchannelAuthenticationRequest(server: server, client: client, hint: .login("a"), scope: scope)
                    .request,
                try TokenRequest(.refreshToken(Secret("r"), scope: scope), server: server, client: client).request,
                try TokenRequest(.clientCredentials(scope: scope), server: server, client: client).request,
            ]
            for request in requests { #expect(form(request)["scope"] == [text]) }
        }
    }

    @Test func `with method .get the parameters are in the query`() throws {
        let request = try TokenRequest(
            .refreshToken(Secret("r"), scope: nil), server: PKCETests.server, client: Client(id: "c"), method: .get
        ).request
        #expect(request.method == .get && request.body == nil)
        #expect(
            parameters(request.url.absoluteString) == [
                "grant_type": ["refresh_token"], "refresh_token": ["r"], "client_id": ["c"],
            ])
    }
}
