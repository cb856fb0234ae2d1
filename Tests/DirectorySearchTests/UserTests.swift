import StrictJSON
import Testing

@testable import DirectorySearch

private let full = #"""
    {"id":"1","displayName":"Ada","givenName":null,"surname":"Lovelace","mail":"a@x","userPrincipalName":"u@x",
    "jobTitle":"E","department":"D","officeLocation":"18","businessPhones":["+1","+2"],"mobilePhone":"+3",
    "preferredLanguage":"en"}
    """#

@Test func `a user has the properties of the response`() throws {
    let user = User(json: try JSONValue(parsing: full))
    #expect(user.id == "1")
    #expect(user.name == "Ada")
    #expect(user.upn == "u@x")
    #expect(user.givenName == nil)
    #expect(user.surname == "Lovelace")
    #expect(user.mail == "a@x")
    #expect(user.jobTitle == "E")
    #expect(user.department == "D")
    #expect(user.officeLocation == "18")
    #expect(user.businessPhones == ["+1", "+2"])
    #expect(user.mobilePhone == "+3")
    #expect(user.preferredLanguage == "en")
    #expect(user.additional == JSONObject())
    #expect(JSONValue.object(user.json) == (try JSONValue(parsing: full)))
}

@Test func `a user keeps unknown members and the order of all members`() throws {
    let user = User(json: try JSONValue(parsing: #"{"zeta":1.50,"mail":"m","alpha":{"b":[null]},"id":"7"}"#))
    #expect(JSONValue.object(user.additional).text() == #"{"zeta":1.50,"alpha":{"b":[null]}}"#)
    #expect(JSONValue.object(user.json).text() == #"{"zeta":1.50,"mail":"m","alpha":{"b":[null]},"id":"7"}"#)
}

@Test func `a user keeps a member of the wrong type, which reads as nil`() throws {
    let text = #"{"id":5,"displayName":["x"],"businessPhones":["+1",2],"mail":true,"jobTitle":{}}"#
    let user = User(json: try JSONValue(parsing: text))
    #expect(user.id == nil && user.displayName == nil && user.mail == nil && user.jobTitle == nil)
    #expect(user.businessPhones.isEmpty)
    #expect(JSONValue.object(user.json).text() == text)
}

@Test(arguments: ["null", "[]", "5", "\"x\"", "{}"])
func `any JSON value can be read as a user`(text: String) throws {
    let user = User(json: try JSONValue(parsing: text))
    #expect(user == User())
    #expect(user.json == JSONObject())
    #expect(user.description == "somebody")
}

@Test func `a user keeps null and empty lists until a value replaces them`() throws {
    let text = #"{"id":"1","mail":null,"businessPhones":[]}"#
    var user = User(json: try JSONValue(parsing: text))
    #expect(JSONValue.object(user.json).text() == text)
    #expect(user == User(json: ["id": "1"] as JSONObject))
    user.mail = "a@x"
    user.businessPhones = ["+1"]
    #expect(JSONValue.object(user.json).text() == #"{"id":"1","mail":"a@x","businessPhones":["+1"]}"#)
}

@Test func `a description escapes terminal control characters`() {
    var user = User()
    user.displayName = "evil\u{1B}]0;x\u{7}\u{202E}name\n"
    #expect(user.description == #"evil\u{1B}]0;x\u{7}\u{202E}name "#)
}
