import HTTPExchange
import JOSE
import LodgePlatform
import StrictJSON
import Testing

@testable import OAuth2Protocol

/// Tests sign-in on the user's own device (CIBA), and responses in signed JWTs (JARM).
struct BackchannelTests {
    private func server() throws -> AuthorizationServer {
        var server = AuthorizationServer(issuer: "https://op.example.com")
        server.tokenEndpoint = URL(string: "https://op.example.com/token")
        server.backchannelAuthenticationEndpoint = URL(string: "https://op.example.com/ciba")
        return server
    }

    @Test(arguments: [
        (BackchannelAuthenticationRequest.Hint.login("ada@example.com"), "login_hint", "ada@example.com"),
        (.loginToken(Secret("lt")), "login_hint_token", "lt"), (.idToken(Secret("it")), "id_token_hint", "it"),
    ])
    func `a backchannel request has exactly one hint for the user`(
        hint: BackchannelAuthenticationRequest.Hint, name: String, value: String
    ) throws {
        let request = try BackchannelAuthenticationRequest(
            server: server(), client: Client(id: "c"), hint: hint, scope: ["openid", "read"], bindingMessage: "W4SCT"
        ).request
        #expect(request.url.absoluteString == "https://op.example.com/ciba")
        #expect(
            form(request) == [
                "scope": ["openid read"], name: [value], "binding_message": ["W4SCT"], "client_id": ["c"],
            ])
        #expect(throws: OAuth2Error.self) {
            try BackchannelAuthenticationRequest(
                server: server(), client: Client(id: "c"), hint: hint, scope: ["openid"],
                parameters: ["login_hint_token": "another"])
        }
    }

    @Test func `a backchannel request requires openid and a provider with the endpoint`() throws {
        #expect(throws: OAuth2Error.self) {
            try BackchannelAuthenticationRequest(
                server: server(), client: Client(id: "c"), hint: .login("ada"), scope: ["read"])
        }
        #expect(throws: OAuth2Error.self) {
            try BackchannelAuthenticationRequest(
                server: AuthorizationServer(), client: Client(id: "c"), hint: .login("ada"), scope: ["openid"])
        }
    }

    @Test func `a backchannel sign-in polls at its interval until the tokens arrive`() throws {
        let began = try BackchannelAuthentication.read(
            .json(["auth_req_id": "1c266114", "expires_in": 120, "interval": 2]))
        #expect(began.requestID == Secret("1c266114") && began.expiresIn == 120)
        #expect(!"\(began)".contains("1c266114"))
        let request = try TokenRequest(
            .backchannel(began.requestID), server: server(), client: Client(id: "c")
        ).request
        #expect(form(request)["grant_type"] == ["urn:openid:params:grant-type:ciba"])
        #expect(form(request)["auth_req_id"] == ["1c266114"])
        var polling = DevicePolling(began, now: 10)
        #expect(polling.start(now: 10) == .poll(at: 12))
        #expect(
            polling.next(.response(.json(["error": "authorization_pending"], status: 400)), now: 12) == .poll(at: 14))
        let tokens = HTTPResponse.json(["access_token": "at", "token_type": "Bearer"])
        guard case .tokens(let response) = polling.next(.response(tokens), now: 14) else {
            Issue.record("the step returned no tokens")
            return
        }
        #expect(response.accessToken == Secret("at"))
        #expect(try BackchannelAuthentication.read(.json(["auth_req_id": "1", "expires_in": 9])).interval == 5)
        #expect(throws: OAuth2Error.self) {
            try BackchannelAuthentication.read(.json(["error": "unknown_user_id"], status: 400))
        }
    }

    // MARK: JARM

    private static let now = 1_700_000_000.0

    private func secured(_ claims: JSONObject, key: JWK, keys: JWKSet) throws -> AuthorizationResponse {
        var all: JSONObject = [
            "iss": "https://op.example.com", "aud": "c", "exp": 1_700_000_100, "code": "abc", "state": "s1",
        ]
        for member in claims.members { all[member.name] = member.value }
        let token = try JWT.sign(all, with: key, algorithm: .es256)
        var validation = IDTokenValidation(issuer: "https://op.example.com", clientID: "c")
        validation.algorithms = ["ES256"]
        return try AuthorizationResponse(
            jwtSecured: "http://127.0.0.1:1/cb?response=\(token)", validation: validation, keys: keys, now: Self.now)
    }

    private func pending() throws -> PendingAuthorization {
        PendingAuthorization(
            state: "s1", nonce: nil, verifier: CodeVerifier(random: Array(repeating: 7, count: 32)),
            redirectURI: try RedirectURI("http://127.0.0.1:1/cb"), issuer: "https://op.example.com",
            expectsIssuer: true, scope: [])
    }

    @Test func `a signed response contains the parameters of the redirect`() throws {
        let key = try JWK.generate(for: .es256, keyID: "k")
        let response = try secured([:], key: key, keys: JWKSet([key]))
        #expect(response.state == "s1" && response.issuer == "https://op.example.com")
        #expect(try response.code(for: pending()) == Secret("abc"))
        let denied = try secured(["error": "access_denied", "code": .null], key: key, keys: JWKSet([key]))
        #expect(denied.providerError?.code == .accessDenied)
    }

    @Test(arguments: [["iss": "https://evil.example"], ["aud": "d"], ["exp": 1], ["exp": .null]] as [JSONObject])
    func `a signed response with the wrong issuer, client or expiry is rejected`(claims: JSONObject) throws {
        let key = try JWK.generate(for: .es256, keyID: "k")
        #expect(throws: OAuth2Error.self) { try secured(claims, key: key, keys: JWKSet([key])) }
    }

    @Test func `a signed response requires the provider's signature, and plain parameters are rejected`() throws {
        let key = try JWK.generate(for: .es256, keyID: "k"), other = try JWK.generate(for: .es256, keyID: "k")
        #expect(throws: OAuth2Error.self) { try secured([:], key: other, keys: JWKSet([key])) }
        let validation = IDTokenValidation(issuer: "https://op.example.com", clientID: "c")
        for query in ["code=abc&state=s1", "response=a.b.c", "response=", "response=a&response=b"] {
            #expect(throws: OAuth2Error.self) {
                try AuthorizationResponse(
                    jwtSecured: "http://127.0.0.1:1/cb?\(query)", validation: validation, keys: JWKSet([key]),
                    now: Self.now)
            }
        }
    }
}
