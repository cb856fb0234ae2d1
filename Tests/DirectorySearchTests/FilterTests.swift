import Foundation
import Testing

@testable import DirectorySearch

private func odata(_ filter: UserFilter) throws -> String { try filter.odata() }
private func isAdvanced(_ filter: UserFilter) throws -> Bool { try !filter.written().reasons.isEmpty }

/// Returns the reason that the query is invalid, or `nil`.
private func refusal(_ query: UserQuery) -> String? {
    do throws(DirectoryError) {
        _ = try query.plan()
        return nil
    } catch {
        guard case .invalidQuery(let reason) = error.kind else { return nil }
        return reason
    }
}

@Test func `each operator produces its OData expression`() throws {
    #expect(try odata(.property(.surname, equals: "O'Hara")) == "surname eq 'O''Hara'")
    #expect(try odata(.property(.surname, isNot: "X")) == "surname ne 'X'")
    #expect(try odata(.property(.mail, endsWith: "@x")) == "endswith(mail,'@x')")
    #expect(try odata(.property(.city, isOneOf: ["A", "B'"])) == "city in ('A','B''')")
    #expect(try odata(.property(.accountEnabled, equals: true)) == "accountEnabled eq true")
    #expect(try odata(.property(.city, equals: .null)) == "city eq null")
    #expect(try odata(!.givenName(startsWith: "A")) == "not(startswith(givenName,'A'))")
    #expect(
        try odata(.givenName(startsWith: "A") && (.surname(startsWith: "B") || .surname(startsWith: "C")))
            == "startswith(givenName,'A') and (startswith(surname,'B') or startswith(surname,'C'))")
    let date = Date(timeIntervalSince1970: 1_768_469_400)
    #expect(
        try odata(.property(.createdDateTime, atLeast: .date(date))) == "createdDateTime ge 2026-01-15T09:30:00Z")
    #expect(try odata(.property(.createdDateTime, atMost: "2026-01-15")) == "createdDateTime le 2026-01-15")
    #expect(try odata(.property(.createdDateTime, above: .date(date))) == "createdDateTime gt 2026-01-15T09:30:00Z")
    #expect(try odata(.property(.createdDateTime, below: .date(date))) == "createdDateTime lt 2026-01-15T09:30:00Z")
}

@Test func `a filter on a list property uses any`() throws {
    #expect(try odata(.property(.otherMails, startsWith: "a'")) == "otherMails/any(e:startswith(e,'a'''))")
    #expect(try odata(.property(.proxyAddresses, endsWith: "x")) == "proxyAddresses/any(e:endswith(e,'x'))")
    let id = "F8A1DB68-BE16-40ED-86D5-CB42CE701560"
    #expect(
        try odata(.property("assignedLicenses/skuId", equals: id))
            == "assignedLicenses/any(e:e/skuId eq \(id.lowercased()))")
    #expect(try odata(.property(.businessPhones, isNot: "+1")) == "not(businessPhones/any(e:e eq '+1'))")
    #expect(try odata(.count(of: .assignedLicenses, equals: 0)) == "assignedLicenses/$count eq 0")
    #expect(
        try odata(
            .any(in: .identities, .property("issuer", equals: "x.com") && .property("issuerAssignedId", equals: "a")))
            == "identities/any(e:e/issuer eq 'x.com' and e/issuerAssignedId eq 'a')")
    #expect(try odata(.any(in: .otherMails, .property(.element, equals: "a"))) == "otherMails/any(e:e eq 'a')")
}

@Test func `isOneOf becomes "or" for properties without "in"`() throws {
    #expect(
        try odata(.property(.companyName, isOneOf: ["A", "B"])) == "companyName eq 'A' or companyName eq 'B'")
    #expect(
        try odata(.givenName(startsWith: "X") && .property(.companyName, isOneOf: ["A", "B"]))
            == "startswith(givenName,'X') and (companyName eq 'A' or companyName eq 'B')")
}

@Test(arguments: [
    (UserFilter.property(.mail, equals: "a"), false), (.property(.companyName, equals: "a"), true),
    (.property(.surname, isNot: "a"), true), (.property(.mail, endsWith: "a"), true),
    (.property(.city, equals: .null), true), (.property("identities/issuer", equals: .null), false),
    (.property(.businessPhones, startsWith: "+"), true), (.property(.otherMails, startsWith: "a"), false),
    (.not(.property(.mail, equals: "a")), true), (.count(of: .assignedLicenses, isNot: 0), true),
    (.property(.mail, equals: String(repeating: "a", count: 120)), false),
    (.property(.mail, equals: String(repeating: "a", count: 121)), true),
    (.property(.mail, startsWith: String(repeating: "a", count: 121)), false),
    (.any(of: (1...15).map { .property(.id, equals: "\($0)") }), false),
    (.any(of: (1...16).map { .property(.id, equals: "\($0)") }), true),
    (.property(.id, isOneOf: (1...16).map { .text("\($0)") }), true),
    (.property("extension_0a_badge", equals: "7"), true),
    (.property("onPremisesExtensionAttributes/extensionAttribute15", equals: "x"), true),
])
func `a filter is advanced only if Graph requires it`(filter: UserFilter, expected: Bool) throws {
    #expect(try isAdvanced(filter) == expected)
}

@Test func `the error of an invalid query names a supported alternative`() {
    let employee = refusal(UserQuery(.property(.employeeID, startsWith: "1")))
    #expect(employee?.contains("employeeId") == true && employee?.contains("it takes eq") == true)
    #expect(refusal(UserQuery(.property(.surname, endsWith: "x")))?.contains("userPrincipalName") == true)
    #expect(refusal(UserQuery(.property(.userPrincipalName, equals: .null))) != nil)
    #expect(refusal(UserQuery(.property("passwordPolicies", equals: "x"))) != nil)
    #expect(refusal(UserQuery(.property(.city, atLeast: "a"))) != nil)
    #expect(refusal(UserQuery(.property(.createdDateTime, atLeast: "') or x"))) != nil)
    #expect(refusal(UserQuery(.property(.accountEnabled, equals: "maybe"))) != nil)
    #expect(refusal(UserQuery(.property("assignedLicenses/skuId", equals: "x"))) != nil)
    #expect(refusal(UserQuery(.count(of: .assignedLicenses, equals: 7))) != nil)
    #expect(refusal(UserQuery(.any(in: "a", .any(in: "b", .property("c", equals: "d"))))) != nil)
    #expect(refusal(UserQuery(.any(of: (1...501).map { .property(.id, equals: "\($0)") }))) != nil)
    #expect(refusal(UserQuery(.givenName(startsWith: "a"), select: ["skills"]))?.contains("one user") == true)
    var query = UserQuery(.givenName(startsWith: "a"))
    query.orderBy = [.ascending(.mail)]
    #expect(refusal(query)?.contains("displayName") == true)
    query.orderBy = []
    query.select = ["id", "manager.displayName", "directReports.id"]
    #expect(refusal(query)?.contains("one relation only") == true)
    query.select = ["manager.displayName"]
    query.countsTotal = true
    #expect(refusal(query)?.contains("the total needs one") == true)
    query.select = ["manager.manager.displayName"]
    #expect(refusal(query) != nil)
}

@Test func `a query writes its options in a fixed order`() throws {
    var query = UserQuery(.department(startsWith: "R&D"), select: ["displayName", "employeeOrgData.division"])
    query.orderBy = [.descending(.displayName), .ascending(.userPrincipalName)]
    query.pageSize = 50
    #expect(
        try query.plan().target == "users?$filter=startswith%28department%2C%27R%26D%27%29"
            + "&$select=displayName%2CemployeeOrgData&$orderby=displayName%20desc%2CuserPrincipalName&$top=50&$count=true"
    )
    #expect(try query.plan().advancedReasons == ["sorting what a filter finds needs one"])
    query = .everyone(select: ["id", "manager.displayName", "manager.mail"], pageSize: nil)
    #expect(try query.plan().target == "users?$select=id&$expand=manager%28%24select%3DdisplayName%2Cmail%29")
    query = .everyone(select: ["id"], pageSize: nil)
    query.orderBy = [.ascending(.displayName)]
    #expect(try !query.plan().isAdvanced)
    query.orderBy = [.ascending(.createdDateTime)]
    #expect(try query.plan().isAdvanced)
    query.isAmongDeleted = true
    #expect(try query.plan().target.hasPrefix("directory/deletedItems/microsoft.graph.user?"))
    #expect(try UserQuery.everyone(select: ["id", "signInActivity"]).plan().target.hasSuffix("$top=120"))
}

@Test func `a query plan computes its resource units`() throws {
    func units(_ query: UserQuery) throws -> Int { try query.plan().resourceUnits }
    #expect(try units(.everyone()) == 1)
    #expect(try units(.everyone(select: ["id", "manager.id"])) == 2)
    #expect(try units(.everyone(select: ["id", "manager.id"], pageSize: 10)) == 1)
    #expect(try units(.everyone(pageSize: 10)) == 1)
}

@Test func `a plan describes the request and its reasons without the token`() throws {
    let text = try UserQuery(.officeLocation(startsWith: "18"), select: ["id"]).plan().description(base: graph)
    #expect(
        text == """
            GET \(graph)/users?$filter=startswith%28officeLocation%2C%2718%27%29&$select=id&$count=true
            Accept: application/json
            Authorization: Bearer ***
            client-request-id: a new UUID
            ConsistencyLevel: eventual

            Cost: 1 resource unit a page
            Advanced query: officeLocation takes startsWith only so
            Permission: User.Read.All
            """)
}

@Test func `a query uses a batch if the URL is too long`() async throws {
    let names = (1...60).map { UserFilter.property(.id, equals: "87d349ed-44d7-43e1-9a83-5f2406dee5\($0)") }
    let query = UserQuery(.any(of: names), select: ["id"])
    #expect(try query.plan().goesByBatch(base: graph))
    #expect(try query.plan().description(base: graph).hasPrefix("POST \(graph)/$batch\n"))
    let long = "\(graph)/users?$skiptoken=" + String(repeating: "x", count: 2100)
    let transport = ScriptedTransport([
        .json(#"{"responses":[{"id":"0","status":200,"body":{"value":[{"id":"1"}],"@odata.nextLink":"\#(long)"}}]}"#),
        .json(#"{"responses":[{"id":"0","status":200,"headers":{},"body":{"value":[{"id":"2"}]}}]}"#),
    ])
    let directory = GraphDirectory(client: try client(transport))
    #expect(try await directory.users(matching: query).collected().map(\.id) == ["1", "2"])
    #expect(transport.addresses == ["\(graph)/$batch", "\(graph)/$batch"])
    let body = String(decoding: transport.requests[0].body ?? Data(), as: UTF8.self)
    #expect(body.contains(#""url":"/users?$filter=id%20eq"#))
    #expect(body.contains(#""headers":{"ConsistencyLevel":"eventual"}"#))
    #expect(transport.requests.allSatisfy { $0.fields["ConsistencyLevel"] == nil })
    #expect(String(decoding: transport.requests[1].body ?? Data(), as: UTF8.self).contains("/users?$skiptoken=xxx"))
}

@Test func `each clause of $search is in quotes`() throws {
    func text(_ search: UserSearch) throws -> String? { try search.written().text }
    #expect(try text(.displayName("wa")) == #""displayName:wa""#)
    #expect(try text(.displayName(#"a"b\c"#)) == #""displayName:a\"b\\c""#)
    #expect(
        try text(.all(of: [.displayName("a"), .any(of: [.property(.mail, "b"), .displayName("c")])]))
            == #""displayName:a" AND ("mail:b" OR "displayName:c")"#)
    #expect(try text(.raw(#""displayName:a""#)) == #""displayName:a""#)
    let plan = try UserQuery(search: .displayName("a b"), select: ["id"]).plan()
    #expect(plan.target == "users?$search=%22displayName%3Aa%20b%22&$select=id&$count=true")
    #expect(plan.isAdvanced)
}

@Test func `unsupported search clauses become filters or spaces`() throws {
    #expect(try UserSearch.displayName("R&D #1").written().text == #""displayName:R D  1""#)
    let plan = try UserQuery(search: .all(of: [.displayName("a"), .property(.department, "R&D")]), select: ["id"])
        .plan()
    #expect(
        plan.target
            == "users?$search=%22displayName%3Aa%22&$filter=startswith%28department%2C%27R%26D%27%29&$select=id&$count=true"
    )
    #expect(refusal(UserQuery(search: .any(of: [.displayName("a"), .property(.department, "R&D")]))) != nil)
    #expect(refusal(UserQuery(search: .property(.employeeID, "1"))) != nil)
    for search in [UserSearch.displayName(""), .displayName("&"), .raw(" "), .all(of: []), .any(of: [])] {
        #expect(throws: DirectoryError(.emptySearch)) { try search.written() }
    }
}
