import Foundation
import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import Testing

@testable import ProviderSettings

@Suite struct SpellingTests {
    private func read(_ text: String) throws(SettingsError) -> Settings {
        let settings = try Settings(bytes: Array(text.utf8), source: "s.json")
        try settings.checkTypes()
        return settings
    }

    private func failure(_ text: String) -> SettingsError? {
        do throws(SettingsError) {
            _ = try read(text)
            return nil
        } catch { return error }
    }

    @Test func `the spelling of the code is read as the key of the file`() throws {
        let file = try read(
            #"""
            {"types": {"t": {"provider": "github", "clientId": "c", "clientSecret": "s", "redirectUri": "http://127.0.0.1/cb",
              "scopes": ["a"],
              "api-version": "beta", "longLivedTokens": true, "jwksURI": "https://id.example/keys"}}}
            """#)
        let code = try read(
            #"""
            {"types": {"t": {"preset": "github", "clientID": "c", "secret": "s", "redirectURI": "http://127.0.0.1/cb", "scope": "a",
              "graphVersion": "beta", "exchangesForLongLivedTokens": true, "jwksUri": "https://id.example/keys"}}}
            """#)
        #expect(code == file)
        let type = try #require(code["t"])
        #expect(type.clientID == "c" && type.preset == "github" && type.scope == ["a"] && type.graphVersion == "beta")
        #expect(type.endpoints.jwks?.path() == "/keys" && type.exchangesForLongLivedTokens)
    }

    @Test(arguments: [nil, "a b", ""])
    func `NXOAuth2's keys are an account type in the flat form, with or without a scope`(scope: String?) throws {
        let type = try #require(
            try read(
                #"""
                {"clientID": "c", "secret": "s", "authorizationURL": "https://id.example/authorize",
                 "tokenURL": "https://id.example/token", "redirectURL": "com.example.app:/cb", "tokenType": "Bearer",
                 "tokenRequestHTTPMethod": "GET", "customHeaderFields": {"X-App": "1"},
                 "additionalAuthenticationParameters": {"audience": "api"}\#(scope.map { #", "scope": "\#($0)""# } ?? "")}
                """#)["myGraphService"])
        #expect(type.provider == .endpoints && type.clientID == "c" && type.clientSecret == .inline(Secret("s")))
        #expect(type.endpoints.authorization?.absoluteString == "https://id.example/authorize")
        #expect(type.endpoints.token?.absoluteString == "https://id.example/token")
        #expect(type.redirectURI.text == "com.example.app:/cb" && type.tokenRequestMethod == .get)
        #expect(type.scope == (scope == "a b" ? ["a", "b"] : []))
        #expect(type.tokenHeaders == ["X-App": "1"])
        #expect(type.authorizationParameters == ["audience": "api"] && type.tokenParameters == ["audience": "api"])
    }

    @Test func `NXOAuth2's configuration key of the authorization URL is read too, and a preset in the flat form`()
        throws
    {
        let plain = try read(
            #"{"clientID": "c", "authorizeURL": "https://a.example/", "tokenURL": "https://a.example/t", "redirectURL": "com.example.app:/cb"}"#
        )
        #expect(plain.types.first?.endpoints.authorization?.host() == "a.example")
        for key in ["provider", "preset"] {
            let entra = try read(
                #"{"\#(key)": "entra-tenant", "tenant": "contoso.com", "clientId": "c", "redirectUri": "http://127.0.0.1/cb"}"#
            )
            #expect(entra.types.first?.provider == .authority("https://login.microsoftonline.com/contoso.com"))
        }
    }

    @Test(arguments: [
        ("clientId", "clientID", #""c""#), ("redirectURI", "redirectURL", #""http://127.0.0.1/cb""#),
        ("scopes", "scope", #""a""#), ("clientSecret", "secret", #""CS_s3cr3t""#),
        ("tokenURL", "tokenEndpoint", #""https://id.example/t""#),
    ])
    func `two spellings of one key are an error that names both`(one: String, other: String, value: String) throws {
        for keys in ["\"\(one)\": \(value), \"\(other)\": \(value)", "\"\(other)\": \(value), \"\(one)\": \(value)"] {
            for (path, text) in [("types.t.", #"{"types": {"t": {\#(keys)}}}"#), ("", "{\(keys)}")] {
                let error = try #require(failure(text))
                #expect(error.key == path + one || error.key == path + other)
                #expect(error.found == "both \(one) and \(other)" || error.found == "both \(other) and \(one)")
                #expect(!"\(error)".contains("s3cr3t"))
            }
        }
    }

    @Test func `an error names the key as the file spells it, and an unusable type knows its client`() throws {
        let text = #"{"types": {"t": {"issuer": "https://id.example", "clientID": "c", "redirectURI": "nonsense"}}}"#
        #expect(failure(text)?.key == "types.t.redirectURI")
        #expect(try Settings(bytes: Array(text.utf8), source: "s").unusableTypes.first?.clientID == "c")
        #expect(
            failure(#"{"types": {"t": {"issuer": "https://id.example", "redirectURI": "com.example.app:/"}}}"#)?.key
                == "types.t.clientId")
        // A preset completes the type, and does not change the spelling of its keys.
        let preset =
            #"{"types": {"t": {"provider": "github", "clientID": "c", "secret": "s", "scope": 5, "redirectURI": "com.example.app:/cb"}}}"#
        #expect(failure(preset)?.key == "types.t.scope")
    }

    @Test func `parameters of both requests exclude the parameters of one, and protocol parameters`() throws {
        let type =
            #"{"types": {"t": {"issuer": "https://id.example", "clientId": "c", "redirectUri": "com.example.app:/cb", "#
        let shared = #""additionalAuthenticationParameters": {"x": "1"}"#
        let both = try #require(failure(type + shared + #", "tokenParameters": {"y": "1"}}}}"#))
        #expect(both.key == "types.t.additionalAuthenticationParameters" && both.expected.contains("tokenParameters"))
        let state = try #require(failure(type + #""additionalAuthenticationParameters": {"state": "1"}}}}"#))
        #expect(state.key == "types.t.additionalAuthenticationParameters.state")
    }

    @Test(arguments: ["keyChainGroup", "keyChainAccessGroup"])
    func `a key of the key chain is an error that says what to do`(key: String) throws {
        let error = try #require(failure(#"{"clientID": "c", "\#(key)": "g"}"#))
        #expect(error.key == key && error.hint?.description.hasPrefix("remove it") == true)
    }

    @Test func `the scope separator divides strings, and adds the quirk of the responses`() throws {
        let type =
            #"{"types": {"t": {"issuer": "https://id.example", "clientId": "c", "redirectUri": "com.example.app:/cb", "#
        let comma = try #require(try read(type + #""scope": "read,activity:read", "scopeSeparator": ","}}}"#)["t"])
        #expect(comma.scope == ["read", "activity:read"] && comma.scopeSeparator == .comma)
        #expect(comma.responseQuirks == TokenResponse.ResponseQuirks.providers.union(.commaSeparatedScope))
        let space = try #require(try read(type + #""scope": "read,all write"}}}"#)["t"])
        #expect(space.scope == ["read,all", "write"] && space.responseQuirks == .providers)
        #expect(failure(type + #""scopeSeparator": ";"}}}"#)?.key == "types.t.scopeSeparator")
    }

    @Test func `the number of requests to each server is from 1 to 1000`() throws {
        let type =
            #"{"types": {"t": {"issuer": "https://id.example", "clientId": "c", "redirectUri": "com.example.app:/cb", "#
        #expect(try read(type + #""requestsPerOrigin": 64}}}"#)["t"]?.requestsPerOrigin == 64)
        for wrong in ["0", "1001", "1.5", "-1", "\"64\"", "1e300"] {
            #expect(
                failure(type + "\"requestsPerOrigin\": \(wrong)}}}")?.key == "types.t.requestsPerOrigin", "\(wrong)")
        }
    }

    @Test func `a type in code has the same endpoints as one of the file`() throws {
        let redirect = try RedirectURI("com.example.app:/cb")
        var type = AccountType(
            name: "t",
            endpoints: .init(
                authorization: URL(string: "https://id.example/a"), token: URL(string: "https://id.example/t")),
            clientID: "c", redirectURI: redirect, scope: ["s"])
        type.endpoints.revocation = URL(string: "https://id.example/r")
        let text = #"""
            {"types": {"t": {"authorizationEndpoint": "https://id.example/a", "tokenEndpoint": "https://id.example/t",
              "revocationEndpoint": "https://id.example/r", "clientId": "c", "redirectUri": "com.example.app:/cb", "scopes": ["s"]}}}
            """#
        #expect(try read(text)["t"] == type)
        #expect(Set(AccountType.Endpoints.all.map(\.name)) == Set(AuthorizationServer.endpointNames.map(\.name)))
    }

    @Test func `no two keys have the same spelling`() {
        let keys = SettingsKey.all.filter { $0.location != .file }
        let spellings = keys.flatMap { [$0.name] + $0.aliases }
        #expect(Set(spellings).count == spellings.count)
    }
}
