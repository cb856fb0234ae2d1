import Foundation
import HTTPExchange
import OAuth2Protocol
import StorageSuite
import StoreTestSupport
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite(.timeLimit(.scaled(minutes: 5)))
struct ImportTests {
    private func world(storage: any AccountStorage = MemoryStorage()) async throws -> TestStore {
        var type = try TestStore.type()
        type.provider = .endpoints
        type.scope = ["read"]
        type.endpoints = .init(
            authorization: URL(string: "https://login.microsoftonline.com/authorize"),
            token: URL(string: "https://login.microsoftonline.com/token"))
        return try await TestStore(types: [type], storage: storage)
    }

    private func take(_ text: String, _ test: TestStore, type: String? = nil) async throws -> ImportReport {
        try await test.store.importAccounts(try AccountFile(parsing: Array(text.utf8), source: "f"), toType: type)
    }

    private func words(_ report: ImportReport) -> [String] {
        report.items.map {
            switch $0.outcome {
            case .added: "added"
            case .updated: "updated"
            case .unchanged: "unchanged"
            case .left: "left"
            }
        }
    }

    private func record(_ test: TestStore, _ index: Int = 0) async throws -> AccountRecord {
        let records = try await test.store.storage.records(ofType: nil)
        return try #require(records.indices.contains(index) ? test.store.repository.seal.open(records[index]) : nil)
    }

    @Test func `an imported MSAL cache adds an account with tokens but without validated claims`() async throws {
        let test = try await world()
        let report = try await take(ImportSamples.msal(), test)
        #expect(words(report) == ["added"] && report.count == 1)
        let account = try #require(try await test.store.accounts().first)
        #expect(account.userName == "ada@contoso.com" && account.displayName == "Ada" && account.subject == "ada")
        #expect(account.claims == nil)
        #expect(account.scope == ["User.Read", "openid"])
        #expect(account.accessTokenExpiry == Date(timeIntervalSince1970: 1_768_473_000))
        #expect(try await test.token(account.id) == "AT-msal")
        let saved = try await record(test)
        #expect(saved.tokens.refreshToken == Secret("RT-msal"))
    }

    @Test(arguments: [
        ImportSamples.msal(), ImportSamples.msal(withIDToken: false), ImportSamples.msal(withRefreshToken: false),
        ImportSamples.archive, #"{"refresh_token": "RT-only"}"#,
        #"{"access_token": "AT", "token_type": "Bearer", "expires_in": 60, "refresh_token": "RT"}"#,
    ])
    func `importing a file twice changes nothing the second time`(file: String) async throws {
        let test = try await world()
        let first = try await take(file, test)
        #expect(words(first).contains("added"))
        let before = try await test.store.storage.records(ofType: nil)
        let second = try await take(file, test)
        #expect(words(second) == words(first).map { $0 == "added" ? "unchanged" : $0 })
        #expect(try await test.store.storage.records(ofType: nil) == before)
    }

    @Test func `newer tokens of the same user update the account, and older ones do not`() async throws {
        let test = try await world()
        _ = try await take(ImportSamples.msal(secret: "RT-1", withIDToken: false), test)
        #expect(words(try await take(ImportSamples.msal(secret: "RT-2", withIDToken: false), test)) == ["updated"])
        #expect(try await record(test).tokens.refreshToken == Secret("RT-2"))
        // After a refresh by the store, the tokens of the file are no longer valid.
        test.provider.next { _ in
            .json(["access_token": "AT-n", "token_type": "Bearer", "refresh_token": "RT-3", "expires_in": 60])
        }
        test.clock.advance(7200)
        let account = try #require(try await test.store.accounts().first)
        let old = Secret("AT-msal")
        #expect(try await test.store.accessToken(for: account.id, rejected: old).secret == Secret("AT-n"))
        #expect(words(try await take(ImportSamples.msal(secret: "RT-2", withIDToken: false), test)) == ["unchanged"])
        #expect(try await record(test).tokens.refreshToken == Secret("RT-3"))
        #expect(try await test.store.accounts().count == 1)
    }

    @Test func `importing tokens removes the validated claims of the account`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        #expect(ada.claims != nil)
        let token = ImportSamples.idToken("ada", issuer: "https://op.example.com")
        let file = #"""
            [{"accountType": "graph", "accessToken": {"accessToken": "AT", "responseBody": "{\"id_token\":\"TOKEN\"}"}}]
            """#
        let report = try await take(file.replacing("TOKEN", with: token), test)
        #expect(words(report) == ["updated"])
        let account = try #require(try await test.store.accounts().first)
        #expect(account.id == ada.id && account.claims == nil)
    }

    @Test func `importing an NXOAuth2 archive keeps the user data and reports skipped accounts`() async throws {
        let test = try await world()
        let report = try await take(ImportSamples.archive, test)
        #expect(words(report) == ["added", "added", "left", "left"])
        #expect(report.items.map(\.location) == (0..<4).map { "accounts[\($0)]" })
        guard case .left(let reason) = report.items[2].outcome else { return }
        #expect(reason.contains("elsewhere"))
        let accounts = try await test.store.accounts()
        #expect(try accounts[0].userData(as: [String: String].self) == ["color": "blue"])
        #expect(accounts[0].userName == "bob@contoso.com" && accounts[0].claims == nil)
        #expect(accounts[0].accessTokenExpiry == Date(timeIntervalSince1970: 1_768_473_000))
        #expect(accounts[1].scope == ["read"])
    }

    @Test func `a cache with thousands of clients that share access tokens is read in linear time`() throws {
        let count = 4000
        var access: JSONObject = [:]
        var refresh: JSONObject = [:]
        for number in 0..<count {
            let common: JSONObject = ["home_account_id": "u.t", "environment": "login.microsoftonline.com"]
            var shared = common
            shared["secret"] = .string("shared-\(number)")
            shared["expires_on"] = .string(String(1_768_473_000 + number))
            access.append("a\(number)", .object(shared))
            var own = common
            own["secret"] = .string("own-\(number)")
            own["client_id"] = .string("client-\(number)")
            refresh.append("r\(number)", .object(own))
        }
        let cache: JSONValue = ["AccessToken": .object(access), "RefreshToken": .object(refresh)]
        let start = ContinuousClock.now
        let file = try AccountFile(parsing: cache.serialized(), source: "cache")
        // A search of all shared tokens for each client took minutes.
        #expect(ContinuousClock.now - start < .seconds(TestTime.seconds(20)))
        #expect(file.entries.count == count + 1)
        // Each client gets the shared token that expires last. The other tokens are reported.
        #expect(file.entries.allSatisfy { $0.tokens.accessToken.value == "shared-\(count - 1)" })
        #expect(file.left.count == count + 1)
        #expect(file.left.allSatisfy { $0.reason.hasPrefix("\(count - 1) ") })
    }

    @Test func `an import skips accounts that do not match the settings`() async throws {
        let test = try await world()
        for (file, word) in [
            (ImportSamples.msal(client: "other"), "other"),
            (ImportSamples.msal(environment: "login.microsoftonline.us"), "login.microsoftonline.us"),
            (ImportSamples.msal(tokenType: "pop", withRefreshToken: false), "bound to a key"),
            (ImportSamples.msalClient, "client credentials"),
        ] {
            let report = try await take(file, test)
            #expect(words(report) == ["left"] && report.count == 0)
            guard case .left(let reason)? = report.items.first?.outcome else { continue }
            #expect(reason.contains(word), "\(reason)")
        }
        #expect(words(try await take(ImportSamples.msal(environment: "login.windows.net"), test)) == ["added"])
    }

    @Test func `tokens of another client or provider are not imported, even for a selected type`() async throws {
        let test = try await world()
        for (file, word) in [
            (#"{"refresh_token": "RT", "client_id": "other"}"#, "other"),
            (#"{"refresh_token": "RT", "client_id": "client", "issuer_url": "https://id.example/"}"#, "id.example"),
        ] {
            for type in [nil, "graph"] {
                let report = try await take(file, test, type: type)
                #expect(words(report) == ["left"] && report.count == 0)
                guard case .left(let reason)? = report.items.first?.outcome else { continue }
                #expect(reason.contains(word), "\(reason)")
            }
        }
        let own = #"{"refresh_token": "RT", "client_id": "client", "issuer_url": "https://login.microsoftonline.com/"}"#
        #expect(words(try await take(own, test)) == ["added"])
    }

    @Test func `an imported account without an access token is refreshed at first use`() async throws {
        let test = try await world()
        _ = try await take(#"{"refresh_token": "RT-only"}"#, test)
        test.provider.next { request in
            #expect(FakeProvider.form(request)["refresh_token"] == "RT-only")
            return .json(["access_token": "AT-1", "token_type": "Bearer", "expires_in": 60])
        }
        // The token endpoint of this type has a different path, so the provider gets no request here.
        let account = try #require(try await test.store.accounts().first)
        #expect(try await record(test).tokens.isFresh(at: test.clock.now, for: nil) == false)
        #expect(account.canRefresh)
    }

    static let bad: [(text: String, location: String)] = [
        ("", "line 1"), ("{", "line 1"), ("{\n\n,}", "line 3"), ("[1]", "[0]"), ("{}", "f: expected"),
        ("7", "an object"),
        (#"{"access_token": 7}"#, "access_token"), (#"{"access_token": "a b"}"#, "access_token"),
        (#"{"access_token": ""}"#, "access_token"), (#"{"refresh_token": "r", "expires_in": []}"#, "expires_in"),
        (#"{"RefreshToken": {"k": 7}}"#, "RefreshToken[0]"),
        (#"{"RefreshToken": {"k": {"home_account_id": "a.b", "client_id": "client"}}}"#, "RefreshToken[0].secret"),
        (#"{"AccessToken": {}, "Account": []}"#, "Account"),
        (
            #"{"AccessToken": {"k": {"home_account_id": "a.b", "secret": "s", "expires_on": "soon"}}}"#,
            "AccessToken[0].expires_on"
        ),
        (#"{"accounts": [{"identifier": "x"}]}"#, "accounts[0].accountType"),
        (#"{"accounts": [{"accountType": "graph", "accessToken": {}}]}"#, "accounts[0].accessToken.accessToken"),
        (
            #"{"accounts": [{"accountType": "graph", "accessToken": {"accessToken": "t", "expiresAt": "soon"}}]}"#,
            "accounts[0].accessToken.expiresAt"
        ),
        (#"{"format": "oauth2-accounts", "version": 2, "accounts": []}"#, "version"),
        (#"{"format": "oauth2-accounts", "version": 1}"#, "accounts"),
        (#"{"format": "oauth2-accounts", "version": 1, "accounts": [{"accessToken": "t"}]}"#, "accounts[0].type"),
    ]

    @Test(arguments: bad)
    func `an invalid file is rejected with the location of the error`(text: String, location: String) throws {
        let error = #expect(throws: AccountFileError.self) {
            _ = try AccountFile(parsing: Array(text.utf8), source: "f")
        }
        #expect(error?.description.contains(location) == true, "\(String(describing: error))")
        #expect(error?.description.contains("soon") == false && error?.description.contains("a b") == false)
    }

    @Test func `a truncated file is rejected`() async throws {
        for sample in [ImportSamples.msal(), ImportSamples.archive] {
            let bytes = Array(sample.utf8)
            for end in bytes.indices where end % 7 == 0 {
                #expect(throws: AccountFileError.self) {
                    _ = try AccountFile(parsing: Array(bytes[..<end]), source: "f")
                }
            }
        }
    }

    @Test func `if one account cannot be saved, none of the import is saved`() async throws {
        let storage = StumblingStorage()
        let test = try await world(storage: storage)
        _ = try await take(ImportSamples.msal(), test)
        let before = try await storage.records(ofType: nil).map(test.store.repository.seal.open)
        storage.stumble(atInsertion: 2)
        let error = try await failure { try await take(ImportSamples.archive, test) }
        #expect(error?.kind == .storage(.full))
        #expect(try await storage.records(ofType: nil).map(test.store.repository.seal.open) == before)
        #expect(words(try await take(ImportSamples.archive, test)) == ["added", "added", "left", "left"])
    }

    @Test func `an export is imported with its tokens, names and user data`() async throws {
        let test = try await world()
        _ = try await take(ImportSamples.archive, test)
        let first = try #require(try await test.store.accounts().first)
        _ = try await test.store.rename(first.id, to: "work")
        let text = try await test.store.export()
        #expect("\(text)" == Secret.mask)
        let other = try await world()
        #expect(words(try await take(text.value, other)) == ["added", "added"])
        #expect(words(try await take(text.value, other)) == ["unchanged", "unchanged"])
        let here = try await record(test), there = try await record(other)
        #expect(there.tokens.accessToken == here.tokens.accessToken)
        #expect(there.tokens.refreshToken == here.tokens.refreshToken && there.tokens.idToken == here.tokens.idToken)
        #expect(there.nickname == "work" && there.userName == here.userName && there.subject == here.subject)
        #expect(there.userData.flatMap { try? JSONValue(parsing: $0) } == [["color": "blue"]])
        #expect(there.claims == nil)
        // Importing it into the original store changes nothing.
        #expect(words(try await take(text.value, test)) == ["unchanged", "unchanged"])
        let one = try await test.store.export([first.id])
        #expect(try JSONValue(parsing: one.value).object?["accounts"]?.array?.count == 1)
    }

    @Test func `an account can be renamed, and an empty name restores the original one`() async throws {
        let test = try await world()
        _ = try await take(ImportSamples.archive, test)
        let accounts = try await test.store.accounts()
        #expect(try await test.store.rename(accounts[0].id, to: "work").label == "work")
        #expect(try await test.store.accounts().first?.nickname == "work")
        for name in ["Work", accounts[0].id.rawValue, "a\nb", String(repeating: "x", count: 201), "\u{202E}x"] {
            #expect(try await failure { try await test.store.rename(accounts[1].id, to: name) }?.kind == .settings)
        }
        #expect(try await test.store.rename(accounts[0].id, to: "").label == "bob@contoso.com")
        #expect(
            try await failure { try await test.store.rename(Account.ID(rawValue: "none"), to: "x") }?.kind
                == .unknownAccount)
    }
}

/// A storage that fails at a chosen insertion.
final class StumblingStorage: WrappedStorage {
    let inner = MemoryStorage()
    private let count = Counter()

    func stumble(atInsertion number: Int) { count.set(number) }

    func insert(
        _ record: SealedRecord, setting values: [String: [UInt8]]
    ) async throws -> (position: Int64, sequence: Int64) {
        if count.reachesZero() {
            throw StorageError(.full, location: location, reason: "no space", hint: "free some space")
        }
        return try await inner.insert(record, setting: values)
    }
    func watch(_ handler: @escaping @Sendable () -> Void) throws -> (any StorageLock)? { nil }
}
