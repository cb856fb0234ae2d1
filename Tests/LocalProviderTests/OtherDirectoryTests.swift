import Foundation
import HTTPExchange
import StrictJSON
import Testing

@testable import LocalProvider

/// A client of the SCIM and Google directories.
private struct Asker {
    let signIn: SignIn
    let token: String

    init(users: Int = 60) async throws {
        signIn = SignIn(try await provider { $0.userCount = users })
        token = try await signIn.tokens().accessToken
    }

    func get(_ path: String, _ query: [String: String] = [:]) async throws -> HTTPResponse {
        var fields = FormFields()
        for (name, value) in query.sorted(by: { $0.key < $1.key }) { fields.append(name, value) }
        let text = fields.encoded
        return try await signIn.get(path + (text.isEmpty ? "" : "?\(text)"), token: token)
    }
}

// MARK: SCIM

private func scimNames(_ response: HTTPResponse) -> [String] {
    response.json["Resources"]?.array?.compactMap { $0.object?["displayName"]?.string ?? "-" } ?? []
}

private let scimPeople = UserTable(count: 60, seed: 1).all

@Test func `a SCIM filter matches the described users`() throws {
    func expectSame(_ filter: String, _ condition: (StoredUser) -> Bool) throws {
        let read = try SCIMFilterReader.filter(filter)
        let wanted = scimPeople.filter(condition).map(\.id)
        #expect(scimPeople.filter { read.matches($0) }.map(\.id) == wanted, "\(filter)")
        #expect(!wanted.isEmpty, "\(filter) finds no users")
    }
    try expectSame("name.givenName sw \"A\"") { $0.givenName?.lowercased().hasPrefix("a") ?? false }
    try expectSame("userName eq \"ADA@contoso.example\"") { $0.id == scimPeople[0].id }
    try expectSame("displayName co \"love\"") { $0.displayName?.lowercased().contains("love") ?? false }
    try expectSame("emails.value ew \"@partner.example\"") { $0.mail?.hasSuffix("@partner.example") ?? false }
    try expectSame("emails[type eq \"work\" and value sw \"ada\"]") { $0.mail?.hasPrefix("ada") ?? false }
    try expectSame("title pr") { $0.jobTitle != nil }
    try expectSame("not (title pr)") { $0.jobTitle == nil }
    try expectSame("phoneNumbers pr") { !$0.businessPhones.isEmpty }
    try expectSame("active eq false or name.familyName eq \"O'Brien\"") {
        !$0.accountEnabled || $0.surname == "O'Brien"
    }
    try expectSame("(userType eq \"Guest\" or userType eq \"Member\") and not (active eq true)") { !$0.accountEnabled }
    try expectSame("name.familyName sw \"O\" or name.familyName sw \"S\" and active eq false") {
        ($0.surname?.lowercased().hasPrefix("o") ?? false)
            || ($0.surname?.lowercased().hasPrefix("s") ?? false) && !$0.accountEnabled
    }
    try expectSame("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq \"R&D\"") {
        $0.department == "R&D"
    }
    try expectSame("urn:ietf:params:scim:schemas:core:2.0:User:displayName NE \"Ada Lovelace\"") {
        $0.displayName != "Ada Lovelace"
    }
    try expectSame("meta.created ge \"2020-01-01T00:00:00Z\"") { $0.createdDateTime >= "2020" }
    try expectSame("displayName eq \"Alex \\ud83c\\udf89 Party\"") { $0.displayName == "Alex 🎉 Party" }
}

@Test(arguments: [
    "", "displayName", "displayName eq", "displayName eq Ada", "displayName is \"a\"", "nothing eq \"a\"",
    "(displayName eq \"a\"", "displayName eq \"a", "displayName eq \"a\" and", "displayName eq \"a\")", "not title pr",
    "emails[value eq \"a\"", "displayName gt \"a\"", "displayName eq \"\\x\"", "title pr title pr",
])
func `an invalid SCIM filter is rejected`(filter: String) {
    let error = #expect(throws: SCIMFailure.self) { try SCIMFilterReader.filter(filter) }
    #expect(error?.type == "invalidFilter")
}

@Test func `SCIM filters that are too deep or long are errors`() {
    #expect(throws: SCIMFailure.self) {
        try SCIMFilterReader.filter(String(repeating: "(", count: 5_000) + "title pr")
    }
    #expect(throws: SCIMFailure.self) {
        try SCIMFilterReader.filter(Array(repeating: "title pr", count: 5_000).joined(separator: " and "))
    }
}

@Test func `SCIM lists have startIndex and count`() async throws {
    let asker = try await Asker()
    let first = try await asker.get("/scim/v2/Users", ["count": "25"])
    #expect(first.fields["Content-Type"]?.hasPrefix("application/scim+json") == true)
    #expect(first.json["totalResults"] == 60 && first.json["itemsPerPage"] == 25 && first.json["startIndex"] == 1)
    var met = scimNames(first)
    for start in [26, 51, 76] {
        met += scimNames(try await asker.get("/scim/v2/Users", ["count": "25", "startIndex": String(start)]))
    }
    #expect(met == scimPeople.map { $0.displayName ?? "-" })
    let none = try await asker.get("/scim/v2/Users", ["count": "-1", "startIndex": "-5"])
    #expect(none.json["itemsPerPage"] == 0 && none.json["totalResults"] == 60 && none.json["startIndex"] == 1)
    let sorted = try await asker.get(
        "/scim/v2/Users", ["sortBy": "displayName", "sortOrder": "descending", "filter": "displayName pr"])
    let names = scimNames(sorted).map { $0.lowercased() }
    #expect(names == names.sorted(by: >) && names.count == 59)
}

@Test func `SCIM returns the requested attributes`() async throws {
    let asker = try await Asker()
    let path = "/scim/v2/Users/\(scimPeople[0].id)"
    let whole = try await asker.get(path).json
    #expect(whole["userName"]?.string == "ada@contoso.example")
    #expect(whole["name"] == ["formatted": "Ada Lovelace", "familyName": "Lovelace", "givenName": "Ada"])
    let few = try await asker.get(path, ["attributes": "userName,name.givenName"]).json
    #expect(few.members.map(\.name) == ["schemas", "id", "userName", "name"])
    #expect(few["name"] == ["givenName": "Ada"])
    let most = try await asker.get(path, ["excludedAttributes": "emails,name.formatted,id"]).json
    #expect(most["emails"] == nil && most["id"] != nil)
    #expect(most["name"]?.object?["formatted"] == nil && most["name"]?.object?["givenName"] != nil)
}

@Test func `SCIM errors have their standard format`() async throws {
    let asker = try await Asker()
    for (path, query, status, type) in [
        ("/scim/v2/Users/nobody", [:], 404, nil), ("/scim/v2/Groups", [:], 404, nil),
        ("/scim/v2/Users", ["filter": "nothing eq \"a\""], 400, "invalidFilter"),
        ("/scim/v2/Users", ["count": "x"], 400, "invalidValue"),
        ("/scim/v2/Users", ["sortBy": "nothing"], 400, "invalidPath"),
    ] as [(String, [String: String], Int, String?)] {
        let response = try await asker.get(path, query)
        #expect(response.status == status)
        #expect(response.json["schemas"] == ["urn:ietf:params:scim:api:messages:2.0:Error"])
        #expect(response.json["status"]?.string == String(status))
        #expect(response.json["scimType"]?.string == type)
    }
    let rejected = try await asker.signIn.get("/scim/v2/Users", token: "strange")
    #expect(rejected.status == 401)
    #expect(rejected.fields["WWW-Authenticate"]?.hasPrefix("Bearer ") == true)
    #expect(try await asker.signIn.get("/scim/v2/ServiceProviderConfig").json["filter"]?.object?["supported"] == true)
    var injectedErrors = InjectedErrors()
    injectedErrors.add(.directory429, value: "7", count: 1)
    asker.signIn.provider.setInjectedErrors(injectedErrors)
    let throttled = try await asker.get("/scim/v2/Users")
    #expect(throttled.status == 429 && throttled.fields["Retry-After"] == "7")
    #expect(throttled.json["status"] == "429")
}

// MARK: Google

private func googleNames(_ response: HTTPResponse) -> [String] {
    response.json["users"]?.array?.compactMap { $0.object?["name"]?.object?["fullName"]?.string ?? "-" } ?? []
}

@Test(arguments: [
    ("givenName:Ada*", ["Ada Lovelace"]), ("givenName=ada", ["Ada Lovelace"]),
    ("familyName:'O\\'Brien'", ["Aoife O'Brien"]), ("email:ada@*", ["Ada Lovelace"]),
    ("email=ada@contoso.example", ["Ada Lovelace"]), ("name:'Ada Lovelace'", ["Ada Lovelace"]),
    ("name:lovelace givenName:ada", ["Ada Lovelace"]), ("name=lovelace givenName:x*", []),
    ("lovelace", ["Ada Lovelace"]), ("orgTitle:'C# Developer'", ["Astrid d''Aubigné"]),
    ("givenName:Ada* isSuspended=false", ["Ada Lovelace"]), ("givenName:Ada* isSuspended=true", []),
    ("isAdmin=true", []),
])
func `a Google query matches the described users`(query: String, expected: [String]) throws {
    let read = try #require(GoogleQuery.filter(query))
    #expect(scimPeople.filter { read.matches($0) }.map { $0.displayName ?? "-" } == expected)
}

@Test(arguments: ["nothing:a", "givenName:", "givenName:'a", "isSuspended=x", "givenName:a*b", "givenName=''"])
func `an invalid Google query is rejected`(query: String) {
    #expect(GoogleQuery.filter(query) == nil)
}

@Test func `Google lists have page tokens, and single users can be read by key`() async throws {
    let asker = try await Asker()
    let path = "/admin/directory/v1/users"
    var query = ["customer": "my_customer", "maxResults": "25"]
    var met: [String] = []
    var pages = 0
    while pages < 10 {
        pages += 1
        let page = try await asker.get(path, query)
        #expect(page.status == 200 && page.json["kind"] == "admin#directory#users")
        met += googleNames(page)
        guard let token = page.json["nextPageToken"]?.string else { break }
        query["pageToken"] = token
    }
    #expect(pages == 3 && met == scimPeople.map { $0.displayName ?? "-" })
    query["query"] = "givenName:a*"
    #expect(try await asker.get(path, query).status == 400)
    let nobody = try await asker.get(path, ["customer": "my_customer", "query": "givenName:qqq*"])
    #expect(nobody.status == 200 && nobody.json["users"] == nil)
    let ada = try await asker.get("\(path)/ada@contoso.example")
    #expect(ada.json["primaryEmail"] == "ada@contoso.example")
    let id = try #require(ada.json["id"]?.string)
    #expect(try await asker.get("\(path)/\(id)").json == ada.json)
    let sorted = try await asker.get(path, ["domain": "contoso.example", "orderBy": "email", "maxResults": "500"])
    let addresses = sorted.json["users"]?.array?.compactMap { $0.object?["primaryEmail"]?.string?.lowercased() } ?? []
    #expect(addresses == addresses.sorted() && addresses.count == 60)
}

@Test func `Google errors have their standard format`() async throws {
    let asker = try await Asker()
    let path = "/admin/directory/v1/users"
    for (path, query, status, reason) in [
        (path, [:], 400, "badRequest"), (path, ["customer": "my_customer", "maxResults": "501"], 400, "invalid"),
        (path, ["customer": "my_customer", "query": "x:y"], 400, "invalid"),
        (path, ["customer": "my_customer", "pageToken": "x"], 400, "invalid"),
        (path + "/nobody@contoso.example", [:], 404, "notFound"), ("/admin/directory/v1/groups", [:], 404, "notFound"),
    ] as [(String, [String: String], Int, String)] {
        let response = try await asker.get(path, query)
        #expect(response.status == status)
        let error = response.json["error"]?.object
        #expect(error?["code"]?.number?.int64 == Int64(status))
        #expect(error?["errors"]?.array?.first?.object?["reason"]?.string == reason)
    }
    let rejected = try await asker.signIn.get(path)
    #expect(rejected.status == 401)
    #expect(rejected.fields["WWW-Authenticate"]?.hasPrefix("Bearer ") == true)
}

@Test func `SCIM describes its schemas and resource types without a token`() async throws {
    let signIn = SignIn(try await provider())
    let schemas = try await signIn.get("/scim/v2/Schemas")
    #expect(schemas.status == 200)
    let list = schemas.json["Resources"]?.array?.compactMap(\.object) ?? []
    #expect(list.compactMap { $0["id"]?.string } == [SCIMUser.schema, SCIMUser.enterpriseSchema])
    #expect(schemas.json["totalResults"] == 2)
    for schema in list {
        let path = "/scim/v2/Schemas/\(schema["id"]?.string ?? "")"
        #expect(try await signIn.get(path).json == schema)
        #expect(schema["meta"]?.object?["location"]?.string == signIn.provider.issuer.absoluteString + path)
    }
    #expect(try await signIn.get("/scim/v2/Schemas/urn:unknown").status == 401)
    // RFC 7644 section 4.
    #expect(try await signIn.get("/scim/v2/Schemas?filter=id%20pr").status == 403)
    for path in ["ResourceTypes", "ResourceTypes/User", "ServiceProviderConfig"] {
        #expect(try await signIn.get("/scim/v2/\(path)").status == 200)
    }
}

@Test func `each attribute of a SCIM user is in a schema`() {
    func names(_ attributes: JSONValue?) -> [String: JSONObject] {
        let objects = attributes?.array?.compactMap(\.object) ?? []
        return Dictionary(objects.map { ($0["name"]?.string ?? "", $0) }) { $1 }
    }
    let common: Set = ["schemas", "id", "externalId", "meta"]
    let schemas = SCIMSchemas.all(base: "")
    let core = names(schemas[0]["attributes"])
    let enterprise = names(schemas[1]["attributes"])
    for user in scimPeople {
        for member in SCIMUser.json(user, base: "").members where !common.contains(member.name) {
            if member.name == SCIMUser.enterpriseSchema {
                #expect(member.value.object?.members.allSatisfy { enterprise[$0.name] != nil } == true)
                continue
            }
            let attribute = core[member.name]
            #expect(attribute != nil, "\(member.name)")
            #expect((attribute?["multiValued"] == true) == (member.value.array != nil), "\(member.name)")
            let parts = names(attribute?["subAttributes"])
            let values = member.value.array ?? [member.value]
            for value in values.compactMap(\.object) {
                #expect(value.members.allSatisfy { parts[$0.name] != nil }, "\(member.name)")
            }
        }
    }
}
