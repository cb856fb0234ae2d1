import LodgePlatform
import Foundation
import HTTPExchange
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2Protocol

/// Tests the published responses of the other endpoints.
struct OtherEndpointTests {
    static let now = 1_400_000_000.0
    static let file = VectorFile("other-endpoints")
    static let leftOut = [
        "OE-032": "the sender retries with a nonce; ResourceResponse and DevicePolling decide it"
    ]

    static func cases(_ endpoint: String) -> [VectorCase] {
        file.cases(except: leftOut) { $0.input["endpoint"]?.string == endpoint }
    }

    @Test(arguments: cases("revocation"))
    func `a revocation is sent and read as its case says`(vector: VectorCase) throws {
        do {
            try RevocationRequest.read(vector.input.response)
            #expect(vector.outcome == "ok")
        } catch {
            expectFailure(error, vector.expect)
        }
        guard let tokens = vector.input["revoke"]?.object else { return }
        var server = AuthorizationServer()
        server.revocationEndpoint = URL(string: "https://as.example.com/revoke")
        let refreshToken = Secret(try #require(tokens["refresh_token"]?.string))
        let request = try #require(
            try RevocationRequest(refreshToken, hint: .refreshToken, server: server, client: Client(id: "c")))
        for member in (vector.expect["form"]?.object ?? vector.expect["first_form"]?.object ?? [:]).members {
            #expect(form(request.request)[member.name] == [member.value.string ?? ""])
        }
    }

    @Test func `without a revocation endpoint there is no revocation request`() throws {
        let request = try RevocationRequest(
            Secret("t"), hint: .accessToken, server: AuthorizationServer(), client: Client(id: "c"))
        #expect(request == nil)
    }

    @Test(arguments: cases("introspection"))
    func `an introspection response is read as its case says`(vector: VectorCase) {
        do {
            let token = try Introspection.read(vector.input.response, now: Self.now)
            #expect(vector.outcome == "ok")
            #expect(token.isActive == vector.expect["active"]?.bool)
            if let scope = vector.expect.texts("scope") { #expect(token.scope?.tokens == scope) }
            if let audience = vector.expect.texts("aud") { #expect(token.audience == audience) }
            if let expiry = vector.expect["exp"]?.number?.double {
                #expect(token.expiry == Date(timeIntervalSince1970: expiry))
            }
            for name in vector.expect.texts("must_ignore") ?? [] { #expect(token.members[name] == nil) }
        } catch {
            expectFailure(error, vector.expect)
        }
    }

    @Test func `an introspection request has the token only in its body`() throws {
        var server = AuthorizationServer()
        server.introspectionEndpoint = URL(string: "https://as.example.com/introspect")
        let client = Client(id: "c", authentication: .secretBasic(Secret("s")))
        let request = try IntrospectionRequest(Secret("t"), server: server, client: client).request
        #expect(request.method == .post && request.url == server.introspectionEndpoint)
        #expect(form(request) == ["token": ["t"]])
    }

    @Test(arguments: cases("par"))
    func `a pushed authorization response is read as its case says`(vector: VectorCase) {
        do {
            let pushed = try PushedAuthorizationResponse.read(vector.input.response)
            #expect(vector.outcome == "ok")
            #expect(pushed.requestURI == vector.expect["request_uri"]?.string)
            #expect(pushed.expiresIn == vector.expect.int("expires_in"))
        } catch {
            expectFailure(error, vector.expect)
        }
    }

    @Test func `a pushed authorization request contains the authorization parameters and the client`() throws {
        var server = PKCETests.server
        server.pushedAuthorizationRequestEndpoint = URL(string: "https://as.example.com/par")
        let redirect = try RedirectURI("http://127.0.0.1:51004/cb")
        for authentication in [ClientAuthentication.none, .secretBasic(Secret("s")), .secretPost(Secret("s"))] {
            let client = Client(id: "c", authentication: authentication)
            let pushed = try PushedAuthorizationRequest(
                server: server, client: client, redirectURI: redirect, scope: ["openid"])
            let form = form(pushed.request)
            #expect(form["client_id"] == ["c"])
            #expect(form["state"] == [pushed.pending.state] && form["code_challenge_method"] == ["S256"])
            #expect(form["nonce"] == [pushed.pending.nonce ?? ""] && form["request_uri"] == nil)
        }
        #expect(throws: OAuth2Error.self) {
            try PushedAuthorizationRequest(
                server: PKCETests.server, client: Client(id: "c"), redirectURI: redirect, scope: [])
        }
    }

    @Test func `a provider that requires PAR receives only client_id and request_uri`() throws {
        var server = PKCETests.server
        server.requiresPushedAuthorizationRequests = true
        server.pushedAuthorizationRequestEndpoint = URL(string: "https://as.example.com/par")
        let redirect = try RedirectURI("http://127.0.0.1:51004/cb"), client = Client(id: "c")
        #expect(throws: OAuth2Error.self) {
            try AuthorizationRequest(server: server, client: client, redirectURI: redirect, scope: [])
        }
        let pushed = try PushedAuthorizationRequest(server: server, client: client, redirectURI: redirect, scope: [])
        let answer = PushedAuthorizationResponse(requestURI: "urn:x", expiresIn: 60)
        let request = try AuthorizationRequest(
            pushed: answer, server: server, client: client, pending: pushed.pending)
        #expect(query(request) == ["client_id": ["c"], "request_uri": ["urn:x"]])
    }

    @Test(arguments: cases("registration"))
    func `a client registration is sent and read as its case says`(vector: VectorCase) throws {
        // The provider has created the client.
        let isAccepted = vector.id == "OE-037"
        let expect = isAccepted ? try #require(vector.alsoAcceptable) : vector.expect
        do {
            let registration = try ClientRegistration.read(vector.input.response)
            #expect(expect["outcome"] == "ok")
            if let id = expect["client_id"]?.string { #expect(registration.clientID == id) }
            if let secret = expect["client_secret"] {
                #expect(registration.clientSecret?.value == secret.string)
            }
            if isAccepted { #expect(registration.isSecretUsable(now: Self.now)) }
            if let expiry = expect["client_secret_expires_at"]?.number?.double {
                #expect(registration.clientSecretExpiresAt == expiry)
            }
            if let usable = expect["secret_usable"]?.bool {
                #expect(registration.isSecretUsable(now: Self.now) == usable)
                #expect(throws: OAuth2Error.self) { try registration.client(now: Self.now) }
            }
            if let effective = expect["effective"]?.object {
                #expect(registration.redirectURIs == effective.texts("redirect_uris"))
                let requested = vector.input["requested"]?.object?.texts("redirect_uris")
                #expect((registration.redirectURIs != requested) == expect["mismatch_reported"]?.bool)
            }
        } catch {
            expectFailure(error, expect)
        }
        if let wanted = expect["request"]?.object { try checkRegistrationRequest(wanted) }
    }

    private func checkRegistrationRequest(_ wanted: JSONObject) throws {
        var server = AuthorizationServer()
        server.registrationEndpoint = URL(string: "https://as.example.com/register")
        let redirect = try RedirectURI("http://127.0.0.1/cb")
        let request = try ClientRegistrationRequest(server: server, redirectURIs: [redirect]).request
        #expect(request.method.rawValue == wanted["method"]?.string)
        for member in (wanted["headers"]?.object ?? [:]).members {
            #expect(request.fields[member.name] == member.value.string)
        }
        let json = try #require(try JSONValue(parsing: request.body ?? Data()).object)
        for member in (wanted["json_includes"]?.object ?? [:]).members { #expect(json[member.name] == member.value) }
        #expect(json["redirect_uris"] == ["http://127.0.0.1/cb"])
    }

    @Test(arguments: cases("token_exchange"))
    func `a token exchange response is read as its case says`(vector: VectorCase) {
        var exchange = TokenExchange(subject: .init(Secret("s"), type: TokenExchange.accessTokenType))
        exchange.requestedType = vector.input["requested_token_type"]?.string
        do {
            let response = try TokenResponse.read(
                vector.input.response, expecting: TokenRequest.Grant.tokenExchange(exchange).expectation,
                quirks: .strict)
            #expect(vector.outcome == "token")
            #expect(response.tokenType == vector.expect["token_type"]?.string)
            #expect(response.expiresIn == vector.expect.int("expires_in").map { .seconds($0) })
            #expect(response.additional["issued_token_type"] == vector.expect["issued_token_type"])
        } catch {
            expectFailure(error, vector.expect)
        }
    }
}
