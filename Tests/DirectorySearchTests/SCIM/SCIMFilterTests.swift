import StrictJSON
import Testing

@testable import DirectorySearch
@testable import LocalProvider

private let enterprise = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"

@Test(
    arguments: [
        (.givenName(startsWith: "Ada"), #"name.givenName sw "Ada""#),
        (.property(.surname, equals: #"O'Brien "\"#), #"name.familyName eq "O'Brien \"\\""#),
        (.property(.mail, endsWith: "@x"), #"emails.value ew "@x""#),
        (.property(.userPrincipalName, isNot: "a"), #"not (userName eq "a")"#),
        (
            .all(of: [.jobTitle(startsWith: "Eng"), .not(.department(startsWith: "R"))]),
            #"title sw "Eng" and not (\#(enterprise):department sw "R")"#
        ),
        (
            .all(of: [
                .any(of: [.displayName(startsWith: "a"), .displayName(startsWith: "b")]),
                .property(.accountEnabled, equals: true),
            ]),
            #"(displayName sw "a" or displayName sw "b") and active eq true"#
        ),
        (
            .property(.city, isOneOf: ["Rome", "Paris"]),
            #"addresses.locality eq "Rome" or addresses.locality eq "Paris""#
        ),
        (.property(.companyName, equals: .null), "not (\(enterprise):organization pr)"),
        (.property(.companyName, isNot: .null), "\(enterprise):organization pr"),
        (.count(of: .businessPhones, equals: 0), "not (phoneNumbers.value pr)"),
        (.property(.mobilePhone, startsWith: "+1"), #"phoneNumbers[type eq "mobile" and value sw "+1"]"#),
        (.property(.createdDateTime, atLeast: "2026-01-31"), #"meta.created ge "2026-01-31""#),
        (.property("nickName", equals: "\u{1}"), #"nickName eq "\u0001""#),
        (.property("urn:example:User:badge", equals: 7), "urn:example:User:badge eq 7"),
        (
            .all(of: [.raw("active eq true or title pr"), .surname(startsWith: "L")]),
            #"(active eq true or title pr) and name.familyName sw "L""#
        ),
    ] as [(UserFilter, String)])
func `a filter becomes a SCIM filter`(filter: UserFilter, words: String) throws {
    #expect(try UserQuery(filter).scimRequest().filter == words)
}

private let deep: UserFilter = (0..<40).reduce(UserFilter.givenName(startsWith: "a")) { filter, _ in .not(filter) }
private let many = UserFilter.any(of: (0...200).map { UserFilter.property(.mail, equals: "\($0)") })

@Test(
    arguments: [
        (.officeLocation(startsWith: "18"), "SCIM has no attribute for \"officeLocation\""),
        (.property("id eq \"1\" or userName", equals: "x"), "SCIM has no attribute"),
        (.property("urn:a\" or b", equals: "x"), "SCIM has no attribute"),
        (.property(.accountEnabled, startsWith: "t"), "compare its whole value"),
        (.property(.accountEnabled, equals: "maybe"), "true or false"),
        (.property(.createdDateTime, atLeast: "yesterday"), "a date such as"),
        (.property(.createdDateTime, above: .null), "null cannot be compared"),
        (.count(of: .businessPhones, equals: 1), "with 0"),
        (.any(in: .otherMails, .property(.element, equals: "a")), "compare the property itself"),
        (many, "more than 200 comparisons"),
        (deep, "deeper than 32 levels"),
    ] as [(UserFilter, String)])
func `a filter that SCIM does not support is invalid`(filter: UserFilter, words: String) async throws {
    let transport = ScriptedTransport([])
    let directory = SCIMDirectory(client: try client(transport))
    let error = try await failure { try await directory.users(matching: filter).collected() }
    guard case .invalidQuery(let reason)? = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
    }
    #expect(reason.contains(words), "\(reason)")
    #expect(transport.requests.isEmpty)
}

@Test func `unsupported SCIM queries and empty texts are errors`() throws {
    func reason(_ change: (inout UserQuery) -> Void) -> String? {
        var query = UserQuery.everyone()
        change(&query)
        do throws(DirectoryError) {
            _ = try query.scimRequest()
            return nil
        } catch { return error.summary }
    }
    #expect(reason { $0.isAmongDeleted = true }?.contains("deleted people") == true)
    #expect(reason { $0.orderBy = [.ascending(.mail), .ascending(.surname)] }?.contains("one attribute") == true)
    #expect(reason { $0.orderBy = [.ascending(.officeLocation)] }?.contains("does not sort by") == true)
    #expect(reason { $0.expand = UserExpansion("memberOf") }?.contains("memberOf") == true)
    #expect(reason { $0.select = ["skills"] }?.contains("skills") == true)
    #expect(reason { $0.search = .raw("\"a\"") }?.contains("only for Microsoft Graph") == true)
    #expect(reason { $0.search = .displayName("  ") } == DirectoryError(.emptySearch).summary)
    #expect(reason { $0.filter = .givenName(startsWith: " ") } == DirectoryError(.emptySearch).summary)
    #expect(reason { $0.filter = .any(of: []) } == DirectoryError(.emptySearch).summary)
    #expect(reason { _ in } == nil)
}

@Test func `a SCIM request contains attributes, order and page`() throws {
    var query = UserQuery(
        .givenName(startsWith: "A&B+"), select: ["id", "displayName", "mail", "manager.displayName"], pageSize: 50)
    query.orderBy = [.descending(.surname)]
    let request = try query.scimRequest().page(at: "51", option: "startIndex")
    #expect(
        request.target == "Users?filter=name.givenName%20sw%20%22A%26B%2B%22"
            + "&attributes=id%2CdisplayName%2Cemails%2Curn%3Aietf%3Aparams%3Ascim%3Aschemas%3Aextension%3Aenterprise%3A2.0"
            + "%3AUser%3Amanager%2Cname&sortBy=name.familyName&sortOrder=descending&count=50&startIndex=51")
    let search = UserQuery(search: .displayName("ada  love"), select: ["id"])
    #expect(
        try search.scimRequest().filter
            == #"(displayName sw "ada" or (displayName co " ada")) and (displayName sw "love" or (displayName co " love"))"#
    )
}

@Test func `a query that is too long for a URL becomes a POST to .search`() throws {
    let filter = UserFilter.any(of: (0..<200).map { UserFilter.property(.mail, equals: "person\($0)@contoso.example") })
    let request = try UserQuery(filter, select: ["id"], pageSize: 50).scimRequest()
        .page(at: "51", option: "startIndex")
    #expect(request.target == "Users/.search")
    let body = try #require(request.body?.object)
    #expect(body["filter"]?.string == request.filter)
    #expect(body["startIndex"] == 51 && body["count"] == 50 && body["attributes"] == ["id"])
    let lines = request.description(base: "https://id.example/scim/v2").split(separator: "\n")
    #expect(lines.first == "POST https://id.example/scim/v2/Users/.search")
    #expect(lines.last?.hasPrefix("By POST") == true)
    #expect(try UserQuery(.mail(startsWith: "a")).scimRequest().body == nil)
}

// MARK: An independent parser

/// Returns a random filter and its expected parse result.
private func filter(_ random: inout Seeded, depth: Int) -> (UserFilter, ODataFilter) {
    let text = random.text()
    func operand(_ property: LocalProvider.UserProperty) -> ODataFilter.Operand { .init(property: property) }
    switch Int.random(in: 0...(depth > 0 ? 8 : 5), using: &random) {
    case 0: return (.givenName(startsWith: text), .startsWith(operand(.givenName), text))
    case 1: return (.property(.mail, equals: text), .compare(operand(.mail), .eq, .string(text)))
    case 2:
        return (.property(.surname, isNot: text), .not(.compare(operand(.surname), .eq, .string(text))))
    case 3: return (.property(.userPrincipalName, endsWith: text), .endsWith(operand(.userPrincipalName), text))
    case 4: return (.department(startsWith: text), .startsWith(operand(.department), text))
    case 5: return (.property(.jobTitle, equals: .null), .not(.compare(operand(.jobTitle), .ne, .null)))
    case 6:
        let (inner, read) = filter(&random, depth: depth - 1)
        return (!inner, .not(read))
    case 7:
        let (left, right) = (filter(&random, depth: depth - 1), filter(&random, depth: depth - 1))
        return (left.0 && right.0, .and(left.1, right.1))
    default:
        let (left, right) = (filter(&random, depth: depth - 1), filter(&random, depth: depth - 1))
        return (left.0 || right.0, .or(left.1, right.1))
    }
}

@Test func `an independent parser reads the SCIM filter`() throws {
    var random = Seeded(state: 2027)
    for round in 0..<2000 {
        let (filter, expected) = filter(&random, depth: 4)
        let words = try #require(try UserQuery(filter, select: ["id"]).scimRequest().filter)
        let read = try SCIMFilterReader.filter(words)
        #expect(Array("\(read)".utf8) == Array("\(expected)".utf8), "round \(round): \(words)")
    }
}

@Test func `a request target contains only URL characters`() throws {
    var random = Seeded(state: 3)
    for _ in 0..<500 {
        let filter = UserFilter.givenName(startsWith: random.text())
        for target in [try UserQuery(filter).scimRequest().target, try UserQuery(filter).googleRequest().target] {
            #expect(
                target.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") && $0 != UInt8(ascii: "+") })
            #expect(target.utf8.filter { $0 == UInt8(ascii: "?") }.count == 1)
        }
    }
}
