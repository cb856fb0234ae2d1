import Foundation
import HTTPExchange
import JOSE
import StrictJSON
import Testing

@testable import LocalProvider

private let confidential = ["client_id": "lodge-confidential", "client_secret": "not-a-secret"]

extension SignIn {
    /// Sends JSON with an optional bearer token.
    fileprivate func send(
        _ method: HTTPMethod, _ path: String, _ body: JSONObject? = nil, token: String? = nil
    ) async throws -> HTTPResponse {
        var fields: HTTPFields = ["Content-Type": "application/json"]
        if let token { fields["Authorization"] = "Bearer \(token)" }
        let url = try #require(URL(string: provider.issuer.absoluteString + path))
        return try await transport.send(
            HTTPRequest(
                method, url, fields: fields, body: body.map { Data(JSONValue.object($0).serialized()) } ?? Data()))
    }
}

// MARK: Introspection

@Test func `introspection describes the valid tokens`() async throws {
    let clock = HandClock()
    let signIn = SignIn(try await provider { $0.now = { clock.now() } })
    let tokens = try await signIn.tokens()
    func state(_ token: String, _ client: [String: String] = confidential) async throws -> TokenAnswer {
        try await signIn.post("/introspect", client.merging(["token": token]) { $1 })
    }
    let access = try await state(tokens.accessToken)
    #expect(access.object["active"] == true)
    #expect(access["client_id"] == "lodge" && access["username"] == "ada@contoso.example")
    #expect(access["iss"] == signIn.provider.issuer.absoluteString && access["token_type"] == "Bearer")
    #expect(access["scope"]?.contains("User.Read") == true)
    #expect(access.object["exp"] == .integer(1_800_003_600))
    let refresh = try await state(tokens.refreshToken)
    #expect(refresh.object["active"] == true && refresh["token_type"] == nil)
    #expect(try await state("unknown").object == ["active": false])
    // A public client can introspect only its own tokens.
    #expect(try await state(tokens.accessToken, ["client_id": "lodge"]).object["active"] == true)
    let other = try await signIn.post("/token", confidential.merging(["grant_type": "client_credentials"]) { $1 })
    #expect(try await state(other.accessToken).object["active"] == true)
    #expect(try await state(other.accessToken, ["client_id": "lodge"]).object == ["active": false])
    // A rotated refresh token and an expired access token are not active.
    _ = try await signIn.refresh(tokens.refreshToken)
    #expect(try await state(tokens.refreshToken).object == ["active": false])
    clock.advance(by: 3_600)
    #expect(try await state(tokens.accessToken).object == ["active": false])
}

@Test func `introspection requires a client and a token`() async throws {
    let signIn = SignIn(try await provider())
    let wrong = try await signIn.post(
        "/introspect", ["client_id": "lodge-confidential", "client_secret": "wrong", "token": "x"])
    #expect(wrong.status == 401 && wrong.error == "invalid_client")
    #expect(try await signIn.post("/introspect", ["token": "x"]).error == "invalid_request")
    #expect(try await signIn.post("/introspect", confidential).error == "invalid_request")
}

// MARK: Registration

@Test func `a registered client can sign in until it is deleted`() async throws {
    var signIn = SignIn(try await provider())
    let metadata: JSONObject = [
        "client_name": "An app", "redirect_uris": ["https://app.example/callback", "com.example.app:/callback"],
        "grant_types": ["authorization_code", "refresh_token"],
    ]
    let response = try await signIn.send(.post, "/register", metadata)
    #expect(response.status == 201)
    let client = response.json
    signIn.clientID = try #require(client["client_id"]?.string)
    let secret = try #require(client["client_secret"]?.string)
    #expect(client["client_secret_expires_at"] == 0 && client["client_name"]?.string == "An app")
    #expect(client["token_endpoint_auth_method"]?.string == "client_secret_basic")
    signIn.redirectURI = "https://app.example/callback"
    let code = try await signIn.code()
    #expect(try await signIn.redeem(code, ["client_secret": "wrong"]).error == "invalid_client")
    let tokens = try await signIn.redeem(code, ["client_secret": secret])
    #expect(tokens.status == 200)

    let path = "/register/\(signIn.clientID)"
    #expect(client["registration_client_uri"]?.string == signIn.provider.issuer.absoluteString + path)
    let token = try #require(client["registration_access_token"]?.string)
    #expect(try await signIn.send(.get, path, token: token).json == client)
    #expect(try await signIn.send(.get, path, token: "wrong").status == 401)
    #expect(try await signIn.send(.delete, path).status == 401)
    #expect(try await signIn.send(.put, path, token: token).status == 405)
    #expect(try await signIn.send(.delete, path, token: token).status == 204)
    #expect(try await signIn.send(.get, path, token: token).status == 401)
    #expect(try await transport.send(HTTPRequest(.get, try signIn.url())).status == 400)
    #expect(try await signIn.get("/v1.0/me", token: tokens.accessToken).status == 401)
}

@Test(arguments: [
    ("{}", "invalid_redirect_uri"), ("[]", "invalid_client_metadata"), ("", "invalid_client_metadata"),
    (#"{"redirect_uris": "https://a.example/"}"#, "invalid_client_metadata"),
    (#"{"redirect_uris": [1]}"#, "invalid_client_metadata"), (#"{"redirect_uris": []}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris": ["http://a.example/"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris": ["https://a.example/#x"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris": ["/callback"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris": ["javascript:alert(1)"]}"#, "invalid_redirect_uri"),
    (#"{"redirect_uris": ["https://a.example/"], "scope": "Mail.Read"}"#, "invalid_scope"),
    (#"{"redirect_uris": ["https://a.example/"], "grant_types": ["password"]}"#, "invalid_client_metadata"),
    (#"{"redirect_uris": ["https://a.example/"], "response_types": ["token"]}"#, "invalid_client_metadata"),
    (
        #"{"redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "private_key_jwt"}"#,
        "invalid_client_metadata"
    ),
    (
        #"{"redirect_uris": ["https://a.example/"], "token_endpoint_auth_method": "client_secret_jwt"}"#,
        "invalid_client_metadata"
    ),
])
func `an invalid registration is rejected`(metadata: String, error: String) async throws {
    let provider = try await provider()
    let url = try #require(URL(string: provider.issuer.absoluteString + "/register"))
    let fields: HTTPFields = ["Content-Type": "application/json; charset=utf-8"]
    let response = try await transport.send(HTTPRequest(.post, url, fields: fields, body: Data(metadata.utf8)))
    #expect(response.status == 400)
    #expect(response.json["error"]?.string == error)
}

@Test(arguments: [nil, "text/plain", "application/x-www-form-urlencoded", "application/jsonp"])
func `a registration must have the content type application/json`(type: String?)
    async throws
{
    let provider = try await provider()
    let url = try #require(URL(string: provider.issuer.absoluteString + "/register"))
    var request = HTTPRequest(.post, url, body: Data(#"{"redirect_uris": ["https://a.example/"]}"#.utf8))
    request.fields["Content-Type"] = type
    let response = try await transport.send(request)
    #expect(response.status == 400 && response.json["error_description"]?.string?.contains("application/json") == true)
}

@Test func `the size of registrations and pushed requests is limited`() async throws {
    let signIn = SignIn(try await provider())
    let long = String(repeating: "x", count: 20_000)
    let registered = try await signIn.send(
        .post, "/register", ["redirect_uris": ["https://a.example/"], "client_uri": .string(long)])
    #expect(registered.json["error_description"]?.string == "The request is longer than 16384 bytes.")
    let pushed = try await signIn.post("/par", ["client_id": "lodge", "state": long])
    #expect(pushed.error == "invalid_request" && pushed["error_description"]?.contains("longer than") == true)
}

@Test func `a client that authenticates with both a header and an assertion is rejected`() async throws {
    let signIn = SignIn(try await provider())
    let response = try await signIn.post(
        "/token", ["grant_type": "client_credentials", "client_assertion": "x"],
        fields: ["Authorization": "Basic " + Data("lodge-confidential:not-a-secret".utf8).base64EncodedString()])
    #expect(response.error == "invalid_request")
}

@Test(arguments: [
    ("https://app.example/callback", true), ("https://app.example", true), ("http://127.0.0.1/x", true),
    ("http://[::1]:80/", true), ("http://localhost", true), ("com.example.app:/callback", true),
    ("http://app.example/", false), ("https://", false), ("https:app.example", false), ("/callback", false),
    ("", false), ("data:text/html,x", false), ("JavaScript:alert(1)", false), ("https://app.example/#", false),
    ("https://app.example/ü", false), ("https://app.example/a b", false), ("callback", false),
])
func `a redirect URI can be registered if it is absolute and safe`(uri: String, isAccepted: Bool) {
    #expect(LocalClient.canRegister(redirectURI: uri) == isAccepted)
}

@Test func `a registered client uses only the grant types that it registered`() async throws {
    let device = "urn:ietf:params:oauth:grant-type:device_code"
    let base = SignIn(try await provider { $0.approvesRequests = true })
    /// Registers a client; without grant types it has the default of RFC 7591 section 2.
    func register(_ grantTypes: [String]?) async throws -> (signIn: SignIn, secret: [String: String]) {
        var metadata: JSONObject = ["redirect_uris": [.string(base.redirectURI)]]
        if let grantTypes { metadata["grant_types"] = .array(grantTypes.map { .string($0) }) }
        let registered = try await base.send(.post, "/register", metadata).json
        var signIn = base
        signIn.clientID = try #require(registered["client_id"]?.string)
        return (signIn, ["client_secret": try #require(registered["client_secret"]?.string)])
    }
    func authorize(_ signIn: SignIn) async throws -> FormFields {
        let response = try await transport.send(HTTPRequest(.get, try signIn.url()))
        let location = try #require(response.fields["Location"])
        return try #require(FormFields(parsing: URL(string: location)?.query(percentEncoded: true) ?? ""))
    }
    func authorizeDevice(_ signIn: SignIn, _ secret: [String: String]) async throws -> TokenAnswer {
        try await signIn.post("/device_authorization", secret.merging(["client_id": signIn.clientID]) { $1 })
    }

    let (web, webSecret) = try await register(nil)
    let code = try await authorize(web)["code"]
    let tokens = try await web.redeem(try #require(code), webSecret)
    #expect(tokens.status == 200 && tokens["scope"]?.contains("offline_access") == true)
    #expect(tokens["refresh_token"] == nil)
    #expect(try await web.refresh("any", webSecret).error == "unauthorized_client")
    for grant in ["client_credentials", device] {
        let answer = try await web.token(webSecret.merging(["grant_type": grant, "device_code": "any"]) { $1 })
        #expect(answer.status == 400 && answer.error == "unauthorized_client", "\(grant)")
    }
    #expect(try await authorizeDevice(web, webSecret).error == "unauthorized_client")
    // A grant type that does not exist is another error.
    let unknown = try await web.token(webSecret.merging(["grant_type": "password"]) { $1 })
    #expect(unknown.error == "unsupported_grant_type")

    let (service, serviceSecret) = try await register(["client_credentials"])
    let own = try await service.token(serviceSecret.merging(["grant_type": "client_credentials"]) { $1 })
    #expect(own.status == 200)
    let refused = try await authorize(service)
    #expect(refused["error"] == "unauthorized_client" && refused["code"] == nil && refused["state"] == "the state")
    let form = base.parameters.merging(["client_id": service.clientID, "redirect_uri": base.redirectURI]) { $1 }
    #expect(try await service.post("/par", form.merging(serviceSecret) { $1 }).error == "unauthorized_client")
    #expect(try await service.redeem("any", serviceSecret).error == "unauthorized_client")

    let (television, televisionSecret) = try await register([device, "refresh_token"])
    #expect(try await authorizeDevice(television, televisionSecret)["device_code"] != nil)
}

// MARK: Client assertions

@Test func `a client authenticates with private_key_jwt, once for each assertion`() async throws {
    let clock = HandClock()
    let signIn = SignIn(try await provider { $0.now = { clock.now() } })
    let key = try JWK.generate(for: .es256, keyID: "one")
    let registered = try await signIn.send(
        .post, "/register",
        [
            "grant_types": ["client_credentials"], "response_types": [],
            "token_endpoint_auth_method": "private_key_jwt", "jwks": .object(JWKSet([key]).json),
        ])
    let id = try #require(registered.json["client_id"]?.string)
    #expect(registered.json["client_secret"] == nil)
    let base = signIn.provider.issuer.absoluteString
    let now = 1_800_000_000
    func answer(
        _ changes: JSONObject = [:], key signing: JWK = key, id client: String? = nil, type: String = "jwt-bearer"
    ) async throws -> TokenAnswer {
        var claims: JSONObject = [
            "iss": .string(id), "sub": .string(id), "aud": .string(base + "/token"), "exp": .integer(now + 300),
            "jti": .string(UUID().uuidString),
        ]
        for member in changes.members { claims[member.name] = member.value }
        return try await signIn.post(
            "/token",
            [
                "grant_type": "client_credentials", "client_id": client ?? id,
                "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:\(type)",
                "client_assertion": try JWT.sign(claims, with: signing, algorithm: .es256),
            ])
    }
    #expect(try await answer().status == 200)
    #expect(try await answer(["aud": .array([.string(base)])]).status == 200)
    #expect(try await answer(["jti": "same"]).status == 200)
    let rejected: [JSONObject] = [
        ["jti": "same"], ["aud": "https://other.example/token"], ["iss": "lodge"], ["exp": .integer(now)],
        ["exp": .integer(now + 90_000)], ["sub": "lodge-confidential", "iss": "lodge-confidential"],
    ]
    for changes in rejected {
        let answer = try await answer(changes, id: changes["sub"]?.string)
        #expect(answer.status == 401 && answer.error == "invalid_client", "\(changes)")
    }
    #expect(try await answer(key: try JWK.generate(for: .es256, keyID: "one")).error == "invalid_client")
    #expect(try await answer(id: "lodge").error == "invalid_request")
    #expect(try await answer(type: "saml2-bearer").error == "invalid_request")
    // The identifier alone does not authenticate this client.
    let bare = try await signIn.post("/token", ["grant_type": "client_credentials", "client_id": id])
    #expect(bare.error == "invalid_client")
}

// MARK: Pushed requests

@Test func `a pushed request can be used once and expires`() async throws {
    let clock = HandClock()
    let signIn = SignIn(
        try await provider {
            $0.now = { clock.now() }
            $0.approvesRequests = true
        })
    func push(_ changes: [String: String] = [:]) async throws -> TokenAnswer {
        let form = signIn.parameters.merging(["client_id": "lodge", "redirect_uri": signIn.redirectURI]) { $1 }
        return try await signIn.post("/par", form.merging(changes) { $1 })
    }
    func open(_ uri: String?, client: String = "lodge") async throws -> HTTPResponse {
        var fields = FormFields()
        fields.append("client_id", client)
        fields.append("request_uri", try #require(uri))
        let url = try #require(URL(string: "\(signIn.provider.issuer.absoluteString)/authorize?\(fields.encoded)"))
        return try await transport.send(HTTPRequest(.get, url))
    }
    let pushed = try await push()
    #expect(pushed.status == 201 && pushed.object["expires_in"] == 600)
    let location = try #require(try await open(pushed["request_uri"]).fields["Location"].flatMap { URL(string: $0) })
    let fields = try #require(FormFields(parsing: location.query(percentEncoded: true) ?? ""))
    #expect(fields["state"] == "the state")
    #expect(try await signIn.redeem(try #require(fields["code"])).status == 200)
    let again = try await open(pushed["request_uri"])
    #expect(again.status == 400 && again.text.contains("was used before"))
    #expect(try await open(try await push()["request_uri"], client: "lodge-confidential").status == 400)
    let late = try await push()
    clock.advance(by: 600)
    #expect(try await open(late["request_uri"]).status == 400)

    for (changes, error) in [
        (["redirect_uri": "https://evil.example/"], "invalid_request"), (["scope": "Mail.Read"], "invalid_scope"),
        (["code_challenge": ""], "invalid_request"), (["client_id": "unknown"], "invalid_client"),
        (["request_uri": "urn:x"], "invalid_request"), (["client_id": "lodge-confidential"], "invalid_client"),
    ] {
        #expect(try await push(changes).error == error, "\(changes)")
    }
}

@Test func `the page of a pushed request can be reloaded until the user decides`() async throws {
    let signIn = SignIn(try await provider())
    let form = signIn.parameters.merging(["client_id": "lodge", "redirect_uri": signIn.redirectURI]) { $1 }
    let pushed = try await signIn.post("/par", form)
    var fields = FormFields()
    fields.append("client_id", "lodge")
    fields.append("request_uri", try #require(pushed["request_uri"]))
    let url = try #require(URL(string: "\(signIn.provider.issuer.absoluteString)/authorize?\(fields.encoded)"))
    for _ in 0..<2 { #expect(try await transport.send(HTTPRequest(.get, url)).status == 200) }
    let redirect = try await Approval().redirect(approving: url, transport: transport)
    #expect(redirect.query()?.contains("code=") == true)
    #expect(try await transport.send(HTTPRequest(.get, url)).status == 400)
}

@Test func `two pages of one pushed request return one code`() async throws {
    let signIn = SignIn(try await provider())
    let form = signIn.parameters.merging(["client_id": "lodge", "redirect_uri": signIn.redirectURI]) { $1 }
    let uri = try #require(try await signIn.post("/par", form)["request_uri"])
    var fields = FormFields()
    fields.append("client_id", "lodge")
    fields.append("request_uri", uri)
    let url = try #require(URL(string: "\(signIn.provider.issuer.absoluteString)/authorize?\(fields.encoded)"))
    var handles: [String] = []
    for _ in 0..<2 {
        let page = String(decoding: try await transport.send(HTTPRequest(.get, url)).body, as: UTF8.self)
        handles.append(String(try #require(page.firstMatch(of: /name="request" value="([^"]+)"/)?.1)))
    }
    var statuses: [Int] = []
    for handle in handles {
        let decided = try await signIn.post(
            "/authorize", ["request": handle, "decision": "approve", "upn": "ada@contoso.example"])
        statuses.append(decided.status)
    }
    #expect(statuses == [303, 400])
}
