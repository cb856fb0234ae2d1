import Foundation
import OAuth2Protocol
import StrictJSON
import Testing

@testable import ProviderSettings
import LodgePlatform

/// The files in `Settings/providers` of this package, from which the build creates the presets.
enum PresetFiles {
    static let root = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
    static var folder: URL { root.appending(path: "Settings/providers") }

    static func texts() throws -> [String: String] {
        var texts: [String: String] = [:]
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        where file.pathExtension == "json" {
            texts[file.deletingPathExtension().lastPathComponent] = try String(contentsOf: file, encoding: .utf8)
        }
        return texts
    }
}

@Suite struct PresetTests {
    /// Values for all keys that presets require.
    static let filling: JSONObject = [
        "tenant": "contoso", "policy": "B2C_1_signin", "domain": "example.okta.com", "host": "id.example",
        "realm": "staff", "region": "eu-central-1", "userPool": "eu-central-1_AbCdEfGhI", "clientId": "client-1",
        "clientSecret": ["environment": "SECRET"], "issuer": "https://id.example/realms/a",
    ]

    static func filling(_ preset: ProviderPreset) -> JSONObject {
        JSONObject(filling.members.filter { preset.requiredKeys.contains($0.name) })
    }

    @Test func `the build embeds every file of Settings/providers`() throws {
        let files = try PresetFiles.texts()
        #expect(files.count == 30)
        #expect(ProviderPreset.names == files.keys.sorted(), "add the file to ProviderPreset.files")
        for (name, file) in ProviderPreset.files { #expect(String(decoding: file(), as: UTF8.self) == files[name]) }
        #expect(ProviderPreset.all.map(\.name) == files.keys.sorted(), "a file is not JSON, or has no name or type")
    }

    @Test(arguments: ProviderPreset.all)
    func `each preset with its required values is a complete account type`(preset: ProviderPreset) throws {
        let type = try preset.accountType(filling: Self.filling(preset))
        #expect(type.name == preset.name && type.preset == preset.name)
        #expect(!type.clientID.isEmpty)
        #expect(preset.documentation.allSatisfy { $0.hasPrefix("https://") })
        #expect(preset.documentation.isEmpty == (preset.name == "local") && !preset.title.isEmpty)
        var addresses = type.endpoints.urls.map(\.absoluteString)
        switch type.provider {
        case .issuer(let text), .authority(let text): addresses.append(text)
        case .endpoints:
            #expect(type.endpoints.authorization != nil && type.endpoints.token != nil)
            // Without ID tokens and without this mapping, all users would share one account.
            #expect(type.userinfoClaims["sub"] != nil || type.tokenClaims["sub"] != nil)
            #expect(type.userinfoClaims.isEmpty == (type.endpoints.userinfo == nil))
        case .staticToken: Issue.record("a preset names a provider")
        }
        if let graph = type.graphAPI { addresses.append(graph.absoluteString) }
        let scheme = preset.name == "local" ? "http://127.0.0.1:8765" : "https://"
        for address in addresses {
            #expect(address.hasPrefix(scheme) && !address.contains("{"), "\(address)")
        }
        #expect(
            type.redirectURI.text.hasPrefix("http://127.0.0.1") || type.redirectURI.text.hasPrefix("http://localhost"))
        #expect(!type.scope.tokens.contains { $0.contains("{") })
        #expect(type.authorizationParameters.keys.allSatisfy { !AuthorizationRequest.protocolParameters.contains($0) })
    }

    @Test(arguments: ProviderPreset.all)
    func `a preset has the steps of a registration and reports its tests`(preset: ProviderPreset) {
        #expect(preset.registrationSteps.count >= (preset.name == "local" ? 1 : 3))
        #expect(!preset.tests.isEmpty)
        // Only servers that a machine of the tests can install are tested.
        let hasServer = ["glewlwyd", "local", "openid"].contains(preset.name)
        #expect(preset.tests[0].hasPrefix("No test uses ") != hasServer)
        for text in preset.registrationSteps + preset.notes + preset.tests {
            #expect(text.hasSuffix(".") && text.first?.isLowercase != true, "\(text)")
            // The program adds its own command lines.
            #expect(!text.contains("lodge"), "\(text)")
        }
    }

    @Test(arguments: ProviderPreset.all.filter { !$0.readsEnvironment })
    func `a preset names the redirect URI to register`(preset: ProviderPreset) throws {
        let type = try preset.accountType(filling: Self.filling(preset))
        // Google allows every port of this machine without an entry.
        guard !["google", "local"].contains(preset.name) else { return }
        #expect(preset.registrationSteps.contains { $0.contains(type.redirectURI.text) }, "\(type.redirectURI.text)")
    }

    @Test(arguments: ProviderPreset.all)
    func `a preset has only keys that settings have`(preset: ProviderPreset) throws {
        // The settings decoder checks the names of quirks separately.
        for member in preset.type.members where member.name != "quirks" {
            #expect(AccountTypeDecoder.keys.contains(member.name), "\(member.name)")
        }
        for name in preset.type["quirks"]?.array?.compactMap(\.string) ?? [] {
            #expect(TokenResponse.ResponseQuirks(name: name) != nil, "\(name)")
        }
        let text = JSONValue.object(preset.type).text()
        for placeholder in preset.placeholders {
            #expect(text.contains("{\(placeholder.name)}"), "\(placeholder.name)")
            #expect(!AccountTypeDecoder.keys.contains(placeholder.name))
        }
        #expect(!text.contains("lientSecret\""), "a secret in a preset")
    }

    @Test(arguments: ProviderPreset.all.filter { !$0.isComplete && !$0.readsEnvironment })
    func `a missing key is an error with its name and the preset`(preset: ProviderPreset) throws {
        for key in preset.requiredKeys {
            let rest = JSONObject(Self.filling(preset).members.filter { $0.name != key })
            let error = #expect(throws: SettingsError.self) { try preset.accountType(filling: rest) }
            #expect(error?.key == key && error?.found == "nothing")
            #expect(error?.hint?.actions.first as? SettingsRemedy == .showPreset(preset.name))
        }
    }

    @Test func `only the preset of the local provider is complete`() throws {
        #expect(ProviderPreset.all.filter(\.isComplete).map(\.name) == ["local"])
        let local = try #require(ProviderPreset(named: "local"))
        #expect(try local.accountType().provider == .issuer("http://127.0.0.1:8765"))
        #expect(try local.accountType(filling: ["port": "9000"]).graphAPI?.absoluteString == "http://127.0.0.1:9000/")
    }

    @Test(arguments: [
        ("entra", "https://login.microsoftonline.com/common", "https://graph.microsoft.com/"),
        ("entra-consumers", "https://login.microsoftonline.com/consumers", "https://graph.microsoft.com/"),
        ("entra-tenant", "https://login.microsoftonline.com/contoso", "https://graph.microsoft.com/"),
        ("entra-us-gov", "https://login.microsoftonline.us/organizations", "https://graph.microsoft.us/"),
        ("entra-us-dod", "https://login.microsoftonline.us/organizations", "https://dod-graph.microsoft.us/"),
        ("entra-china", "https://login.chinacloudapi.cn/organizations", "https://microsoftgraph.chinacloudapi.cn/"),
    ])
    func `each Microsoft cloud has a separate authority and Graph URL`(name: String, authority: String, graph: String)
        throws
    {
        let preset = try #require(ProviderPreset(named: name))
        let type = try preset.accountType(filling: Self.filling(preset))
        #expect(type.provider == .authority(authority))
        #expect(type.graphAPI?.absoluteString == graph)
    }

    @Test func `the authority of Azure AD B2C contains the policy, and the client ID is a scope`() throws {
        let preset = try #require(ProviderPreset(named: "azure-b2c"))
        let type = try preset.accountType(filling: Self.filling(preset))
        #expect(
            type.provider == .authority("https://contoso.b2clogin.com/contoso.onmicrosoft.com/B2C_1_signin"))
        #expect(type.scope.tokens == ["openid", "offline_access", "client-1"])
        let discovery = try Discovery(authority: "https://contoso.b2clogin.com/contoso.onmicrosoft.com/B2C_1_signin")
        #expect(
            discovery.url.absoluteString
                == "https://contoso.b2clogin.com/contoso.onmicrosoft.com/B2C_1_signin/v2.0/.well-known/openid-configuration"
        )
    }

    private func settings(_ type: String) throws -> AccountType {
        let text = #"{"types": {"mine": \#(type)}}"#
        return try #require(try Settings(bytes: Array(text.utf8), source: "settings.json").type(named: "mine"))
    }

    @Test func `keys of a type take precedence over keys of its preset`() throws {
        let plain = try settings(#"{"provider": "gitlab", "clientId": "a"}"#)
        #expect(plain.provider == .issuer("https://gitlab.com"))
        let own = try settings(
            #"{"provider": "gitlab", "host": "git.example:8443", "clientId": "a", "scopes": ["api"], "redirectUri": "http://127.0.0.1:1/x"}"#
        )
        #expect(own.provider == .issuer("https://git.example:8443"))
        #expect(own.scope.tokens == ["api"] && own.redirectURI.text == "http://127.0.0.1:1/x")
        let issuer = try settings(#"{"provider": "entra", "issuer": "https://id.example", "clientId": "a"}"#)
        #expect(issuer.provider == .issuer("https://id.example") && issuer.graphAPI != nil)
        let `public` = try settings(#"{"provider": "github", "clientId": "a", "clientAuthentication": "none"}"#)
        #expect(`public`.clientSecret == nil && `public`.clientAuthentication == AccountType.AuthenticationMethod.none)
    }

    @Test(arguments: [
        (#"{"provider": "gitHbu", "clientId": "a"}"#, "types.mine.provider", "did you mean github?"),
        (#"{"provider": 7}"#, "types.mine.provider", "list the presets"),
        (#"{"provider": "github", "clientId": "a"}"#, "types.mine.clientSecret", "see the preset github"),
        (#"{"provider": "entra-tenant", "clientId": "a"}"#, "types.mine.tenant", "see the preset entra-tenant"),
        (#"{"provider": "gitlab", "host": "a@evil.example", "clientId": "a"}"#, "types.mine.host", ""),
        (#"{"provider": "gitlab", "host": "a?x", "clientId": "a"}"#, "types.mine.host", ""),
        (#"{"provider": "entra-tenant", "tenant": "../x", "clientId": "a"}"#, "types.mine.tenant", ""),
        (#"{"provider": "gitlab", "host": "https://git.example", "clientId": "a"}"#, "types.mine.host", ""),
        (#"{"provider": "gitlab", "host": "git.example/", "clientId": "a"}"#, "types.mine.host", ""),
        (#"{"provider": "gitlab", "hots": "x", "clientId": "a"}"#, "types.mine.hots", ""),
        (
            #"{"provider": "gitlab", "clientId": "a", "userinfoClaims": {"sub": 1}}"#, "types.mine.userinfoClaims.sub",
            ""
        ),
        (#"{"provider": "gitlab", "clientId": "a", "longLivedTokens": "yes"}"#, "types.mine.longLivedTokens", ""),
    ])
    func `an error in a type based on a preset names the key`(text: String, key: String, hint: String) {
        let error = #expect(throws: SettingsError.self) { try settings(text) }
        #expect(error?.key == key, "\(String(describing: error))")
        #expect(hint.isEmpty || error?.hint?.description.contains(hint) == true, "\(String(describing: error?.hint))")
    }
}
