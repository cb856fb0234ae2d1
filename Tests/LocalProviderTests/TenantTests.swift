import Foundation
import HTTPExchange
import JOSE
import StrictJSON
import Testing

@testable import LocalProvider

private let tenant = ProviderConfiguration.tenantID

/// Returns the claims of an ID token.
private func claims(_ answer: TokenAnswer) throws -> JWTClaims {
    try JWT(parsing: try #require(answer["id_token"])).unverifiedClaims
}

@Test(arguments: [
    (tenant, tenant, tenant), ("contoso.example", tenant, tenant), ("common", "{tenantid}", "common"),
    ("organizations", "{tenantid}", "organizations"), ("COMMON", "{tenantid}", "common"),
])
func `the metadata of a tenant resembles Entra's`(segment: String, issuer: String, path: String) async throws {
    let signIn = SignIn(try await provider())
    let base = signIn.provider.issuer.absoluteString
    let metadata = try await signIn.get("/\(segment)/v2.0/.well-known/openid-configuration").json
    #expect(metadata["issuer"]?.string == "\(base)/\(issuer)/v2.0")
    #expect(metadata["authorization_endpoint"]?.string == "\(base)/\(path)/oauth2/v2.0/authorize")
    #expect(metadata["token_endpoint"]?.string == "\(base)/\(path)/oauth2/v2.0/token")
    #expect(metadata["device_authorization_endpoint"]?.string == "\(base)/\(path)/oauth2/v2.0/devicecode")
    #expect(metadata["end_session_endpoint"]?.string == "\(base)/\(path)/oauth2/v2.0/logout")
    #expect(metadata["jwks_uri"]?.string == "\(base)/\(path)/discovery/v2.0/keys")
    #expect(metadata["revocation_endpoint"] == nil && metadata["registration_endpoint"] == nil)
    #expect(metadata["authorization_response_iss_parameter_supported"] == nil)
    let key = try await signIn.get("/\(segment)/discovery/v2.0/keys").json["keys"]?.array?.first?.object
    #expect(key?["issuer"]?.string == "\(base)/\(tenant)/v2.0")
}

@Test func `an unknown tenant is rejected`() async throws {
    let signIn = SignIn(try await provider())
    for segment in ["fabrikam.example", "consumers", "x", tenant + "0"] {
        let response = try await signIn.get("/\(segment)/v2.0/.well-known/openid-configuration")
        #expect(response.status == 400)
        #expect(response.json["error"]?.string == "invalid_tenant")
    }
    #expect(try await signIn.get("/\(tenant)/v2.0/users").status == 404)
}

@Test func `the tokens of a tenant contain its identifier`() async throws {
    let signIn = SignIn(try await provider { $0.approvesRequests = true })
    let base = signIn.provider.issuer.absoluteString
    let url = try signIn.url().absoluteString.replacing("/authorize?", with: "/common/oauth2/v2.0/authorize?")
    let redirect = try await transport.send(HTTPRequest(.get, try #require(URL(string: url))))
    let location = try #require(redirect.fields["Location"].flatMap { URL(string: $0) })
    let fields = try #require(FormFields(parsing: location.query(percentEncoded: true) ?? ""))
    #expect(fields["iss"] == nil && fields["state"] == "the state")
    let answer = try await signIn.post(
        "/common/oauth2/v2.0/token",
        [
            "client_id": "lodge", "grant_type": "authorization_code", "code": try #require(fields["code"]),
            "redirect_uri": signIn.redirectURI, "code_verifier": signIn.verifier, "client_info": "1",
        ])
    let user = try #require(signIn.provider.user(at: 0))
    let claims = try claims(answer)
    #expect(try claims.issuer == "\(base)/\(tenant)/v2.0")
    #expect(try claims.string("tid") == tenant)
    #expect(try claims.string("ver") == "2.0")
    #expect(try claims.string("oid") == user.id)
    #expect(try claims.string("preferred_username") == user.userPrincipalName)
    let info = try JSONValue(parsing: try #require(answer["client_info"].flatMap { Base64URL.decode($0) }))
    #expect(info == ["uid": .string(user.id), "utid": .string(tenant)])
    // Outside a tenant, the same provider issues no such claims.
    let plain = try await signIn.refresh(answer.refreshToken)
    #expect(plain["client_info"] == nil)
    #expect(try LocalProviderTests.claims(plain).string("tid") == nil)
    #expect(try LocalProviderTests.claims(plain).issuer == base)
}

@Test func `a request to localhost has localhost in its issuer`() async throws {
    let provider = try await provider()
    let url = try #require(URL(string: "http://localhost:\(provider.port)/.well-known/openid-configuration"))
    let metadata = try await transport.send(HTTPRequest(.get, url)).json
    #expect(metadata["issuer"]?.string == "http://localhost:\(provider.port)")
    #expect(metadata["jwks_uri"]?.string == "http://localhost:\(provider.port)/jwks")
}

@Test(arguments: ["https://graph.microsoft.com/.default", ".default"])
func `.default adds the application's permissions and stays in the scope`(scope: String) async throws {
    let signIn = SignIn(try await provider(), scope: "openid offline_access \(scope)")
    let answer = try await signIn.tokens()
    let scopes = try #require(answer["scope"]).split(separator: " ").map { String($0) }
    #expect(scopes.contains(scope) && scopes.contains("User.Read") && scopes.contains("User.Read.All"))
    #expect(try await signIn.get("/v1.0/me", token: answer.accessToken).status == 200)
    // A scope is the same with and without its resource.
    let narrowed = try await signIn.refresh(answer.refreshToken, ["scope": "https://graph.example/User.Read openid"])
    #expect(narrowed.status == 200)
    let wider = try await signIn.refresh(narrowed.refreshToken, ["scope": "Directory.Read.All"])
    #expect(wider.error == "invalid_scope")
    let application = try await signIn.post(
        "/token",
        [
            "grant_type": "client_credentials", "client_id": "lodge-confidential", "client_secret": "not-a-secret",
            "scope": scope,
        ])
    #expect(application["scope"] == "User.Read.All \(scope)")
}

// MARK: Response modes

@Test func `form_post returns a form that submits itself`() async throws {
    let signIn = SignIn(try await provider { $0.approvesRequests = true })
    let url = try signIn.url(["response_mode": "form_post", "state": "<\"&'>"])
    let response = try await transport.send(HTTPRequest(.get, url))
    #expect(response.status == 200 && response.fields["Location"] == nil)
    #expect(response.text.contains("<form method=\"post\" action=\"http://127.0.0.1:49152/callback\">"))
    #expect(response.text.contains("name=\"code\""))
    #expect(response.text.contains("name=\"state\" value=\"&lt;&quot;&amp;&#39;&gt;\""))
    // The policy allows exactly this script.
    let script = try #require(response.text.firstMatch(of: /<script>(.*)<\/script>/)).1
    let digest = Data(SHA2.sha256.digest(Array(script.utf8))).base64EncodedString()
    #expect(response.fields["Content-Security-Policy"]?.contains("script-src 'sha256-\(digest)'") == true)
    let denied = try await transport.send(
        HTTPRequest(.get, try signIn.url(["response_mode": "form_post", "scope": "Mail.Read"])))
    #expect(denied.text.contains("name=\"error\" value=\"invalid_scope\""))
}

@Test func `response_mode=fragment puts the code into the fragment`() async throws {
    let signIn = SignIn(try await provider { $0.approvesRequests = true })
    let response = try await transport.send(HTTPRequest(.get, try signIn.url(["response_mode": "fragment"])))
    #expect(response.fields["Location"]?.hasPrefix("http://127.0.0.1:49152/callback#code=") == true)
}

// MARK: Approval

@Test func `with approvesRequests the user of login_hint signs in`() async throws {
    let signIn = SignIn(try await provider { $0.approvesRequests = true })
    let user = try #require(signIn.provider.user(at: 3))
    for (hint, name) in [("", "ada@contoso.example"), (user.userPrincipalName, user.userPrincipalName)] {
        let response = try await transport.send(
            HTTPRequest(.get, try signIn.url(["login_hint": hint, "prompt": "none"])))
        let location = try #require(response.fields["Location"].flatMap { URL(string: $0) })
        let fields = try #require(FormFields(parsing: location.query(percentEncoded: true) ?? ""))
        let answer = try await signIn.redeem(try #require(fields["code"]))
        #expect(try claims(answer).string("preferred_username") == name)
    }
    let unknown = try await transport.send(
        HTTPRequest(.get, try signIn.url(["login_hint": "unknown@nowhere.example"])))
    #expect(unknown.fields["Location"]?.contains("error=access_denied") == true)
}

@Test func `with approvesRequests a device receives tokens at its first poll`() async throws {
    let signIn = SignIn(try await provider { $0.approvesRequests = true })
    let device = try await signIn.post("/device_authorization", ["client_id": "lodge", "scope": "openid"])
    let code = try #require(device["device_code"])
    let form = ["grant_type": "urn:ietf:params:oauth:grant-type:device_code", "device_code": code]
    #expect(try await signIn.token(form).status == 200)
    #expect(try await signIn.token(form).error == "invalid_grant")
}

// MARK: Policies

@Test func `a policy has the metadata, the claims and the tokens of Azure AD B2C`() async throws {
    let signIn = SignIn(try await provider { $0.approvesRequests = true })
    let base = signIn.provider.issuer.absoluteString
    let metadata = try await signIn.get("/contoso.example/B2C_1_signin/v2.0/.well-known/openid-configuration").json
    #expect(metadata["issuer"]?.string == "\(base)/\(tenant)/v2.0/")
    #expect(metadata["authorization_endpoint"]?.string == "\(base)/\(tenant)/B2C_1_signin/oauth2/v2.0/authorize")
    #expect(metadata["jwks_uri"]?.string == "\(base)/\(tenant)/B2C_1_signin/discovery/v2.0/keys")
    #expect(metadata["device_authorization_endpoint"] == nil)
    let url = try signIn.url().absoluteString.replacing(
        "/authorize?", with: "/\(tenant)/B2C_1_signin/oauth2/v2.0/authorize?")
    let redirect = try await transport.send(HTTPRequest(.get, try #require(URL(string: url))))
    let location = try #require(redirect.fields["Location"].flatMap { URL(string: $0) })
    let code = try #require(FormFields(parsing: location.query(percentEncoded: true) ?? "")?["code"])
    let answer = try await signIn.post(
        "/\(tenant)/b2c_1_signin/oauth2/v2.0/token",
        [
            "client_id": "lodge", "grant_type": "authorization_code", "code": code,
            "redirect_uri": signIn.redirectURI, "code_verifier": signIn.verifier, "client_info": "1",
        ])
    let user = try #require(signIn.provider.user(at: 0))
    #expect(try claims(answer).issuer == "\(base)/\(tenant)/v2.0/")
    #expect(try claims(answer).string("tfp") == "b2c_1_signin")
    let info = try JSONValue(parsing: try #require(answer["client_info"].flatMap { Base64URL.decode($0) }))
    #expect(info == ["uid": .string("\(user.id)-b2c_1_signin"), "utid": .string(tenant)])
    // The refresh token is valid only at its policy.
    let refresh = [
        "client_id": "lodge", "grant_type": "refresh_token", "refresh_token": answer.refreshToken,
    ]
    for path in ["/\(tenant)/B2C_1_edit/oauth2/v2.0/token", "/\(tenant)/oauth2/v2.0/token", "/token"] {
        #expect(try await signIn.post(path, refresh).error == "invalid_grant")
    }
    #expect(try await signIn.post("/\(tenant)/B2C_1_signin/oauth2/v2.0/token", refresh).status == 200)
}

@Test func `at a policy, the client identifier is a scope`() async throws {
    let signIn = SignIn(try await provider { $0.approvesRequests = true })
    for (path, result) in [("/\(tenant)/B2C_1_signin", "code"), ("/\(tenant)", "error")] {
        let url = try signIn.url(["scope": "openid lodge"]).absoluteString.replacing(
            "/authorize?", with: "\(path)/oauth2/v2.0/authorize?")
        let redirect = try await transport.send(HTTPRequest(.get, try #require(URL(string: url))))
        let location = try #require(redirect.fields["Location"].flatMap { URL(string: $0) })
        #expect(FormFields(parsing: location.query(percentEncoded: true) ?? "")?[result] != nil, "\(location)")
    }
}

@Test func `only the own tenant has policies, and a policy has no codes for devices`() async throws {
    let signIn = SignIn(try await provider())
    for path in ["common/B2C_1_signin", "fabrikam.example/B2C_1_signin", "\(tenant)/signin"] {
        #expect(try await signIn.get("/\(path)/v2.0/.well-known/openid-configuration").status == 404)
    }
    let device = ["client_id": "lodge", "scope": "openid"]
    #expect(try await signIn.post("/\(tenant)/oauth2/v2.0/devicecode", device).status == 200)
    #expect(try await signIn.post("/\(tenant)/B2C_1_signin/oauth2/v2.0/devicecode", device).status == 404)
}

@Test func `two providers have keys with different identifiers`() async throws {
    var identifiers: Set<String> = []
    for _ in 0..<2 {
        let keys = try await SignIn(try await provider { $0.signingKey = nil }).get("/jwks").json["keys"]?.array
        identifiers.insert(try #require(keys?.first?.object?["kid"]?.string))
    }
    #expect(identifiers.count == 2)
}
