import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StorageSuite
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Valid tokens: concurrent callers share one refresh, which is saved before a caller gets its result.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct TokenTests {
    @Test(arguments: StorageKind.allCases)
    func `a thousand callers share one refresh`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        test.clock.advance(3600)
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<1000 { group.addTask { try await test.token(ada.id) } }
            return try await group.reduce(into: [String: Int]()) { $0[$1, default: 0] += 1 }
        }
        #expect(tokens == ["AT-3": 1000])
        #expect(test.provider.refreshes == 1)
        #expect(try await test.savedTokens(ada.id)?.refreshToken == Secret("RT-3"))
    }

    @Test func `a token is refreshed before it expires, for a one-hour token a minute before`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3539)
        #expect(try await test.token(ada.id) == "AT-2")
        test.clock.advance(1)
        #expect(try await test.token(ada.id) == "AT-3")
    }

    @Test func `a minimum validity causes a refresh, but only one if it exceeds the token's lifetime`()
        async throws
    {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(1000)
        _ = try await test.store.accessToken(for: ada.id, minimumValidity: .seconds(2000))
        #expect(test.provider.refreshes == 0)
        _ = try await test.store.accessToken(for: ada.id, minimumValidity: .seconds(2700))
        #expect(test.provider.refreshes == 1)
        for _ in 0..<10 { _ = try await test.store.accessToken(for: ada.id, minimumValidity: .seconds(7200)) }
        #expect(test.provider.refreshes == 1)
    }

    @Test func `cancelling the caller that started a refresh does not cancel the other callers`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3600)
        let gate = Gate()
        test.provider.next { request in
            try await gate.pass()
            return try await test.provider.send(request)
        }
        let first = Task { try await test.token(ada.id) }
        try await gate.arrival()
        let others = (0..<5).map { _ in Task { try await test.token(ada.id) } }
        first.cancel()
        #expect(try await failure { try await first.value }?.kind == .cancelled)
        gate.open()
        for other in others { #expect(try await other.value == "AT-3") }
    }

    @Test func `an error reaches every caller and ends after its delay`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3600)
        let gate = Gate()
        test.provider.next { _ in
            try await gate.pass()
            return .refusal("temporarily_unavailable", status: 503)
        }
        let callers = (0..<100).map { _ in Task { try await failure { try await test.token(ada.id) } } }
        try await gate.arrival()
        try await until { await test.store.broker.refreshesInFlight.count == 1 }
        gate.open()
        for caller in callers {
            #expect(try await caller.value?.kind == .unavailable)
        }
        #expect(test.provider.refreshes == 1)
        test.clock.advance(5)
        #expect(try await test.token(ada.id).hasPrefix("AT-"))
        #expect(test.provider.refreshes == 2)
    }

    @Test func `a token that a resource rejected is refreshed once for all callers`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<200 { group.addTask { try await test.token(ada.id, rejected: "AT-2") } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens == ["AT-3"])
        #expect(test.provider.refreshes == 1)
        #expect(try await test.token(ada.id, rejected: "AT-2") == "AT-3")
        #expect(test.provider.refreshes == 1)
    }

    @Test func `a refresh keeps the values that the response does not have`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.provider.next { _ in .json(["access_token": "A2", "token_type": "bearer"]) }
        #expect(try await test.token(ada.id, rejected: "AT-2") == "A2")
        let saved = try #require(await test.savedTokens(ada.id))
        #expect(saved.refreshToken == Secret("RT-2"))
        #expect(saved.scope == ["openid", "read"])
        #expect(saved.idToken != nil)
        #expect(saved.lifetime == nil)
        test.provider.next { _ in .json(["access_token": "A3", "token_type": "bearer", "scope": "read"]) }
        test.clock.advance(3601)
        #expect(try await test.token(ada.id) == "A3")
        #expect(try await test.savedTokens(ada.id)?.scope == ["read"])
    }

    @Test func `a reopened store has the same accounts and tokens`() async throws {
        let directory = try TemporaryDirectory()
        let clock = FakeClock()
        let provider = try FakeProvider(clock: clock)
        func open() async throws -> TestStore {
            try await TestStore(
                storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store),
                provider: provider)
        }
        var accounts: [Account] = []
        do {
            let test = try await open()
            for name in ["cyd", "ada", "bob"] { try await test.signIn(name) }
            accounts = try await test.store.accounts()
            try await test.store.makeCurrent(accounts[0])
        }
        let again = try await open()
        #expect(try await again.store.accounts() == accounts)
        #expect(try await again.store.currentAccount(ofType: "graph") == accounts[0])
        #expect(try await again.token(accounts[1].id) == "AT-4")
        clock.advance(4000)
        #expect(try await again.token(accounts[1].id) == "AT-7")
    }

    @Test func `the error names the scopes that were not granted`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let error = try await failure { try await test.store.accessToken(for: ada.id, scopes: ["read", "write"]) }
        #expect(error?.kind == .signInNeeded(.scopeNotGranted))
        #expect(error?.reason == "not granted: write")
        #expect(try await test.store.accessToken(for: ada.id, scopes: ["read"]).secret == Secret("AT-2"))
    }

    @Test func `tokens that fail to save are not returned and are saved on the next call`() async throws {
        let storage = FailingStorage()
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        test.clock.advance(3600)
        storage.change { $0.replacements = 1 }
        let error = try await failure { try await test.token(ada.id) }
        #expect(error?.kind == .storage(.readOnly))
        #expect(try await test.savedTokens(ada.id)?.refreshToken == Secret("RT-2"))
        #expect(try await test.token(ada.id) == "AT-3")
        #expect(test.provider.refreshes == 1)
        #expect(try await test.savedTokens(ada.id)?.refreshToken == Secret("RT-3"))
    }

    @Test func `tokens that were saved after they expired are refreshed`() async throws {
        let storage = FailingStorage()
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        test.clock.advance(3600)
        storage.change { $0.replacements = 1 }
        _ = try await failure { try await test.token(ada.id) }
        test.clock.advance(5000)
        #expect(try await test.token(ada.id) == "AT-4")
        #expect(test.provider.refreshes == 2)
    }

    @Test func `no refresh is sent while the store is not writable`() async throws {
        let storage = FailingStorage()
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        test.clock.advance(3600)
        storage.change { $0.isReadOnly = true }
        let error = try await failure { try await test.token(ada.id) }
        #expect(error?.kind == .storage(.full))
        #expect(test.provider.refreshes == 0)
    }

    @Test func `an account removed during a refresh stays removed and its new tokens are revoked`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3600)
        let gate = Gate()
        test.provider.next { request in
            try await gate.pass()
            return try await test.provider.send(request)
        }
        let waiting = Task { try await failure { try await test.token(ada.id) } }
        try await gate.arrival()
        try await test.store.remove(ada.id)
        gate.open()
        #expect(try await waiting.value?.kind == .accountRemoved)
        #expect(try await test.store.accounts().isEmpty)
        #expect(test.provider.revoked.first == "RT-3")
        #expect(!test.store.history.hasPendingUpdates)
        #expect(try await failure { try await test.token(ada.id) }?.kind == .unknownAccount)
    }

    @Test func `a refresh does not overwrite the tokens of a concurrent sign-in`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3600)
        let gate = Gate()
        test.provider.next { request in
            try await gate.pass()
            return try await test.provider.send(request)
        }
        let waiting = Task { try await test.token(ada.id) }
        try await gate.arrival()
        try await test.signIn("ada")
        let signedIn = try await test.savedTokens(ada.id)
        gate.open()
        #expect(try await waiting.value == signedIn?.accessToken.value)
        #expect(try await test.savedTokens(ada.id) == signedIn)
    }

    @Test func `a clock set back does not require a sign-in`() async throws {
        let test = try await TestStore()
        test.provider.change { $0.rotates = false }
        let ada = try await test.signIn()
        #expect(!ada.canRefresh)
        test.clock.advance(-86_400)
        #expect(try await test.token(ada.id) == "AT-2")
    }

    @Test func `an expired token without a refresh token requires a sign-in`() async throws {
        let test = try await TestStore()
        test.provider.change { $0.rotates = false }
        let ada = try await test.signIn()
        test.clock.advance(3600)
        let error = try await failure { try await test.token(ada.id) }
        #expect(error?.kind == .signInNeeded(.noRefreshToken))
        #expect(try await test.store.account(ada.id) == ada)
    }

    @Test func `the number of cached records is limited`() async throws {
        let test = try await TestStore()
        for number in 0..<1100 {
            let record = AccountRecord(
                id: Account.ID(rawValue: "a\(number)"), type: "graph", clientID: "client",
                tokens: TokenSet(
                    try TokenResponse.read(.json(["access_token": "t", "token_type": "bearer"])), requested: [],
                    received: test.clock.now), created: test.clock.now)
            _ = try await test.store.repository.insert(record)
        }
        #expect(test.store.repository.cache.count <= 1000)
        #expect(try await test.store.accounts().count == 1100)
        #expect(try await test.token(Account.ID(rawValue: "a0")) == "t")
    }

    @Test func `a valid token is refreshed on request`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        #expect(try await test.token(ada.id) == "AT-2")
        #expect(try await test.store.refreshAccessToken(for: ada.id).secret.value == "AT-3")
        #expect(try await test.token(ada.id) == "AT-3")
        #expect(test.provider.refreshes == 1)
    }

    @Test func `the ID token is returned as the provider sent it`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let token = try #require(try await test.store.idToken(for: ada.id))
        #expect(token.value.split(separator: ".").count == 3)
        #expect(!"\(token)".contains(token.value))
        #expect(try await test.store.repository.read(ada.id)?.record.tokens.idToken == token)
        try await test.store.remove(ada.id)
        #expect(try await failure { try await test.store.idToken(for: ada.id) }?.kind == .unknownAccount)
    }

    @Test func `setting user data returns the account with it`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let saved = try await test.store.setUserData(["tea": 3], for: ada.id)
        #expect(saved.id == ada.id)
        #expect(try saved.userData(as: [String: Int].self) == ["tea": 3])
    }
}
