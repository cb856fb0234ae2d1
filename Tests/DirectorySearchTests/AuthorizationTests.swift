import Foundation
import HTTPExchange
import OAuth2Protocol
import Testing

@testable import DirectorySearch

private let query = UserQuery(.givenName(startsWith: "Ada"), select: ["id"])
private let claims = #"{"access_token":{"nbf":{"essential":true,"value":"1700000000"}}}"#

@Test func `after a 401 the client refreshes the token once and repeats the request`() async throws {
    let demands = Log<TokenRequirement>()
    let transport = ScriptedTransport([.failure(401), .page(["1"], next: "\(graph)/users?p=2"), .page(["2"])])
    let client = try client(transport) { demand in
        demands.append(demand)
        return demands.all.count == 1 ? "old" : "new"
    }
    let users = try await GraphDirectory(client: client).users(matching: query).collected()
    #expect(users.map(\.id) == ["1", "2"])
    #expect(demands.all == [.current, .refreshed(rejected: "old"), .current])
    #expect(transport.tokens == ["Bearer old", "Bearer new", "Bearer new"])
}

@Test func `a second 401 is an error, not a loop`() async throws {
    let demands = Log<TokenRequirement>()
    let transport = ScriptedTransport { _ in .failure(401, code: "InvalidAuthenticationToken") }
    let client = try client(transport) { demand in
        demands.append(demand)
        return "token \(demands.all.count)"
    }
    let error = try await failure { try await GraphDirectory(client: client).me() }
    #expect(error?.kind == .signInNeeded(claims: nil))
    #expect(error?.code == "InvalidAuthenticationToken")
    #expect(transport.requests.count == 2)
    #expect(demands.all.count == 2)
}

@Test func `the client does not retry if the refresh returns the rejected token`() async throws {
    let transport = ScriptedTransport { _ in .failure(401) }
    let error = try await failure { try await GraphDirectory(client: try client(transport)).me() }
    #expect(error?.kind == .signInNeeded(claims: nil))
    #expect(transport.requests.count == 1)
}

private func challenged() -> HTTPResponse {
    let challenge =
        "Bearer realm=\"\", error=\"insufficient_claims\", claims=\"\(Data(claims.utf8).base64EncodedString())\""
    return .failure(401, code: "InvalidAuthenticationToken", ["WWW-Authenticate": challenge])
}

@Test func `the client passes a claims challenge to the authorization once`() async throws {
    let demands = Log<TokenRequirement>()
    let transport = ScriptedTransport([challenged(), .json(#"{"id":"1"}"#), challenged(), challenged()])
    let client = try client(transport) { demand in
        demands.append(demand)
        return "token \(demands.all.count)"
    }
    let directory = GraphDirectory(client: client)
    #expect(try await directory.me().id == "1")
    #expect(demands.all == [.current, .claims(claims, rejected: "token 1")])
    let error = try await failure { try await directory.me() }
    #expect(error?.kind == .signInNeeded(claims: claims))
    #expect(transport.requests.count == 4)
}

@Test func `an error for claims that require a sign-in keeps the service's error code`() async throws {
    let transport = ScriptedTransport([challenged()])
    let client = try client(transport) { demand in
        guard case .claims(let claims, _) = demand else { return "token" }
        throw DirectoryError(.signInNeeded(claims: claims))
    }
    let error = try await failure { try await GraphDirectory(client: client).me() }
    #expect(error?.kind == .signInNeeded(claims: claims))
    #expect(error?.code == "InvalidAuthenticationToken")
    #expect(transport.requests.count == 1)
}

@Test func `the client rethrows an error of the authorization and sends no request`() async throws {
    struct Locked: Error {}
    let transport = ScriptedTransport([])
    let client = try client(transport) { _ in throw Locked() }
    await #expect(throws: Locked.self) { try await GraphDirectory(client: client).me() }
    #expect(transport.requests.isEmpty)
}

@Test func `TokenRequirement does not print the token`() {
    for demand in [TokenRequirement.refreshed(rejected: "s3cret"), .claims("s3cret", rejected: "s3cret")] {
        var dumped = ""
        dump(demand, to: &dumped)
        #expect(!"\(demand) \(String(reflecting: demand)) \(dumped)".contains("s3cret"))
    }
}

@Test func `challenges(in:) reads claims in every spelling of the challenge`() {
    let base64 = Data(claims.utf8).base64EncodedString()
    let bare = base64.replacingOccurrences(of: "=", with: "")
    let escaped = claims.replacingOccurrences(of: "\"", with: "\\\"")
    for field in [
        "Bearer claims=\"\(base64)\"", "Bearer claims=\(bare)", "bearer realm=\"\",CLAIMS = \"\(bare)\"",
        "Bearer realm=\"claims=\\\"x\\\", a\", claims=\"\(base64)\"", "Bearer claims=\"\(escaped)\"",
        "Basic realm=\"x\", Bearer error=\"insufficient_claims\", claims=\"\(base64)\"",
    ] {
        #expect(challengeClaims([field]) == claims, "\(field)")
    }
    #expect(challengeClaims(["Basic realm=\"a\"", "Bearer claims=\"\(base64)\""]) == claims)
}

/// Returns the claims of the challenges in these `WWW-Authenticate` fields.
private func challengeClaims(_ values: [String]) -> String? {
    var fields = HTTPFields()
    for value in values { fields.append(name: "WWW-Authenticate", value: value) }
    return AuthenticationChallenge.challenges(in: fields).compactMap(\.claims).first
}

@Test(arguments: [
    "", "Bearer", "Bearer claims", "Bearer claims=", "Bearer claims=\"", "Bearer claims=\"\"", "Bearer claims=\"!!!\"",
    "Bearer claims=\"bm90IGpzb24=\"", "Bearer claims=\"WzFd\"", "Bearer realm=\"claims=e30=\"", "=,=,\"\\",
    "Bearer xclaims=e30",
])
func `a challenge without readable claims has no claims`(field: String) {
    #expect(challengeClaims([field]) == nil)
}

@Test func `GraphDirectory creates its client lazily, once per operation`() async throws {
    struct NoSuchAccount: Error {}
    let lookups = Log<Int>()
    let transport = ScriptedTransport([.page(["1"], next: "\(graph)/users?p=2"), .page(["2"])])
    let client = try client(transport)
    let directory = GraphDirectory {
        lookups.append(1)
        return client
    }
    let users = directory.users(matching: query)
    #expect(lookups.all.isEmpty)
    #expect(try await users.collected().count == 2)
    #expect(lookups.all.count == 1)
    let empty = try await failure { try await directory.users(matching: .givenName(startsWith: "")).collected() }
    #expect(empty?.kind == .emptySearch)
    #expect(lookups.all.count == 1)

    let nowhere = GraphDirectory { throw NoSuchAccount() }
    await #expect(throws: NoSuchAccount.self) { try await nowhere.users(matching: query).collected() }
    await #expect(throws: NoSuchAccount.self) { try await nowhere.me() }
}

// MARK: Applications

/// Returns a client of an application, and the discarded tokens.
private func application(_ transport: ScriptedTransport) throws -> (client: DirectoryClient, discarded: Log<String>) {
    let tokens = Log<Int>()
    let discarded = Log<String>()
    var client = try client(transport) { _ in
        tokens.append(1)
        return "token \(tokens.all.count)"
    }
    client.isApplication = true
    client.hasUser = false
    client.discard = { token, claims in discarded.append("\(token) \(claims)") }
    return (client, discarded)
}

@Test func `an application has no signed-in user, and no request is sent`() async throws {
    let transport = ScriptedTransport([])
    let (client, _) = try application(transport)
    let error = try await failure { try await GraphDirectory(client: client).me() }
    #expect(error?.kind == .notSupported && error?.message?.contains("application") == true)
    #expect(transport.requests.isEmpty)
}

@Test func `a second claims challenge blocks an application, and its new token is discarded`() async throws {
    let transport = ScriptedTransport([challenged(), challenged()])
    let (client, discarded) = try application(transport)
    let error = try await failure { try await GraphDirectory(client: client).user("1") }
    #expect(error?.kind == .blockedByPolicy && error?.remedy == .askAdministrator(permissions: []))
    #expect(discarded.all == ["token 2 \(claims)"])
    #expect(transport.requests.count == 2)
}

@Test func `a 403 of an application names the application permission`() async throws {
    let transport = ScriptedTransport { _ in .failure(403, code: "Authorization_RequestDenied") }
    let (client, _) = try application(transport)
    let users = try await failure { try await GraphDirectory(client: client).users(matching: query).collected() }
    #expect(users?.kind == .notPermitted(permissions: ["User.Read.All"]))
    #expect(users?.remedy == .grantToApplication(permissions: ["User.Read.All"]))
    #expect(users?.description.contains("the application permission User.Read.All") == true)
    #expect(
        client.dialect.applicationPermissions(["GroupMember.Read.All", "Directory.Read.All"]) == [
            "GroupMember.Read.All"
        ])
    #expect(client.dialect.applicationPermissions(["User.ReadBasic.All", "User.Read.All"]) == ["User.Read.All"])
}

@Test func `a 403 of an application names the scope of a SCIM service, and what an administrator does`() async throws {
    let challenge = "Bearer realm=\"id\", error=\"insufficient_scope\", scope=\"scim.read\""
    let (client, _) = try application(ScriptedTransport { _ in .failure(403, ["WWW-Authenticate": challenge]) })
    let named = try await failure { try await SCIMDirectory(client: client).user("1") }
    #expect(named?.kind == .notPermitted(permissions: ["scim.read"]) && named?.remedy == .allowScopes(["scim.read"]))
    #expect(named?.summary == "the directory does not permit this without the scope scim.read")
    #expect(
        named?.remedy.description == "ask an administrator to allow the application the scope scim.read")
    let (other, _) = try application(ScriptedTransport { _ in .failure(403) })
    let unnamed = try await failure { try await SCIMDirectory(client: other).user("1") }
    #expect(unnamed?.remedy == .allowScopes([]))
    #expect(unnamed?.remedy.description == "ask an administrator to allow the application to read the directory")
}

@Test func `a 403 of an application names the scope in the delegation of Google`() async throws {
    let body = #"{"error":{"code":403,"message":"Not Authorized","errors":[{"reason":"forbidden"}]}}"#
    let disabled = #"{"error":{"code":403,"message":"disabled","errors":[{"reason":"accessNotConfigured"}]}}"#
    let (client, _) = try application(ScriptedTransport { _ in .json(body, status: 403) })
    let error = try await failure { try await GoogleDirectory(client: client).user("ada@example.com") }
    #expect(error?.kind == .notPermitted(permissions: [GoogleDirectory.scope]))
    #expect(error?.remedy == .delegateScopes([GoogleDirectory.scope]))
    #expect(
        error?.summary == "the directory does not permit this without the scope \(GoogleDirectory.scope) in the "
            + "domain-wide delegation")
    #expect(error?.remedy.description.contains("subject") == true)
    // A permission does not enable the API.
    let (other, _) = try application(ScriptedTransport { _ in .json(disabled, status: 403) })
    let off = try await failure { try await GoogleDirectory(client: other).user("ada@example.com") }
    #expect(off?.remedy == .delegateScopes([]) && off?.remedy.description == "ask an administrator of the directory")
}
