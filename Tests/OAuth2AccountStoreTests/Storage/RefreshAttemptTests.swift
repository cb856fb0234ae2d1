import HTTPExchange
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

/// Refreshes without a response, and many refreshes at the same time.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct RefreshAttemptTests {
    /// Makes the provider rotate the refresh token and the connection fail before the response.
    private func loseAnswer(_ test: TestStore) {
        test.provider.next { [provider = test.provider] _ in
            provider.change { $0.grants = [:] }
            throw HTTPTransportError(.connectionLost, host: "op.example.com", reason: "broken")
        }
    }

    @Test(arguments: StorageKind.allCases)
    func `after a lost response the rejection of the old token has the reason answerLost`(kind: StorageKind)
        async throws
    {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        test.clock.advance(4000)
        loseAnswer(test)
        #expect(try await failure { try await test.token(ada.id) }?.kind == .network)
        test.clock.advance(5)
        // The journal entry applies to other processes too.
        let next = try await TestStore(storage: storage, provider: test.provider)
        #expect(try await failure { try await next.token(ada.id) }?.kind == .signInNeeded(.answerLost))
        #expect(try await next.store.account(ada.id)?.signInNeeded == .answerLost)
        #expect(try await next.signIn().id == ada.id)
        // The new sign-in removes the journal entry.
        test.clock.advance(4000)
        next.provider.next { _ in .refusal("invalid_grant") }
        #expect(try await failure { try await next.token(ada.id) }?.kind == .signInNeeded(.grantGone))
    }

    @Test func `after a lost response, a provider that accepts the old token once more needs no sign-in`() async throws
    {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(4000)
        test.provider.next { _ in throw HTTPTransportError(.timedOut, host: "op.example.com", reason: "too slow") }
        #expect(try await failure { try await test.token(ada.id) }?.kind == .network)
        test.clock.advance(5)
        #expect(try await test.token(ada.id).hasPrefix("AT-"))
        test.clock.advance(4000)
        test.provider.next { _ in .refusal("invalid_grant") }
        #expect(try await failure { try await test.token(ada.id) }?.kind == .signInNeeded(.grantGone))
    }

    @Test(
        arguments: [
            { _ in HTTPResponse.refusal("temporarily_unavailable", status: 503) },
            { _ in HTTPResponse(status: 500) }, { _ in .refusal("invalid_client") },
            { _ in throw HTTPTransportError(.cannotConnect, host: "op.example.com", reason: "refused") },
        ] as [FakeProvider.Answer])
    func `a refresh that certainly returned no tokens leaves no journal entry`(answer: @escaping FakeProvider.Answer)
        async throws
    {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(4000)
        test.provider.next(answer, { _ in .refusal("invalid_grant") })
        #expect(try await failure { try await test.token(ada.id) } != nil)
        test.clock.advance(5)
        #expect(try await failure { try await test.token(ada.id) }?.kind == .signInNeeded(.grantGone))
    }

    @Test func `a provider that returns the same tokens again leaves no journal entry`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let tokens = try #require(try await test.store.saved(ada.id)).tokens
        test.clock.advance(4000)
        test.provider.next { _ in
            .json(["access_token": .string(tokens.accessToken.value), "token_type": "Bearer", "expires_in": 60])
        }
        #expect(try await test.token(ada.id) == tokens.accessToken.value)
        test.clock.advance(4000)
        test.provider.next { _ in .refusal("invalid_grant") }
        #expect(try await failure { try await test.token(ada.id) }?.kind == .signInNeeded(.grantGone))
    }

    @Test func `a removed account leaves no journal entry`() async throws {
        let storage = MemoryStorage()
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        test.clock.advance(4000)
        _ = try await test.token(ada.id)
        #expect(await storage.value(RefreshJournal.name(ada.id))?.count == RecordIdentity.byteCount)
        try await test.store.remove(ada.id)
        #expect(await storage.value(RefreshJournal.name(ada.id)) == nil)
    }

    @Test func `the semaphore limits the number of tasks and admits them in order`() async throws {
        let gate = AsyncSemaphore(limit: 2)
        let entered = Log<Int>()
        await gate.enter()
        await gate.enter()
        var waiting: [Task<Void, Never>] = []
        for number in 0..<50 {
            waiting.append(
                Task {
                    await gate.enter()
                    entered.append(number)
                })
            // Each task waits in the queue before the next one starts.
            try await until { gate.waitingCount == number + 1 }
        }
        #expect(entered.all.isEmpty)
        for number in 0..<50 {
            gate.leave()
            await waiting[number].value
            #expect(entered.all == Array(0...number))
        }
    }

    @Test func `when many accounts expire at the same time, the refreshes are limited and all succeed`()
        async throws
    {
        let test = try await TestStore()
        var ids: [Account.ID] = []
        for number in 0..<600 { ids.append(try await test.signIn("p\(number)").id) }
        test.clock.advance(4000)
        let running = Log<Int>()
        let counter = Counting(inner: test.provider, running: running)
        let store = try await TestStore(storage: test.store.storage, provider: test.provider, transport: counter).store
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for id in ids { group.addTask { try await store.accessToken(for: id).secret.value } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(tokens.count == ids.count)
        #expect(test.provider.refreshes == ids.count)
        var now = 0, most = 0
        for step in running.all {
            now += step
            most = max(most, now)
        }
        #expect(most > 1 && most <= AccountStore.maximumRefreshesInFlight)
    }

    /// Records when refreshes start and end.
    private struct Counting: HTTPTransport {
        let inner: FakeProvider
        let running: Log<Int>

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            guard request.url.path() == "/token" else { return try await inner.send(request) }
            running.append(1)
            defer { running.append(-1) }
            for _ in 0..<20 { await Task.yield() }
            return try await inner.send(request)
        }
    }
}
