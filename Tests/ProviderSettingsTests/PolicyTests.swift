import OAuth2Protocol
import Testing

@testable import ProviderSettings

@Suite struct PolicyTests {
    @Test(arguments: [
        ("https://c.b2clogin.com/c.onmicrosoft.com/B2C_1_a", "https://c.b2clogin.com/c.onmicrosoft.com/B2C_1_b"),
        ("https://c.b2clogin.com/c.onmicrosoft.com/B2C_1_a/", "https://c.b2clogin.com/c.onmicrosoft.com/B2C_1_b"),
        ("https://c.b2clogin.com/c.onmicrosoft.com/B2C_1_a/v2.0", "https://c.b2clogin.com/c.onmicrosoft.com/B2C_1_b"),
        ("https://c.b2clogin.com/tfp/c.example/B2C_1_a", "https://c.b2clogin.com/tfp/c.example/B2C_1_b"),
        ("https://c.b2clogin.com/c.onmicrosoft.com", "https://c.b2clogin.com/c.onmicrosoft.com/B2C_1_b"),
    ])
    func `a policy replaces the policy of the authority`(authority: String, expected: String) throws {
        var type = AccountType(
            name: "t", provider: .authority(authority), clientID: "c",
            redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: [])
        type.policies = ["b": "B2C_1_b"]
        #expect(type.at(policy: "b")?.provider == .authority(expected))
        #expect(type.at(policy: "c") == nil)
    }

    @Test(arguments: [
        (#""policies":{"a":"x"}"#, "types.t.policies"),
        (#""authority":"https://c.example","policies":{"a":"x"}"#, "types.t.authority"),
        (#""authority":"https://c.example/t","policies":{"a":"x/y"}"#, "types.t.policies.a"),
        (#""authority":"https://c.example/t","policies":{"a":".."}"#, "types.t.policies.a"),
        (#""authority":"https://c.example/t","policies":{"a":""}"#, "types.t.policies.a"),
        (#""authority":"https://c.example/t","policies":["a"]"#, "types.t.policies"),
        (#""authority":"https://c.example/t","knownAuthorities":["https://x"]"#, "types.t.knownAuthorities"),
    ])
    func `invalid policies and known authorities are errors that name the key`(
        keys: String, key: String
    ) {
        let issuer = keys.contains("authority\"") ? "" : #""issuer":"https://c.example","#
        let text = #"{"types":{"t":{\#(issuer)"clientId":"c","redirectUri":"http://127.0.0.1/",\#(keys)}}}"#
        let error = #expect(throws: SettingsError.self) {
            try Settings(bytes: Array(text.utf8), source: "s.json").checkTypes()
        }
        #expect(error?.key == key)
    }
}
