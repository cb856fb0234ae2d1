import Testing

@testable import LocalProvider

private func fingerprint(_ users: [StoredUser]) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for p in users {
        let texts: [String?] = [
            p.id, p.displayName, p.givenName, p.surname, p.mail, p.userPrincipalName, p.jobTitle, p.department,
            p.officeLocation, p.mobilePhone, p.businessPhones.joined(), p.preferredLanguage, p.city, p.country,
            p.companyName, p.employeeID, "\(p.accountEnabled)\(p.isGuest)", p.createdDateTime,
            p.manager.map { String($0) },
        ]
        for text in texts {
            for byte in (text ?? "-").utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
    }
    return hash
}

@Test func `the users of a seed never change`() {
    #expect(fingerprint(UserTable(count: 300, seed: 1).all) == 13592557827571176035)
    #expect(fingerprint(UserTable(count: 20_000, seed: 3).all) == 777628628943105392)
    #expect(fingerprint(UserTable(count: 5, seed: 9).all) == 7855679434618305014)
}

@Test func `each user is found by identifier, user principal name and mail address`() {
    let users = UserTable(count: 800, seed: 5)
    for index in 0..<users.count {
        let user = users[index]
        #expect(users.index(of: user.id.uppercased()) == index)
        #expect(users.index(of: user.userPrincipalName.uppercased()) == index)
        if let mail = user.mail { #expect(users.index(signingInAs: mail) == index) }
    }
    for key in [
        "", "@contoso.example", "0@contoso.example", "99@contoso.example", "nobody@contoso.example",
        "00000000-0000-4000-8000-000000000000", "ada", "ada@partner.example", "adam.brown0015@contoso.example",
        "adam.brown99999999999999999999@contoso.example",
    ] {
        #expect(users.index(of: key) == nil, "\(key)")
    }
}

@Test func `SampleRow computes the same properties as the complete user`() {
    let users = UserTable(count: 120, seed: 2)
    for index in users.pairs.indices where users.pairs[index] != UserTable.irregular {
        let row = SampleRow(table: users, index: index)
        for property in UserProperty.allCases {
            #expect(row.json(property) == users[index].json(property), "\(property)")
        }
    }
}

@Test(arguments: [UserProperty.displayName, .userPrincipalName, .createdDateTime])
func `order(by:) sorts the users by a property`(property: UserProperty) throws {
    let users = UserTable(count: 1_200, seed: 4)
    let order = try #require(users.order(by: property)).map { Int($0) }
    let wanted = users.pairs.indices.filter { users.pairs[$0] != UserTable.irregular }
        .map { (users[$0].text(property)?.lowercased() ?? "", $0) }.sorted { $0 < $1 }
    #expect(order == wanted.map(\.1))
}

private let large = UserTable(count: 900, seed: 1)
private let everybody = large.all

@Test(arguments: [
    "startswith(givenName,'a')", "startswith(displayName,'Ada')", "startswith(displayName,'Adam ')",
    "startswith(mail,'adam.')", "startswith(userPrincipalName,'zara.')", "startswith(mail,'adam.s')",
    "givenName eq 'Zara' and startswith(surname,'S')", "givenName eq 'Zara' or surname eq 'Tan'", "surname ne 'Tan'",
    "not(startswith(surname,'T')) and userType eq 'Guest'", "surname in ('Tan','Kim') and accountEnabled eq false",
    "mail eq null and startswith(surname,'S')", "endswith(mail,'@partner.example')", "jobTitle eq 'Engineer'",
    "startswith(mailNickname,'wei')", "businessPhones/any(p:startswith(p,'+44'))", "otherMails/$count ne 0",
    "startswith(displayName,'Z') or mail eq 'ada@contoso.example'",
])
func `a filter finds the same users in a large directory as a linear search`(filter: String) throws {
    let read = try ODataFilter(parsing: filter)
    let selection = UserSelection(DirectoryContents(large), filter: read, search: nil, linearSearchLimit: 0)
    let wanted = everybody.indices.filter { read.matches(everybody[$0]) }
    #expect(selection.count() == wanted.count)
    #expect(selection.page(from: .init(), count: 6_000, order: []).found == wanted)
    #expect(!wanted.isEmpty && wanted.count < everybody.count)
    // The ordered pages contain the same users.
    var met: [Int] = []
    var position: UserSelection.Position? = .init()
    while let here = position, met.count <= wanted.count {
        let page = selection.page(from: here, count: 200, order: [(.displayName, true)])
        met += page.found
        position = page.next
    }
    #expect(met.sorted() == wanted)
    let names = met.map { everybody[$0].displayName?.lowercased() ?? "" }
    #expect(names == names.sorted(by: >))
}

@Test func `a $search in a large directory finds the same users as a linear search`() throws {
    for text in [
        "\"displayName:adam\" OR \"mail:zara\"", "\"displayName:a s\"", "\"surname:s\" AND \"displayName:w\"",
    ] {
        let search = try #require(ODataSearch(parsing: text))
        let selection = UserSelection(DirectoryContents(large), filter: nil, search: search, linearSearchLimit: 0)
        let wanted = everybody.indices.filter { search.matches(everybody[$0]) }
        #expect(selection.page(from: .init(), count: 6_000, order: []).found == wanted)
        #expect(!wanted.isEmpty)
    }
}

@Test func `200,000 users can be searched and looked up`() throws {
    let users = UserTable(count: 200_000, seed: 1)
    let contents = DirectoryContents(users)
    #expect(contents.count == 200_000)
    let read = try ODataFilter(parsing: "startswith(displayName,'Zara Zi')")
    let page = UserSelection(contents, filter: read, search: nil).page(from: .init(), count: 999, order: [])
    #expect(!page.found.isEmpty)
    #expect(page.found.allSatisfy { users[$0].displayName?.hasPrefix("Zara Zi") == true })
    let last = users[199_999]
    #expect(contents.index(of: last.userPrincipalName) == 199_999)
}
