import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import StorageSuite
import StoreTestSupport
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import AccountKeys
@testable import OAuth2AccountStore
@testable import SealedStorage

/// A storage with its locks in a file, which the user removes before the first request.
private final class RemovedLockStorage: WrappedStorage {
    let inner = MemoryStorage()
    private let locks: FileLock
    private let once = Once()
    private let path: String

    init(path: String) {
        self.path = path
        locks = FileLock(path: path, sleep: { _ in })
    }

    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        // Real identifiers are random. This identifier is not.
        try await locks.lock(path + name, timeout: timeout)
    }

    func checkWritable() async throws { once.run { unlink(path) } }
}

@Suite(.timeLimit(.scaled(minutes: 5)))
struct TokenRefresherTests {
    private func refresh(_ test: Collaborators, _ id: Account.ID) async throws -> RefreshOutcome {
        try await test.refresher.refresh(test.mainKey(id), FreshnessRequirement())
    }

    private func refreshed(_ outcome: RefreshOutcome) -> Secret? {
        if case .refreshed(let tokens) = outcome { tokens.accessToken } else { nil }
    }

    private func found(_ outcome: RefreshOutcome) -> Secret? {
        if case .found(let tokens) = outcome { tokens.accessToken } else { nil }
    }

    @Test func `a refresh holds the account's lock from the journal entry to the save`() async throws {
        let storage = RecordingStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { [provider = test.provider] _ in
            storage.log.append("request")
            return .json(.object(try provider.issue("ada", nonce: nil)))
        }
        #expect(refreshed(try await refresh(test, id)) == Secret("AT-2"))
        #expect(
            storage.log.all == [
                "lock account:ada", "write attempt:ada", "confirm account:ada", "request", "replace ada",
                "release account:ada",
            ])
        let saved = try #require(try await test.saved(id)).tokens
        #expect(saved.accessToken == Secret("AT-2") && saved.refreshToken == Secret("RT-2"))
        #expect(saved.received == test.clock.now)
    }

    @Test func `endRefreshes waits until the refresh has released its lock`() async throws {
        let gate = Gate()
        let storage = RecordingStorage(endGate: gate)
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let refreshing = Task { try await refresh(test, id) }
        // The tokens are saved, but the lock has not ended yet.
        try await gate.arrival()
        let ending = Task {
            _ = await test.broker.endRefreshes()
            storage.log.append("ended")
        }
        try await until { test.history.isEnding }
        for _ in 0..<100 { await Task.yield() }
        gate.open()
        await ending.value
        #expect(refreshed(try await refreshing.value) == Secret("AT-2"))
        let log = storage.log.all
        let release = try #require(log.firstIndex(of: "release account:ada"))
        #expect(try #require(log.firstIndex(of: "ended")) > release)
        // The second call finds no lock to release.
        _ = await test.broker.endRefreshes()
        #expect(
            storage.log.all.filter { $0.hasPrefix("release") }.count == log.filter { $0.hasPrefix("release") }.count)
    }

    @Test func `a refresh that loses its lock before the request sends no request`() async throws {
        let directory = try TemporaryDirectory()
        let test = try Collaborators(storage: RemovedLockStorage(path: directory.path + "/lock"))
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let error = await #expect(throws: AccountStoreError.self) { try await refresh(test, id) }
        #expect(error?.kind == .storage(.busy))
        #expect(error?.remedy == .retryLater(after: nil))
        #expect(test.provider.refreshes == 0)
        // The next refresh locks the new file.
        #expect(refreshed(try await refresh(test, id)) == Secret("AT-2"))
    }

    @Test func `tokens that another process refreshed are found without a request`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let new = try test.tokens(["access_token": "theirs", "token_type": "Bearer", "expires_in": 3600])
        _ = try await test.anotherProcess().update(id, .tokens) { $0.tokens = new }
        #expect(found(try await refresh(test, id)) == Secret("theirs"))
        #expect(test.provider.refreshes == 0)
        #expect(test.repository.cache[id]?.record.tokens == new)
    }

    @Test func `tokens that another process refreshed while this one waited for the lock are found`() async throws {
        let storage = RecordingStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let lock = try await storage.inner.lock("account:ada", timeout: .seconds(1))
        let waiting = Task { try await refresh(test, id) }
        let new = try test.tokens(["access_token": "theirs", "token_type": "Bearer", "expires_in": 3600])
        // The refresher has read the record and waits for the lock.
        try await until { storage.requestedLocks.all == ["account:ada"] }
        _ = try await test.anotherProcess().update(id, .tokens) { $0.tokens = new }
        lock.release()
        #expect(found(try await waiting.value) == Secret("theirs"))
        #expect(test.provider.refreshes == 0)
    }

    @Test func `tokens that fail to save are not returned and are saved by the next refresh`() async throws {
        let storage = FailingStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        storage.change {
            $0.kind = .readOnly
            $0.replacements = 1
        }
        let error = try await failure { try await refresh(test, id) }
        #expect(error?.kind == .storage(.readOnly))
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-1"))
        #expect(test.history.hasPendingUpdates)
        #expect(found(try await refresh(test, id)) == Secret("AT-2"))
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
        #expect(!test.history.hasPendingUpdates)
        #expect(test.provider.refreshes == 1)
    }

    @Test func `unsaved tokens do not replace tokens of a later sign-in with the same refresh token`() async throws {
        let storage = FailingStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { _ in .json(["access_token": "old", "token_type": "Bearer", "expires_in": 3600]) }
        storage.change {
            $0.kind = .readOnly
            $0.replacements = 1
        }
        #expect(try await failure { try await refresh(test, id) }?.kind == .storage(.readOnly))
        let new = try test.tokens(
            ["access_token": "new", "token_type": "Bearer", "refresh_token": "RT-1", "expires_in": 3600])
        _ = try await test.anotherProcess().update(id, .profile) { $0.tokens = new }
        try await test.refresher.rescue.savePendingUpdate(id)
        #expect(try await test.saved(id)?.tokens == new)
        #expect(!test.history.hasPendingUpdates)
    }

    @Test(arguments: [StorageError.Kind.busy, .full, .other])
    func `a save that fails because of another process or the disk is retried`(kind: StorageError.Kind) async throws {
        let storage = FailingStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        storage.change {
            $0.kind = kind
            $0.replacements = 3
        }
        _ = try await refresh(test, id)
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
        #expect(!test.history.hasPendingUpdates)
        #expect(test.provider.refreshes == 1)
    }

    @Test func `the tokens of an account that was removed during its refresh are revoked`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { [provider = test.provider, storage = test.storage] _ in
            _ = try await storage.remove("ada")
            return .json(.object(try provider.issue("ada", nonce: nil)))
        }
        let error = try await failure { try await refresh(test, id) }
        #expect(error?.kind == .accountRemoved)
        #expect(test.provider.revoked == ["RT-2", "AT-2"])
        #expect(!test.history.hasPendingUpdates)
    }

    @Test func `the tokens of a sign-in during the refresh are not overwritten`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let new = try test.tokens(
            ["access_token": "theirs", "token_type": "Bearer", "refresh_token": "R", "expires_in": 3600])
        let other = try test.anotherProcess()
        test.provider.next { [provider = test.provider] _ in
            _ = try await other.update(id, .profile) { $0.tokens = new }
            return .json(.object(try provider.issue("ada", nonce: nil)))
        }
        #expect(found(try await refresh(test, id)) == Secret("theirs"))
        #expect(try await test.saved(id)?.tokens == new)
        #expect(!test.history.hasPendingUpdates)
    }

    @Test func `a rejected refresh marks the account only if it still has the rejected token`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.clock.advance(3600)
        test.provider.next { _ in .refusal("invalid_grant") }
        let error = try await failure { try await refresh(test, id) }
        #expect(error?.kind == .signInNeeded(.grantGone))
        #expect(try await test.saved(id)?.signInNeeded == .grantGone)
        #expect(try await test.storage.value("attempt:ada") == nil)
    }

    @Test func `a transient error returns the current token while it is valid`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.clock.advance(3570)
        test.provider.next { _ in HTTPResponse(status: 503) }
        guard case .kept(let tokens, let error as AccountStoreError) = try await refresh(test, id) else {
            Issue.record("expected the current tokens and the error")
            return
        }
        #expect(tokens.accessToken == Secret("AT-1") && error.kind == .unavailable)
        #expect(try await test.saved(id)?.signInNeeded == nil)
    }
}
