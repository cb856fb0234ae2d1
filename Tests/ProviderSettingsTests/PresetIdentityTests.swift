import Foundation
import HTTPExchange
import OAuth2Protocol
import StrictJSON
import Testing

@testable import ProviderSettings
import LodgePlatform

/// Tests the claims of providers without ID tokens. The responses are from their documentation and from the vectors
/// PQ-010, PQ-011 and PQ-052.
@Suite struct PresetIdentityTests {
    private func type(_ name: String) throws -> AccountType {
        let preset = try #require(ProviderPreset(named: name))
        return try preset.accountType(filling: PresetTests.filling(preset))
    }

    private func answer(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: Data(text.utf8))
    }

    @Test(arguments: [
        (
            "github", #"{"login": "ada", "id": 17841405793187218, "name": "Ada Lovelace", "email": null}"#,
            ["sub": "17841405793187218", "preferred_username": "ada", "name": "Ada Lovelace"]
        ),
        (
            "facebook", #"{"id": "10", "name": "Ada", "email": "ada@x.example"}"#,
            ["sub": "10", "preferred_username": "ada@x.example", "name": "Ada", "email": "ada@x.example"]
        ),
        (
            "spotify", #"{"id": "a1", "display_name": "Ada", "email": "ada@x.example"}"#,
            ["sub": "a1", "preferred_username": "ada@x.example", "name": "Ada", "email": "ada@x.example"]
        ),
        (
            "slack", #"{"ok": true, "user_id": "U1", "user": "ada", "team_id": "T9"}"#,
            ["sub": "U1", "preferred_username": "ada"]
        ),
        (
            "discord", #"{"id": "80351110224678912", "username": "ada", "global_name": "Ada"}"#,
            ["sub": "80351110224678912", "preferred_username": "ada", "name": "Ada"]
        ),
        (
            "zoom", #"{"id": "z8", "email": "ada@x.example", "display_name": "Ada"}"#,
            ["sub": "z8", "preferred_username": "ada@x.example", "name": "Ada", "email": "ada@x.example"]
        ),
        (
            "atlassian", #"{"account_id": "5b:1", "email": "ada@x.example", "name": "Ada"}"#,
            ["sub": "5b:1", "preferred_username": "ada@x.example", "name": "Ada", "email": "ada@x.example"]
        ),
    ])
    func `the response of the provider identifies the user`(
        name: String, text: String, expected: [String: String]
    ) throws {
        let claims = try IdentityMapping.claims(answer(text), subject: nil, type: try type(name))
        #expect(claims.members.reduce(into: [:]) { $0[$1.name] = $1.value.string } == expected)
    }

    @Test func `a response without a subject is an error`() throws {
        // Slack sends errors with status 200.
        let slack = try type("slack")
        #expect(throws: OAuth2Error.self) {
            try IdentityMapping.claims(answer(#"{"ok": false, "error": "invalid_auth"}"#), subject: nil, type: slack)
        }
        #expect(throws: OAuth2Error.self) {
            try IdentityMapping.claims(
                answer(#"{"message": "Bad credentials"}"#, status: 401), subject: nil, type: slack)
        }
        #expect(throws: OAuth2Error.self) {
            try IdentityMapping.claims(answer(#"{"ok": true, "user_id": "U1"}"#), subject: "U2", type: slack)
        }
    }

    @Test func `a userinfo response of OpenID Connect is read without a mapping`() throws {
        let google = try type("google")
        let claims = try IdentityMapping.claims(answer(#"{"sub": "1", "id": "2"}"#), subject: "1", type: google)
        #expect(claims["sub"] == "1")
        #expect(throws: OAuth2Error.self) {
            try IdentityMapping.claims(answer(#"{"sub": "2"}"#), subject: "1", type: google)
        }
    }

    @Test func `the token response of Dropbox identifies the account`() throws {
        let tokens = try TokenResponse.read(
            answer(
                #"{"access_token": "sl", "token_type": "bearer", "expires_in": 14399, "uid": "12345", "account_id": "dbid:x"}"#
            ))
        #expect(IdentityMapping.claims(tokens, type: try type("dropbox"))?["sub"] == "dbid:x")
        #expect(IdentityMapping.claims(tokens, type: try type("google")) == nil)
        let nameless = try TokenResponse.read(answer(#"{"access_token": "sl", "token_type": "bearer"}"#))
        #expect(IdentityMapping.claims(nameless, type: try type("dropbox")) == nil)
    }

    @Test func `a claim mapping reads members of nested objects`() throws {
        var slack = try type("slack")
        slack.tokenClaims = ["sub": "authed_user.id"]
        let tokens = try TokenResponse.read(
            answer(
                #"{"ok": true, "access_token": "xoxb-1", "token_type": "bot", "authed_user": {"id": "U1", "access_token": "xoxp-2"}}"#
            ))
        #expect(IdentityMapping.claims(tokens, type: slack)?["sub"] == "U1")
    }

    @Test func `the quirks in the presets of Slack and GitHub accept their token responses`() throws {
        func quirks(_ name: String) throws -> TokenResponse.ResponseQuirks {
            let names = try #require(ProviderPreset(named: name)).type["quirks"]?.array?.compactMap(\.string) ?? []
            return names.compactMap(TokenResponse.ResponseQuirks.init(name:)).reduce(into: .providers) {
                $0.formUnion($1)
            }
        }
        // PQ-011
        let slack = try TokenResponse.read(
            answer(
                #"{"ok": true, "app_id": "A0", "authed_user": {"id": "U1", "scope": "chat:write", "access_token": "xoxp-2", "token_type": "user"}, "team": {"id": "T9"}}"#
            ), quirks: try quirks("slack"))
        #expect(slack.accessToken == Secret("xoxp-2") && slack.tokenType == "bearer")
        // PQ-001
        let github = try TokenResponse.read(
            HTTPResponse(
                status: 200, fields: ["Content-Type": "application/x-www-form-urlencoded; charset=utf-8"],
                body: Data("access_token=gho_1&scope=repo%2Cgist&token_type=bearer".utf8)),
            quirks: try quirks("github"))
        #expect(github.scope?.tokens == ["repo", "gist"] && github.refreshToken == nil)
    }
}
