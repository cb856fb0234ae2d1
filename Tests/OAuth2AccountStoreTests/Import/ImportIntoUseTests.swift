import Foundation
import HTTPExchange
import OAuth2Protocol
import StorageSuite
import StoreTestSupport
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Imports into a store that has additional tokens, policies, other users or many accounts.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct ImportIntoUseTests {
    private func take(_ text: String, _ store: AccountStore) async throws -> ImportReport {
        try await store.importAccounts(try AccountFile(parsing: Array(text.utf8), source: "f"))
    }

    private func text(_ accounts: [JSONObject]) -> String {
        let file: JSONValue = [
            "format": "oauth2-accounts", "version": 1, "accounts": .array(accounts.map { .object($0) }),
        ]
        return file.text()
    }

    private func account(_ number: Int, _ more: JSONObject = [:]) -> JSONObject {
        var object: JSONObject = [
            "id": .string("id-\(number)"), "type": "graph", "clientId": "client", "subject": .string("p\(number)"),
            "issuer": "https://op.example.com", "userName": .string("p\(number)@example.com"),
            "accessToken": .string("AT-f\(number)"), "refreshToken": .string("RT-f\(number)"), "scope": "openid read",
        ]
        for member in more.members { object[member.name] = member.value }
        return object
    }

    @Test func `imported tokens replace the additional tokens and the grant of the previous sign-in`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        var token = try #require(try await test.store.saved(ada.id)).tokens
        token.key = TokenKey(scope: ["mail"])
        let additional = AdditionalTokens(all: [token])
        _ = try await test.store.repository.update(ada.id, .tokens) {
            $0.additionalTokens = additional
            $0.grant = ["openid", "read", "mail"]
        }
        // A scope that the previous grant did not have may be part of the new grant.
        test.provider.next({ _ in .refusal("invalid_scope") })
        #expect(
            try await failure { try await test.store.accessToken(for: ada.id, scopes: ["files"]) }?.kind
                == .signInNeeded(.scopeNotGranted))
        test.clock.advance(10)
        let report = try await take(text([account(1, ["subject": "ada"])]), test.store)
        guard case .updated(let updated)? = report.items.first?.outcome else {
            Issue.record("\(report.items)")
            return
        }
        #expect(updated.id == ada.id)
        let saved = try #require(try await test.store.saved(ada.id))
        #expect(saved.additionalTokens == nil && saved.grant == nil)
        test.provider.next({ _ in
            .json(["access_token": "AT-files", "token_type": "Bearer", "expires_in": 60, "scope": "files"])
        })
        #expect(try await test.store.accessToken(for: ada.id, scopes: ["files"]).secret == Secret("AT-files"))
    }

    @Test func `an export has the policy, the grant and the home account, and an import requires the policy`()
        async throws
    {
        func store(_ policies: [String: String]) async throws -> TestStore {
            var type = try TestStore.type()
            type.provider = .authority("https://contoso.b2clogin.com/contoso.onmicrosoft.com/B2C_1_signin")
            type.policies = policies
            return try await TestStore(types: [type])
        }
        let test = try await store(["edit": "B2C_1_edit"])
        _ = try await take(text([account(1)]), test.store)
        let ada = try #require(try await test.store.accounts().first)
        _ = try await test.store.repository.update(ada.id, .profile) {
            $0.policy = "edit"
            $0.grant = ["openid", "read", "mail"]
            $0.homeAccountID = "u.t"
        }
        let exported = try await test.store.export().value
        let other = try await store(["edit": "B2C_1_other_name"])
        #expect(try await take(exported, other.store).count == 1)
        let there = try #require(try await other.store.accounts().first)
        let saved = try #require(try await other.store.saved(there.id))
        #expect(saved.policy == "edit" && saved.grant == ["openid", "read", "mail"] && saved.homeAccountID == "u.t")
        // Without the policy the tokens would be sent to an authority that did not issue them.
        let third = try await store([:])
        let report = try await take(exported, third.store)
        guard case .left(let reason)? = report.items.first?.outcome else {
            Issue.record("\(report.items)")
            return
        }
        #expect(reason.contains("edit"))
    }

    @Test func `an import adds no second user to a shared device`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store(
            types: ["graph": .object(ScopedProvider.type(["clientSecret": "s"]))], ["deviceMode": "shared"])
        _ = try await store.signIn(to: "graph", by: .clientCredentials)
        let report = try await take(text([account(1), account(2)]), store)
        #expect(report.count == 1)
        guard case .left(let reason)? = report.items.last?.outcome else {
            Issue.record("\(report.items)")
            return
        }
        #expect(reason.contains("p1@example.com"))
        // The signed-in user can import newer tokens.
        #expect(try await take(text([account(1, ["refreshToken": "RT-new"])]), store).count == 1)
        #expect(try await store.accounts().map(\.subject) == [nil, "p1"])
    }

    /// A storage that counts the requests for pages of records.
    private final class CountingStorage: WrappedStorage {
        let inner = MemoryStorage()
        let pages = Mutex(0)
        func records(ofType type: String?, after position: Int64, limit: Int) async throws -> [SealedRecord] {
            pages.withLock { $0 += 1 }
            return await inner.records(ofType: type, after: position, limit: limit)
        }
    }

    @Test func `importing and exporting many accounts does not read all records for each account`() async throws {
        let storage = CountingStorage()
        let test = try await TestStore(storage: storage)
        let file = text((0..<1500).map { account($0) })
        #expect(try await take(file, test.store).count == 1500)
        #expect(
            try await take(file, test.store).items.allSatisfy {
                if case .unchanged = $0.outcome { true } else { false }
            })
        #expect(try await test.store.accounts().count == 1500)
        _ = try await test.store.export()
        #expect(storage.pages.withLock { $0 } < 50)
    }

    @Test func `an import with the same user twice adds one account`() async throws {
        let test = try await TestStore()
        let twice = [account(1), account(1, ["id": "other", "refreshToken": "RT-2", "accessToken": "AT-2"])]
        #expect(try await take(text(twice), test.store).count == 2)
        let accounts = try await test.store.accounts()
        #expect(accounts.count == 1)
        #expect(try await test.store.saved(accounts[0].id)?.tokens.refreshToken == Secret("RT-2"))
    }

    @Test func `the description of an account file contains no tokens`() throws {
        let answer = #"{"access_token": "SECRET-A", "refresh_token": "SECRET-R", "id_token": "SECRET-I"}"#
        for file in [answer, ImportSamples.msal(secret: "SECRET-M"), text([account(1, ["accessToken": "SECRET-E"])])] {
            let accounts = try AccountFile(parsing: Array(file.utf8), source: "f")
            var dumped = ""
            dump(accounts, to: &dumped)
            for words in ["\(accounts)", String(reflecting: accounts), dumped] {
                #expect(!words.contains("SECRET") && !words.contains("AT-msal") && words.contains("1 accounts"))
            }
        }
    }

    @Test func `an account with only a refresh token never returns or revokes an empty access token`() async throws {
        let test = try await TestStore()
        _ = try await take(#"{"refresh_token": "RT-only"}"#, test.store)
        let account = try #require(try await test.store.accounts().first)
        // With the clock set back, an expired token looks as if it were not yet valid.
        test.clock.advance(-30)
        #expect(try await test.store.saved(account.id)?.tokens.isFresh(at: test.clock.now, for: nil) == false)
        let report = try await test.store.signOut(account.id)
        #expect(report.revocation == .succeeded)
        #expect(test.provider.revoked == ["RT-only"])
    }

    @Test(arguments: ["DPoP", "mac", "pop"])
    func `an import skips tokens that are bound to a missing key`(type: String) async throws {
        let test = try await TestStore()
        for more in [["tokenType": .string(type)], ["tokenType": .string(type), "senderKey": "{}"]] as [JSONObject] {
            let report = try await take(text([account(1, more)]), test.store)
            guard case .left(let reason)? = report.items.first?.outcome else {
                Issue.record("\(report.items)")
                continue
            }
            #expect(reason.contains("bound to a key"))
        }
    }

    @Test func `a file with an overlong token or a duplicate member is rejected`() {
        let long = String(repeating: "a", count: AccountFile.maximumTokenSize + 1)
        for (file, location) in [
            (#"{"access_token": "\#(long)"}"#, "access_token"),
            (#"{"access_token": "mine", "access_token": "theirs"}"#, "line 1"),
        ] {
            let error = #expect(throws: AccountFileError.self) {
                _ = try AccountFile(parsing: Array(file.utf8), source: "f")
            }
            #expect(error?.location == location)
        }
    }

    @Test func `a cache with too many credentials is rejected`() {
        let members = (0...AccountFile.maximumCount).map { #""\#($0)":{}"# }.joined(separator: ",")
        let error = #expect(throws: AccountFileError.self) {
            _ = try AccountFile(parsing: Array(#"{"RefreshToken":{\#(members)}}"#.utf8), source: "f")
        }
        #expect(error?.location == "RefreshToken")
    }
}
