import OAuth2Protocol
import StrictJSON
import Testing

@testable import ProviderSettings

/// An error in one type must not disable the other types, and no other type may replace the type.
struct UnusableTypesTests {
    private static let good =
        #"{"issuer":"https://id.example","clientId":"c","redirectUri":"http://127.0.0.1/callback"}"#

    private func settings(_ text: String) throws(SettingsError) -> Settings {
        try Settings(bytes: Array(text.utf8), source: "s.json")
    }

    @Test(arguments: [
        (#"{"provider":"gogle","clientId":"c"}"#, "types.bad.provider"),
        (#"{"provider":"github","clientId":"c"}"#, "types.bad.clientSecret"),
        (#"{"issuer":"ftp://x","clientId":"c","redirectUri":"http://127.0.0.1/"}"#, "types.bad.issuer"),
        (#"{"issuer":"https://x.example","redirectUri":"http://127.0.0.1/"}"#, "types.bad.clientId"),
        (#"{"issuer":"https://x.example","clientId":"c"}"#, "types.bad.redirectUri"),
        (
            #"{"issuer":"https://x.example","clientId":"c","redirectUri":"http://127.0.0.1/","dpop":1}"#,
            "types.bad.dpop"
        ),
        (#"{"isuer":"https://x.example"}"#, "types.bad.isuer"), ("[]", "types.bad"), ("null", "types.bad"),
    ])
    func `an unusable type has its error and does not disable the other types`(type: String, key: String) throws {
        for text in [
            #"{"types":{"bad":\#(type),"good":\#(Self.good)}}"#, #"{"types":{"good":\#(Self.good),"bad":\#(type)}}"#,
        ] {
            let settings = try settings(text)
            #expect(settings.types.map(\.name) == ["good"] && settings["bad"] == nil)
            #expect(settings.unusableTypes.map(\.name) == ["bad"] && settings.typeNames == ["good", "bad"])
            #expect(settings.unusableTypes.first?.error.key == key)
            let error = #expect(throws: SettingsError.self) { try settings.type(named: "bad") }
            #expect(error == settings.unusableTypes.first?.error && error?.file == "s.json")
            #expect(throws: SettingsError.self) { try settings.checkTypes() }
            #expect(try settings.type(named: "good")?.clientID == "c")
            #expect(try settings.type(named: "none") == nil)
        }
    }

    @Test func `the first type of the file is the default type, usable or not`() throws {
        #expect(try settings(#"{"types":{"bad":{},"good":\#(Self.good)}}"#).defaultType == "bad")
        #expect(try settings(#"{"types":{"good":\#(Self.good),"bad":{}}}"#).defaultType == "good")
        #expect(try settings(#"{"defaultType":"bad","types":{"good":\#(Self.good),"bad":{}}}"#).defaultType == "bad")
    }

    @Test func `a file with only unusable types loads`() throws {
        let settings = try settings(#"{"types":{"google":{"clientIdd":"c"},"bad":{}}}"#)
        // No preset of the same name replaces a type.
        #expect(settings.types.isEmpty && settings["google"] == nil && settings.defaultType == "google")
        #expect(settings.unusableTypes.map(\.error.key) == ["types.google.clientIdd", "types.bad.redirectUri"])
    }

    @Test func `the flat form with an error loads as an unusable type`() throws {
        let settings = try settings(
            #"{"authority":"ftp://x","clientId":"c","redirectUri":"http://localhost/x","scopes":"a"}"#)
        #expect(settings.types.isEmpty && settings.unusableTypes.map(\.name) == [Settings.flatTypeName])
        #expect(settings.unusableTypes.first?.error.key == "authority")
    }

    @Test(
        arguments: [
            (#"{"types":{"good":GOOD},"tpyes":{}}"#, "tpyes"),
            (#"{"types":{"good":GOOD},"deviceMode":"x"}"#, "deviceMode"),
            (#"{"types":{"good":GOOD,"bad":{}},"defaultType":"none"}"#, "defaultType"),
            (#"{"types":{"good":GOOD},"clientMetadataDocument":"http://x"}"#, "clientMetadataDocument"),
            (#"{"tpyes":{"good":GOOD}}"#, "tpyes"), (#"{"types":{}}"#, "types"), (#"{"types":[]}"#, "types"),
            (#"{"types":{"good":GOOD,"good":GOOD}}"#, nil), (#"{"types":{"good":GOOD}"#, nil),
        ] as [(String, String?)])
    func `an error outside of the types is an error of the file`(text: String, key: String?) {
        let error = #expect(throws: SettingsError.self) {
            try settings(text.replacing("GOOD", with: Self.good))
        }
        #expect(error?.key == key)
    }

    @Test func `an edit does not change the text of an unusable type`() throws {
        let text = """
            {"types": {
                // broken on purpose
                "bad": { "isuer" : 5 /* why */ },
                "good": \(Self.good)
            }}
            """
        let added = try SettingsEdit.adding(
            "new", ["provider": "gitlab", "clientId": "c"], to: Array(text.utf8), file: "s.json")
        let names = try Settings(bytes: added, source: "s.json").typeNames
        #expect(names == ["good", "new", "bad"])
        let removed = try SettingsEdit.removing("good", from: added, file: "s.json")
        for bytes in [added, removed] {
            let text = String(decoding: bytes, as: UTF8.self)
            #expect(text.contains("    // broken on purpose\n    \"bad\": { \"isuer\" : 5 /* why */ },"), "\(text)")
        }
        #expect(try Settings(bytes: removed, source: "s.json").typeNames == ["new", "bad"])
    }

    @Test func `clients of usable types are available despite an unusable type`() throws {
        let text = #"{"types":{"bad":{"isuer":1},"good":\#(Self.good)}}"#
        let clients = try ConfiguredClients(bytes: Array(text.utf8), file: "s.json")
        #expect(clients.types.map(\.name) == ["good"] && clients.typeNames == ["bad", "good"])
        let type = try #require(clients.type(ofIssuer: "https://id.example"))
        #expect(clients.clientKeys(of: type)["clientId"] == "c")
    }

    @Test func `the hosts of an unusable type do not include its redirect URI`() throws {
        for key in ["redirectUri", "redirectURI", "redirectURL"] {
            let settings = try Settings(
                bytes: Array(
                    """
                    {"types": {"good": \(Self.good), "bad": {"issuer": "https://id.example",
                    "\(key)": "https://app.example/callback", "scopes": 7, "resourceHosts": ["api.example"]}}}
                    """.utf8), source: "s.json")
            #expect(settings.unusableTypes.first?.hosts == ["id.example:443", "api.example"], "\(key)")
        }
    }
}
