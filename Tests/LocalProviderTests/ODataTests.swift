import StrictJSON
import Testing

@testable import LocalProvider

private let users = UserTable(count: 300, seed: 1).all

private func names(_ filter: String) throws -> [String] {
    let read = try ODataFilter(parsing: filter)
    return users.filter { read.matches($0) }.map { $0.displayName ?? "-" }
}

@Test(arguments: [
    ("startswith(surname,'O''Brien')", ["Aoife O'Brien"]), ("surname eq 'o''brien'", ["Aoife O'Brien"]),
    ("startswith(surname,'d''''Aub')", ["Astrid d''Aubigné"]), ("surname eq 'ünal'", ["Ayşe Ünal"]),
    ("surname eq 'ÜNAL'", ["Ayşe Ünal"]), ("surname eq '李'", ["李 明"]), ("startswith(displayName,'李')", ["李 明"]),
    ("endswith(userPrincipalName,'#EXT#@contoso.example') and startswith(displayName,'Amal')", ["Amal Haddad"]),
    ("givenName eq 'Alex 🎉'", ["Alex 🎉 Party"]), ("startswith(givenName,'alex 🎉')", ["Alex 🎉 Party"]),
    ("startswith(displayName,'👩‍👩')", ["👩‍👩‍👧‍👦 Family Office"]), ("surname eq '& Co. 50%'", ["Anna & Co. 50%"]),
    ("jobTitle eq 'a+b / x%27y'", ["Anna & Co. 50%"]), ("jobTitle eq 'C# Developer'", ["Astrid d''Aubigné"]),
    ("surname eq '%27'", []), ("surname eq ''", []), ("displayName eq ''') or startswith(mail,'''", []),
    ("mail eq 'ada@contoso.example'", ["Ada Lovelace"]), ("id eq '\(users[0].id)'", ["Ada Lovelace"]),
    ("id eq \(users[0].id)", ["Ada Lovelace"]), ("displayName eq null", ["-"]),
    ("displayName in ('Ada Lovelace','李 明', 'nobody')", ["Ada Lovelace", "李 明"]),
    ("startsWith(displayName,'ADA LOVE')", ["Ada Lovelace"]),
    ("STARTSWITH(displayName , 'Ada Love' )", ["Ada Lovelace"]),
    ("startswith(displayName,'Ada Love') eq true", ["Ada Lovelace"]),
    ("mail eq 'ada@contoso.example' or mail eq 'ayse.unal@contoso.example'", ["Ada Lovelace", "Ayşe Ünal"]),
    ("not(startswith(displayName,'A')) and userType eq 'Guest' and surname eq 'nobody'", []),
    ("businessPhones/any(p:p eq '\(users[0].businessPhones[0])')", ["Ada Lovelace"]),
    ("  displayName   eq   'Ada Lovelace'  ", ["Ada Lovelace"]),
    ("((displayName eq 'Ada Lovelace'))", ["Ada Lovelace"]),
])
func `a filter matches the described users`(filter: String, expected: [String]) throws {
    #expect(try names(filter) == expected)
}

@Test func `"not" binds more tightly than "and", and "and" more tightly than "or"`() throws {
    let read = try ODataFilter(parsing: "not surname eq 'a' and city eq 'b' or country eq 'c'")
    func equal(_ property: UserProperty, _ text: String) -> ODataFilter {
        .compare(.init(property: property), .eq, .string(text))
    }
    #expect(read == .or(.and(.not(equal(.surname, "a")), equal(.city, "b")), equal(.country, "c")))
    let grouped = try ODataFilter(parsing: "not (surname eq 'a' and (city eq 'b' or country eq 'c'))")
    #expect(grouped == .not(.and(equal(.surname, "a"), .or(equal(.city, "b"), equal(.country, "c")))))
}

@Test func `each operator agrees with the same condition in Swift`() throws {
    func expectSame(_ filter: String, _ condition: (StoredUser) -> Bool) throws {
        let read = try ODataFilter(parsing: filter)
        let found = users.filter { read.matches($0) }.map(\.id)
        #expect(found == users.filter(condition).map(\.id))
        #expect(!found.isEmpty && found.count < users.count, "\(filter) does not distinguish users")
    }
    try expectSame("startswith(givenName,'a')") { $0.givenName?.lowercased().hasPrefix("a") ?? false }
    try expectSame("department eq 'R&D'") { $0.department == "R&D" }
    try expectSame("department ne 'R&D'") { $0.department != "R&D" }
    try expectSame("mail eq null") { $0.mail == nil }
    try expectSame("mail ne null") { $0.mail != nil }
    try expectSame("not(mail ne null)") { $0.mail == nil }
    try expectSame("accountEnabled eq false") { !$0.accountEnabled }
    try expectSame("accountEnabled ne false") { $0.accountEnabled }
    try expectSame("userType eq 'guest'") { $0.isGuest }
    try expectSame("endswith(mail,'@partner.example')") { $0.mail?.hasSuffix("@partner.example") ?? false }
    try expectSame("createdDateTime ge 2020-01-01T00:00:00Z") { $0.createdDateTime >= "2020" }
    try expectSame("createdDateTime lt 2020-01-01") { $0.createdDateTime < "2020" }
    try expectSame("department in ('Sales','Legal') and not startswith(surname,'S')") {
        ["Sales", "Legal"].contains($0.department) && !($0.surname?.hasPrefix("S") ?? false)
    }
}

@Test(arguments: [
    "", " ", "surname", "surname eq", "surname eq O'Brien", "surname eq 'O'Brien'", "surname eq 'open", "eq 'a'",
    "surname is 'a'", "(surname eq 'a'", "surname eq 'a')", "surname eq 'a' and", "surname eq 'a' surname eq 'b'",
    "startswith(surname)", "startswith(surname,)", "startswith(surname,'a'", "startswith('a',surname)",
    "startswith(surname,a)", "substringof('a',surname)", "nothing eq 'a'", "startswith(nothing,'a')",
    "surname eq \"a\"",
    "surname in 'a'", "surname in ()", "surname in ('a'", "surname eq 'a' ; drop", "not", "surname eq abc",
    "startswith(surname,'a') eq 'x'", "surname/any(p:p eq 'a')", "businessPhones/any(p:q eq 'a')",
    "businessPhones/all(p:p eq 'a')", "businessPhones/any(p p eq 'a')", "surname eq 'a' \u{0}", "李 eq 'a'",
])
func `an invalid filter is an error with its position`(filter: String) {
    let error = #expect(throws: FilterError.self) { try ODataFilter(parsing: filter) }
    #expect(error?.kind == .syntax)
    #expect(error?.message.hasPrefix("Invalid filter clause: ") == true)
}

@Test(arguments: ["contains(surname,'a')", "businessPhones eq 'a'"])
func `a filter that Graph does not support is an error`(filter: String) {
    #expect(throws: FilterError.self) { try ODataFilter(parsing: filter) }
}

@Test func `deep and long filters are errors and do not crash`() {
    let deep = String(repeating: "(", count: 5_000) + "surname eq 'a'"
    #expect(throws: FilterError.self) { try ODataFilter(parsing: deep) }
    let negated = String(repeating: "not ", count: 5_000) + "surname eq 'a'"
    #expect(throws: FilterError.self) { try ODataFilter(parsing: negated) }
    let long = Array(repeating: "surname eq 'a'", count: 5_000).joined(separator: " or ")
    #expect(throws: FilterError.self) { try ODataFilter(parsing: long) }
}

@Test(arguments: [
    ("startswith(surname,'a')", true), ("startswith(displayName,'a') or startswith(mail,'a')", true),
    ("mail eq 'a'", true), ("mail in ('a')", true), ("id eq 'a'", true), ("createdDateTime ge 2020-01-01", true),
    ("endswith(mail,'a')", false), ("mail ne 'a'", false), ("not startswith(mail,'a')", false),
    ("startswith(officeLocation,'a')", false), ("mobilePhone eq 'a'", false), ("mail eq null", false),
    ("startswith(mail,'a') and not(mail eq 'b')", false), ("businessPhones/any(p:startswith(p,'a'))", false),
])
func `advancedReason detects filters that need an advanced query`(filter: String, isDefault: Bool) throws {
    #expect((try ODataFilter(parsing: filter).advancedReason() == nil) == isDefault)
}

@Test(arguments: [
    "endswith(surname,'a')", "startswith(id,'a')", "startswith(userType,'a')", "surname ge 'a'",
    "userPrincipalName eq null", "accountEnabled eq null", "startswith(createdDateTime,'2')",
])
func `a filter that no query supports is an error`(filter: String) throws {
    let read = try ODataFilter(parsing: filter)
    #expect(throws: FilterError.self) { try read.advancedReason() }
}

@Test(arguments: [
    ("\"displayName:love\"", ["Ada Lovelace"]), ("\"displayName:ada lov\"", ["Ada Lovelace"]),
    ("\"displayName:ovelace\"", []), ("\"mail:ada@contoso\"", ["Ada Lovelace"]),
    ("\"displayName:lovelace\" OR \"displayName:ünal\"", ["Ada Lovelace", "Ayşe Ünal"]),
    ("\"displayName:lovelace\" AND \"mail:x\"", []), ("\"displayName:brien\"", ["Aoife O'Brien"]),
])
func `a $search matches the beginnings of words`(text: String, expected: [String]) throws {
    let search = try #require(ODataSearch(parsing: text))
    #expect(users.filter { search.matches($0) }.map { $0.displayName ?? "-" } == expected)
}

@Test(arguments: [
    "", "displayName:a", "\"displayName:a", "\"a\"", "\"nothing:a\"", "\"displayName:\"",
    "\"displayName:a\" \"mail:b\"",
    "\"displayName:a\" and \"mail:b\"", "\"displayName:a\" OR", "\"displayName:a\\",
])
func `an invalid $search is rejected`(text: String) {
    #expect(ODataSearch(parsing: text) == nil)
}

@Test func `names are split into tokens as in Graph`() {
    #expect(
        ODataSearch.tokens("HelloWorld 12ab O'Brien-Smith") == [
            "Hello", "World", "12", "ab", "O", "Brien", "Smith",
        ])
}

@Test func `prefixes are compared without case, by bytes or by characters`() {
    for (text, prefix, expected) in [
        ("Ada", "aDA", true), ("Ada", "adam", false), ("Ünal", "ü", true), ("Ünal", "u", false),
        ("e\u{301}", "e", true),
        ("é", "e", false), ("", "", true), ("a", "", true), ("İstanbul", "i", true), ("Straße", "STRAẞE", true),
    ] {
        #expect(Folding.starts(text, with: prefix) == expected, "\(text) \(prefix)")
    }
}
