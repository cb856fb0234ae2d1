import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import LocalProvider

private let users = UserTable(count: 300, seed: 1)
private let resources = GraphResources(contents: DirectoryContents(users))
private let everything = DirectoryPrincipal(user: 0, permissions: ["User.Read", "User.Read.All"])

/// Queries the directory without a network. `path` may have a percent-encoded query.
private func ask(
    _ path: String, eventual: Bool = false, method: String = "GET", caller: DirectoryPrincipal = everything,
    _ resources: GraphResources = resources
) -> GraphResponse {
    let name = path.prefix { $0 != "?" }
    let request = GraphRequest(
        method: method, path: String(name),
        query: name.endIndex < path.endIndex ? String(path[path.index(after: name.endIndex)...]) : nil,
        consistencyLevel: eventual ? "eventual" : nil, base: "http://127.0.0.1:1/v1.0")
    return resources.response(to: request, caller)
}

extension GraphResponse {
    fileprivate var object: JSONObject? {
        switch self {
        case .json(let object), .list(let object): object
        default: nil
        }
    }
    fileprivate var items: [JSONObject] { object?["value"]?.array?.compactMap(\.object) ?? [] }
    fileprivate var names: [String] { items.map { $0["displayName"]?.string ?? "-" } }
    fileprivate var failure: GraphFailure? {
        if case .failure(let failure) = self { failure } else { nil }
    }
}

@Test func `UserTable creates unique users that depend on the seed`() {
    let again = UserTable(count: 300, seed: 1)
    #expect(again.all == users.all)
    #expect(UserTable(count: 300, seed: 2).all != users.all)
    #expect(Set(users.all.map(\.id)).count == 300)
    #expect(Set(users.all.map { $0.userPrincipalName.lowercased() }).count == 300)
    let large = UserTable(count: 20_000, seed: 3).all
    #expect(Set(large.map { $0.userPrincipalName.lowercased() }).count == 20_000)
    #expect(Set(large.map(\.id)).count == 20_000)
    #expect(users.all.filter { $0.givenName?.hasPrefix("A") == true }.count > 60)
    #expect(users.all.contains { $0.mail == nil } && users.all.contains { $0.businessPhones.isEmpty })
    #expect(users.all.contains { $0.isGuest && $0.userPrincipalName.contains("#EXT#") })
    #expect(UserTable(count: 0, seed: 1).all.isEmpty && UserTable(count: -1, seed: 1).all.isEmpty)
    for user in users.all {
        for address in [user.userPrincipalName, user.mail ?? "a@contoso.example"] {
            #expect(address.hasSuffix("@contoso.example") || address.hasSuffix("@partner.example"))
        }
    }
}

@Test func `each user except the first one and the guests has a manager earlier in the table`() {
    for (index, user) in users.all.enumerated() {
        #expect((user.manager == nil) == (index == 0 || user.isGuest))
        if let manager = user.manager {
            #expect(manager < index)
            #expect(users.reports(to: manager).contains(index))
        }
    }
}

@Test func `a user has the default properties or the selected ones`() throws {
    let me = try #require(ask("/me").object)
    #expect(
        me.members.map(\.name) == [
            "@odata.context", "businessPhones", "displayName", "givenName", "jobTitle", "mail", "mobilePhone",
            "officeLocation", "preferredLanguage", "surname", "userPrincipalName", "id",
        ])
    #expect(me["@odata.context"]?.string == "http://127.0.0.1:1/v1.0/$metadata#users/$entity")
    let few = try #require(ask("/me?$select=DisplayName,%20department").object)
    #expect(few.members.map(\.name) == ["@odata.context", "displayName", "department"])
    #expect(few["@odata.context"]?.string == "http://127.0.0.1:1/v1.0/$metadata#users(displayName,department)/$entity")
    let nobody = try #require(ask("/users/nameless@contoso.example").object)
    #expect(nobody["mail"]?.isNull == true && nobody["businessPhones"] == [])
}

@Test(arguments: [
    ("/users/ada@contoso.example", "Ada Lovelace"), ("/users/ADA%40contoso.example", "Ada Lovelace"),
    ("/users/aoife.o'brien@contoso.example", "Aoife O'Brien"),
    ("/users/aoife.o%27brien%40contoso.example", "Aoife O'Brien"),
    ("/users('aoife.o''brien%40contoso.example')", "Aoife O'Brien"),
    ("/users('$system@contoso.example')", "$ystem Account"),
    ("/Users/%61da@contoso.example", "Ada Lovelace"), ("/users('ada@contoso.example')", "Ada Lovelace"),
    ("/users/amal.haddad_partner.example%23EXT%23@contoso.example", "Amal Haddad"),
])
func `a user is found by an escaped or unescaped user principal name`(path: String, name: String) {
    #expect(ask(path).object?["displayName"]?.string == name)
}

@Test(arguments: [
    ("/users/nobody@contoso.example", 404, "Request_ResourceNotFound"),
    ("/users/%24system@contoso.example", 400, "BadRequest"), ("/users/$system@contoso.example", 400, "BadRequest"),
    ("/users('aoife.o'brien@contoso.example')", 400, "BadRequest"), ("/users('')", 400, "BadRequest"),
    ("/users/%FF", 400, "BadRequest"), ("/users/%", 400, "BadRequest"), ("/nothing", 400, "BadRequest"),
    ("/", 400, "BadRequest"),
    ("/users/ada@contoso.example/manager", 404, "Request_ResourceNotFound"),
    ("/users/li.ming@contoso.example/photo", 404, "ImageNotFound"),
    ("/me/nothing", 400, "BadRequest"), ("/users?$top=0", 400, "Request_BadRequest"),
    ("/users?$top=1000", 400, "Request_BadRequest"), ("/users?$top=x", 400, "Request_BadRequest"),
    ("/users?$skip=1", 400, "Request_BadRequest"), ("/users?$skiptoken=x", 400, "Directory_ExpiredPageToken"),
    ("/users?$skiptoken=x-FFFFFFFFFFFFFFFFFF", 400, "Directory_ExpiredPageToken"),
    ("/users?$select=nothing", 400, "BadRequest"), ("/users?$select=skills", 501, "NotImplemented"),
    ("/users?$nothing=1", 400, "BadRequest"), ("/users?$top=1&$top=2", 400, "BadRequest"),
    ("/users?top=1&$top=2", 400, "BadRequest"), ("/users?$filter=%27", 400, "BadRequest"),
    ("/users?$filter=%GG", 400, "BadRequest"), ("/users?$filter=surname%20eq%20'O'Brien'", 400, "BadRequest"),
    ("/users?$filter=contains(surname,'a')", 400, "Request_UnsupportedQuery"),
    ("/users?$filter=endswith(mail,'a')", 400, "Request_UnsupportedQuery"),
    ("/users?$filter=endswith(mail,'a')&$count=true", 400, "Request_UnsupportedQuery"),
    ("/users?$search=%22displayName:a%22", 400, "Request_UnsupportedQuery"),
    ("/users?$orderby=surname", 400, "Request_UnsupportedQuery"),
    ("/users?$orderby=displayName%20up", 400, "BadRequest"),
    ("/users?$orderby=displayName&$filter=surname%20eq%20'a'", 400, "Request_UnsupportedQuery"),
    ("/users?$orderby=createdDateTime", 400, "Request_UnsupportedQuery"),
    ("/users?$expand=photo", 400, "ExpandNotSupported"),
    ("/users?$count=yes", 400, "BadRequest"), ("/users/$count", 400, "Request_BadRequest"),
])
func `failed requests receive Graph's status and error code`(path: String, status: Int, code: String) {
    let failure = ask(path).failure
    #expect(failure?.status == status)
    #expect(failure?.code == code)
    #expect(failure?.message.isEmpty == false)
}

@Test func `a request with a method other than GET receives 405`() {
    #expect(ask("/users", method: "DELETE").failure?.status == 405)
}

@Test func `a filter of more than 15 clauses requires an advanced query`() {
    func filter(_ count: Int) -> String {
        "/users?$filter=" + Array(repeating: "surname%20eq%20'a'", count: count).joined(separator: "%20or%20")
    }
    #expect(ask(filter(15)).failure == nil)
    #expect(ask(filter(16)).failure?.code == "Request_UnsupportedQuery")
    #expect(ask(filter(16) + "&$count=true", eventual: true).failure == nil)
}

@Test(arguments: [1, 7, 100, 299, 300, 999])
func `following the next links returns each user once`(top: Int) throws {
    var path = "/users?$select=id&$top=\(top)"
    var met: [String] = []
    var pages = 0
    while pages <= 300 {
        pages += 1
        let answer = ask(path)
        let page = answer.items.compactMap { $0["id"]?.string }
        #expect(page.count <= top)
        met += page
        guard let link = answer.object?["@odata.nextLink"]?.string else { break }
        path = String(link.dropFirst("http://127.0.0.1:1/v1.0".count))
        #expect(path.contains("$select=id") && path.contains("$skiptoken="))
    }
    #expect(met == users.all.map(\.id))
    #expect(pages == (300 + top - 1) / top)
}

@Test func `the default page size is 100`() {
    #expect(ask("/users").items.count == 100)
}

@Test func `a page token is valid only for its query`() throws {
    let link = try #require(ask("/users?$filter=startswith(givenName,'a')&$top=2").object?["@odata.nextLink"]?.string)
    let token = try #require(link.components(separatedBy: "$skiptoken=").last)
    #expect(ask("/users?$filter=startswith(givenName,'a')&$top=2&$skiptoken=\(token)").items.count == 2)
    #expect(
        ask("/users?$filter=startswith(givenName,'b')&$top=2&$skiptoken=\(token)").failure?.code
            == "Directory_ExpiredPageToken")
}

@Test func `the first page of an advanced query contains the total count`() throws {
    #expect(ask("/users?$count=true").object?["@odata.count"] == nil)
    #expect(ask("/users?$count=true").items.count == 100)
    let first = try #require(ask("/users?$count=true&$top=200", eventual: true).object)
    #expect(first["@odata.count"]?.number?.int64 == 300)
    let link = try #require(first["@odata.nextLink"]?.string).dropFirst("http://127.0.0.1:1/v1.0".count)
    #expect(ask(String(link), eventual: true).object?["@odata.count"] == nil)
    guard case .text(let count) = ask("/users/$count", eventual: true) else {
        Issue.record("the response has no count")
        return
    }
    #expect(count == "300")
    guard case .text("1") = ask("/users/$count?$filter=endswith(mail,'ada@contoso.example')", eventual: true) else {
        Issue.record("the response has no filtered count")
        return
    }
}

@Test func `an advanced filter requires $count, and $search does not`() {
    #expect(
        ask("/users?$filter=endswith(mail,'ada@contoso.example')&$count=true", eventual: true).names == ["Ada Lovelace"]
    )
    #expect(ask("/users?$filter=endswith(mail,'ada@contoso.example')", eventual: true).failure?.status == 400)
    #expect(ask("/users?$search=%22displayName:lovel%22", eventual: true).names == ["Ada Lovelace"])
    #expect(ask("/users?$search=%22displayName:lovel", eventual: true).failure?.code == "BadRequest")
}

@Test(arguments: [
    ("O%27%27Brien", "Aoife O'Brien"), ("O''Brien", "Aoife O'Brien"), ("%C3%9Cnal", "Ayşe Ünal"), ("%E6%9D%8E", "李 明"),
    ("Party", "Alex 🎉 Party"), ("%26%20Co.%2050%25", "Anna & Co. 50%"), ("%26+Co.+50%25", "Anna & Co. 50%"),
    ("d%27%27%27%27Aub", "Astrid d''Aubigné"),
])
func `escaped values are decoded once`(value: String, name: String) {
    #expect(ask("/users?$filter=startswith(surname,%27\(value)%27)").names == [name])
    #expect(ask("/users?%24filter=startswith(surname,'\(value)')").names == [name])
}

@Test func `a list is sorted by $orderby`() throws {
    let up = ask("/users?$orderby=displayName&$top=999").items.compactMap { $0["displayName"]?.string?.lowercased() }
    #expect(up == up.sorted() && up.count == 299)
    let down = ask("/users?$orderby=userPrincipalName%20desc&$top=999").items.compactMap {
        $0["userPrincipalName"]?.string?.lowercased()
    }
    #expect(down == down.sorted(by: >) && down.count == 300)
    let filtered = ask(
        "/users?$filter=startswith(givenName,'a')&$orderby=displayName&$count=true&$top=3", eventual: true)
    #expect(filtered.items.count == 3)
}

@Test func `a user has a manager and direct reports`() throws {
    let manager = try #require(ask("/users/aoife.o'brien@contoso.example/manager").object)
    #expect(manager["@odata.type"]?.string == "#microsoft.graph.user")
    #expect(manager["displayName"]?.string == "Ada Lovelace")
    let reports = ask("/me/directReports?$select=displayName&$top=2")
    #expect(reports.names == ["Aoife O'Brien", "Ayşe Ünal"])
    #expect(reports.object?["@odata.nextLink"] != nil)
    #expect(reports.items.first?["@odata.type"]?.string == "#microsoft.graph.user")
    let expanded = try #require(
        ask("/users/ayse.unal@contoso.example?$select=id&$expand=manager($select=displayName)").object)
    #expect(expanded["manager"]?.object?["displayName"]?.string == "Ada Lovelace")
    #expect(ask("/me?$select=id&$expand=manager").object?["manager"] == nil)
    #expect(ask("/me/memberOf").items.first?["@odata.type"]?.string == "#microsoft.graph.group")
}

@Test(
    arguments: [
        (["User.Read"], "/me", nil), (["User.Read"], "/users", 403), (["User.Read"], "/users/ada@contoso.example", 403),
        (["User.Read"], "/me/manager", 403), (["User.ReadBasic.All"], "/me", nil),
        (["User.ReadBasic.All"], "/users", nil),
        (["Directory.Read.All"], "/users", nil), ([], "/me", 403), ([], "/users('ada@contoso.example')", 403),
    ] as [(Set<String>, String, Int?)])
func `permissions determine the accessible resources`(permissions: Set<String>, path: String, status: Int?) {
    let answer = ask(path, caller: DirectoryPrincipal(user: 0, permissions: permissions))
    #expect(answer.failure?.status == status)
    if status != nil { #expect(answer.failure?.code == "Authorization_RequestDenied") }
}

@Test func `User.ReadBasic.All returns only basic properties of other users if the rest is withheld`() throws {
    var strict = GraphResources(contents: DirectoryContents(users))
    strict.withholdsNonBasicProperties = true
    let basic = DirectoryPrincipal(user: 0, permissions: ["User.ReadBasic.All"])
    let other = try #require(ask("/users/ayse.unal@contoso.example", caller: basic, strict).object)
    #expect(other["displayName"]?.string == "Ayşe Ünal")
    #expect(other["jobTitle"]?.isNull == true && other["businessPhones"] == [])
    #expect(ask("/me", caller: basic, strict).object?["jobTitle"]?.string == "Engineer")
    #expect(
        ask("/users/ayse.unal@contoso.example", caller: everything, strict).object?["jobTitle"]?.string == "Architect")
}

// MARK: HTTP

@Test func `errors have Graph's format with request-id and client-request-id`() async throws {
    let clock = HandClock()
    let signIn = SignIn(try await provider { $0.now = { clock.now() } })
    let token = try await signIn.tokens().accessToken
    let response = try await signIn.get(
        "/v1.0/users/nobody", token: token, fields: ["client-request-id": "1c0e6f9a-0000-4000-8000-000000000000"])
    #expect(response.status == 404)
    let requestID = try #require(response.fields["request-id"])
    #expect(requestID.count == 36)
    #expect(response.fields["client-request-id"] == "1c0e6f9a-0000-4000-8000-000000000000")
    let error = try #require(response.json["error"]?.object)
    #expect(error["message"]?.string?.contains("'nobody'") == true)
    #expect(
        error["innerError"] == [
            "date": "2027-01-15T08:00:00", "request-id": .string(requestID),
            "client-request-id": "1c0e6f9a-0000-4000-8000-000000000000",
        ])
    #expect(response.fields["Content-Type"] == "application/json")
    let without = try await signIn.get("/v1.0/users/nobody", token: token)
    #expect(without.fields["client-request-id"] == without.fields["request-id"])
}

@Test func `errors distinguish a missing, an invalid and an expired token`() async throws {
    let signIn = SignIn(try await provider())
    let token = try await signIn.tokens().accessToken
    signIn.provider.expireAccessTokens()
    for (token, words) in [(nil, "empty"), ("strange", "parsing failed"), (token, "expired")] as [(String?, String)] {
        let response = try await signIn.get("/v1.0/me", token: token)
        #expect(response.status == 401)
        #expect(response.graphCode == "InvalidAuthenticationToken")
        #expect(response.json["error"]?.object?["message"]?.string?.contains(words) == true)
        #expect(
            response.fields["WWW-Authenticate"]?.contains("\(signIn.provider.issuer.absoluteString)/authorize") == true)
    }
}

@Test func `next links can be followed over HTTP`() async throws {
    let signIn = SignIn(try await provider())
    let token = try await signIn.tokens().accessToken
    var url: URL? = signIn.provider.graphBase.appending(path: "v1.0/users")
        .appending(queryItems: [.init(name: "$top", value: "25"), .init(name: "$select", value: "id")])
    var met: [String] = []
    while let next = url, met.count <= 60 {
        let page = try await transport.send(HTTPRequest(.get, next, fields: ["Authorization": "Bearer \(token)"]))
        #expect(page.status == 200)
        met += page.value.compactMap { $0["id"]?.string }
        url = page.json["@odata.nextLink"]?.string.flatMap { URL(string: $0) }
    }
    #expect(met == signIn.provider.users.map(\.id))
}

@Test func `a batch returns a response for each request`() async throws {
    let signIn = SignIn(try await provider())
    let token = try await signIn.tokens().accessToken
    func send(_ body: JSONValue) async throws -> HTTPResponse {
        let url = try #require(URL(string: signIn.provider.issuer.absoluteString + "/v1.0/$batch"))
        return try await transport.send(
            HTTPRequest(
                .post, url, fields: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
                body: Data(body.serialized())))
    }
    func item(_ id: String, _ url: String, _ headers: JSONValue = [:]) -> JSONValue {
        ["id": .string(id), "method": "GET", "url": .string(url), "headers": headers]
    }
    let response = try await send([
        "requests": [
            item("1", "/me?$select=displayName"), item("2", "/users/nobody"), item("3", "users?$top=1"),
            item("4", "/users?$search=%22mail:ada%22", ["ConsistencyLevel": "eventual"]), item("5", "/users/$count"),
        ]
    ])
    #expect(response.status == 200)
    let answers = response.json["responses"]?.array?.compactMap(\.object) ?? []
    #expect(answers.compactMap { $0["id"]?.string } == ["1", "2", "3", "4", "5"])
    #expect(answers.compactMap { $0["status"]?.number?.int64 } == [200, 404, 200, 200, 400])
    #expect(answers.first?["body"]?.object?["displayName"]?.string == "Ada Lovelace")
    for bad: JSONValue in [
        [], ["requests": []], ["requests": .array((1...21).map { item("\($0)", "/me") })],
        ["requests": [item("1", "/me"), item("1", "/me")]], ["requests": [["id": "1"]]],
    ] {
        #expect(try await send(bad).status == 400)
    }
}
