import Foundation
import HTTPExchange
import LodgePlatform
import OAuth2Protocol
import StorageSuite
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import SealedStorage

/// A system that suspends apps, such as iOS.
private final class SuspendingSystem: Sendable {
    private struct State {
        var closure: (@Sendable (Bool) -> Void)?
        var isRunning = false
        var reasons: [String] = []
    }
    private let state = Mutex(State())
    private let grantsTime: Bool

    init(grantsTime: Bool = true) { self.grantsTime = grantsTime }

    /// Whether an activity keeps the app running.
    var isRunning: Bool { state.withLock(\.isRunning) }
    var reasons: [String] { state.withLock(\.reasons) }

    var begin: ExpiringActivity.Begin {
        { [self] reason, closure in
            state.withLock { state in
                state.reasons.append(reason)
                state.closure = closure
                state.isRunning = grantsTime
            }
            DetachedThread.run { [self] in
                closure(!grantsTime)
                state.withLock { $0.isRunning = false }
            }
        }
    }

    func expire() { state.withLock(\.closure)?(true) }
}

@Suite(.timeLimit(.scaled(minutes: 5)))
struct ExpiringActivityTests {
    private let system = SuspendingSystem()

    /// Returns whether the call refreshed the token.
    private func refresh(_ test: Collaborators, _ id: Account.ID) async throws -> Bool {
        let outcome = try await test.refresher.refresh(test.mainKey(id), FreshnessRequirement())
        return if case .refreshed = outcome { true } else { false }
    }

    @Test func `the app runs from the lock to the save of a refresh`() async throws {
        let test = try Collaborators(activity: system.begin)
        let id = try await test.addAccount()
        #expect(try await !refresh(test, id))
        #expect(system.reasons.isEmpty)
        test.clock.advance(3600)
        test.provider.next { [system, provider = test.provider] _ in
            #expect(system.isRunning)
            return .json(.object(try provider.issue("ada", nonce: nil)))
        }
        #expect(try await refresh(test, id))
        #expect(system.reasons == ["Refreshing a token"])
        try await until { !system.isRunning }
    }

    @Test func `an expiry before the request releases the lock, and no request is sent`() async throws {
        let storage = RecordingStorage()
        let test = try Collaborators(storage: storage, activity: system.begin)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let lock = try await storage.inner.lock("account:ada", timeout: .seconds(1))
        let waiting = Task { try await refresh(test, id) }
        try await until { storage.requestedLocks.all == ["account:ada"] }
        system.expire()
        let error = await #expect(throws: AccountStoreError.self) { try await waiting.value }
        #expect(error?.kind == .unavailable && error?.remedy == .retryLater(after: nil))
        #expect(error.map { "\($0)" }?.contains("the system is about to suspend this app") == true)
        try await until { !system.isRunning }
        lock.release()
        #expect(test.provider.refreshes == 0)
        // The app continues later.
        #expect(try await refresh(test, id))
    }

    @Test func `an expiry after the request waits for the response, and the tokens are saved`() async throws {
        let gate = Gate()
        let test = try Collaborators(activity: system.begin)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { [provider = test.provider] _ in
            try await gate.pass()
            return .json(.object(try provider.issue("ada", nonce: nil)))
        }
        let refreshing = Task { try await refresh(test, id) }
        try await gate.arrival()
        system.expire()
        for _ in 0..<100 { await Task.yield() }
        #expect(system.isRunning)
        gate.open()
        #expect(try await refreshing.value)
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
        try await until { !system.isRunning }
    }

    @Test func `without time from the system, no refresh starts`() async throws {
        let storage = RecordingStorage()
        let test = try Collaborators(storage: storage, activity: SuspendingSystem(grantsTime: false).begin)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let error = await #expect(throws: AccountStoreError.self) { try await refresh(test, id) }
        #expect(error?.remedy == .retryLater(after: nil))
        #expect(test.provider.refreshes == 0 && storage.requestedLocks.all.isEmpty)
    }

    @Test func `a cancelled refresh ends its activity`() async throws {
        let storage = RecordingStorage()
        let test = try Collaborators(storage: storage, activity: system.begin)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let lock = try await storage.inner.lock("account:ada", timeout: .seconds(1))
        let waiting = Task { try await refresh(test, id) }
        try await until { storage.requestedLocks.all == ["account:ada"] }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await until { !system.isRunning }
        lock.release()
    }
}
