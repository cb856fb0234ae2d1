import Foundation
import LoopbackHTTP
import StrictJSON
import Testing

@testable import CommandLineKit
@testable import lodge

/// `token --policy` with an authority of Azure AD B2C.
@MainActor @Suite struct PolicyTokenTests {
    /// Returns a terminal whose type has two policies. The tokens of each contain its name.
    private func policies() async throws -> (Terminal, ScriptedProvider) {
        let terminal = try await Terminal()
        let provider = try ScriptedProvider()
        for policy in ["signin", "edit"] {
            let path = "/contoso/B2C_1_\(policy)"
            provider.answer(
                "\(path)/v2.0/.well-known/openid-configuration",
                """
                {"issuer": "ISSUER/tenant/v2.0/", "authorization_endpoint": "ISSUER\(path)/authorize",
                "token_endpoint": "ISSUER\(path)/token", "revocation_endpoint": "ISSUER\(path)/revoke"}
                """)
            provider.answer("\(path)/authorize") { ResourceScene.redirect($0, [:]) }
            provider.answer("\(path)/token") { request in
                let isRefresh = ResourceScene.form(request)["grant_type"] == "refresh_token"
                return ResourceScene.json(
                    """
                    {"access_token": "AT-\(policy)\(isRefresh ? "-2" : "")", "token_type": "Bearer", "expires_in": 3600,
                    "refresh_token": "RT-\(policy)", "scope": "read"}
                    """)
            }
            provider.answer("\(path)/revoke", "")
        }
        try terminal.write(
            settings: """
                {"types": {"b2c": {"authority": "\(provider.issuer)/contoso/B2C_1_signin", "clientId": "c",
                "redirectUri": "http://127.0.0.1/callback", "scopes": ["read"],
                "policies": {"edit profile": "B2C_1_edit"}}}}
                """)
        #expect(await terminal.run("sign-in").status == 0)
        return (terminal, provider)
    }

    @Test func `token --policy prints a token after a sign-in with the policy`() async throws {
        let (terminal, provider) = try await policies()
        let missing = await terminal.run("token", "--policy", "edit profile")
        #expect(missing.status == 4, "\(missing.errors)")
        #expect(missing.errors.contains("hint: lodge sign-in b2c --policy 'edit profile'\n"), "\(missing.errors)")
        #expect(await terminal.run("sign-in", "b2c", "--policy", "edit profile").status == 0)
        #expect(await terminal.run("token").output == "AT-signin\n")
        #expect(await terminal.run("token", "--policy", "edit profile").output == "AT-edit\n")
        #expect(await terminal.run("token", "--policy", "edit profile", "--refresh").output == "AT-edit-2\n")
        #expect(await terminal.run("token").output == "AT-signin\n")
        #expect(provider.requests("/contoso/B2C_1_edit/token").count == 2)
        let wrong = await terminal.run("token", "--policy", "edit profil")
        #expect(wrong.status == 8 && wrong.errors.contains("did you mean edit profile?"), "\(wrong.errors)")
        for option in ["--exchange", "--introspect"] {
            #expect(await terminal.run("token", "--policy", "edit profile", option).status == 2)
        }
    }

    @Test func `an export has the tokens of each policy, and sign-out revokes them`() async throws {
        let (terminal, provider) = try await policies()
        #expect(await terminal.run("sign-in", "b2c", "--policy", "edit profile").status == 0)
        let exported = await terminal.run("accounts", "export", "--reveal-secrets")
        let account = try JSONValue(parsing: exported.output)[path: "accounts"]?.array?.first?.object
        #expect(account?[path: "policies", "edit profile", "refreshToken"] == "RT-edit", "\(exported.output)")
        #expect(await terminal.run("sign-out").status == 0)
        for policy in ["signin", "edit"] {
            let sent = provider.requests("/contoso/B2C_1_\(policy)/revoke").map { ResourceScene.form($0)["token"] }
            #expect(sent == ["RT-\(policy)", "AT-\(policy)"])
        }
        let imported = await terminal.run("accounts", "import", input: exported.output)
        #expect(imported.status == 0, "\(imported.errors)")
        #expect(await terminal.run("token", "--policy", "edit profile").output == "AT-edit\n")
    }
}
