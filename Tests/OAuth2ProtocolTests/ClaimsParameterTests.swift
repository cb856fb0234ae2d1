import HTTPExchange
import StrictJSON
import Testing

@testable import OAuth2Protocol

/// Parses the claims of a case.
private func claims(_ text: String?) throws -> JSONObject? {
    try text.map { try #require(JSONValue(parsing: $0).object) }
}

@Test(
    arguments: [
        (["cp1"], nil, nil, #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#),
        ([], nil, nil, nil),
        ([], #"{"id_token":{"email":null}}"#, nil, #"{"id_token":{"email":null}}"#),
        // Entra's own example.
        (
            ["cp1"], nil, #"{"access_token":{"acrs":{"essential":true,"value":"c1"}}}"#,
            #"{"access_token":{"acrs":{"essential":true,"value":"c1"},"xms_cc":{"values":["cp1"]}}}"#
        ),
        // The values are a union without duplicates.
        (
            ["cp1", "cp2"], #"{"access_token":{"xms_cc":{"values":["cp3"]}}}"#,
            #"{"access_token":{"xms_cc":{"essential":true,"values":["cp1"]}}}"#,
            #"{"access_token":{"xms_cc":{"essential":true,"values":["cp3","cp1","cp2"]}}}"#
        ),
        (
            [], nil, #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#,
            #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#
        ),
        // The challenge replaces a claim; all other claims remain.
        (
            ["cp1"], #"{"id_token":{"email":null},"access_token":{"nbf":{"value":"1"},"acrs":{"value":"c1"}}}"#,
            #"{"access_token":{"nbf":{"essential":true,"value":"2"}},"userinfo":{"sub":{"value":"ada"}}}"#,
            #"{"id_token":{"email":null},"access_token":{"nbf":{"essential":true,"value":"2"},"acrs":{"value":"c1"},"#
                + #""xms_cc":{"values":["cp1"]}},"userinfo":{"sub":{"value":"ada"}}}"#
        ),
        // Numbers keep their digits, and members that are not objects remain.
        (
            ["cp1"], nil, #"{"version":1.0,"access_token":null}"#,
            #"{"version":1.0,"access_token":{"xms_cc":{"values":["cp1"]}}}"#
        ),
        (["cp1"], nil, #"{"access_token":{"xms_cc":null}}"#, #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#),
    ] as [([String], String?, String?, String?)])
func `claims are merged as objects`(capabilities: [String], own: String?, challenge: String?, expected: String?) throws
{
    let merged = ClaimsParameter.merged(
        capabilities: capabilities, claims: try claims(own), challenge: try claims(challenge))
    #expect(merged.map { JSONValue.object($0).text() } == expected)
}

@Test func `merging claims twice changes nothing`() throws {
    let challenge = try claims(#"{"access_token":{"nbf":{"value":"1"}}}"#)
    let once = ClaimsParameter.merged(capabilities: ["cp1"], challenge: challenge)
    #expect(ClaimsParameter.merged(capabilities: ["cp1"], claims: once, challenge: once) == once)
}

@Test func `a token request declares the capabilities in its claims`() throws {
    let declared = #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#
    #expect(try ClaimsParameter.declaring(["cp1"], in: nil) == declared)
    #expect(try ClaimsParameter.declaring(["cp1"], in: declared) == declared)
    // Without capabilities the text is unchanged.
    #expect(try ClaimsParameter.declaring([], in: "{ }") == "{ }")
    #expect(try ClaimsParameter.declaring([], in: nil) == nil)
    #expect(throws: OAuth2Error.self) { try ClaimsParameter.declaring(["cp1"], in: "[]") }
}

@Test func `a malformed WWW-Authenticate field does not hide the other fields`() throws {
    var fields = HTTPFields()
    fields.append(name: "WWW-Authenticate", value: #"Broken "unfinished"#)
    fields.append(name: "WWW-Authenticate", value: #"Bearer error="insufficient_claims", claims="e30""#)
    #expect(AuthenticationChallenge.challenges(in: fields).map(\.claims) == ["{}"])
    // A list of parameters can continue in the next field.
    var split = HTTPFields()
    split.append(name: "WWW-Authenticate", value: #"Bearer error="insufficient_claims""#)
    split.append(name: "WWW-Authenticate", value: #"claims="e30=""#)
    #expect(AuthenticationChallenge.challenges(in: split).map(\.claims) == ["{}"])
}
