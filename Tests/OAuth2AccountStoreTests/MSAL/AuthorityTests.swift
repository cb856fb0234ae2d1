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
import Platform

/// The tutorials' rows about authorities: B2C policies, known authorities, clouds.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct AuthorityTests {
    private static let host = "https://contoso.b2clogin.com"
    private static let tenant = "/contoso.onmicrosoft.com"

    /// A B2C tenant with two policies. Each has its own endpoints and, if wanted, its own issuer.
    private func begin(
        ownIssuers: Bool = false, _ keys: JSONObject = [:]
    ) async throws -> (ScopedProvider, AccountStore) {
        let test = try ScopedProvider()
        for policy in ["B2C_1_signin", "B2C_1_edit"] {
            let base = Self.host + Self.tenant + "/" + policy
            let issuer = Self.host + (ownIssuers ? "/tfp/t-1/\(policy.lowercased())/v2.0/" : "/t-1/v2.0/")
            test.provider.answer(
                "\(Self.tenant)/\(policy)/v2.0/.well-known/openid-configuration",
                inTurn: .grant([
                    "issuer": .string(issuer), "authorization_endpoint": .string(base + "/oauth2/v2.0/authorize"),
                    "token_endpoint": .string(base + "/oauth2/v2.0/token"), "jwks_uri": .string(Self.host + "/keys"),
                    "end_session_endpoint": .string(base + "/oauth2/v2.0/logout"),
                    "id_token_signing_alg_values_supported": ["ES256"],
                ]))
            test.serve(Self.path(policy))
        }
        var type = ScopedProvider.type([
            "issuer": .null, "authority": .string(Self.host + Self.tenant + "/B2C_1_signin"),
            "policies": ["editProfile": "B2C_1_edit"],
        ])
        for member in keys.members { type[member.name] = member.value }
        return (test, try await test.store(types: ["t": .object(type)]))
    }

    private static func path(_ policy: String) -> String { "\(tenant)/\(policy)/oauth2/v2.0/token" }

    private func signIn(
        _ test: ScopedProvider, _ store: AccountStore, policy: String? = nil, issuer: String = host + "/t-1/v2.0/"
    ) async throws -> Account {
        test.change { $0.claims = ["iss": .string(issuer)] }
        var options = SignInOptions()
        options.policy = policy
        return try await test.signIn(store, options: options)
    }

    @Test(arguments: [false, true])
    func `a B2C policy is an authority of the same type and edit-profile makes no second account`(ownIssuers: Bool)
        async throws
    {
        func issuer(_ policy: String) -> String {
            Self.host + (ownIssuers ? "/tfp/t-1/\(policy)/v2.0/" : "/t-1/v2.0/")
        }
        let (test, store) = try await begin(ownIssuers: ownIssuers)
        let ada = try await signIn(test, store, issuer: issuer("b2c_1_signin"))
        #expect(ada.policy == nil)
        #expect(test.provider.requests(to: Self.path("B2C_1_signin")).count == 1)
        var options = SignInOptions()
        options.policy = "editProfile"
        let prepared = try await store.prepareSignIn(to: "t", options: options)
        #expect(prepared.url.path() == "\(Self.tenant)/B2C_1_edit/oauth2/v2.0/authorize")
        let edited = try await signIn(test, store, policy: "editProfile", issuer: issuer("b2c_1_edit"))
        #expect(edited.id == ada.id)
        #expect(edited.policy == "editProfile")
        #expect(try await store.accounts().count == 1)
        // A refresh goes to the policy that gave the tokens.
        test.provider.advance(3600)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-3"))
        #expect(test.provider.requests(to: Self.path("B2C_1_edit")).count == 2)
        #expect(test.provider.requests(to: Self.path("B2C_1_signin")).count == 1)
        let report = try await store.signOut(ada.id, revoking: false, endingBrowserSession: true)
        #expect(report.endSessionURL?.path() == "\(Self.tenant)/B2C_1_edit/oauth2/v2.0/logout")
    }

    @Test func `a policy without a refresh token changes the profile and leaves the sign-in as it was`() async throws {
        let (test, store) = try await begin()
        let ada = try await signIn(test, store)
        test.change { $0.overlay = ["refresh_token": .null] }
        let prepared: (String, String) = ("name", "Ada L.")
        var options = SignInOptions()
        options.policy = "editProfile"
        test.change { $0.claims = ["iss": .string(Self.host + "/t-1/v2.0/"), prepared.0: .string(prepared.1)] }
        let edited = try await test.signIn(store, options: options)
        #expect(edited.id == ada.id)
        #expect(edited.displayName == "Ada L.")
        #expect(edited.policy == nil && edited.canRefresh)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
    }

    @Test func `an ID token of another tenant's policy is refused`() async throws {
        let (test, store) = try await begin()
        let error = try await grantFailure {
            try await signIn(test, store, policy: "editProfile", issuer: Self.host + "/t-2/v2.0/")
        }
        #expect(error?.kind == .invalidAnswer)
        #expect(try await store.accounts().isEmpty)
    }

    @Test func `a policy that the settings do not name is an error with the nearest one`() async throws {
        let (_, store) = try await begin()
        var options = SignInOptions()
        options.policy = "editprofil"
        let error = try await grantFailure { try await store.prepareSignIn(to: "t", options: options) }
        #expect(error?.kind == .settings)
        #expect(error?.hint == "did you mean editProfile?")
    }

    /// Neither a known authority nor a key of the settings permits another origin.
    @Test(
        arguments: [
            (["token_endpoint": "https://login.other.example/token"], [:]),
            (["token_endpoint": "https://login.other.example/token"], ["knownAuthorities": ["login.other.example"]]),
            (["token_endpoint": "https://id.example:8443/token"], [:]),
            ([:], ["tokenEndpoint": "https://id.example:8443/token"]),
            ([:], ["tokenEndpoint": "https://login.other.example/token"]),
        ] as [(JSONObject, JSONObject)])
    func `a refresh token goes to no other origin`(metadata: JSONObject, keys: JSONObject) async throws {
        let test = try ScopedProvider()
        let storage = MemoryStorage(), key = try MemoryKey()
        let ada = try await test.signIn(try await test.store(storage: storage, custody: key))
        let moved = try ScopedProvider(metadata)
        moved.change { $0.good = ["rt-1"] }
        moved.provider.advance(3600)
        let store = try await moved.store(keys, storage: storage, custody: key)
        let error = try await grantFailure { try await store.accessToken(for: ada.id) }
        #expect(moved.tokenRequests.isEmpty && moved.provider.requests(to: "/revoke").isEmpty)
        #expect(error?.kind == .settings && error?.remedy == .signInAgain)
        #expect(error?.reason.contains("https://id.example:443 issued the refresh token") == true)
        #expect(error?.hint == "restore the settings, or, if the change is right: \(AccountRemedy.signIn(type: "t"))")
        // Nothing else is sent there either.
        _ = try await store.signOut(ada.id)
        #expect(moved.tokenRequests.isEmpty && moved.provider.requests(to: "/revoke").isEmpty)
    }

    @Test func `an imported refresh token goes to no other origin after its first refresh`() async throws {
        let test = try ScopedProvider()
        let storage = MemoryStorage(), key = try MemoryKey()
        let store = try await test.store(storage: storage, custody: key)
        let ada = try await test.signIn(store)
        _ = try await store.repository.update(ada.id, .tokens) { $0.tokenOrigin = nil }
        test.provider.advance(3600)
        _ = try await store.accessToken(for: ada.id)
        let moved = try ScopedProvider(["token_endpoint": "https://login.other.example/token"])
        moved.provider.advance(7200)
        let later = try await moved.store(storage: storage, custody: key)
        let error = try await grantFailure { try await later.accessToken(for: ada.id) }
        #expect(moved.tokenRequests.isEmpty)
        #expect(error?.reason.contains("https://id.example:443 issued the refresh token") == true)
    }

    @Test func `a refresh token goes to no revocation endpoint of another origin`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store(["revocationEndpoint": "https://id.example:8443/revoke"])
        let ada = try await test.signIn(store)
        let report = try await store.signOut(ada.id)
        guard case .failed(let reason) = report.revocation else {
            Issue.record("\(report.revocation)")
            return
        }
        #expect(reason.contains("https://id.example:8443"))
        #expect(test.provider.requests(to: "/revoke").isEmpty)
    }

    @Test func `a token of another cloud's issuer is not refreshed`() async throws {
        let (test, store) = try await begin()
        let ada = try await signIn(test, store)
        _ = try await store.repository.update(ada.id, .tokens) {
            $0.issuer = "https://login.microsoftonline.us/t-1/v2.0"
        }
        test.provider.advance(3600)
        #expect(try await grantFailure { try await store.accessToken(for: ada.id) }?.kind == .settings)
        #expect(test.provider.requests(to: Self.path("B2C_1_signin")).count == 1)
    }

    @Test func `client info is asked for at Microsoft's authorities, and nowhere else`() async throws {
        let (test, store) = try await begin()
        _ = try await signIn(test, store)
        #expect(test.provider.requests(to: Self.path("B2C_1_signin")).map { $0.form["client_info"] } == ["1"])
        let other = try ScopedProvider()
        try await other.signIn(try await other.store())
        #expect(other.tokenRequests.map { $0.form["client_info"] } == [nil])
    }
}
