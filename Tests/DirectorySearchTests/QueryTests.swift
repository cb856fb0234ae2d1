import Testing

@testable import DirectorySearch

@Test func `conditions are joined with "and" and "or", and nested ones have parentheses`() throws {
    let a = UserFilter.givenName(startsWith: "A")
    let b = UserFilter.surname(startsWith: "B")
    let c = UserFilter.department(startsWith: "C")
    let first = "startswith(givenName,'A')"
    let second = "startswith(surname,'B')"
    let third = "startswith(department,'C')"
    #expect(try UserFilter.all(of: [a, b]).odata() == "\(first) and \(second)")
    #expect(try UserFilter.any(of: [a, b]).odata() == "\(first) or \(second)")
    #expect(try UserFilter.all(of: [a]).odata() == first)
    #expect(try UserFilter.all(of: [.any(of: [a, b]), c]).odata() == "(\(first) or \(second)) and \(third)")
    #expect(try UserFilter.all(of: [.any(of: [a]), c]).odata() == "\(first) and \(third)")
    #expect(
        try UserFilter.all(of: [.raw("userType eq 'Guest' or x"), c]).odata()
            == "(userType eq 'Guest' or x) and \(third)")
    #expect(try UserFilter.raw("userType eq 'Guest'").odata() == "userType eq 'Guest'")
    #expect(try UserFilter.property(.mail, equals: "o'b@x").odata() == "mail eq 'o''b@x'")
}

@Test(arguments: [
    UserFilter.givenName(startsWith: ""), .surname(startsWith: "  "), .mail(startsWith: "\n"), .raw(""), .raw(" "),
    .all(of: []), .any(of: []), .all(of: [.givenName(startsWith: "A"), .surname(startsWith: "")]),
    .any(of: [.all(of: []), .givenName(startsWith: "A")]), .property(.mail, equals: ""),
])
func `an empty search is an error`(filter: UserFilter) {
    #expect(throws: DirectoryError(.emptySearch)) { try UserQuery(filter).requestTarget() }
}

@Test func `an empty search sends no request`() async throws {
    let transport = ScriptedTransport([])
    let directory = GraphDirectory(client: try client(transport))
    let error = try await failure { try await directory.users(matching: .givenName(startsWith: "")).collected() }
    #expect(error?.kind == .emptySearch)
    #expect(transport.requests.isEmpty)
}

@Test(arguments: ["", "a b", "x,'y", "1a", "a/", "/a", "mail)", "ü"])
func `a filter rejects an invalid property name`(name: String) {
    let filter = UserFilter.property(UserProperty(rawValue: name), startsWith: "A")
    #expect(throws: DirectoryError.self) { try filter.odata() }
    #expect(throws: DirectoryError.self) {
        try UserQuery(.givenName(startsWith: "A"), select: ["id", name]).requestTarget()
    }
}

@Test func `a filter that is nested too deeply is an error`() {
    var filter = UserFilter.givenName(startsWith: "A")
    for _ in 0..<200 { filter = .all(of: [filter, filter.nestedOnce]) }
    #expect(throws: DirectoryError.self) { try filter.odata() }
    #expect(!filter.needsAdvancedQuery)
}

extension UserFilter {
    fileprivate var nestedOnce: UserFilter { .givenName(startsWith: "B") }
}

@Test(arguments: [0, -1, 1000, Int.max, Int.min])
func `a query rejects an unsupported page size`(size: Int) {
    #expect(throws: DirectoryError.self) {
        try UserQuery(.givenName(startsWith: "A"), pageSize: size).requestTarget()
    }
}

@Test func `the page size and the limit determine $top`() throws {
    func top(_ pageSize: Int?, _ limit: Int?) throws -> Substring? {
        let query = UserQuery(.givenName(startsWith: "A"), select: ["id"], pageSize: pageSize, limit: limit)
        return try query.requestTarget().split(separator: "&").first { $0.hasPrefix("$top=") }
    }
    #expect(try top(nil, nil) == nil)
    #expect(try top(999, nil) == "$top=999")
    #expect(try top(50, 7) == "$top=7")
    #expect(try top(50, 70) == "$top=50")
    #expect(try top(nil, 7) == "$top=7")
    #expect(try top(nil, 700) == nil)
    #expect(try top(nil, 0) == "$top=1")
    #expect(throws: DirectoryError.self) { try top(nil, -1) }
}

@Test func `a query always selects properties, by default the model's properties`() throws {
    let target = try UserQuery(.givenName(startsWith: "A")).requestTarget()
    #expect(target.hasSuffix("&$select=" + UserQuery.defaultProperties.joined(separator: "%2C")))
    #expect(throws: DirectoryError.self) { try UserQuery(.givenName(startsWith: "A"), select: []).requestTarget() }
    let everyone = try UserQuery.everyone(select: ["id", "mail"]).requestTarget()
    #expect(everyone == "users?$select=id%2Cmail&$top=999")
}

@Test func `a query is advanced only if a property requires it`() throws {
    #expect(!UserQuery(.any(of: [.mail(startsWith: "a"), .userPrincipalName(startsWith: "a")])).needsAdvancedQuery)
    #expect(!UserQuery(.property(.mail, equals: "a@b")).needsAdvancedQuery)
    let office = UserQuery(.all(of: [.givenName(startsWith: "a"), .officeLocation(startsWith: "18")]))
    #expect(office.needsAdvancedQuery)
    #expect(try office.requestTarget().hasSuffix("&$count=true"))
    #expect(UserQuery(.raw("endswith(mail,'x')"), isAdvanced: true).needsAdvancedQuery)
}

@Test func `the permissions cover the selected properties, least privileged first`() {
    func permissions(_ filter: UserFilter, _ select: [String]) -> [String] {
        UserQuery(filter, select: select).permissions
    }
    let ada = UserFilter.givenName(startsWith: "A")
    #expect(permissions(ada, UserQuery.basicProperties) == ["User.ReadBasic.All"])
    #expect(permissions(ada, ["id", "jobTitle"]) == ["User.ReadBasic.All", "User.Read.All"])
    #expect(permissions(.department(startsWith: "A"), ["id"]) == ["User.Read.All"])
    #expect(permissions(.any(of: [ada, .jobTitle(startsWith: "A")]), ["id"]) == ["User.Read.All"])
    #expect(permissions(ada, ["signInActivity"]) == ["AuditLog.Read.All"])
}
