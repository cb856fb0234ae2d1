import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// The behavior of MSAL's `acquireToken`, from the tutorials of Microsoft's identity platform.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct InteractiveAcquisitionTests {
    @Test func `acquireToken with promptIfNecessary sends no prompt`() async throws {
        let test = try ScopedProvider()
        #expect(try await test.query(try await test.store(), SignInOptions())["prompt"] == nil)
    }

    @Test(
        arguments: [
            (.selectAccount, "select_account"), (.login, "login"), (.consent, "consent"), (.create, "create"),
            (.none, "none"), ("own", "own"),
        ] as [(SignInOptions.Prompt, String)])
    func `acquireToken sends the given prompt`(prompt: SignInOptions.Prompt, word: String) async throws {
        let test = try ScopedProvider()
        var options = SignInOptions()
        options.prompt = [prompt]
        #expect(try await test.query(try await test.store(), options)["prompt"] == word)
    }

    @Test func `other prompts cannot be combined with none, and login_required throws signInNeeded`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        var options = SignInOptions()
        options.prompt = [.none, .login]
        #expect(try await grantFailure { try await store.prepareSignIn(to: "t", options: options) }?.kind == .settings)
        options.prompt = [.none]
        let prepared = try await store.prepareSignIn(to: "t", options: options)
        let no = "\(prepared.redirectURI.text)?error=login_required&state=\(prepared.id)"
        let error = try await grantFailure { try await store.handleRedirect(try #require(URL(string: no))) }
        #expect(error?.kind == .signInNeeded(.interactionRequired))
    }

    @Test func `signInIfNeeded signs in only without an account or after a rejected refresh token`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let hints = Log<String>()
        func account() async throws -> Account {
            try await store.signInIfNeeded(
                to: "t",
                by: .webAuthenticationSession { prepared in
                    let query = GrantProvider.query(prepared.url)
                    hints.append(query["login_hint"] ?? "none")
                    test.change { $0.nonce = query["nonce"] }
                    return try #require(
                        URL(string: "\(prepared.redirectURI.text)?code=c-\(hints.all.count)&state=\(prepared.id)"))
                })
        }
        let ada = try await account()
        #expect(try await account().id == ada.id)
        #expect(hints.all == ["none"])
        test.change { $0.refusal = ["error": "invalid_grant"] }
        await #expect(throws: AccountStoreError.self) { try await store.refreshAccessToken(for: ada.id) }
        let again = try await account()
        #expect(again.id == ada.id && again.signInNeeded == nil)
        #expect(hints.all == ["none", "ada@contoso.example"])
        var options = SignInOptions()
        options.loginHint = "bob@contoso.example"
        // Ada is signed in, so the call ignores the login hint for Bob and returns her account.
        #expect(try await store.signInIfNeeded(to: "t", options: options).id == ada.id)
        #expect(
            try await grantFailure { try await store.signInIfNeeded(to: "unknown") }?.kind == .unknownType)
    }

    @Test func `signInIfNeeded signs in after the expiry of a token without a refresh token`() async throws {
        let test = try ScopedProvider()
        test.change { $0.overlay = ["refresh_token": .null] }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        #expect(!ada.canRefresh)
        let method = SignInMethod.webAuthenticationSession { prepared in
            test.change { $0.nonce = GrantProvider.query(prepared.url)["nonce"] }
            return try #require(URL(string: "\(prepared.redirectURI.text)?code=c-2&state=\(prepared.id)"))
        }
        test.provider.advance(3599)
        #expect(try await store.signInIfNeeded(to: "t", by: method).accessTokenExpiry == ada.accessTokenExpiry)
        test.provider.advance(2)
        let again = try await store.signInIfNeeded(to: "t", by: method)
        #expect(again.id == ada.id)
        #expect(again.accessTokenExpiry != ada.accessTokenExpiry)
    }

    @Test func `validIDToken throws signInNeeded if a refresh brings no other ID token`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        let first = try #require(try await store.validIDToken(for: ada.id))
        #expect(try await store.validIDToken(for: ada.id)?.secret == first.secret)
        #expect(test.refreshes.isEmpty)
        test.change { $0.sendsIDToken = false }
        test.provider.advance(first.expiry.timeIntervalSince(test.provider.dependencies().now()) + 1)
        let error = try await grantFailure { try await store.validIDToken(for: ada.id) }
        #expect(error?.kind == .signInNeeded(.interactionRequired))
        #expect(test.refreshes.count == 1)
        test.change { $0.sendsIDToken = true }
        let new = try #require(try await store.validIDToken(for: ada.id))
        #expect(new.secret != first.secret && new.expiry > first.expiry)
    }

    @Test func `acquireToken sends login hint, domain hint and claims`() async throws {
        let test = try ScopedProvider()
        var options = SignInOptions()
        options.loginHint = "ada@contoso.example"
        options.domainHint = "contoso.example"
        options.claims = #"{"id_token":{"acr":null}}"#
        let query = try await test.query(try await test.store(), options)
        #expect(query["login_hint"] == "ada@contoso.example")
        #expect(query["domain_hint"] == "contoso.example")
        #expect(query["claims"] == options.claims)
    }

    @Test func `extraScopesToConsent are in the authorization request but not in the token request`() async throws {
        let test = try ScopedProvider()
        test.change {
            $0.consented.insert("https://vault.example/write")
            $0.namesScope = false
        }
        let store = try await test.store()
        var options = SignInOptions()
        options.extraScopesToConsent = ["https://vault.example/write"]
        #expect(try await test.query(store, options)["scope"] == "openid read https://vault.example/write")
        let ada = try await test.signIn(store, options: options)
        #expect(test.tokenRequests.map { $0.form["scope"] } == [nil])
        #expect(ada.scope == ["openid", "read"])
        // The token for these scopes is acquired later without user interaction.
        let token = try await store.accessToken(for: ada.id, scopes: ["https://vault.example/write"])
        #expect(token.secret == Secret("at-2"))
        #expect(token.scope == ["https://vault.example/write"])
    }

    @Test func `extraScopesToConsent are in the device authorization request too`() async throws {
        let test = try ScopedProvider()
        test.provider.answer(
            "/device",
            inTurn: .grant([
                "device_code": "d", "user_code": "u", "verification_uri": "https://id.example/d", "expires_in": 600,
            ]))
        let store = try await test.store()
        var options = SignInOptions()
        options.extraScopesToConsent = ["write"]
        _ = try await store.signIn(to: "t", by: .device { _ in }, options: options)
        #expect(test.provider.requests(to: "/device").map { $0.form["scope"] } == ["openid read write"])
    }
}
