import Foundation
import HTTPExchange
import StrictJSON
import Synchronization
import Testing

@testable import LocalProvider

extension SignIn {
    fileprivate func batch(_ requests: [JSONValue], token: String) async throws -> HTTPResponse {
        let url = try #require(URL(string: provider.issuer.absoluteString + "/v1.0/$batch"))
        return try await transport.send(
            HTTPRequest(
                .post, url, fields: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
                body: Data(JSONValue.object(["requests": .array(requests)]).serialized())))
    }
}

private func item(_ id: String, _ url: String, dependsOn: [String] = []) -> JSONValue {
    [
        "id": .string(id), "method": "GET", "url": .string(url),
        "dependsOn": .array(dependsOn.map { .string($0) }),
    ]
}

private func answers(_ response: HTTPResponse) -> [JSONObject] {
    response.json["responses"]?.array?.compactMap(\.object) ?? []
}

private func statuses(_ response: HTTPResponse) -> [Int64] {
    answers(response).compactMap { $0["status"]?.number?.int64 }
}

private func play(_ name: InjectedErrors.Name, value: String? = nil, on provider: LoopbackProvider) {
    var injectedErrors = InjectedErrors()
    injectedErrors.add(name, value: value, count: 1)
    provider.setInjectedErrors(injectedErrors)
}

@Test func `a batch item that depends on a failed item fails too`() async throws {
    let signIn = SignIn(try await provider())
    let token = try await signIn.tokens().accessToken
    let response = try await signIn.batch(
        [
            item("1", "/users/nobody"), item("2", "/me", dependsOn: ["1"]), item("3", "/me", dependsOn: ["2"]),
            item("4", "/me"), item("5", "/me", dependsOn: ["4"]),
        ], token: token)
    #expect(statuses(response) == [404, 424, 424, 200, 200])
    #expect(answers(response)[1]["body"]?.object?["error"]?.object?["code"] == "FailedDependency")
    for bad in [
        [item("1", "/me", dependsOn: ["2"]), item("2", "/me")], [item("1", "/me", dependsOn: ["1"])],
        [item("1", "https://graph.example/me")], [["id": 1, "method": "GET", "url": "/me"]],
        [["id": "1", "method": "POST", "url": "/me", "body": [:]]],
    ] as [[JSONValue]] {
        #expect(try await signIn.batch(bad, token: token).status == 400)
    }
}

@Test func `injected batch errors change the responses of a batch`() async throws {
    let signIn = SignIn(try await provider())
    let token = try await signIn.tokens().accessToken
    let requests = [item("1", "/me"), item("2", "/users/nobody"), item("3", "/users?$top=1")]
    func ids(_ response: HTTPResponse) -> [String] { answers(response).compactMap { $0["id"]?.string } }
    play(.directoryBatchOrder, on: signIn.provider)
    // An injected batch error does not affect other requests.
    #expect(try await signIn.get("/v1.0/me", token: token).status == 200)
    #expect(ids(try await signIn.batch(requests, token: token)) == ["3", "2", "1"])
    play(.directoryBatchMissing, on: signIn.provider)
    #expect(ids(try await signIn.batch(requests, token: token)) == ["1", "2"])
    play(.directoryBatch429, value: "1.5", on: signIn.provider)
    let throttled = try await signIn.batch(requests, token: token)
    #expect(statuses(throttled) == [429, 404, 200])
    #expect(answers(throttled)[0]["headers"]?.object?["Retry-After"] == "1.5")
    #expect(statuses(try await signIn.batch(requests, token: token)) == [200, 404, 200])
}

@Test func `the quota counts resource units and is reported in header fields`() async throws {
    let clock = HandClock()
    let signIn = SignIn(
        try await provider {
            $0.quota = 10
            $0.now = { clock.now() }
        })
    let token = try await signIn.tokens().accessToken
    for (path, units) in [
        ("/v1.0/users", "2"), ("/v1.0/users?$select=id", "1"), ("/v1.0/users?$top=5&$expand=manager", "2"),
    ] {
        #expect(try await signIn.get(path, token: token).fields["x-ms-resource-unit"] == units)
    }
    #expect(try await signIn.get("/v1.0/users", token: token).fields["x-ms-throttle-limit-percentage"] == nil)
    let nearly = try await signIn.get("/v1.0/me", token: token)
    #expect(nearly.fields["x-ms-throttle-limit-percentage"] == "0.80")
    clock.advance(by: 4)
    // Each item of a batch counts.
    let batch = try await signIn.batch([item("1", "/me"), item("2", "/users"), item("3", "/me")], token: token)
    #expect(statuses(batch) == [200, 429, 200])
    #expect(answers(batch)[1]["headers"]?.object?["Retry-After"] == "6")
    let refused = try await signIn.get("/v1.0/me", token: token)
    #expect(refused.status == 429 && refused.graphCode == "TooManyRequests")
    #expect(refused.fields["Retry-After"] == "6")
    #expect(refused.fields["x-ms-throttle-information"] == "ResourceUnitLimitExceeded")
    #expect(refused.fields["x-ms-throttle-scope"]?.hasPrefix("Tenant_Application/ReadWrite/lodge/") == true)
    clock.advance(by: 6)
    #expect(try await signIn.get("/v1.0/me", token: token).status == 200)
}

@Test(
    arguments: [
        (InjectedErrors.Name.directory400, nil, 400, "Request_BadRequest"),
        (.directory400, "Request_UnsupportedQuery", 400, "Request_UnsupportedQuery"),
        (.directoryPremium, nil, 403, "Authentication_RequestFromNonPremiumTenantOrB2CTenant"),
        (.directory404, "ErrorItemNotFound", 404, "ErrorItemNotFound"),
        (.directoryMailbox, nil, 404, "ErrorNonExistentMailbox"), (.directory500, nil, 500, "internalServerError"),
        (.directoryNested, nil, 500, "internalServerError"), (.directory501, nil, 501, "NotImplemented"),
        (.directoryEmptyResponse, nil, 502, nil), (.directory504, nil, 504, "UnknownError"),
        (.directoryOddError, nil, 400, ""), (.directoryThrottled, "4", 429, "TooManyRequests"),
    ] as [(InjectedErrors.Name, String?, Int, String?)])
func `each Graph error can be injected`(name: InjectedErrors.Name, value: String?, status: Int, code: String?)
    async throws
{
    let signIn = SignIn(try await provider())
    let token = try await signIn.tokens().accessToken
    play(name, value: value, on: signIn.provider)
    let response = try await signIn.get("/v1.0/users", token: token)
    #expect(response.status == status)
    #expect(response.graphCode == code)
    if name == .directoryEmptyResponse { #expect(response.body.isEmpty) }
    if name == .directoryMailbox { #expect(response.json["error"]?.object?["innerError"] == nil) }
    if name == .directoryOddError {
        #expect(response.json["error"]?.object?["innererror"]?.object?["requestId"]?.string?.count == 36)
    }
    if name == .directoryThrottled { #expect(response.fields["Retry-After"] == "4") }
    #expect(try await signIn.get("/v1.0/users", token: token).status == 200)
}

@Test(
    arguments: [
        (nil, "2"), ("2.5", "2.5"), ("none", nil), ("30,120", "30,120"), ("date", "Fri, 15 Jan 2027 08:00:02 GMT"),
    ] as [(String?, String?)])
func `Retry-After is the value of the injected error`(value: String?, expected: String?) async throws {
    let clock = HandClock()
    let signIn = SignIn(try await provider { $0.now = { clock.now() } })
    let token = try await signIn.tokens().accessToken
    for name in [InjectedErrors.Name.directory429, .directory503] {
        play(name, value: value, on: signIn.provider)
        #expect(try await signIn.get("/v1.0/me", token: token).fields["Retry-After"] == expected)
    }
}

@Test func `a claims challenge contains its claims`() async throws {
    let signIn = SignIn(try await provider())
    let token = try await signIn.tokens().accessToken
    play(.directoryClaims, value: "{\"access_token\":{}}", on: signIn.provider)
    let response = try await signIn.get("/v1.0/me", token: token)
    #expect(response.status == 401)
    let challenge = try #require(response.fields["WWW-Authenticate"])
    #expect(challenge.contains("error=\"insufficient_claims\""))
    #expect(challenge.contains("claims=\"\(Data("{\"access_token\":{}}".utf8).base64EncodedString())\""))
}

@Test func `injected page and delta token errors affect only such requests`() async throws {
    let signIn = SignIn(try await provider(), scope: "openid User.Read.All")
    let token = try await signIn.tokens().accessToken
    let base = signIn.provider.issuer.absoluteString
    func follow(_ link: JSONValue?) async throws -> HTTPResponse {
        try await signIn.get(String(try #require(link?.string).dropFirst(base.count)), token: token)
    }
    for (injectedError, code) in [
        (InjectedErrors.Name.directoryExpiredPageToken, "Directory_ExpiredPageToken"),
        (.directoryPageTokenNotFound, "DirectoryPageTokenNotFoundException"),
    ] {
        play(injectedError, on: signIn.provider)
        let first = try await signIn.get("/v1.0/users?$top=5", token: token)
        #expect(first.value.count == 5)
        #expect(try await follow(first.json["@odata.nextLink"]).graphCode == code)
        #expect(try await follow(first.json["@odata.nextLink"]).value.count == 5)
    }
    play(.directory410, value: "resyncRequired", on: signIn.provider)
    let round = try await signIn.get("/v1.0/users/delta", token: token)
    #expect(round.status == 200)
    let refused = try await follow(round.json["@odata.deltaLink"])
    #expect(refused.status == 410 && refused.graphCode == "resyncRequired")
    #expect(refused.fields["Location"] == base + "/v1.0/users/delta?$deltatoken=")
}

@Test func `page and delta tokens expire on request`() async throws {
    let signIn = SignIn(try await provider(), scope: "openid User.Read.All")
    let (provider, token) = (signIn.provider, try await signIn.tokens().accessToken)
    let base = provider.issuer.absoluteString
    let page = try await signIn.get("/v1.0/users?$top=5", token: token).json["@odata.nextLink"]?.string
    let delta = try await signIn.get("/v1.0/users/delta", token: token).json["@odata.deltaLink"]?.string
    let (pagePath, deltaPath) = (
        String(try #require(page).dropFirst(base.count)), String(try #require(delta).dropFirst(base.count))
    )
    provider.updateUser("ada@contoso.example") { $0.jobTitle = "Countess" }
    provider.deleteUser("ayse.unal@contoso.example")
    let minimal = try await signIn.get(deltaPath, token: token, fields: ["Prefer": "return=minimal"])
    #expect(minimal.fields["Preference-Applied"] == "return=minimal")
    #expect(minimal.value.first?.members.map(\.name) == ["jobTitle", "id"])
    #expect(minimal.value.last?["@removed"] == ["reason": "changed"])
    provider.expirePageTokens()
    provider.expireDeltaTokens()
    #expect(try await signIn.get(pagePath, token: token).graphCode == "Directory_ExpiredPageToken")
    #expect(try await signIn.get(deltaPath, token: token).status == 410)
}

@Test func `the API adds, changes, deletes and restores users`() async throws {
    let signIn = SignIn(try await provider(), scope: "openid User.ReadWrite.All")
    let (provider, token) = (signIn.provider, try await signIn.tokens().accessToken)
    let new = StoredUser(
        id: "11111111-2222-4333-8444-555555555555", userPrincipalName: "new@contoso.example", displayName: "New",
        givenName: "Newt")
    #expect(provider.addUser(new) && !provider.addUser(new))
    #expect(provider.setManager("ada@contoso.example", of: new.id))
    #expect(try await signIn.get("/v1.0/users/\(new.id)/manager", token: token).json["displayName"] == "Ada Lovelace")
    #expect(!provider.updateUser(new.id) { $0.userPrincipalName = "ada@contoso.example" })
    #expect(provider.updateUser(new.id) { $0.userPrincipalName = "newer@contoso.example" })
    #expect(try await signIn.get("/v1.0/users/new@contoso.example", token: token).status == 404)
    #expect(try await signIn.get("/v1.0/users/newer@contoso.example", token: token).status == 200)
    #expect(try await signIn.get("/v1.0/users?$filter=givenName%20eq%20'newt'", token: token).value.count == 1)
    #expect(provider.deleteUser("newer@contoso.example") && provider.user(new.id) == nil)
    #expect(provider.userCount == 60)
    let path = "/v1.0/directory/deletedItems/\(new.id)"
    #expect(try await signIn.get(path, token: token).status == 200)
    let url = try #require(URL(string: provider.issuer.absoluteString + path + "/restore"))
    func post() async throws -> Int {
        try await transport.send(HTTPRequest(.post, url, fields: ["Authorization": "Bearer \(token)"])).status
    }
    #expect(try await post() == 200)
    #expect(try await post() == 404)
    #expect(provider.user(new.id) != nil)
    #expect(provider.deleteUser(new.id, permanently: true) && !provider.restoreUser(id: new.id))
    #expect(!provider.deleteUser("nobody") && !provider.updateUser("nobody") { _ in })
}

@Test func `the provider counts requests by route and reports each one`() async throws {
    let told = Mutex<[LoggedRequest]>([])
    let signIn = SignIn(try await provider { $0.onRequest = { request in told.withLock { $0.append(request) } } })
    let token = try await signIn.tokens().accessToken
    for path in [
        "/v1.0/users", "/v1.0/users/ada@contoso.example", "/v1.0/users('ada@contoso.example')",
        "/v1.0/users/ada@contoso.example/manager", "/v1.0/nothing/at/all", "/nothing",
    ] {
        _ = try await signIn.get(path, token: token)
    }
    let provider = signIn.provider
    #expect(provider.requestCount("GET /users") == 1)
    #expect(provider.requestCount("GET /users/{key}") == 2)
    #expect(provider.requestCount("GET /users/{key}/manager") == 1)
    #expect(provider.requestCount("other") == 2)
    #expect(provider.requestCount("POST /token") == 1)
    #expect(provider.requestCount() == provider.log().count)
    #expect(provider.requestCounts.values.reduce(0, +) == provider.requestCount())
    #expect(told.withLock { $0 } == provider.log())
}

@Test func `client credentials can read the directory but have no /me`() async throws {
    let signIn = SignIn(try await provider())
    let answer = try await signIn.post(
        "/token",
        [
            "grant_type": "client_credentials", "client_id": "lodge-confidential", "client_secret": "not-a-secret",
            "scope": "https://graph.microsoft.com/.default",
        ])
    #expect(answer.status == 200)
    #expect(try await signIn.get("/v1.0/users", token: answer.accessToken).status == 200)
    #expect(try await signIn.get("/v1.0/me", token: answer.accessToken).status == 400)
}

@Test func `InjectedErrors parses values and counts`() throws {
    var injectedErrors = InjectedErrors()
    for (text, name, value, count) in [
        ("directory-429=2.5:3", InjectedErrors.Name.directory429, "2.5", 3),
        ("directory-429=2.5", .directory429, "2.5", nil),
        ("directory-429=none", .directory429, "none", nil), ("token-429=30,120:1", .token429, "30,120", 1),
        ("directory-429=Thu, 15 Jan 2026 09:30:07 GMT", .directory429, "Thu, 15 Jan 2026 09:30:07 GMT", nil),
        ("directory-401-claims={\"a\":{}}:2", .directoryClaims, "{\"a\":{}}", 2),
        ("directory-nextlink-foreign=https://x.example/y:1", .directoryForeignNextLink, "https://x.example/y", 1),
    ] as [(String, InjectedErrors.Name, String?, Int?)] {
        try injectedErrors.add(parsing: text)
        #expect(injectedErrors.entries.last == .init(name, value: value, remaining: count))
    }
    for text in ["directory-401=x", "token-html=1", "directory-429=2:0", "directory-429x"] {
        #expect(throws: InjectedErrors.ParsingError.self) { try injectedErrors.add(parsing: text) }
    }
}

@Test func `forged page tokens return a page or an error`() throws {
    let bench = GraphBench(users: 300)
    for path in ["/users?$top=5", "/users?$top=5&$orderby=displayName", "/me/directReports?$top=5"] {
        let request = GraphRequest(
            method: "GET", path: String(path.prefix { $0 != "?" }),
            query: String(path.drop { $0 != "?" }.dropFirst()), base: GraphBench.base)
        for numbers in [[Int.max, Int.max], [Int.min, Int.min], [299, 0], [0]] {
            let token = PageToken(kind: .page, numbers: numbers).encoded(for: RawQuery.identity(request, 0))
            let answer = bench.ask("\(path)&$skiptoken=\(token)")
            #expect(answer.error?.code == "Directory_ExpiredPageToken" || answer.rows.count <= 5)
        }
    }
    for numbers in [[0, Int.max, Int.max, Int.max], [Int.min, Int.min, Int.min, Int.min], [5, 0, 0, 0]] {
        let token = PageToken(kind: .deltaPage, numbers: numbers, names: ["", ""]).encoded(for: "delta")
        let answer = bench.ask("/users/delta?$skiptoken=\(token)")
        #expect(answer.error?.status == 410 || answer.rows.count <= 200)
    }
}

/// Returns the claims of the challenge in a response.
private func challenge(_ response: HTTPResponse) throws -> String? {
    let value = try #require(response.fields["WWW-Authenticate"])
    guard let start = value.range(of: "claims=\"") else { return nil }
    let data = Data(base64Encoded: String(value[start.upperBound...].prefix { $0 != "\"" }))
    return data.map { String(decoding: $0, as: UTF8.self) }
}

private let capability = #""xms_cc":{"values":["cp1"]}"#

@Test func `a revoked access token is challenged until a token request has the claims`() async throws {
    let signIn = SignIn(try await provider())
    let code = try await signIn.code()
    let tokens = try await signIn.redeem(code, ["claims": "{\"access_token\":{\(capability)}}"])
    play(.directoryTokenRevoked, on: signIn.provider)
    let revoked = try await signIn.get("/v1.0/me", token: tokens.accessToken)
    let claims = try #require(try challenge(revoked))
    #expect(revoked.status == 401 && claims.contains("\"nbf\""))
    // The injected error is used up, but the token remains revoked.
    #expect(try challenge(try await signIn.get("/v1.0/me", token: tokens.accessToken)) == claims)
    // A refresh without the claims of the challenge changes nothing.
    let other = try await signIn.refresh(
        tokens.refreshToken, ["claims": "{\"access_token\":{\(capability)}}"])
    #expect(try await signIn.get("/v1.0/me", token: other.accessToken).status == 401)
    let merged = claims.replacing("\"access_token\":{", with: "\"access_token\":{\(capability),")
    let new = try await signIn.refresh(other.refreshToken, ["claims": merged])
    #expect(try await signIn.get("/v1.0/me", token: new.accessToken).status == 200)
    let bad = try await signIn.refresh(new.refreshToken, ["claims": "[]"])
    #expect(bad.error == "invalid_request")
}

@Test func `a client that declares no capability gets no challenge`() async throws {
    let signIn = SignIn(try await provider())
    let tokens = try await signIn.tokens()
    play(.directoryTokenRevoked, on: signIn.provider)
    let response = try await signIn.get("/v1.0/me", token: tokens.accessToken)
    #expect(response.status == 401)
    #expect(try challenge(response) == nil)
}

@Test func `a revoked session invalidates the refresh token`() async throws {
    let signIn = SignIn(try await provider())
    let tokens = try await signIn.redeem(
        try await signIn.code(), ["claims": "{\"access_token\":{\(capability)}}"])
    play(.directorySessionRevoked, on: signIn.provider)
    #expect(try challenge(try await signIn.get("/v1.0/me", token: tokens.accessToken)) != nil)
    #expect(try await signIn.refresh(tokens.refreshToken).error == "invalid_grant")
    // The next sign-in has another session.
    let new = try await signIn.tokens()
    #expect(try await signIn.get("/v1.0/me", token: new.accessToken).status == 200)
}
