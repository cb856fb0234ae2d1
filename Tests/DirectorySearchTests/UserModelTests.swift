import Foundation
import StrictJSON
import Testing

@testable import DirectorySearch

private let full = ##"""
    {"id":"1","userType":"Guest","accountEnabled":false,"createdDateTime":"2026-01-15T09:30:00Z","deletedDateTime":null,
    "employeeHireDate":"0001-01-01T00:00:00Z","otherMails":["a","b"],"deviceEnrollmentLimit":5,
    "assignedLicenses":[{"skuId":"f8a1db68-be16-40ed-86d5-cb42ce701560","disabledPlans":[]}],
    "identities":[{"signInType":"federated","issuer":"x","issuerAssignedId":"y","new":1.50}],
    "employeeOrgData":{"division":"D","costCenter":null},"onPremisesExtensionAttributes":{"extensionAttribute7":"seven"},
    "signInActivity":{"lastSignInDateTime":"2026-01-15T09:30:00.1234567Z","lastNonInteractiveSignInDateTime":"0001-01-01T00:00:00Z"},
    "manager":{"@odata.type":"#microsoft.graph.user","id":"m","displayName":"M","manager":{"id":"mm"}},
    "memberOf":[{"@odata.type":"#microsoft.graph.group","id":"g"}],"customSecurityAttributes":{"set":{"a":true}},
    "extension_0a_badge":"7","big":12345678901234567890,"tiny":-0.10}
    """##

@Test(arguments: [true, false]) func `typed properties read JSON slices and values`(isSlice: Bool)
    throws
{
    let user = isSlice ? User(json: try JSONSlice(parsing: full.utf8)) : User(json: try JSONValue(parsing: full))
    #expect(user.id == "1" && user.isGuest && user.accountEnabled == false)
    #expect(user.createdDateTime == testNow)
    #expect(user.deletedDateTime == nil && user.employeeHireDate == nil, "null, and the date for \"never\"")
    #expect(user.otherMails == ["a", "b"] && user.imAddresses.isEmpty)
    #expect(user.deviceEnrollmentLimit == 5)
    #expect(user.assignedLicenses.first?.skuID == UUID(uuidString: "F8A1DB68-BE16-40ED-86D5-CB42CE701560"))
    #expect(user.identities.first?.issuerAssignedID == "y")
    #expect(user.employeeOrgData?.division == "D" && user.employeeOrgData?.costCenter == nil)
    #expect(user.onPremisesExtensionAttributes?[7] == "seven")
    #expect(user.signInActivity?.lastSignInDateTime == testNow)
    #expect(user.signInActivity?.lastNonInteractiveSignInDateTime == nil)
    #expect(user.manager?.displayName == "M" && user.manager?.manager?.id == "mm")
    #expect(user.memberOf.first?.kind == "group")
    #expect(user.customSecurityAttributes?[path: "set", "a"] == true)
    #expect(user.additional.members.map(\.name) == ["extension_0a_badge", "big", "tiny"])
    #expect(JSONValue.object(user.json) == (try JSONValue(parsing: full)))
}

@Test func `a user survives encoding and decoding with any coder`() throws {
    let user = User(json: try JSONSlice(parsing: full.utf8))
    let data = try JSONEncoder().encode([user])
    let back = try JSONDecoder().decode([User].self, from: data)
    #expect(back.first?.json.members.count == user.json.members.count)
    #expect(back.first?["big"]?.number?.literal == "12345678901234567890")
    #expect(back.first?["tiny"]?.number?.double == -0.1)
    #expect(back.first?.assignedLicenses == user.assignedLicenses)
    #expect(back.first?.manager == user.manager)
    var plain = user
    plain["identities"] = nil
    plain["tiny"] = nil
    #expect(try JSONDecoder().decode(User.self, from: JSONEncoder().encode(plain)) == plain)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(User.self, from: Data("[1]".utf8)) }
}

@Test func `setting a property changes only its member`() throws {
    var user = User(json: try JSONSlice(parsing: #"{"b":1,"mail":"a","c":null}"#.utf8))
    user.mail = "x"
    user.employeeHireDate = testNow
    user.businessPhones = ["+1"]
    user.manager = User(json: ["id": "m"] as JSONObject)
    #expect(
        JSONValue.object(user.json).text()
            == #"{"b":1,"mail":"x","c":null,"employeeHireDate":"2026-01-15T09:30:00Z","businessPhones":["+1"],"#
            + #""manager":{"id":"m"}}"#)
    user.mail = nil
    #expect(user["mail"] == nil && user.mail == nil)
    user.additional = ["z": 2]
    #expect(user.json.members.map(\.name) == ["employeeHireDate", "businessPhones", "manager", "z"])
}

@Test(arguments: [
    (#"{"id":"1","mail":"a"}"#, #"{"id":"1","mail":"a"}"#),
    (#"{ "id" : "1",\#n "x":[ 1 ,2] }"#, #"{"id":"1","x":[1,2]}"#),
    (#"{"@odata.type":"t","id":"1"}"#, #"{"id":"1"}"#),
    ("{\"id\":\"a\u{202E}b\u{7F}\u{85}\"}", #"{"id":"a\u202eb\u007f\u0085"}"#),
    (#"{"id":"\u0041\u202e"}"#, #"{"id":"\u0041\u202e"}"#), ("{\"id\":\"Ünal 李 👩\"}", "{\"id\":\"Ünal 李 👩\"}"),
])
func `writeJSON writes one line without unsafe terminal characters`(text: String, expected: String) throws {
    var output: [UInt8] = []
    User(json: try JSONSlice(parsing: text.utf8)).writeJSON(to: &output)
    #expect(String(decoding: output, as: UTF8.self) == expected)
}

@Test func `detached() returns an equal user without its page`() throws {
    let page = try #require(
        try JSONListText(
            parsing: Array(#"{"value":[{"id":"1","mail":null,"@odata.type":"x"}, {"id" : "2\u00e9"},{}]}"#.utf8),
            list: "value"))
    for slice in try #require(page.elements) {
        let user = User(json: slice)
        let alone = user.detached()
        #expect(alone == user && alone.json.members.map(\.name) == user.json.members.map(\.name))
        #expect(alone.identity == user.identity)
        var (own, other): ([UInt8], [UInt8]) = ([], [])
        alone.writeJSON(to: &own)
        user.writeJSON(to: &other)
        #expect(own == other)
    }
    var made = User()
    made.displayName = "Ada"
    #expect(made.detached() == made)
}

@Test(arguments: [
    (#""displayName":"Ada Lovelace","userPrincipalName":"ada""#, "Ada Lovelace"),
    (#""displayName":" ","givenName":"Ada","surname":"Lovelace""#, "Ada Lovelace"),
    (#""surname":"Lovelace","userPrincipalName":"ada""#, "Lovelace"),
    (#""userPrincipalName":"ada","mail":"a@x""#, "ada"),
    (#""userPrincipalName":"","mail":"a@x""#, "a@x"), (#""displayName":null"#, "7"),
])
func `listName is the best available name`(members: String, name: String) throws {
    let object = try #require(try JSONValue(parsing: #"{"id":"7",\#(members)}"#).object)
    #expect(User(json: object).listName == name)
}
