import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StorageSuite
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Accounts as in the tutorials of Microsoft's identity platform: claims, home account, current and previous account.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct AccountIdentityTests {
    private static func clientInfo(_ text: String) -> JSONValue { .string(Base64URL.encode(Array(text.utf8))) }

    @Test func `accountClaims and preferred_username are the validated claims of the ID token`() async throws {
        let test = try ScopedProvider()
        test.change { $0.claims = ["oid": "o-1"] }
        let ada = try await test.signIn(try await test.store())
        #expect(ada.claims?["preferred_username"] == "ada@contoso.example")
        #expect(ada.claims?["oid"] == "o-1")
        #expect(ada.userName == "ada@contoso.example")
        #expect(ada.homeAccountID == nil)
    }

    @Test func `homeAccountId consists of uid and utid of client_info`() async throws {
        let test = try ScopedProvider()
        test.change { $0.overlay = ["client_info": Self.clientInfo(#"{"uid":"u-1","utid":"t-1"}"#)] }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        #expect(ada.homeAccountID == "u-1.t-1")
        #expect(try await store.account(ada.id)?.homeAccountID == "u-1.t-1")
        #expect(!"\(ada)".contains("u-1"))
    }

    @Test(arguments: [
        "\"\"", "\"!\"", "null", "1", "{}", "\"e30\"", "\"eyJ1aWQiOiJ1In0\"", "\"eyJ1aWQiOjEsInV0aWQiOjJ9\"", "\"W10\"",
    ])
    func `invalid client_info does not prevent the sign-in`(text: String) async throws {
        let test = try ScopedProvider()
        let value = try JSONValue(parsing: text)
        test.change { $0.overlay = ["client_info": value] }
        let ada = try await test.signIn(try await test.store())
        #expect(ada.homeAccountID == nil)
    }

    @Test func `a refresh replaces the claims with the claims of the new ID token`() async throws {
        let test = try ScopedProvider()
        test.change { $0.claims = ["roles": ["admin"], "name": "Ada Byron"] }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        #expect(ada.displayName == "Ada Byron")
        test.change { $0.claims = ["name": "Ada Lovelace", "preferred_username": "countess@contoso.example"] }
        test.provider.advance(3600)
        _ = try await store.accessToken(for: ada.id)
        let after = try #require(await store.account(ada.id))
        #expect(after.displayName == "Ada Lovelace")
        #expect(after.userName == "countess@contoso.example")
        #expect(after.claims?["roles"] == nil)
    }

    @Test func `claims from the userinfo response remain after a refresh`() async throws {
        let test = try ScopedProvider(["userinfo_endpoint": "https://id.example/me"])
        test.change { $0.claims = ["name": ""] }
        test.provider.answer(
            "/me", inTurn: .grant(["sub": "ada", "name": "Ada from user info", "locale": "en"]))
        let store = try await test.store()
        let ada = try await test.signIn(store)
        #expect(ada.claims?["locale"] == "en")
        test.provider.advance(3600)
        _ = try await store.accessToken(for: ada.id)
        #expect(try await store.account(ada.id)?.claims?["locale"] == "en")
    }

    @Test func `an invalid ID token of a refresh changes no claims`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        test.change { $0.claims = ["aud": "somebody-else", "name": "Mallory"] }
        test.provider.advance(3600)
        let error = try await grantFailure { try await store.accessToken(for: ada.id) }
        #expect(error?.kind == .invalidAnswer)
        #expect(try await store.account(ada.id)?.displayName == "Ada")
    }

    @Test(arguments: StorageKind.allCases)
    func `the current and the previous account are saved`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        let test = try ScopedProvider(), key = try MemoryKey()
        let store = try await test.store(storage: storage, custody: key)
        #expect(try await store.previousAccount(ofType: "t") == nil)
        let ada = try await test.signIn(store)
        #expect(try await store.previousAccount(ofType: "t") == nil)
        let bob = try await test.signIn(store, as: "bob")
        #expect(try await store.currentAccount(ofType: "t")?.id == bob.id)
        #expect(try await store.previousAccount(ofType: "t")?.id == ada.id)
        // Another sign-in of the same user does not change the previous account.
        try await test.signIn(store, as: "bob")
        #expect(try await store.previousAccount(ofType: "t")?.id == ada.id)
        try await store.makeCurrent(ada)
        let again = try await test.store(storage: storage, custody: key)
        #expect(try await again.currentAccount(ofType: "t")?.id == ada.id)
        #expect(try await again.previousAccount(ofType: "t")?.id == bob.id)
        #expect(try await again.previousAccount(ofType: "other") == nil)
        try await again.remove(bob.id)
        #expect(try await again.previousAccount(ofType: "t") == nil)
    }

    @Test func `when the current account is removed, the previous account becomes current`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        let bob = try await test.signIn(store, as: "bob")
        try await store.remove(bob.id)
        #expect(try await store.currentAccount(ofType: "t")?.id == ada.id)
        #expect(try await store.isCurrent(ada))
        #expect(try await store.previousAccount(ofType: "t") == nil)
    }

    /// A record without additional tokens, in the format of an earlier version.
    private static let oldRecord = #"""
        {"id":"a1","type":"t","issuer":"https://id.example","subject":"ada","userName":"ada@contoso.example",
        "displayName":"Ada","clientID":"client","tokenOrigin":"https://id.example:443","claimsText":"{\"sub\":\"ada\"}",
        "tokens":{"accessToken":"at-0","refreshToken":"rt-0","idToken":"x.y.z","scope":"openid read",
        "received":821692800,"lifetime":3600,"additional":"{\"ext\":1}"},"created":821692800,"userData":"WzFd"REST}
        """#

    private func insert(_ text: String, _ store: AccountStore) async throws {
        let context = Array("account-1:2:a1:1:t:1".utf8)
        let sealed = try store.repository.seal.key.seal(Array(text.utf8), authenticating: context)
        _ = try await store.storage.insert(SealedRecord(id: "a1", type: "t", revision: 1, sealed: sealed))
    }

    @Test func `a record of an earlier version can be read, used and refreshed`() async throws {
        let test = try ScopedProvider()
        test.change {
            $0.good = ["rt-0"]
            $0.consented.insert("write")
        }
        let store = try await test.store()
        try await insert(Self.oldRecord.replacing("REST", with: ""), store)
        let ada = try #require(await store.accounts().first)
        #expect(ada.subject == "ada" && ada.policy == nil && ada.homeAccountID == nil)
        #expect(try ada.userData(as: Int.self) == 1)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-0"))
        #expect(try await store.accessToken(for: ada.id, scopes: ["write"]).secret == Secret("at-1"))
        test.provider.advance(3600)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-2"))
    }

    @Test func `a record of a later version is read without the unknown members`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        try await insert(
            Self.oldRecord.replacing(
                "REST", with: #","future":{"a":[1]},"signInNeeded":"a-reason-of-tomorrow","further":[]"#), store)
        let ada = try #require(await store.account(Account.ID(rawValue: "a1")))
        #expect(ada.signInNeeded == .interactionRequired)
        #expect(try await store.damagedRecords().isEmpty)
    }
}
