import Foundation
import HTTPExchange
import JOSE
import LoopbackHTTP
import StrictJSON
import Synchronization
import Testing

@testable import LocalProvider

@Test func `a user signs in through the browser with a loopback redirect`() async throws {
    let provider = try await provider()
    defer { provider.close() }
    let discovery = try await transport.send(
        HTTPRequest(.get, provider.issuer.appending(path: ".well-known/openid-configuration")))
    #expect(discovery.json["issuer"]?.string == provider.issuer.absoluteString)

    let (queries, continuation) = AsyncStream<String>.makeStream()
    let listener = try LoopbackListener { request in
        continuation.yield(request.query ?? "")
        return LoopbackResponse(status: 200, body: Data("back in the application".utf8))
    }
    var signIn = SignIn(provider)
    signIn.redirectURI = "http://127.0.0.1:\(listener.port)/callback"
    let page = try await Approval(as: "ayse.unal@contoso.example").approve(try signIn.url(), transport: transport)
    #expect(page.text == "back in the application")
    let query = await queries.first { _ in true }
    let redirect = try #require(FormFields(parsing: query ?? ""))
    #expect(redirect["state"] == "the state")
    #expect(redirect["iss"] == provider.issuer.absoluteString)

    let answer = try await signIn.redeem(try #require(redirect["code"]))
    #expect(answer.status == 200)
    #expect(answer["token_type"] == "Bearer")
    #expect(answer.object["expires_in"]?.number?.int64 == 3600)
    #expect(answer["scope"] == "openid profile email offline_access User.Read User.ReadBasic.All")
    #expect(answer.fields["Cache-Control"] == "no-store")
    #expect(answer.fields["Pragma"] == "no-cache")
    let me = try await signIn.get("/v1.0/me", token: answer.accessToken)
    #expect(me.json["displayName"]?.string == "Ayşe Ünal")
}

@Test func `an ID token is signed and contains the client, nonce and at_hash`() async throws {
    let clock = HandClock()
    let provider = try await provider {
        $0.now = { clock.now() }
        $0.signingKey = nil
    }
    let signIn = SignIn(provider)
    let answer = try await signIn.tokens()
    let keys = try JWKSet(parsing: Array(try await signIn.get("/jwks").body))
    #expect(keys.keys.count == 1)
    #expect(!keys.keys.contains { $0.isPrivate })
    let verified = try JWT(parsing: try #require(answer["id_token"])).verified(with: keys, algorithms: [.rs256])
    #expect(try verified.claims.issuer == provider.issuer.absoluteString)
    #expect(try verified.claims.audience == ["lodge"])
    #expect(try verified.claims.subject == provider.users[0].id)
    #expect(try verified.claims.expiration == 1_800_003_600)
    #expect(try verified.claims.issuedAt == 1_800_000_000)
    #expect(verified.claims["auth_time"]?.number?.int64 == 1_800_000_000)
    #expect(verified.claims["nonce"]?.string == "the-nonce")
    #expect(verified.claims["preferred_username"]?.string == "ada@contoso.example")
    let half = SHA2.sha256.digest(Array(answer.accessToken.utf8)).prefix(16)
    #expect(verified.claims["at_hash"]?.string == Base64URL.encode(half))

    let renewed = try await signIn.refresh(answer.refreshToken)
    let second = try JWT(parsing: try #require(renewed["id_token"])).verified(with: keys, algorithms: [.rs256])
    #expect(try second.claims.subject == provider.users[0].id)
    #expect(second.claims["nonce"] == nil)
}

@Test(arguments: [
    "code_verifier": "wrong-wrong-wrong-wrong-wrong-wrong-wrong-wrong",
    "redirect_uri": "http://127.0.0.1:49153/callback",
])
func `a code is valid only with its verifier and redirect URI`(name: String, value: String) async throws {
    let signIn = SignIn(try await provider())
    let code = try await signIn.code()
    #expect(try await signIn.redeem(code, [name: value]).error == "invalid_grant")
    // The failed attempt also invalidates the code.
    #expect(try await signIn.redeem(code).error == "invalid_grant")
}

@Test func `a request without a verifier does not invalidate the code`() async throws {
    let signIn = SignIn(try await provider())
    let code = try await signIn.code()
    #expect(try await signIn.redeem(code, ["code_verifier": ""]).error == "invalid_grant")
    #expect(try await signIn.redeem(code).status == 200)
}

@Test func `a replayed code revokes its tokens`() async throws {
    let signIn = SignIn(try await provider())
    let code = try await signIn.code()
    let answer = try await signIn.redeem(code)
    #expect(try await signIn.get("/v1.0/me", token: answer.accessToken).status == 200)
    #expect(try await signIn.redeem(code).error == "invalid_grant")
    #expect(try await signIn.get("/v1.0/me", token: answer.accessToken).status == 401)
    #expect(try await signIn.refresh(answer.refreshToken).error == "invalid_grant")
}

@Test func `a code expires after a minute`() async throws {
    let clock = HandClock()
    let signIn = SignIn(try await provider { $0.now = { clock.now() } })
    let (first, second) = (try await signIn.code(), try await signIn.code())
    clock.advance(by: 59)
    #expect(try await signIn.redeem(first).status == 200)
    clock.advance(by: 1)
    #expect(try await signIn.redeem(second).error == "invalid_grant")
}

@Test func `a refresh rotates the refresh token, and reuse revokes the grant`() async throws {
    let signIn = SignIn(try await provider())
    let first = try await signIn.tokens()
    let second = try await signIn.refresh(first.refreshToken)
    #expect(second.status == 200)
    #expect(second.refreshToken != first.refreshToken)
    let third = try await signIn.refresh(second.refreshToken)
    #expect(third.status == 200)
    // Reuse of the first token revokes the whole grant.
    #expect(try await signIn.refresh(first.refreshToken).error == "invalid_grant")
    #expect(try await signIn.refresh(third.refreshToken).error == "invalid_grant")
    #expect(try await signIn.get("/v1.0/me", token: third.accessToken).status == 401)
}

@Test func `at most one of several concurrent refreshes succeeds`() async throws {
    let signIn = SignIn(try await provider())
    let first = try await signIn.tokens()
    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { try await signIn.refresh(first.refreshToken).status } }
        return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(statuses.filter { $0 == 200 }.count == 1)
    #expect(signIn.provider.tokenRequestCount(grantType: "refresh_token") == 8)
}

@Test func `without rotation the refresh token stays valid and is not returned again`() async throws {
    let signIn = SignIn(try await provider { $0.rotatesRefreshTokens = false })
    let first = try await signIn.tokens()
    for _ in 0..<3 {
        let next = try await signIn.refresh(first.refreshToken)
        #expect(next.status == 200)
        #expect(next.object["refresh_token"] == nil)
    }
}

@Test func `a refresh can narrow the scope but not extend it`() async throws {
    let signIn = SignIn(try await provider())
    let first = try await signIn.tokens()
    let narrow = try await signIn.refresh(first.refreshToken, ["scope": "openid User.Read"])
    #expect(narrow["scope"] == "openid User.Read")
    #expect(try await signIn.get("/v1.0/users", token: narrow.accessToken).status == 403)
    // The grant keeps its original scope.
    let wide = try await signIn.refresh(narrow.refreshToken)
    #expect(try await signIn.get("/v1.0/users", token: wide.accessToken).status == 200)
    #expect(
        try await signIn.refresh(wide.refreshToken, ["scope": "openid Directory.Read.All"]).error == "invalid_scope")
}

@Test func `a refresh token requires offline_access and an ID token requires openid`() async throws {
    let answer = try await SignIn(try await provider(), scope: "User.Read").tokens()
    #expect(answer.status == 200)
    #expect(answer.object["refresh_token"] == nil)
    #expect(answer.object["id_token"] == nil)
}

@Test func `access tokens expire by time and on request`() async throws {
    let clock = HandClock()
    let provider = try await provider {
        $0.now = { clock.now() }
        $0.accessTokenLifetime = .seconds(100)
    }
    let signIn = SignIn(provider)
    let first = try await signIn.tokens()
    #expect(first.object["expires_in"]?.number?.int64 == 100)
    clock.advance(by: 99)
    #expect(try await signIn.get("/v1.0/me", token: first.accessToken).status == 200)
    clock.advance(by: 1)
    #expect(try await signIn.get("/v1.0/me", token: first.accessToken).status == 401)
    let second = try await signIn.refresh(first.refreshToken)
    #expect(try await signIn.get("/v1.0/me", token: second.accessToken).status == 200)
    provider.expireAccessTokens()
    #expect(try await signIn.get("/v1.0/me", token: second.accessToken).status == 401)
    #expect(try await signIn.refresh(second.refreshToken).status == 200)
}

@Test func `revokeGrants() ends all tokens`() async throws {
    let signIn = SignIn(try await provider())
    let answer = try await signIn.tokens()
    signIn.provider.revokeGrants()
    #expect(try await signIn.refresh(answer.refreshToken).error == "invalid_grant")
    #expect(try await signIn.get("/v1.0/me", token: answer.accessToken).status == 401)
}

private let basic = "Basic " + Data("lodge-confidential:not-a-secret".utf8).base64EncodedString()

@Test(
    arguments: [
        (["client_id": "lodge-confidential", "client_secret": "not-a-secret"], nil, 200, nil),
        (["client_id": ""], basic, 200, nil),
        (["client_id": "lodge-confidential"], basic, 200, nil),
        (["client_id": "lodge-confidential"], nil, 401, "invalid_client"),
        (["client_id": "lodge-confidential", "client_secret": "wrong"], nil, 401, "invalid_client"),
        (["client_id": "", "client_secret": "not-a-secret"], basic, 400, "invalid_request"),
        (["client_id": "lodge"], basic, 400, "invalid_request"),
        (["client_id": ""], "Basic !!!", 401, "invalid_client"),
        (["client_id": ""], "Bearer x", 401, "invalid_client"),
        (["client_id": "nobody"], nil, 401, "invalid_client"),
        (["client_id": "lodge", "client_secret": "any"], nil, 401, "invalid_client"),
        (["client_id": "lodge"], nil, 400, "unauthorized_client"),
        (["client_id": ""], nil, 400, "invalid_request"),
    ] as [([String: String], String?, Int, String?)])
func `a client authenticates with exactly one method`(
    form: [String: String], header: String?, status: Int, error: String?
) async throws {
    let signIn = SignIn(try await provider())
    let all = ["grant_type": "client_credentials", "scope": "User.Read.All"].merging(form) { $1 }
    let answer = try await signIn.token(all, fields: header.map { ["Authorization": $0] } ?? [:])
    #expect(answer.status == status)
    #expect(answer.error == error)
    #expect((answer.fields["WWW-Authenticate"] != nil) == (header != nil && status == 401))
    guard status == 200 else { return }
    #expect(try await signIn.get("/v1.0/users", token: answer.accessToken).status == 200)
    #expect(try await signIn.get("/v1.0/me", token: answer.accessToken).status == 400)
}

@Test func `a code is valid only for its client`() async throws {
    let signIn = SignIn(try await provider())
    let code = try await signIn.code()
    let stolen = ["client_id": "lodge-confidential", "client_secret": "not-a-secret"]
    #expect(try await signIn.redeem(code, stolen).error == "invalid_grant")
    let answer = try await signIn.redeem(code)
    #expect(answer.status == 200)
    #expect(try await signIn.refresh(answer.refreshToken, stolen).error == "invalid_grant")
}

@Test func `the token endpoint rejects malformed requests`() async throws {
    let signIn = SignIn(try await provider())
    #expect(try await signIn.token(["grant_type": "password"]).error == "unsupported_grant_type")
    #expect(try await signIn.token([:]).error == "invalid_request")
    #expect(try await signIn.get("/token").status == 405)
    let url = try #require(URL(string: signIn.provider.issuer.absoluteString + "/token"))
    for (type, body) in [
        ("application/json", "{}"), ("application/x-www-form-urlencoded", "client_id=lodge&client_id=lodge"),
        ("application/x-www-form-urlencoded", "client_id=%GG"), ("application/x-www-form-urlencoded", "client_id=%FF"),
    ] {
        let response = try await transport.send(
            HTTPRequest(.post, url, fields: ["Content-Type": type], body: Data(body.utf8)))
        #expect(response.status == 400)
        #expect(response.json["error"]?.string == "invalid_request")
    }
}

@Test func `additional scopes are offered and granted, and allow nothing in the directory`() async throws {
    let scope = "https://api.example/tasks.read"
    let signIn = SignIn(
        try await provider { $0.additionalScopes = [scope, "read:user"] }, scope: "openid \(scope) read:user")
    let offered = try await signIn.get("/.well-known/openid-configuration").json["scopes_supported"]?.array
    #expect(offered?.contains(.string(scope)) == true)
    let answer = try await signIn.tokens()
    #expect(answer["scope"] == "openid \(scope) read:user")
    #expect(try await signIn.get("/v1.0/me", token: answer.accessToken).status == 403)
    let other = SignIn(signIn.provider, scope: "tasks.read")
    let redirect = try await transport.send(HTTPRequest(.get, try other.url()))
    #expect(redirect.fields["Location"]?.contains("error=invalid_scope") == true)
}
