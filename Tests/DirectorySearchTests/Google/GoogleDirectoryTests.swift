import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import DirectorySearch
@testable import LocalProvider

private func directory(
    _ transport: ScriptedTransport, waits: Log<Duration>? = nil
) throws -> GoogleDirectory {
    var client = try DirectoryClient(
        directoryBase: try #require(URL(string: GoogleDirectory.base)), transport: transport,
        authorization: { _ in "token" })
    client.sleep = { waits?.append($0) }
    client.now = { testNow }
    client.random = { 0.5 }
    return GoogleDirectory(client: client)
}

private func page(_ identifiers: [String], next: String? = nil) -> HTTPResponse {
    let people = identifiers.map { #"{"id":"\#($0)"}"# }.joined(separator: ",")
    let token = next.map { #","nextPageToken":"\#($0)""# } ?? ""
    return .json(#"{"kind":"admin#directory#users","users":[\#(people)]\#(token)}"#)
}

private func failed(_ status: Int, _ reason: String, _ fields: HTTPFields = [:]) -> HTTPResponse {
    .json(
        #"{"error":{"code":\#(status),"message":"no","errors":[{"domain":"global","reason":"\#(reason)","message":"no"}]}}"#,
        status: status, fields)
}

private let translations: [(UserFilter, String)] = [
    (.givenName(startsWith: "Ada"), "givenName:'Ada'*"),
    (.surname(startsWith: #"O'Br\ien"#), #"familyName:'O\'Br\\ien'*"#),
    (.property(.mail, equals: "ada@x"), "email='ada@x'"),
    (.property(.department, equals: "R&D"), "orgDepartment='R&D'"),
    (.property(.accountEnabled, equals: true), "isSuspended=false"),
    (.not(.property(.accountEnabled, equals: true)), "isSuspended=true"),
    (.property(.city, isOneOf: ["Rome"]), "addressLocality='Rome'"),
    (.any(of: [.property("manager/mail", equals: "b@x")]), "directManager='b@x'"),
    (
        .all(of: [.givenName(startsWith: "a b"), .all(of: [.surname(startsWith: "c"), .raw("isAdmin=true")])]),
        "givenName:'a b'* familyName:'c'* isAdmin=true"
    ),
]

@Test(arguments: translations)
func `a filter becomes a Google query`(filter: UserFilter, words: String) throws {
    #expect(try UserQuery(filter).googleRequest().filter == words)
}

private let refusals: [(UserFilter, String)] = [
    (.any(of: [.givenName(startsWith: "a"), .surname(startsWith: "b")]), "does not support \"or\"; search for each"),
    (.property(.city, isOneOf: ["Rome", "Paris"]), "does not support \"or\""),
    (.not(.givenName(startsWith: "a")), "does not support \"not\""),
    (.department(startsWith: "R"), "ask for the whole department"),
    (.displayName(startsWith: "Ada"), "its words with a search"),
    (.property(.mail, endsWith: "@x"), "does not compare the end of mail"),
    (.property(.surname, isNot: "x"), "for equality only"),
    (.property(.companyName, equals: .null), "without a companyName"),
    (.property(.createdDateTime, atLeast: "2026-01-01"), "for equality only"),
    (.property(.id, equals: "7"), "ask for the one person by the identifier"),
    (.property("x:'a' isAdmin", equals: "7"), "does not compare"),
    (.count(of: .businessPhones, equals: 0), "does not look into the list"),
]

@Test(arguments: refusals)
func `a filter that Google does not support is invalid`(filter: UserFilter, words: String) async throws {
    let transport = ScriptedTransport([])
    let error = try await failure { try await directory(transport).users(matching: filter).collected() }
    guard case .invalidQuery(let reason)? = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
    }
    #expect(reason.contains(words), "\(reason)")
    #expect(transport.requests.isEmpty)
}

@Test func `a Google request contains the customer, order and page size`() throws {
    var query = UserQuery(.givenName(startsWith: "A&B"), pageSize: 999)
    query.orderBy = [.descending(.surname)]
    #expect(
        try query.googleRequest().page(at: "a+b/=", option: "pageToken").target
            == "users?customer=my_customer&query=givenName%3A%27A%26B%27%2A"
            + "&orderBy=familyName&sortOrder=DESCENDING&maxResults=500&pageToken=a%2Bb%2F%3D")
    query.countsTotal = true
    #expect(throws: DirectoryError.self) { try query.googleRequest() }
    query.countsTotal = false
    query.orderBy = [.ascending(.department)]
    #expect(throws: DirectoryError.self) { try query.googleRequest() }
    #expect(try UserQuery(search: .displayName("Ada L")).googleRequest().filter == "name:'Ada L'")
}

@Test func `an independent parser reads the Google query`() throws {
    var random = Seeded(state: 11)
    for round in 0..<2000 {
        let (text, other) = (random.text(), random.text())
        let filter = UserFilter.all(of: [.givenName(startsWith: text), .property(.department, equals: other)])
        let words = try #require(try UserQuery(filter).googleRequest().filter)
        guard case .and(.startsWith(_, let prefix), let whole)? = GoogleQuery.filter(words) else {
            Issue.record("round \(round): \(words)")
            continue
        }
        #expect(Array(prefix.utf8) == Array(text.utf8), "round \(round)")
        var left = whole
        while case .or(let first, _) = left { left = first }
        guard case .compare(_, .eq, .string(let equal)) = left else {
            Issue.record("round \(round): \(words)")
            continue
        }
        #expect(Array(equal.utf8) == Array(other.utf8), "round \(round)")
    }
}

@Test func `GoogleDirectory follows nextPageToken`() async throws {
    let transport = ScriptedTransport([page(["1", "2"], next: "t/1"), page(["3"])])
    let users = try await directory(transport).users(matching: .everyone()).collected()
    #expect(users.map(\.id) == ["1", "2", "3"])
    #expect(transport.addresses[1].hasSuffix("&pageToken=t%2F1"))
    let nobody = ScriptedTransport([.json(#"{"kind":"admin#directory#users"}"#)])
    #expect(try await directory(nobody).users(matching: .everyone()).collected().isEmpty)
    for text in ["{}", #"{"users":[],"nextPageToken":5}"#, #"{"users":[7]}"#] {
        let broken = ScriptedTransport([.json(text)])
        let error = try await failure { try await directory(broken).users(matching: .everyone()).collected() }
        guard case .unreadable? = error?.kind else {
            Issue.record("\(text)")
            continue
        }
    }
    let loop = ScriptedTransport { _ in page([], next: "t") }
    #expect(
        try await failure { try await directory(loop).users(matching: .everyone()).collected() }?.kind == .endlessPages)
}

@Test func `a Google user maps to Graph's property names and keeps its other members`() throws {
    let object = try #require(
        try JSONValue(
            parsing: #"""
                {"kind":"k","etag":"e","id":"7","primaryEmail":"ada@x","name":{"givenName":"Ada","familyName":"Love","fullName":"Ada Love"},
                "emails":[{"address":"ada@x","primary":true},{"address":"a@x"}],"suspended":true,"orgUnitPath":"/R",
                "organizations":[{"title":"Old"},{"title":"Engineer","department":"R&D","name":"C","primary":true}],
                "phones":[{"value":"1","type":"work"},{"value":"2","type":"mobile"},{"value":"3","type":"home"}],
                "locations":[{"buildingId":"18","floorName":"2"}],"relations":[{"type":"manager","value":"boss@x"},{"type":"child","value":"c"}],
                "languages":[{"languageCode":"it"}],"externalIds":[{"type":"organization","value":"E1"}],
                "creationTime":"2026-01-01T00:00:00.000Z"}
                """#
        ).object)
    let user = User(google: object)
    #expect(user.id == "7" && user.userPrincipalName == "ada@x" && user.mail == "ada@x" && user.otherMails == ["a@x"])
    #expect(user.displayName == "Ada Love" && user.givenName == "Ada" && user.surname == "Love")
    #expect(user.jobTitle == "Engineer" && user.department == "R&D" && user.companyName == "C")
    #expect(user.businessPhones == ["1"] && user.mobilePhone == "2" && user.officeLocation == "18 2")
    #expect(user.accountEnabled == false && user.preferredLanguage == "it" && user.manager?.mail == "boss@x")
    #expect(user["employeeId"] == "E1" && user.createdDateTime != nil)
    #expect(user.additional["orgUnitPath"] == "/R")
    #expect(user.additional["relations"]?.array?.count == 1 && user.additional["phones"]?.array?.count == 1)
    #expect(user["kind"] == nil && user["etag"] == nil)
    #expect(User(google: ["id": 5, "emails": "x", "phones": [1]]).id == nil)
}

@Test func `user(_:) finds a Google user by any address, and me() is not supported`() async throws {
    let transport = ScriptedTransport([
        .json(#"{"id":"7","primaryEmail":"ada@x"}"#), failed(404, "notFound"), page(["1"]),
    ])
    let directory = try directory(transport)
    #expect(try await directory.user("ada/@x").id == "7")
    #expect(transport.addresses[0] == GoogleDirectory.base + "/users/ada%2F@x")
    #expect(try await failure { try await directory.user("nobody@x") }?.kind == .notFound)
    guard case .unreadable? = try await failure(of: { try await directory.user("x") })?.kind else {
        Issue.record("a list is not a user")
        return
    }
    let refused = try await failure { try await directory.me() }
    #expect(refused?.kind == .notSupported && refused?.description.contains("by the mail address") == true)
    #expect(transport.requests.count == 3)
}

@Test func `detail(of:) loads manager, reports and groups from Google and names a missing scope`() async throws {
    let transport = ScriptedTransport([
        .json(#"{"id":"7","primaryEmail":"ada@x","relations":[{"type":"manager","value":"boss@x"}]}"#),
        .json(#"{"id":"8","primaryEmail":"boss@x"}"#), page(["9"]), failed(403, "insufficientPermissions"),
    ])
    let detail = try await directory(transport).detail(of: "7")
    #expect(detail.manager.value?.id == "8" && detail.reports.value?.map(\.id) == ["9"])
    guard case .notPermitted(let error) = detail.groups else {
        Issue.record("\(detail.groups)")
        return
    }
    #expect(error.kind == .notPermitted(permissions: [GoogleDirectory.groupScope]))
}

@Test func `GoogleDirectory classifies errors by reason`() async throws {
    let waits = Log<Duration>()
    let busy = ScriptedTransport([failed(403, "userRateLimitExceeded"), failed(429, "rateLimitExceeded"), page(["1"])])
    #expect(try await directory(busy, waits: waits).users(matching: .everyone()).collected().count == 1)
    #expect(waits.all == [.seconds(3), .seconds(6)])
    func kind(_ answer: HTTPResponse) async throws -> DirectoryError? {
        try await failure { try await directory(ScriptedTransport([answer])).users(matching: .everyone()).collected() }
    }
    let scope = try await kind(failed(403, "insufficientPermissions"))
    #expect(scope?.kind == .notPermitted(permissions: [GoogleDirectory.scope]))
    #expect(scope?.code == "insufficientPermissions" && scope?.message == "no")
    #expect(try await kind(failed(403, "accessNotConfigured"))?.kind == .notPermitted(permissions: []))
    #expect(try await kind(failed(401, "authError"))?.kind == .signInNeeded(claims: nil))
    #expect(try await kind(failed(400, "invalid"))?.kind == .badRequest)
}

@Test func `lookUp returns Google users in input order`() async throws {
    let transport = ScriptedTransport { request in
        let name = request.url.lastPathComponent
        return name.hasPrefix("x") ? failed(404, "notFound") : .json(#"{"id":"\#(name)"}"#)
    }
    let found = try await directory(transport).lookUp(["a", "x", "b", " "]).collected()
    #expect(found.map { (try? $0.result.get())?.id } == ["a", nil, "b", nil])
}
