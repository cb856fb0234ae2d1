import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import DirectorySearch

private let base = "https://id.example/scim/v2"

private func directory(_ transport: ScriptedTransport, waits: Log<Duration>? = nil) throws -> SCIMDirectory {
    try directory(transport, waits: waits) { _ in "token" }
}

private func directory(
    _ transport: ScriptedTransport, waits: Log<Duration>? = nil,
    authorization: @escaping DirectoryClient.Authorization
) throws -> SCIMDirectory {
    var client = try DirectoryClient(
        directoryBase: try #require(URL(string: base)), transport: transport, authorization: authorization)
    client.sleep = { waits?.append($0) }
    client.now = { testNow }
    client.random = { 0.5 }
    return SCIMDirectory(client: client)
}

/// Creates a page of users with these identifiers.
private func page(_ identifiers: [String], start: Int? = nil, total: Int) -> HTTPResponse {
    let people = identifiers.map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
    let begun = start.map { #","startIndex":\#($0)"# } ?? ""
    return .json(#"{"totalResults":\#(total)\#(begun),"Resources":[\#(people)]}"#)
}

private func failed(_ status: Int, _ fields: HTTPFields = [:]) -> HTTPResponse {
    .json(
        #"{"schemas":["urn:ietf:params:scim:api:messages:2.0:Error"],"scimType":"invalidFilter","detail":"no\u001b","status":"\#(status)"}"#,
        status: status, fields)
}

@Test func `pages follow startIndex while totalResults changes`() async throws {
    let transport = ScriptedTransport([
        page(["1", "2"], start: 1, total: 3), page(["3", "4"], start: 3, total: 5), page(["5"], start: 5, total: 5),
    ])
    let users = try await directory(transport).users(matching: .everyone(pageSize: 2)).collected()
    #expect(users.map(\.id) == ["1", "2", "3", "4", "5"])
    #expect(transport.addresses.map { String($0.suffix(20)) }.last?.hasSuffix("count=2&startIndex=5") == true)
    #expect(transport.requests.allSatisfy { $0.fields["Accept"] == "application/scim+json" })
    #expect(transport.requests.allSatisfy { $0.fields["client-request-id"] == nil })
    #expect(transport.requests.allSatisfy { $0.url.absoluteString.hasPrefix(base + "/Users?") })
}

@Test func `a limit ends the pages, and only the first page has the total`() async throws {
    let transport = ScriptedTransport([page(["1", "2"], total: 9), page(["3", "4"], total: 9)])
    var query = UserQuery.everyone(pageSize: 2)
    query.limit = 3
    query.countsTotal = true
    let pages = try await directory(transport).pages(matching: query).collected()
    #expect(pages.map(\.users.count) == [2, 1])
    #expect(pages.map(\.count) == [9, nil])
    #expect(pages.last?.hasMore == true)
}

@Test func `a user who is added during the list causes no duplicates`() async throws {
    let transport = ScriptedTransport([
        page(["1", "2", "3"], total: 5), page(["3", "4", "5"], total: 7), page(["5"], total: 7),
    ])
    let pages = try await directory(transport).pages(matching: .everyone(pageSize: 3)).collected()
    #expect(pages.map { $0.users.map(\.id) } == [["1", "2", "3"], ["4", "5"], []])
    #expect(transport.addresses.last?.hasSuffix("&startIndex=7") == true)
}

@Test func `a service that ignores startIndex does not cause a loop`() async throws {
    let transport = ScriptedTransport { _ in page(["1", "2"], start: 1, total: 9) }
    let error = try await failure {
        try await directory(transport).users(matching: .everyone(pageSize: 2)).collected()
    }
    #expect(error?.kind == .endlessPages)
    #expect(transport.requests.count == 3)
}

@Test func `a response that is not a SCIM list is an error, but an empty list is valid`() async throws {
    let empty = ScriptedTransport([.json(#"{"totalResults":0}"#)])
    #expect(try await directory(empty).users(matching: .everyone()).collected().isEmpty)
    for text in [#"{"totalResults":3}"#, #"{"Resources":[]}"#, "[]", "{", #"{"Resources":[1],"totalResults":1}"#] {
        let broken = ScriptedTransport([.json(text)])
        let error = try await failure { try await directory(broken).users(matching: .everyone()).collected() }
        guard case .unreadable? = error?.kind else {
            Issue.record("\(text)")
            continue
        }
    }
}

@Test func `a SCIM user maps to Graph's property names and keeps its other members`() throws {
    let object = try #require(
        try JSONValue(
            parsing: #"""
                {"schemas":["x"],"id":"7","UserName":"ada@x","name":{"formatted":"Ada L","givenName":"Ada","familyName":"Love",
                "honorificPrefix":"Dr"},"title":"Engineer","emails":[{"value":"home@x","type":"home"},{"value":"ada@x","primary":true}],
                "phoneNumbers":[{"value":"1","type":"work"},{"value":"2","type":"mobile"},{"value":"3","type":"fax"}],
                "addresses":[{"type":"work","locality":"Rome","country":"IT"}],"active":true,"nickName":"A","title2":4,
                "meta":{"created":"2026-01-01T00:00:00Z"},"userType":5,
                "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"department":"R&D","costCenter":"9","x":1,
                "manager":{"value":"8","displayName":"Boss"}},"urn:example:User":{"badge":"b"}}
                """#
        ).object)
    let user = User(scim: object)
    #expect(user.id == "7" && user.userPrincipalName == "ada@x" && user.displayName == "Ada L")
    #expect(user.givenName == "Ada" && user.surname == "Love" && user.jobTitle == "Engineer")
    #expect(user.mail == "ada@x" && user.otherMails == ["home@x"])
    #expect(user.businessPhones == ["1"] && user.mobilePhone == "2")
    #expect(user.city == "Rome" && user.country == "IT" && user.accountEnabled == true)
    #expect(user.department == "R&D" && user.manager?.id == "8" && user.manager?.displayName == "Boss")
    #expect(user["employeeOrgData"]?.object?["costCenter"] == "9")
    #expect(user.createdDateTime != nil && user.userType == nil)
    #expect(user.additional["nickName"] == "A" && user.additional["title2"] == 4 && user.additional["userType"] == 5)
    #expect(user.additional["urn:example:User"]?.object?["badge"] == "b")
    #expect(user.additional["name"]?.object?["honorificPrefix"] == "Dr")
    #expect(user.json["phoneNumbers"]?.array?.count == 1)
    #expect(user.json["schemas"] == nil && user.json["meta"] == nil)
    #expect(User(scim: ["id": 5, "emails": [1, "a", [:]], "name": "x"]).id == nil)
}

@Test func `user(_:) finds a user by identifier, userName or mail address`() async throws {
    let ada = HTTPResponse.json(#"{"id":"7","userName":"ada"}"#)
    let byID = ScriptedTransport([ada])
    #expect(try await directory(byID).user("a/b?c").id == "7")
    #expect(byID.addresses[0].hasPrefix(base + "/Users/a%2Fb%3Fc?attributes="))
    let byName = ScriptedTransport([failed(404), page(["7"], total: 1)])
    #expect(try await directory(byName).user("ada").id == "7")
    #expect(byName.addresses[1].contains("filter=userName%20eq%20%22ada%22"))
    let byMail = ScriptedTransport([page([], total: 0), page(["7"], total: 1)])
    #expect(try await directory(byMail).user("ada@x").id == "7")
    #expect(byMail.addresses[1].contains("filter=emails.value%20eq%20%22ada%40x%22"))
    let two = ScriptedTransport([page([], total: 0), page(["7", "8"], total: 2)])
    #expect(try await failure { try await directory(two).user("ada@x") }?.kind == .ambiguous)
    let none = ScriptedTransport([page([], total: 0), page([], total: 0)])
    #expect(try await failure { try await directory(none).user("ada@x") }?.kind == .notFound)
    let list = ScriptedTransport([page(["7"], total: 1)])
    guard case .unreadable? = try await failure(of: { try await directory(list).user("7") })?.kind else {
        Issue.record("a list is not a user")
        return
    }
    #expect(try await failure { try await directory(list).user(" ") }?.kind == .emptySearch)
}

@Test(arguments: [
    (#"{"id":"7","userName":"bob"}"#, "ada"), (#"{"id":"7","userName":"bob","emails":[{"value":"b@x"}]}"#, "ada@x"),
    (#"{"id":"7","userName":"bob"},{"id":"8","userName":"eve"}"#, "ada"),
])
func `a service that ignores filters does not return another user`(users: String, name: String) async throws {
    let transport = ScriptedTransport { request in
        request.url.path().hasSuffix("/Users")
            ? .json(#"{"totalResults":2,"Resources":[\#(users)]}"#) : failed(404)
    }
    let error = try await failure { try await directory(transport).user(name) }
    #expect(error?.kind == .notSupported && error?.message?.contains("ignores the filter") == true)
}

@Test func `user(_:) compares names and mail addresses without case`() async throws {
    let named = ScriptedTransport([
        failed(404), .json(#"{"totalResults":1,"Resources":[{"id":"7","userName":"Ada"}]}"#),
    ])
    #expect(try await directory(named).user("aDA").id == "7")
    let mail = ScriptedTransport([
        page([], total: 0),
        .json(#"{"totalResults":1,"Resources":[{"id":"7","emails":[{"value":"a@y"},{"value":"ADA@x"}]}]}"#),
    ])
    #expect(try await directory(mail).user("ada@X").id == "7")
}

@Test func `me() requests /Me and is not supported if the service lacks it`() async throws {
    let here = ScriptedTransport([.json(#"{"id":"7"}"#)])
    #expect(try await directory(here).me().id == "7")
    #expect(here.addresses[0].hasPrefix(base + "/Me?"))
    for status in [404, 405, 501] {
        let error = try await failure { try await directory(ScriptedTransport([failed(status)])).me() }
        #expect(error?.kind == .notSupported)
    }
}

@Test func `detail(of:) loads manager, reports and groups from SCIM attributes`() async throws {
    let transport = ScriptedTransport([
        .json(
            #"{"id":"7","groups":[{"value":"g","display":"Staff"}],"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User":{"manager":{"value":"8"}}}"#
        ),
        .json(#"{"id":"8","displayName":"Boss"}"#), failed(400),
    ])
    let detail = try await directory(transport).detail(of: "7")
    #expect(detail.manager.value?.displayName == "Boss")
    #expect(detail.groups.value?.first?.displayName == "Staff" && detail.groups.value?.first?.kind == "group")
    guard case .failed(let error) = detail.reports else {
        Issue.record("\(detail.reports)")
        return
    }
    #expect(error.kind == .badRequest && error.code == "invalidFilter")
    #expect(detail.photo == .notRequested)
    #expect(transport.addresses[2].contains("manager.value%20eq%20%227%22"))
}

@Test func `lookUp returns SCIM users in input order`() async throws {
    let transport = ScriptedTransport { request in
        let address = request.url.absoluteString
        guard let name = address.dropFirst((base + "/Users/").count).split(separator: "?").first,
            address.hasPrefix(base + "/Users/")
        else { return page([], total: 0) }
        return name.hasPrefix("x") ? failed(404) : .json(#"{"id":"\#(name)"}"#)
    }
    let names = (0..<20).map { $0 % 5 == 3 ? "x\($0)" : "n\($0)" }
    let found = try await directory(transport).lookUp(names).collected()
    #expect(found.map(\.name) == names)
    for lookup in found {
        switch lookup.result {
        case .success(let user): #expect(user.id == lookup.name)
        case .failure(let error): #expect(error.kind == .notFound && lookup.name.hasPrefix("x"))
        }
    }
    let unsent = ScriptedTransport([])
    let wrong = try await failure { try await directory(unsent).lookUp(["a"], select: ["skills"]).collected() }
    guard case .invalidQuery? = wrong?.kind else {
        Issue.record("\(String(describing: wrong))")
        return
    }
    #expect(unsent.requests.isEmpty)
    let refused = ScriptedTransport { _ in failed(401) }
    let error = try await failure { try await directory(refused).lookUp(["a", "b"]).collected() }
    #expect(error?.kind == .signInNeeded(claims: nil))
}

// MARK: Failures

@Test func `the SCIM client retries, refreshes tokens and reads errors like the Graph client`() async throws {
    let waits = Log<Duration>()
    let throttled = ScriptedTransport([failed(429, ["Retry-After": "7"]), page(["1"], total: 1)])
    #expect(try await directory(throttled, waits: waits).users(matching: .everyone()).collected().count == 1)
    #expect(waits.all == [.seconds(7)])

    let demands = Log<TokenRequirement>()
    let renewed = ScriptedTransport([failed(401), page(["1"], total: 1)])
    _ = try await directory(renewed) { demand in
        demands.append(demand)
        return demand == .current ? "old" : "new"
    }.users(matching: .everyone()).collected()
    #expect(demands.all == [.current, .refreshed(rejected: "old")])
    #expect(renewed.tokens == ["Bearer old", "Bearer new"])

    let bad = try await failure {
        try await directory(ScriptedTransport([failed(400)])).users(matching: .everyone()).collected()
    }
    #expect(bad?.kind == .badRequest && bad?.code == "invalidFilter" && bad?.clientRequestID == nil)
    #expect(bad?.description.contains("no\\u{1B}") == true)

    let field = "Bearer error=\"insufficient_scope\", scope=\"scim:read users\""
    let denied = try await failure {
        try await directory(ScriptedTransport([failed(403, ["WWW-Authenticate": field])]))
            .users(matching: .everyone()).collected()
    }
    #expect(denied?.kind == .notPermitted(permissions: ["scim:read", "users"]))
}
