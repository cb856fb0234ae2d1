import Foundation
import OAuth2Protocol
import TestSupport
import Testing

@testable import ProviderSettings
import LodgePlatform

struct SettingsTests {
    static let flat = [
        "authority": "https://login.microsoftonline.com/common", "clientId": "0000",
        "redirectUri": "http://localhost/callback",
        "scopes": "openid User.Read", "graphAPI": "https://graph.microsoft.com/", "api-version": "v1.0", "secret": "",
    ]

    private func json(_ changes: [String: Any?] = [:]) throws -> [UInt8] {
        var members: [String: Any] = Self.flat
        for (key, value) in changes { members[key] = value }
        return [UInt8](try JSONSerialization.data(withJSONObject: members))
    }

    private func decodingError(_ bytes: [UInt8]) -> SettingsError? {
        do {
            try Settings(bytes: bytes, source: "s.json").checkTypes()
            return nil
        } catch { return error }
    }

    private func decodingError(nested member: String, type: String = "") -> SettingsError? {
        let required = #""issuer":"https://op.example.com","clientId":"c","redirectUri":"http://127.0.0.1/callback""#
        return decodingError([UInt8](#"{"types":{"graph":{\#(required)\#(type)}}\#(member)}"#.utf8))
    }

    @Test func `the QuickStart's flat settings are the same as a property list and as JSON`() throws {
        let fromJSON = try Settings(bytes: try json(), source: "s")
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let data = try PropertyListSerialization.data(fromPropertyList: Self.flat, format: format, options: 0)
            #expect(try Settings(bytes: [UInt8](data), source: "s") == fromJSON)
        }
        let type = try #require(fromJSON["myGraphService"])
        #expect(fromJSON.defaultType == "myGraphService")
        #expect(type.provider == .authority("https://login.microsoftonline.com/common"))
        #expect(type.clientID == "0000" && type.clientSecret == nil)
        #expect(type.scope == ["openid", "User.Read"])
        #expect(type.graphAPI?.absoluteString == "https://graph.microsoft.com/")
        #expect(type.graphVersion == "v1.0")
    }

    @Test func `the older keys tenant and resourceString are decoded`() throws {
        let bytes = try json([
            "authority": Any?.none, "tenant": "contoso.com", "graphAPI": Any?.none,
            "resourceString": "https://graph.microsoft.com/", "secret": "s",
        ])
        let type = try #require(try Settings(bytes: bytes, source: "s").types.first)
        #expect(type.provider == .authority("https://login.microsoftonline.com/contoso.com"))
        #expect(type.graphAPI?.host() == "graph.microsoft.com")
        #expect(type.clientSecret == .inline(Secret("s")))
    }

    @Test(
        arguments: [
            ("clientId", nil, "a string", "nothing"), ("clientId", "5", "a string", "5"),
            ("clientId", #""""#, "a string", "an empty string"),
            ("clientId", #""a\n""#, "printable ASCII without spaces around it", #""a\n""#),
            ("clientId", #"" a""#, "printable ASCII without spaces around it", #"" a""#),
            ("authority", #""ftp://x""#, "an https URL", #""ftp://x""#),
            ("authority", #""http://login.example.com/x""#, "an https URL", #""http://login.example.com/x""#),
            ("authority", nil, "a string", "nothing"),
            ("graphAPI", "true", "a string", "true"), ("scopes", "7", "a list of strings", "7"),
            ("redirectUri", #""nonsense""#, "a URI such as", "nonsense"),
            ("redirectUri", #""http://example.com/""#, "a URI such as", "plain http"),
            ("api-version", "1.5", "a string", "1.5"), ("secret", "5", "a string", "a number"),
            ("secret", #"["CS_s3cr3t"]"#, "a string", "an array"),
        ] as [(String, String?, String, String)])
    func `an invalid value is an error with the file, the key, and the expected and actual values`(
        key: String, value: String?, expected: String, found: String
    ) throws {
        let error = try #require(
            decodingError(
                try json([
                    key: try value.map {
                        try JSONSerialization.jsonObject(with: Data($0.utf8), options: .fragmentsAllowed)
                    }
                ])))
        #expect(error.file == "s.json")
        #expect(error.key == key)
        #expect(error.expected.contains(expected), "\(error)")
        #expect(error.found.contains(found), "\(error)")
        #expect(error.description.hasPrefix("s.json: \(key): expected "))
        #expect(!error.description.contains("s3cr3t"))
    }

    @Test(arguments: [("tenant", "authority"), ("resourceString", "graphAPI")])
    func `an error in an older key names that key`(older: String, newer: String) throws {
        let error = try #require(decodingError(try json([newer: Any?.none, older: "a b\u{1}"])))
        #expect(error.key == older)
    }

    @Test(arguments: [("clientIdd", "clientId"), ("authorithy", "authority"), ("scops", "scopes"), ("typs", "types")])
    func `an unknown key suggests the closest key`(typed: String, meant: String) throws {
        let error = try #require(decodingError(try json([typed: "x"])))
        #expect(error.key == typed)
        #expect(error.hint == "did you mean \(meant)?")
    }

    @Test func `nested settings have several types in order and a default type`() throws {
        let text = #"""
            { // comments are allowed
              "defaultType": "two",
              "types": {
                "one": {"issuer": "https://one.example.com", "clientId": "c", "redirectUri": "http://127.0.0.1/callback",
                        "scopes": ["a", "b c"], "clientSecret": {"environment": "ONE_SECRET"}},
                "two": {"tokenEndpoint": "https://two.example.com/token", "clientId": "c",
                        "redirectUri": "com.example.app:/callback", "clientSecret": {"file": "/run/secret"},
                        "clientAuthentication": "client_secret_post", "tokenRequestMethod": "GET",
                        "refreshParameters": {"audience": "x"}, "resourceHosts": ["api.example.com"]}
              }
            }
            """#
        let settings = try Settings(bytes: [UInt8](text.utf8), source: "s")
        #expect(settings.types.map(\.name) == ["one", "two"])
        #expect(settings.defaultType == "two")
        #expect(settings["one"]?.scope == ["a", "b", "c"])
        #expect(settings["one"]?.clientSecret == .environment("ONE_SECRET"))
        let two = try #require(settings["two"])
        #expect(two.provider == .endpoints && two.tokenRequestMethod == .get)
        #expect(two.clientSecret == .file("/run/secret") && two.clientAuthentication == .clientSecretPost)
    }

    @Test(
        arguments: [
            (#","defaultType":"grpah""#, "", "defaultType", "did you mean \"graph\"?"),
            (#","defualtType":"graph""#, "", "defualtType", "did you mean defaultType?"),
            ("", #","clientid2":"x""#, "types.graph.clientid2", "did you mean clientId?"),
            ("", #","authority":"https://x.example.com""#, "types.graph.issuer", nil),
            ("", #","tokenType":"mac""#, "types.graph.tokenType", nil),
            ("", #","tokenRequestMethod":"PUT""#, "types.graph.tokenRequestMethod", nil),
            ("", #","clientAuthentication":"client_secret_post""#, "types.graph.clientSecret", nil),
            ("", #","authorizationParameters":{"state":"x"}"#, "types.graph.authorizationParameters.state", nil),
            (
                "", #","refreshParameters":{"refresh_token":"RT_s3cr3t"}"#,
                "types.graph.refreshParameters.refresh_token", nil
            ),
            ("", #","tokenHeaders":"Bearer AT_s3cr3t""#, "types.graph.tokenHeaders", nil),
            ("", #","tokenHeaders":{"X":["AT_s3cr3t"]}"#, "types.graph.tokenHeaders.X", nil),
            ("", #","tokenHeaders":{"X":"AT_s3cr3t\r\nY: z"}"#, "types.graph.tokenHeaders", nil),
            ("", #","tokenParameters":{"x":5}"#, "types.graph.tokenParameters.x", nil),
            ("", #","clientSecret":["CS_s3cr3t"]"#, "types.graph.clientSecret", nil),
            ("", #","clientSecret":{"CS_s3cr3t":"CS_s3cr3t"}"#, "types.graph.clientSecret", nil),
            ("", #","scopes":["a\"b"]"#, "types.graph.scopes", nil),
            ("", #","pinnedKeys":["x"]"#, "types.graph.pinnedKeys", nil),
            ("", #","graphAPI":"http://user:pw_s3cr3t@example.com/""#, "types.graph.graphAPI", nil),
            ("", #","knownAuthorities":"x""#, "types.graph.knownAuthorities", nil),
            ("", #","directory":"ldap""#, "types.graph.directory", nil),
            (
                "", #","directory":"scim","graphAPI":"https://id.example/""#, "types.graph.directoryBase",
                #"add "directoryBase": "https://id.example/scim/v2""#
            ),
        ] as [(String, String, String, String?)])
    func `an error in nested settings names the path of its key and contains no secret`(
        member: String, type: String, key: String, hint: String?
    ) throws {
        let error = try #require(decodingError(nested: member, type: type))
        #expect(error.key == key)
        if let hint { #expect(error.hint?.description == hint) }
        var dumped = ""
        dump(error, to: &dumped)
        #expect(!dumped.contains("s3cr3t"))
    }

    @Test(arguments: [
        "", "{", "[]", "nonsense", "{\"types\":{}}", "{\"types\":[]}", "{\"types\":{\"a b\":{}}}", "<plist",
        "<html></html>",
        "bplist00garbage", #"{"clientId":"a","clientId":"b"}"#, "\u{FEFF}{",
        "<?xml version=\"1.0\"?><plist><dict><key>a</key>",
    ])
    func `a file that is not a settings file is an error`(text: String) throws {
        let error = try #require(decodingError([UInt8](text.utf8)))
        #expect(error.file == "s.json")
        #expect(!error.expected.isEmpty && !error.found.isEmpty)
    }

    @Test func `a missing file, a folder and a file that is too large are errors with the path`() throws {
        let directory = try TemporaryDirectory()
        func error(_ path: String) -> SettingsError? {
            do {
                _ = try Settings(contentsOf: URL(filePath: path))
                return nil
            } catch { return error }
        }
        #expect(error(directory.path + "/none")?.found == "No such file or directory")
        #expect(error(directory.path)?.found == "a directory")
        let large = directory.path + "/large"
        try Data(repeating: 0x20, count: Settings.maximumSize + 1).write(to: URL(filePath: large))
        #expect(error(large)?.found.contains("more than") == true)
        #expect(error(large)?.file == large)
        // Opening a pipe without a writer does not block.
        #expect(mkfifo(directory.path + "/pipe", 0o600) == 0)
        #expect(error(directory.path + "/pipe") != nil)
    }
}
