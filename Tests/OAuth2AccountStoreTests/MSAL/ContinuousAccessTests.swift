import Foundation
import HTTPExchange
import LodgePlatform
import OAuth2Protocol
import StrictJSON
import TestSupport
import Testing

@testable import AccountKeys
@testable import OAuth2AccountStore
@testable import ProviderSettings
@testable import SealedStorage

/// Continuous access evaluation of Microsoft Entra: capabilities, claims challenges and revoked sessions.
@Suite(.timeLimit(.scaled(minutes: 5))) struct ContinuousAccessTests {
    private static let declared = #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#
    private static let claims = #"{"access_token":{"nbf":{"essential":true,"value":"1"}}}"#
    private static let merged =
        #"{"access_token":{"nbf":{"essential":true,"value":"1"},"xms_cc":{"values":["cp1"]}}}"#
    private static let settings: JSONObject = [
        "clientCapabilities": ["cp1"], "clientSecret": "s", "resourceHosts": ["api.example"],
    ]

    private let test: ScopedProvider

    init() throws { test = try ScopedProvider() }

    /// Makes the resource reject these tokens with a claims challenge.
    private func reject(_ tokens: Set<String>) {
        let challenge =
            "Bearer realm=\"\", error=\"insufficient_claims\", claims=\"\(Data(Self.claims.utf8).base64EncodedString())\""
        test.provider.answer("/me") { received in
            let token = received.request.fields["Authorization"]?.dropFirst(7) ?? ""
            return tokens.contains(String(token))
                ? .grant([:], status: 401, ["WWW-Authenticate": challenge]) : .grant(["ok": true])
        }
    }

    private func send(_ store: AccountStore, _ account: Account) async throws -> HTTPResponse {
        try await store.send(
            HTTPRequest(.get, try #require(URL(string: "https://api.example/me"))), for: account.id)
    }

    private var sentClaims: [String?] { test.tokenRequests.map { $0.form["claims"] } }

    @Test func `the client declares its capabilities in every authorization and token request`() async throws {
        let store = try await test.store(Self.settings)
        #expect(try await test.query(store, .init())["claims"] == Self.declared)
        let ada = try await test.signIn(store)
        test.provider.advance(4000)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-2"))
        #expect(sentClaims == [Self.declared, Self.declared])
        let client = try await store.signIn(to: "t", by: .clientCredentials)
        test.provider.advance(4000)
        _ = try await store.accessToken(for: client.id)
        #expect(sentClaims == Array(repeating: Self.declared, count: 4))
    }

    @Test func `the claims of the type and of the sign-in are in the authorization request too`() async throws {
        var settings = Self.settings
        settings["claims"] = ["id_token": ["email": .null]]
        let store = try await test.store(settings)
        var options = SignInOptions()
        options.claims = Self.claims
        let sent = try await test.query(store, options)["claims"]
        #expect(
            sent == #"{"id_token":{"email":null},"access_token":{"nbf":{"essential":true,"value":"1"},"#
                + #""xms_cc":{"values":["cp1"]}}}"#)
        options.claims = nil
        options.parameters = ["claims": #"{"userinfo":{"name":null}}"#]
        #expect(
            try await test.query(store, options)["claims"]
                == #"{"id_token":{"email":null},"userinfo":{"name":null},"access_token":{"xms_cc":{"values":["cp1"]}}}"#
        )
    }

    @Test func `a challenge causes one token request with the merged claims and one replay`() async throws {
        let store = try await test.store(Self.settings)
        let ada = try await test.signIn(store)
        reject(["at-1"])
        #expect(try await send(store, ada).status == 200)
        #expect(sentClaims.last == Self.merged)
        #expect(test.provider.requests(to: "/me").count == 2 && test.refreshes.count == 1)
        // Another caller with the rejected token gets the new token without a request.
        let again = try await store.accessToken(for: ada.id, claims: Self.claims, rejected: Secret("at-1"))
        #expect(again.secret == Secret("at-2"))
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-2"))
        #expect(test.refreshes.count == 1)
    }

    @Test func `concurrent requests with a rejected token share one token request`() async throws {
        let store = try await test.store(Self.settings)
        let ada = try await test.signIn(store)
        reject(["at-1"])
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<20 { group.addTask { try await send(store, ada).status } }
            for try await status in group { #expect(status == 200) }
        }
        #expect(test.refreshes.count == 1)
    }

    @Test func `claims that require the user are saved for the next sign-in, and the rejected token is not used again`()
        async throws
    {
        let store = try await test.store(Self.settings)
        let ada = try await test.signIn(store)
        reject(["at-1"])
        test.change { $0.refusal = ["error": "interaction_required"] }
        let error = try await grantFailure { try await send(store, ada) }
        #expect(error?.kind == .signInNeeded(.interactionRequired) && error?.provider?.claims == Self.claims)
        #expect(try await store.account(ada.id)?.requiredClaims == Self.claims)
        // The refresh token is still valid.
        #expect(try await store.account(ada.id)?.signInNeeded == nil)
        test.change { $0.refusal = nil }
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-2"))
        #expect(try await store.account(ada.id)?.requiredClaims == Self.claims)
        _ = try await test.signIn(store)
        #expect(try await store.account(ada.id)?.requiredClaims == nil)
    }

    @Test func `a token that satisfies the claims later removes the saved claims`() async throws {
        let store = try await test.store(Self.settings)
        let ada = try await test.signIn(store)
        reject(["at-1", "at-2"])
        test.change { $0.refusal = ["error": "interaction_required"] }
        _ = try await grantFailure { try await send(store, ada) }
        test.change { $0.refusal = nil }
        #expect(try await send(store, ada).status == 200)
        #expect(sentClaims.suffix(2) == [Self.declared, Self.merged])
        #expect(try await store.account(ada.id)?.requiredClaims == nil)
    }

    @Test func `a revoked session is noticed at the first use, and needs a sign-in`() async throws {
        test.change { $0.overlay = ["expires_in": 100_800, "refresh_in": 50_400] }
        let store = try await test.store(Self.settings)
        let ada = try await test.signIn(store)
        test.provider.advance(20_000)
        reject(["at-1"])
        test.change {
            $0.refusal = [
                "error": "invalid_grant", "error_description": "AADSTS50173: The provided grant has expired.",
            ]
        }
        let error = try await grantFailure { try await send(store, ada) }
        #expect(error?.kind == .signInNeeded(.grantGone) && error?.provider?.claims == Self.claims)
        #expect(try await store.account(ada.id)?.signInNeeded == .grantGone)
        #expect(try await store.account(ada.id)?.requiredClaims == Self.claims)
        // The next caller gets the error without a request.
        _ = try await grantFailure { try await send(store, ada) }
        #expect(test.refreshes.count == 1 && test.provider.requests(to: "/me").count == 1)
    }

    @Test func `a token that is valid for 28 hours is not refreshed before its refresh time`() async throws {
        test.change { $0.overlay = ["expires_in": 100_800, "refresh_in": 50_400] }
        let store = try await test.store(Self.settings)
        let ada = try await test.signIn(store)
        test.provider.advance(50_000)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
        #expect(test.refreshes.isEmpty)
        test.provider.advance(1000)
        // The early refresh does not delay the caller.
        _ = try await store.accessToken(for: ada.id)
        try await until { test.refreshes.count == 1 }
    }

    @Test func `an application whose new token is rejected too is blocked by policy`() async throws {
        let store = try await test.store(Self.settings)
        let client = try await store.signIn(to: "t", by: .clientCredentials)
        reject(["at-1"])
        #expect(try await send(store, client).status == 200)
        #expect(sentClaims == [Self.declared, Self.merged])
        reject(["at-2", "at-3"])
        let error = try await grantFailure { try await send(store, client) }
        #expect(error?.kind == .denied && error?.remedy == .askAdministrator)
        #expect(error?.reason.hasPrefix("blocked by policy") == true)
        #expect(test.tokenRequests.count == 3)
        // No caller gets a rejected token again.
        #expect(try await store.accessToken(for: client.id).secret == Secret("at-4"))
        let account = try await store.account(client.id)
        #expect(account?.signInNeeded == nil && account?.requiredClaims == nil)
    }

    @Test(arguments: ["invalid_grant", "interaction_required"])
    func `an application is never told to sign in`(code: String) async throws {
        let store = try await test.store(Self.settings)
        let client = try await store.signIn(to: "t", by: .clientCredentials)
        test.provider.advance(4000)
        test.provider.answer("/token") { _ in
            .grant(
                [
                    "error": .string(code),
                    "error_description": "AADSTS53003: Access has been blocked by Conditional Access policies.",
                ], status: 400)
        }
        let error = try await grantFailure { try await store.accessToken(for: client.id) }
        #expect(error?.kind == .denied && error?.remedy == .askAdministrator)
        test.provider.answer("/token") { _ in .grantError(code) }
        let other = try await grantFailure { try await store.accessToken(for: client.id) }
        #expect(other?.kind == .denied && other?.reason.hasPrefix("blocked by policy") == true)
        #expect(try await store.account(client.id)?.signInNeeded == nil)
    }

    @Test func `an account without a refresh token needs a sign-in after a challenge`() async throws {
        test.change { $0.overlay = ["refresh_token": .null] }
        let store = try await test.store(Self.settings)
        let ada = try await test.signIn(store)
        reject(["at-1"])
        let error = try await grantFailure { try await send(store, ada) }
        #expect(error?.kind == .signInNeeded(.interactionRequired) && error?.provider?.claims == Self.claims)
        let account = try await store.account(ada.id)
        #expect(account?.signInNeeded == .noRefreshToken && account?.requiredClaims == Self.claims)
    }
}
