import Foundation
import HTTPExchange
import JOSE
import StrictJSON
import Testing

@testable import LocalProvider

@Test(arguments: [
    ["client_id": "nobody"], ["client_id": ""], ["redirect_uri": ""], ["redirect_uri": "https://evil.example/callback"],
    ["redirect_uri": "http://127.0.0.1.evil.example/callback"], ["redirect_uri": "http://127.0.0.1:80@evil.example/"],
])
func `an invalid client or redirect URI gets an error page, no redirect`(changes: [String: String]) async throws {
    let signIn = SignIn(try await provider())
    let response = try await transport.send(HTTPRequest(.get, try signIn.url(changes)))
    #expect(response.status == 400)
    #expect(response.fields["Location"] == nil)
    #expect(response.text.contains("Sign-in is not possible"))
    #expect(!response.text.contains("evil.example"))
}

@Test(arguments: [
    (["response_type": "token"], "unsupported_response_type"), (["response_type": ""], "invalid_request"),
    (["code_challenge": ""], "invalid_request"), (["code_challenge_method": "plain"], "invalid_request"),
    (["code_challenge_method": ""], "invalid_request"), (["code_challenge": "short"], "invalid_request"),
    (["scope": "openid Mail.Read"], "invalid_scope"), (["prompt": "none"], "login_required"),
    (["prompt": "none login"], "invalid_request"), (["prompt": "dance"], "invalid_request"),
    (["response_mode": "web_message"], "invalid_request"), (["request": "eyJ"], "request_not_supported"),
    (["request_uri": "https://x.example"], "request_uri_not_supported"),
])
func `other errors redirect to the application with state and iss`(
    changes: [String: String], error: String
) async throws {
    let signIn = SignIn(try await provider())
    let response = try await transport.send(HTTPRequest(.get, try signIn.url(changes)))
    #expect(response.status == 303)
    let location = try #require(response.fields["Location"].flatMap { URL(string: $0) })
    #expect(location.absoluteString.hasPrefix("http://127.0.0.1:49152/callback?"))
    let fields = try #require(FormFields(parsing: location.query(percentEncoded: true) ?? ""))
    #expect(fields["error"] == error)
    #expect(fields["state"] == "the state")
    #expect(fields["iss"] == signIn.provider.issuer.absoluteString)
    #expect(fields["code"] == nil)
}

@Test func `a duplicate parameter is rejected without a redirect`() async throws {
    let signIn = SignIn(try await provider())
    let url = try #require(URL(string: try signIn.url().absoluteString + "&scope=openid"))
    #expect(try await transport.send(HTTPRequest(.get, url)).status == 400)
}

@Test(arguments: [
    ("http://127.0.0.1/callback", true), ("http://127.0.0.1:1/callback", true),
    ("http://127.0.0.1:65535/callback", true),
    ("http://[::1]:8080/callback", true), ("http://localhost:8080/callback", true), ("http://127.0.0.1:5", true),
    ("http://127.0.0.1:5/", true), ("http://127.0.0.1:0/callback", false), ("http://127.0.0.1:65536/callback", false),
    ("http://127.0.0.1:x/callback", false), ("http://127.0.0.1:5/callback/", false),
    ("http://127.0.0.1:5/Callback", false),
    ("http://127.0.0.1:5/callback?x=1", false), ("http://127.0.0.1:5/callback#x", false),
    ("https://127.0.0.1:5/callback", false),
    ("http://127.0.0.2:5/callback", false), ("http://127.0.0.1:5@evil.example/callback", false),
    ("http://127.0.0.1:/callback", false), ("http://127.0.0.1:5/callback ", false),
    ("HTTP://127.0.0.1:5/callback", false),
    ("app://callback", true), ("app://callback:5", false), ("app://callback/", false), ("", false),
])
func `a loopback redirect URI may have any port but no other difference`(uri: String, accepted: Bool) {
    var client = LoopbackProvider.Configuration.publicClient
    client.redirectURIs.append("app://callback")
    #expect(client.accepts(redirectURI: uri) == accepted)
}

@Test func `a denied sign-in redirects with access_denied`() async throws {
    let signIn = SignIn(try await provider())
    let page = try await transport.send(HTTPRequest(.get, try signIn.url()))
    let form = try #require(SignInForm(page: page.text))
    let request = try #require(form.fields["request"])
    let url = try #require(URL(string: signIn.provider.issuer.absoluteString + "/authorize"))
    func decide(_ decision: String) async throws -> HTTPResponse {
        try await transport.send(
            HTTPRequest(
                .post, url, fields: ["Content-Type": "application/x-www-form-urlencoded"],
                body: Data("request=\(request)&decision=\(decision)&upn=ada%40contoso.example".utf8)))
    }
    let answer = try await decide("deny")
    #expect(answer.status == 303)
    #expect(answer.fields["Location"]?.contains("error=access_denied") == true)
    #expect(answer.fields["Location"]?.contains("state=the%20state") == true)
    // The page can be used only once.
    #expect(try await decide("approve").status == 400)
}

@Test func `a sign-in page can be submitted once`() async throws {
    let signIn = SignIn(try await provider())
    let page = try await transport.send(HTTPRequest(.get, try signIn.url()))
    let request = try #require(SignInForm(page: page.text)?.fields["request"])
    let form = ["request": request, "person": "ada@contoso.example", "decision": "approve"]
    #expect(try await signIn.post("/authorize", form).status == 303)
    #expect(try await signIn.post("/authorize", form).status == 400)
    #expect(try await signIn.post("/authorize", form.merging(["request": "guessed"]) { $1 }).status == 400)
}

@Test func `a cross-site decision is rejected`() async throws {
    let signIn = SignIn(try await provider())
    let page = try await transport.send(HTTPRequest(.get, try signIn.url()))
    let request = try #require(SignInForm(page: page.text)?.fields["request"])
    let form = ["request": request, "person": "ada@contoso.example", "decision": "approve"]
    #expect(try await signIn.post("/authorize", form, fields: ["Sec-Fetch-Site": "cross-site"]).status == 403)
    #expect(try await signIn.post("/authorize", form, fields: ["Sec-Fetch-Site": "same-origin"]).status == 303)
}

@Test func `an unknown user name shows the page again`() async throws {
    let signIn = SignIn(try await provider())
    let error = await #expect(throws: ApprovalError.self) { _ = try await signIn.approve(as: "nobody@contoso.example") }
    #expect(error?.description.contains("No user has this name") == true)
    let page = try await transport.send(HTTPRequest(.get, try signIn.url()))
    let request = try #require(SignInForm(page: page.text)?.fields["request"])
    let form = ["request": request, "decision": "approve"]
    #expect(try await signIn.post("/authorize", form.merging(["upn": "<nobody>"]) { $1 }).status == 200)
    #expect(
        try await signIn.post("/authorize", form.merging(["upn": "AOIFE.o'brien@contoso.example"]) { $1 }).status == 303
    )
}

@Test func `login_hint preselects the user`() async throws {
    let provider = try await provider()
    let signIn = SignIn(provider)
    let user = try #require(provider.users.last)
    let code = try #require(try await signIn.approve(["login_hint": user.userPrincipalName])["code"])
    let answer = try await signIn.redeem(code)
    #expect(try await signIn.get("/v1.0/me", token: answer.accessToken).json["id"]?.string == user.id)
}

@Test func `the page has labels, escapes its input and contains no script`() async throws {
    let signIn = SignIn(try await provider())
    let hostile = "\"><script>alert(1)</script>"
    let response = try await transport.send(
        HTTPRequest(.get, try signIn.url(["login_hint": hostile, "prompt": "login consent"])))
    let page = response.text
    #expect(response.status == 200)
    #expect(page.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\">"))
    #expect(!page.contains("<script"))
    #expect(page.contains("&quot;&gt;&lt;script&gt;"))
    #expect(page.contains("name=\"viewport\""))
    #expect(page.contains("color-scheme: light dark"))
    #expect(page.contains("<legend>") && page.contains("<h1>") && page.contains("<main>"))
    // Each input field has a label.
    let ids = page.matches(of: /<input type="(?:radio|text)"[^>]* id="([^"]+)"/).map { String($0.1) }
    #expect(ids.count == 6)
    for id in ids { #expect(page.contains("<label for=\"\(id)\">")) }
    for scope in ["openid", "offline_access", "User.ReadBasic.All"] { #expect(page.contains("(\(scope))")) }
    let policy = try #require(response.fields["Content-Security-Policy"])
    #expect(policy.contains("default-src 'none'"))
    #expect(!policy.contains("form-action"))
    #expect(policy.contains("frame-ancestors 'none'"))
    #expect(response.fields["Cache-Control"] == "no-store")
    #expect(!page.contains("http://") && !page.contains("https://"))
}

@Test func `userinfo returns the claims that the scopes allow`() async throws {
    let provider = try await provider()
    let all = SignIn(provider)
    let answer = try await all.tokens()
    let claims = try await all.get("/userinfo", token: answer.accessToken).json
    #expect(claims["sub"]?.string == provider.users[0].id)
    #expect(claims["email"]?.string == "ada@contoso.example")
    #expect(claims["name"]?.string == "Ada Lovelace")
    let narrow = SignIn(provider, scope: "openid")
    let few = try await narrow.get("/userinfo", token: try await narrow.tokens().accessToken).json
    #expect(few.members.map(\.name) == ["sub"])
    let none = SignIn(provider, scope: "User.Read")
    let refused = try await none.get("/userinfo", token: try await none.tokens().accessToken)
    #expect(refused.status == 403)
    #expect(refused.fields["WWW-Authenticate"]?.contains("insufficient_scope") == true)
    #expect(try await all.get("/userinfo").fields["WWW-Authenticate"] == "Bearer realm=\"local provider\"")
    #expect(try await all.get("/userinfo", token: "x").fields["WWW-Authenticate"]?.contains("invalid_token") == true)
}

@Test func `revocation ends a refresh token with its access tokens, or one access token`() async throws {
    let signIn = SignIn(try await provider())
    let first = try await signIn.tokens()
    #expect(try await signIn.post("/revoke", ["client_id": "lodge", "token": first.accessToken]).status == 200)
    #expect(try await signIn.get("/v1.0/me", token: first.accessToken).status == 401)
    let second = try await signIn.refresh(first.refreshToken)
    #expect(second.status == 200)
    let other = ["client_id": "lodge-confidential", "client_secret": "not-a-secret", "token": second.refreshToken]
    #expect(try await signIn.post("/revoke", other).status == 200)
    #expect(try await signIn.get("/v1.0/me", token: second.accessToken).status == 200)
    #expect(try await signIn.post("/revoke", ["client_id": "lodge", "token": second.refreshToken]).status == 200)
    #expect(try await signIn.get("/v1.0/me", token: second.accessToken).status == 401)
    #expect(try await signIn.refresh(second.refreshToken).error == "invalid_grant")
    #expect(try await signIn.post("/revoke", ["client_id": "lodge", "token": "unknown"]).status == 200)
    #expect(try await signIn.post("/revoke", ["client_id": "lodge"]).error == "invalid_request")
}

@Test func `sign-out redirects to the application of the ID token`() async throws {
    let signIn = SignIn(try await provider())
    let idToken = try #require(try await signIn.tokens()["id_token"])
    let back = "post_logout_redirect_uri=http%3A%2F%2F127.0.0.1%3A5000%2F&state=a%20b"
    let answer = try await signIn.get("/logout?id_token_hint=\(idToken)&\(back)")
    #expect(answer.status == 303)
    #expect(answer.fields["Location"] == "http://127.0.0.1:5000/?state=a%20b")
    #expect(try await signIn.get("/logout?client_id=lodge&\(back)").status == 303)
    #expect(try await signIn.get("/logout").text.contains("Signed out"))
    #expect(try await signIn.get("/logout?\(back)").status == 400)
    #expect(try await signIn.get("/logout?client_id=lodge-confidential&id_token_hint=\(idToken)").status == 400)
    let forged = idToken.dropLast(10) + "AAAAAAAAAA"
    #expect(try await signIn.get("/logout?id_token_hint=\(forged)&\(back)").status == 400)
    let evil = "post_logout_redirect_uri=https%3A%2F%2Fevil.example%2F"
    #expect(try await signIn.get("/logout?id_token_hint=\(idToken)&\(evil)").status == 400)
}

@Test func `the metadata lists only existing endpoints`() async throws {
    let signIn = SignIn(try await provider())
    let metadata = try await signIn.get("/.well-known/openid-configuration").json
    #expect(metadata["authorization_response_iss_parameter_supported"] == true)
    #expect(metadata["code_challenge_methods_supported"] == ["S256"])
    for name in metadata.members.map(\.name) where name.hasSuffix("_endpoint") || name == "jwks_uri" {
        let url = try #require(metadata[name]?.string.flatMap { URL(string: $0) })
        #expect(try await transport.send(HTTPRequest(.get, url)).status != 404)
    }
    #expect(try await signIn.get("/.well-known/oauth-authorization-server").json == metadata)
    #expect(try await signIn.get("/").text.contains(signIn.provider.issuer.absoluteString))
    #expect(try await signIn.get("/elsewhere").status == 404)
}

@Test func `the log counts requests and contains no secrets`() async throws {
    let signIn = SignIn(try await provider())
    let code = try await signIn.code()
    let answer = try await signIn.redeem(code)
    _ = try await signIn.refresh(answer.refreshToken)
    _ = try await signIn.token(["grant_type": "made-up-by-client"])
    _ = try await signIn.get("/v1.0/users?$top=1", token: answer.accessToken)
    let log = signIn.provider.log()
    #expect(log.map(\.path) == ["/authorize", "/authorize", "/token", "/token", "/token", "/v1.0/users"])
    #expect(log.map(\.status) == [200, 303, 200, 200, 400, 200])
    #expect(log.map(\.grantType) == [nil, nil, "authorization_code", "refresh_token", nil, nil])
    #expect(log.last?.query == "$top=1")
    #expect(signIn.provider.tokenRequestCount() == 2)
    var dumped = ""
    dump(log, to: &dumped)
    for secret in [code, answer.accessToken, answer.refreshToken, "the%20state"] { #expect(!dumped.contains(secret)) }
}

@Test func `a provider and its clients do not print secrets`() async throws {
    let signIn = SignIn(try await provider())
    let answer = try await signIn.tokens()
    var dumped = "\(LoopbackProvider.Configuration.confidentialClient)"
    dump(LoopbackProvider.Configuration.confidentialClient, to: &dumped)
    #expect(!dumped.contains("not-a-secret"))
    dumped = ""
    dump(signIn.provider, to: &dumped)
    #expect(!dumped.contains("not-a-secret"))
    #expect(!dumped.contains(answer.accessToken))
    #expect(!dumped.contains(answer.refreshToken))
}
