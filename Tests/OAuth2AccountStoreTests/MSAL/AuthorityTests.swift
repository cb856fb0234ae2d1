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

/// Authorities as in the tutorials of Microsoft's identity platform: B2C policies, known authorities and clouds.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct AuthorityTests {
    private static let host = "https://contoso.b2clogin.com"
    private static let tenant = "/contoso.onmicrosoft.com"

    /// Returns a B2C tenant with two policies. Each policy has its own endpoints and, optionally, its own issuer.
    private func begin(
        ownIssuers: Bool = false, _ keys: JSONObject = [:], storage: any AccountStorage = MemoryStorage(),
        custody: (any KeyCustody)? = nil
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
                    "revocation_endpoint": .string(base + "/oauth2/v2.0/revoke"),
                    "id_token_signing_alg_values_supported": ["ES256"],
                ]))
            test.serve(Self.path(policy))
            test.provider.answer(
                "\(Self.tenant)/\(policy)/oauth2/v2.0/revoke", inTurn: HTTPResponse(status: 200))
        }
        return (test, try await Self.store(test, keys, storage: storage, custody: custody))
    }

    /// Returns a store with the policies.
    private static func store(
        _ test: ScopedProvider, _ keys: JSONObject = [:], storage: any AccountStorage = MemoryStorage(),
        custody: (any KeyCustody)? = nil
    ) async throws -> AccountStore {
        var type = ScopedProvider.type([
            "issuer": .null, "authority": .string(host + tenant + "/B2C_1_signin"),
            "policies": ["editProfile": "B2C_1_edit"],
        ])
        for member in keys.members { type[member.name] = member.value }
        return try await test.store(types: ["t": .object(type)], storage: storage, custody: custody)
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

    /// Returns Entra's `client_info`. B2C adds the policy to the identifier of the user.
    private static func clientInfo(_ policy: String) -> JSONValue {
        .string(Base64URL.encode(Array(#"{"uid":"ada-\#(policy)","utid":"t-1"}"#.utf8)))
    }

    private static func tokenIssuer(_ policy: String, own: Bool) -> String {
        host + (own ? "/tfp/t-1/\(policy)/v2.0/" : "/t-1/v2.0/")
    }

    /// Signs in, then edits the profile.
    private func editProfile(
        ownIssuers: Bool = false, storage: any AccountStorage = MemoryStorage(), custody: (any KeyCustody)? = nil
    ) async throws -> (ScopedProvider, AccountStore, Account, Account) {
        let (test, store) = try await begin(ownIssuers: ownIssuers, storage: storage, custody: custody)
        test.change { $0.overlay = ["client_info": Self.clientInfo("b2c_1_signin")] }
        let ada = try await signIn(test, store, issuer: Self.tokenIssuer("b2c_1_signin", own: ownIssuers))
        test.change {
            $0.overlay = ["client_info": Self.clientInfo("b2c_1_edit")]
            $0.claims = [
                "iss": .string(Self.tokenIssuer("b2c_1_edit", own: ownIssuers)), "name": "Ada L.", "tfp": "B2C_1_edit",
            ]
        }
        var options = SignInOptions()
        options.policy = "editProfile"
        let edited = try await test.signIn(store, options: options)
        test.change {
            $0.claims = ["iss": .string(Self.tokenIssuer("b2c_1_signin", own: ownIssuers))]
        }
        return (test, store, ada, edited)
    }

    @Test(arguments: [false, true])
    func `a policy sign-in does not change the policy, home account and tokens of the account`(ownIssuers: Bool)
        async throws
    {
        let (test, store, ada, edited) = try await editProfile(ownIssuers: ownIssuers)
        #expect(ada.policy == nil && ada.homeAccountID == "ada-b2c_1_signin.t-1")
        #expect(edited.id == ada.id && edited.policy == nil && edited.homeAccountID == ada.homeAccountID)
        #expect(edited.issuer == ada.issuer)
        #expect(edited.displayName == "Ada L." && edited.claims?["name"] == "Ada L.")
        #expect(edited.claims?["tfp"] == nil && edited.claims?["iss"] == ada.claims?["iss"])
        #expect(try await store.accounts().count == 1)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
        // A refresh goes to the policy of the account.
        test.provider.advance(3600)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-3"))
        let sent = test.provider.requests(to: Self.path("B2C_1_signin")).map { $0.form["refresh_token"] }
        #expect(sent == [nil, "rt-1"])
        #expect(test.provider.requests(to: Self.path("B2C_1_edit")).count == 1)
        #expect(try await store.account(ada.id)?.homeAccountID == ada.homeAccountID)
        let report = try await store.signOut(ada.id, revoking: false, endingBrowserSession: true)
        #expect(report.endSessionURL?.path() == "\(Self.tenant)/B2C_1_signin/oauth2/v2.0/logout")
    }

    @Test func `a token of a policy is refreshed at that policy and does not change the account's own tokens`()
        async throws
    {
        let (test, store, ada, _) = try await editProfile(ownIssuers: true)
        #expect(try await store.accessToken(for: ada.id, policy: "editProfile").secret == Secret("at-2"))
        test.provider.advance(3600)
        test.change { $0.claims = ["iss": .string(Self.tokenIssuer("b2c_1_edit", own: true)), "name": "Edited"] }
        #expect(try await store.accessToken(for: ada.id, policy: "editProfile").secret == Secret("at-3"))
        let sent = test.provider.requests(to: Self.path("B2C_1_edit")).map { $0.form["refresh_token"] }
        #expect(sent == [nil, "rt-2"])
        let record = try #require(try await store.saved(ada.id))
        #expect(record.policy == nil && record.tokens.refreshToken == Secret("rt-1") && record.displayName == "Ada L.")
        #expect(record.policySignIns?["editProfile"]?.tokens.refreshToken == Secret("rt-3"))
        #expect(record.policySignIns?.count == 1)
        // Another token of the policy.
        let read = try await store.accessToken(for: ada.id, scopes: ["read"], policy: "editProfile")
        #expect(read.secret == Secret("at-3"))
        // A policy that no longer accepts its token does not sign the user out.
        test.provider.advance(3600)
        test.change { $0.refusal = ["error": "invalid_grant"] }
        let error = try await grantFailure { try await store.accessToken(for: ada.id, policy: "editProfile") }
        #expect(error?.kind == .signInNeeded(.grantGone))
        #expect(try await store.account(ada.id)?.signInNeeded == nil)
        test.change {
            $0.refusal = nil
            $0.claims = ["iss": .string(Self.tokenIssuer("b2c_1_signin", own: true))]
        }
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-4"))
        // A sign-in with the policy replaces its tokens.
        let again = try await signIn(
            test, store, policy: "editProfile", issuer: Self.tokenIssuer("b2c_1_edit", own: true))
        #expect(again.id == ada.id)
        #expect(try await store.accessToken(for: ada.id, policy: "editProfile").secret == Secret("at-5"))
    }

    @Test func `tokens of a policy that cannot be saved are in a rescue file`() async throws {
        let storage = try RescueStorage(), key = try MemoryKey()
        let (test, store, ada, _) = try await editProfile(storage: storage, custody: key)
        test.provider.advance(3600)
        storage.fail(.readOnly)
        let error = try await grantFailure { try await store.accessToken(for: ada.id, policy: "editProfile") }
        #expect(error?.kind == .storage(.readOnly) && storage.names.count == 1)
        storage.fail(nil)
        // Opening the store imports it.
        let next = try await Self.store(test, storage: storage, custody: key)
        let record = try #require(try await next.saved(ada.id))
        #expect(record.policySignIns?["editProfile"]?.tokens.refreshToken == Secret("rt-3"))
        #expect(record.tokens.refreshToken == Secret("rt-1") && storage.names.isEmpty)
        #expect(try await next.accessToken(for: ada.id, policy: "editProfile").secret == Secret("at-3"))
        #expect(test.provider.requests(to: Self.path("B2C_1_edit")).count == 2 && test.reuses == 0)
    }

    @Test func `unsaved tokens of the account survive a sign-in with another policy`() async throws {
        let storage = try RescueStorage(), key = try MemoryKey()
        let (test, store) = try await begin(storage: storage, custody: key)
        let ada = try await signIn(test, store)
        test.provider.advance(3600)
        storage.fail(.readOnly)
        let error = try await grantFailure { try await store.accessToken(for: ada.id) }
        #expect(error?.kind == .storage(.readOnly) && storage.names.count == 1)
        storage.fail(nil)
        _ = try await signIn(test, store, policy: "editProfile")
        let record = try #require(try await store.saved(ada.id))
        #expect(record.tokens.refreshToken == Secret("rt-2") && storage.names.isEmpty)
        #expect(record.policySignIns?["editProfile"]?.tokens.refreshToken == Secret("rt-3"))
        test.provider.advance(3600)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-4"))
        #expect(test.reuses == 0)
    }

    @Test func `rejected policy tokens do not publish that the account needs a sign-in`() async throws {
        let (test, store, ada, _) = try await editProfile()
        let events = store.events()
        test.provider.advance(3600)
        test.change { $0.refusal = ["error": "invalid_grant"] }
        _ = try await grantFailure { try await store.accessToken(for: ada.id, policy: "editProfile") }
        try await store.setUserData("end", for: ada.id)
        for await event in events {
            if case .accessTokenLost = event { Issue.record("published that the account needs a sign-in") }
            if case .userDataChanged = event { break }
        }
        #expect(try await store.account(ada.id)?.signInNeeded == nil)
    }

    @Test func `a sign-out reports the tokens of another policy that could not be revoked`() async throws {
        let (test, store, ada, _) = try await editProfile()
        test.provider.answer("\(Self.tenant)/B2C_1_edit/oauth2/v2.0/revoke") { _ in HTTPResponse(status: 503) }
        let report = try await store.signOut(ada.id)
        guard case .failed = report.revocation else {
            Issue.record("\(report.revocation)")
            return
        }
        // The tokens of the account itself are revoked.
        #expect(test.provider.requests(to: "\(Self.tenant)/B2C_1_signin/oauth2/v2.0/revoke").count == 2)
        #expect(try await store.accounts().isEmpty)
    }

    @Test func `a sign-out revokes the tokens of each policy at that policy`() async throws {
        let (test, store, ada, _) = try await editProfile()
        let report = try await store.signOut(ada.id)
        #expect(report.revocation == .succeeded)
        for (policy, tokens) in [("B2C_1_signin", ["rt-1", "at-1"]), ("B2C_1_edit", ["rt-2", "at-2"])] {
            let sent = test.provider.requests(to: "\(Self.tenant)/\(policy)/oauth2/v2.0/revoke")
            #expect(sent.map { $0.form["token"] } == tokens)
        }
        #expect(try await store.accounts().isEmpty)
    }

    @Test func `a sign-out without the network sends no revocation request to any policy`() async throws {
        let (test, store, ada, _) = try await editProfile()
        #expect(try await store.signOut(ada.id, revoking: false).revocation == .skipped)
        for policy in ["B2C_1_signin", "B2C_1_edit"] {
            #expect(test.provider.requests(to: "\(Self.tenant)/\(policy)/oauth2/v2.0/revoke").isEmpty)
        }
    }

    private func file(_ store: AccountStore) async throws -> AccountFile {
        try AccountFile(parsing: Array(try await store.export().value.utf8), source: "export")
    }

    private static func account(_ report: ImportReport) -> Account? {
        switch report.items.first?.outcome {
        case .added(let account), .updated(let account): account
        default: nil
        }
    }

    @Test func `an export has the tokens of each policy, and an import uses them`() async throws {
        let (test, store, ada, _) = try await editProfile(ownIssuers: true)
        let file = try await file(store)
        let other = try await Self.store(test)
        let account = try #require(Self.account(try await other.importAccounts(file)))
        let (old, new) = (try await store.saved(ada.id), try await other.saved(account.id))
        #expect(new?.tokens.refreshToken == Secret("rt-1") && new?.policy == nil)
        #expect(new?.policySignIns == old?.policySignIns && new?.policySignIns?.count == 1)
        guard case .unchanged? = try await other.importAccounts(file).items.first?.outcome else {
            Issue.record("a second import changes the account")
            return
        }
        #expect(try await other.accessToken(for: account.id, policy: "editProfile").secret == Secret("at-2"))
        test.provider.advance(3600)
        test.change { $0.claims = ["iss": .string(Self.tokenIssuer("b2c_1_edit", own: true))] }
        #expect(try await other.accessToken(for: account.id, policy: "editProfile").secret == Secret("at-3"))
        let sent = test.provider.requests(to: Self.path("B2C_1_edit")).map { $0.form["refresh_token"] }
        #expect(sent == [nil, "rt-2"])
        // The older tokens of the file do not replace the new ones.
        _ = try await other.importAccounts(file)
        #expect(try await other.saved(account.id)?.policySignIns?["editProfile"]?.tokens.refreshToken == Secret("rt-3"))
    }

    @Test func `an import does not replace newer tokens of a policy`() async throws {
        let (test, store, ada, _) = try await editProfile()
        let old = try await file(store)
        test.provider.advance(3600)
        _ = try await store.accessToken(for: ada.id, policy: "editProfile")
        // Newer tokens of the account's own policy, so that the import has something to do.
        _ = try await store.repository.update(ada.id, .tokens) {
            $0.tokens.accessToken = Secret("old")
            $0.tokens.refreshToken = Secret("old")
            $0.tokens.received = .distantPast
        }
        _ = try await store.importAccounts(old)
        let record = try await store.saved(ada.id)
        #expect(record?.tokens.refreshToken == Secret("rt-1"))
        #expect(record?.policySignIns?["editProfile"]?.tokens.refreshToken == Secret("rt-3"))
    }

    @Test func `an import needs every policy of the file in the settings`() async throws {
        let (test, store, _, _) = try await editProfile()
        let file = try await file(store)
        let other = try await Self.store(test, ["policies": ["other": "B2C_1_other"]])
        guard case .left(let reason)? = try await other.importAccounts(file).items.first?.outcome else {
            Issue.record("tokens of an unknown policy are imported")
            return
        }
        #expect(reason.contains("\"editProfile\""))
        #expect(try await other.accounts().isEmpty)
    }

    @Test func `an export of an account of another policy has the authority's own tokens too`() async throws {
        let (test, store) = try await begin()
        let edited = try await signIn(test, store, policy: "editProfile")
        _ = try await store.repository.update(edited.id, .tokens) {
            $0.policySignIns = ["": try $0.selected("editProfile").policySignIn]
        }
        let other = try await Self.store(test)
        let account = try #require(Self.account(try await other.importAccounts(try await file(store))))
        let record = try await other.saved(account.id)
        #expect(record?.policy == "editProfile" && record?.policySignIns?.keys.sorted() == [""])
    }

    @Test func `a forced refresh of a policy's token is sent to that policy`() async throws {
        let (test, store, ada, _) = try await editProfile()
        #expect(try await store.refreshAccessToken(for: ada.id, policy: "editProfile").secret == Secret("at-3"))
        #expect(test.provider.requests(to: Self.path("B2C_1_edit")).count == 2)
        _ = try await store.repository.update(ada.id, .tokens) {
            $0.policySignIns?["editProfile"]?.tokens.refreshToken = nil
        }
        let error = try await grantFailure { try await store.refreshAccessToken(for: ada.id, policy: "editProfile") }
        #expect(error?.kind == .signInNeeded(.noRefreshToken))
        // The token was not rejected.
        #expect(try await store.accessToken(for: ada.id, policy: "editProfile").secret == Secret("at-3"))
        let unknown = try await grantFailure { try await store.refreshAccessToken(for: ada.id, policy: "editprofil") }
        #expect(unknown?.kind == .settings)
    }

    @Test func `a token of a policy requires a sign-in with a policy of the settings`() async throws {
        let (test, store) = try await begin()
        let ada = try await signIn(test, store)
        let error = try await grantFailure { try await store.accessToken(for: ada.id, policy: "editProfile") }
        #expect(error?.kind == .signInNeeded(.interactionRequired) && error?.remedy == .signInAgain)
        #expect(error?.reason == "the account has no tokens of the policy \"editProfile\"")
        #expect(try await store.account(ada.id)?.signInNeeded == nil)
        #expect(test.provider.requests(to: Self.path("B2C_1_edit")).isEmpty)
        let unknown = try await grantFailure { try await store.accessToken(for: ada.id, policy: "editprofil") }
        #expect(unknown?.kind == .settings && unknown?.hint == "did you mean editProfile?")
    }

    @Test func `a sign-in at the authority's own policy becomes the account's`() async throws {
        let (test, store) = try await begin()
        let edited = try await signIn(test, store, policy: "editProfile")
        #expect(edited.policy == "editProfile")
        #expect(try await store.accessToken(for: edited.id, policy: "editProfile").secret == Secret("at-1"))
        let ada = try await signIn(test, store)
        #expect(ada.id == edited.id && ada.policy == nil)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-2"))
        #expect(try await store.accessToken(for: ada.id, policy: "editProfile").secret == Secret("at-1"))
    }

    @Test func `a policy sign-in without a refresh token keeps the tokens of the account`() async throws {
        let (test, store) = try await begin()
        let ada = try await signIn(test, store)
        _ = try await signIn(test, store, policy: "editProfile")
        test.change { $0.overlay = ["refresh_token": .null] }
        let edited = try await signIn(test, store, policy: "editProfile")
        #expect(edited.id == ada.id && edited.policy == nil && edited.canRefresh)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
        #expect(try await store.accessToken(for: ada.id, policy: "editProfile").secret == Secret("at-2"))
    }

    @Test func `an ID token of another tenant's policy is rejected`() async throws {
        let (test, store) = try await begin()
        let error = try await grantFailure {
            try await signIn(test, store, policy: "editProfile", issuer: Self.host + "/t-2/v2.0/")
        }
        #expect(error?.kind == .invalidAnswer)
        #expect(try await store.accounts().isEmpty)
    }

    @Test func `an unknown policy is an error that suggests the closest name`() async throws {
        let (_, store) = try await begin()
        var options = SignInOptions()
        options.policy = "editprofil"
        let error = try await grantFailure { try await store.prepareSignIn(to: "t", options: options) }
        #expect(error?.kind == .settings)
        #expect(error?.hint == "did you mean editProfile?")
    }

    /// Known authorities and settings keys do not permit another origin either.
    @Test(
        arguments: [
            (["token_endpoint": "https://login.other.example/token"], [:]),
            (["token_endpoint": "https://login.other.example/token"], ["knownAuthorities": ["login.other.example"]]),
            (["token_endpoint": "https://id.example:8443/token"], [:]),
            ([:], ["tokenEndpoint": "https://id.example:8443/token"]),
            ([:], ["tokenEndpoint": "https://login.other.example/token"]),
        ] as [(JSONObject, JSONObject)])
    func `a refresh token is not sent to another origin`(metadata: JSONObject, keys: JSONObject) async throws {
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
        // The sign-out sends no token there either.
        _ = try await store.signOut(ada.id)
        #expect(moved.tokenRequests.isEmpty && moved.provider.requests(to: "/revoke").isEmpty)
    }

    @Test func `an imported refresh token is not sent to another origin after its first refresh`() async throws {
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

    @Test func `a refresh token is not sent to a revocation endpoint of another origin`() async throws {
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

    @Test func `client_info is requested only at Microsoft authorities`() async throws {
        let (test, store) = try await begin()
        _ = try await signIn(test, store)
        #expect(test.provider.requests(to: Self.path("B2C_1_signin")).map { $0.form["client_info"] } == ["1"])
        let other = try ScopedProvider()
        try await other.signIn(try await other.store())
        #expect(other.tokenRequests.map { $0.form["client_info"] } == [nil])
    }
}
