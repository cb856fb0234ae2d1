import Foundation
import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import StorageSuite
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import SealedStorage

/// A provider that responds with a transient error, or not at all, to several processes.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct FailingProviderTests {
    private let test: Collaborators
    private let processes: [Collaborators]
    private let name = "failure:ada"

    init() throws {
        test = try Collaborators()
        processes = try (0..<16).map { [test] _ in try test.process() }
    }

    /// Makes the next token request wait for a gate, and then issue tokens.
    private func hold() -> Gate {
        let gate = Gate()
        test.provider.next { [provider = test.provider] _ in
            try await gate.pass()
            return .json(.object(try provider.issue("ada", nonce: nil)))
        }
        return gate
    }

    private func tokens(_ id: Account.ID) -> [Task<Secret, any Error>] {
        processes.map { process in Task { try await process.broker.accessToken(for: id).secret } }
    }

    private func saved() async throws -> ProviderFailure? {
        try await test.storage.value(name).map { try JSONDecoder().decode(ProviderFailure.self, from: Data($0)) }
    }

    @Test func `after a 429 all processes get the error from one request`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { _ in HTTPResponse(status: 429, fields: ["Retry-After": "60"]) }
        for token in tokens(id) {
            let error = try await failure { try await token.value }
            #expect(error?.kind == .unavailable && error?.remedy == .retryLater(after: .seconds(60)))
        }
        #expect(test.provider.refreshes == 1)
        test.clock.advance(59)
        let error = try await failure { try await test.broker.accessToken(for: id) }
        #expect(error?.kind == .unavailable && error?.remedy == .retryLater(after: .seconds(1)))
        #expect(error?.reason.contains("no other was sent") == true)
        #expect(test.provider.refreshes == 1)
        test.clock.advance(1)
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-2"))
        #expect(try await saved() == nil, "a successful refresh removes the error")
    }

    @Test func `a forced refresh sends no request while the provider fails`() async throws {
        let id = try await test.addAccount()
        test.provider.next { _ in HTTPResponse(status: 503) }
        #expect(try await failure { try await test.broker.refreshedToken(for: id) }?.kind == .unavailable)
        let error = try await failure { try await processes[0].broker.refreshedToken(for: id) }
        #expect(error?.kind == .unavailable && error?.remedy == .retryLater(after: .seconds(5)))
        #expect(try await processes[1].broker.accessToken(for: id).secret == Secret("AT-1"))
        #expect(test.provider.refreshes == 1)
    }

    @Test(
        arguments: [
            (429, "86400", 900.0), (503, "0", 1), (503, nil, 5), (500, "7", 7), (504, "soon", 5),
        ] as [(Int, String?, Double)])
    func `the delay after an error follows Retry-After within limits`(status: Int, retryAfter: String?, delay: Double)
        async throws
    {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        var fields = HTTPFields()
        fields["Retry-After"] = retryAfter
        test.provider.next { [fields] _ in HTTPResponse(status: status, fields: fields) }
        _ = try await failure { try await test.broker.accessToken(for: id) }
        #expect(try await saved()?.delay == delay)
        test.clock.advance(delay - 0.5)
        _ = try await failure { try await processes[0].broker.accessToken(for: id) }
        #expect(test.provider.refreshes == 1)
        test.clock.advance(0.5)
        _ = try await processes[0].broker.accessToken(for: id)
    }

    @Test func `a clock that is set back does not extend the delay`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { _ in HTTPResponse(status: 429, fields: ["Retry-After": "60"]) }
        _ = try await failure { try await test.broker.accessToken(for: id) }
        test.clock.advance(-10)
        #expect(try await processes[0].broker.accessToken(for: id).secret == Secret("AT-2"))
    }

    @Test(
        arguments: [
            { _ in HTTPResponse.refusal("invalid_client", status: 401) }, { _ in .refusal("invalid_request") },
            { _ in .refusal("invalid_scope") }, { _ in .json(["access_token": 1]) },
            { _ in throw HTTPTransportError(.tls, host: "op.example.com", reason: "no") },
            { _ in throw HTTPTransportError(.timedOut, host: "", reason: "the time of --timeout is over") },
        ] as [FakeProvider.Answer])
    func `an error that is not transient is not saved`(answer: @escaping FakeProvider.Answer) async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next(answer)
        #expect(try await failure { try await test.broker.accessToken(for: id) } != nil)
        #expect(try await test.storage.value(name) == nil)
    }

    @Test(arguments: [HTTPTransportError.Kind.timedOut, .connectionLost, .cannotConnect, .cannotResolveHost])
    func `no response is a network error for all processes`(kind: HTTPTransportError.Kind) async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { _ in throw HTTPTransportError(kind, host: "op.example.com", reason: "no") }
        for token in tokens(id) {
            #expect(try await failure { try await token.value }?.kind == .network)
        }
        #expect(test.provider.refreshes == 1)
    }

    @Test func `the saved error has no secret and no error description`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { _ in .refusal("server_error", "RT-1 AT-1 of ada", status: 500) }
        _ = try await failure { try await test.broker.accessToken(for: id) }
        let value = try #require(try await test.storage.value(name))
        let text = String(decoding: value, as: UTF8.self)
        #expect(text.contains("500") && !text.contains("RT-1") && !text.contains("AT-1") && !text.contains("ada"))
    }

    @Test(arguments: ["", "{}", #"{"start":0,"delay":1e300,"status":503}"#, #"{"start":1,"delay":5}"#])
    func `a damaged saved error does not prevent a refresh`(text: String) async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        try await test.storage.setValue(Array(text.utf8), for: name)
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-2"))
        #expect(try await test.storage.value(name) == nil)
    }

    @Test func `a token that is still valid is returned while the provider fails`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3570)
        test.provider.next { _ in HTTPResponse(status: 503, fields: ["Retry-After": "20"]) }
        for token in tokens(id) { #expect(try await token.value == Secret("AT-1")) }
        #expect(test.provider.refreshes == 1)
        let error = try await failure {
            try await test.broker.accessToken(for: id, .main, FreshnessRequirement(validity: 600))
        }
        #expect(error?.kind == .unavailable && error?.remedy == .retryLater(after: .seconds(20)))
        #expect(test.provider.refreshes == 1)
    }

    @Test func `the error of an additional token applies to all tokens of the account`() async throws {
        let id = try await test.addAccount()
        test.provider.next { _ in HTTPResponse(status: 429, fields: ["Retry-After": "60"]) }
        func additional() async throws -> AccountStoreError? {
            try await failure { try await test.broker.accessToken(for: id, TokenKey(resource: "https://api.example")) }
        }
        #expect(try await additional()?.kind == .unavailable)
        #expect(try await additional()?.kind == .unavailable)
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-1"), "the main token is valid")
        #expect(try await failure { try await test.broker.refreshedToken(for: id) }?.kind == .unavailable)
        #expect(test.provider.refreshes == 1)
    }

    @Test func `metadata that the provider does not return is requested once`() async throws {
        let transport = Metadata(inner: test.provider)
        let first = try Collaborators(
            storage: test.storage, transport: transport, provider: test.provider, timer: test.timer)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        #expect(try await failure { try await first.broker.accessToken(for: id) }?.kind == .unavailable)
        for token in tokens(id) { #expect(try await failure { try await token.value }?.kind == .unavailable) }
        #expect(transport.requests.all.count == 1 && test.provider.requests.isEmpty)
    }

    private struct Metadata: HTTPTransport {
        let inner: FakeProvider
        let requests = Log<URL>()

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            requests.append(request.url)
            return HTTPResponse(status: 503)
        }
    }

    @Test func `a removed account leaves no saved error`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { _ in HTTPResponse(status: 503) }
        _ = try await failure { try await test.broker.accessToken(for: id) }
        #expect(try await test.storage.value(name) != nil)
        let revoker = TokenRevoker(dependencies: test.context.dependencies)
        try await AccountRemover(context: test.context, history: test.history, revoker: revoker).remove(id)
        #expect(try await test.storage.value(name) == nil)
    }

    // MARK: No response yet

    /// Starts calls of several processes whose token has this age in seconds, while the provider does not respond.
    private func callsThatWait(age: Double) async throws -> (Account.ID, Gate, [Task<Secret, any Error>]) {
        let id = try await test.addAccount()
        test.clock.advance(age)
        let gate = hold()
        let first = Task { try await test.broker.accessToken(for: id).secret }
        try await gate.arrival()
        let calls = [first] + tokens(id)
        // A process can only return a token that it has read.
        try await until {
            test.timer.waitingCount == calls.count && processes.allSatisfy { $0.repository.cache[id] != nil }
        }
        return (id, gate, calls)
    }

    @Test func `a valid token is returned after ten seconds while the provider does not respond`() async throws {
        let (id, gate, calls) = try await callsThatWait(age: 3570)
        test.timer.advance(.seconds(10))
        for token in calls { #expect(try await token.value == Secret("AT-1")) }
        gate.open()
        await test.broker.finishPendingRefreshes()
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"), "the request continues")
        for process in processes { await process.broker.finishPendingRefreshes() }
        #expect(test.provider.refreshes == 1)
    }

    @Test func `callers get an error after 30 seconds while the provider does not respond`() async throws {
        let (id, gate, calls) = try await callsThatWait(age: 3600)
        test.timer.advance(.seconds(10))
        try await until { test.timer.waitingCount == calls.count }
        test.timer.advance(.seconds(20))
        for token in calls {
            let error = try await failure { try await token.value }
            #expect(error?.kind == .network && error?.remedy == .retryLater(after: nil))
            #expect(error?.reason == "no response from the provider within 30 s")
        }
        gate.open()
        for process in [test] + processes { await process.broker.finishPendingRefreshes() }
        #expect(test.provider.refreshes == 1, "the refresh token is sent once")
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-2"), "the account remains signed in")
    }

    @Test func `a lock that another process holds too long is reported as a network error`() async throws {
        let storage = BusyStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let error = try await failure { try await test.refresher.refresh(test.mainKey(id), FreshnessRequirement()) }
        #expect(error?.kind == .network && error?.reason == "no response from the provider within 30 s")
        #expect(storage.limits.all == [.seconds(30)])
    }

    private final class BusyStorage: WrappedStorage {
        let inner = MemoryStorage()
        let limits = Log<Duration>()

        func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
            limits.append(timeout)
            throw StorageError.lockTimeout(timeout, location: "memory", hint: "wait")
        }
    }

    @Test func `a caller waits for the save of a response that arrived`() async throws {
        let storage = FailingStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        storage.change {
            $0.kind = .busy
            $0.replacements = 25
        }
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-2"))
        #expect(test.timer.uptime > 30 && test.timer.uptime < 60)
    }

    @Test func `a date in Retry-After is relative to the local clock if the response has no Date`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let date = HTTPDateText.text(test.clock.now.addingTimeInterval(40))
        test.provider.next { _ in HTTPResponse(status: 503, fields: ["Retry-After": date]) }
        let error = try await failure { try await test.broker.accessToken(for: id) }
        #expect(error?.remedy == .retryLater(after: .seconds(40)))
    }

    @Test func `a forced refresh of an expired token sends one request`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        #expect(try await test.broker.refreshedToken(for: id).secret == Secret("AT-2"))
        #expect(test.provider.refreshes == 1)
        #expect(try await test.broker.refreshedToken(for: id).secret == Secret("AT-3"))
        #expect(test.provider.refreshes == 2)
    }
}
