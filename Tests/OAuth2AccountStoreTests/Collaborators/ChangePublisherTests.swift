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

/// A storage whose log has lost its oldest changes.
private final class GapStorage: WrappedStorage {
    let inner = MemoryStorage()
    func changes(after sequence: Int64) async throws -> [StorageChange]? { nil }
}

@Suite(.timeLimit(.scaled(minutes: 5)))
struct ChangePublisherTests {
    private func next(_ count: Int, of events: AsyncStream<AccountEvent>) async -> [String] {
        var words: [String] = []
        for await event in events {
            words.append(event.word)
            if words.count == count { break }
        }
        return words
    }

    @Test func `changes of another process are published once, in the order of the log`() async throws {
        let test = try Collaborators()
        try await test.publisher.watchStorage()
        let events = test.publisher.broadcaster.stream()
        let other = try test.anotherProcess()
        let ada = try await other.insert(try test.record("ada")).id
        let bob = try await other.insert(try test.record("bob")).id
        _ = try await other.update(bob, .userData) { $0.userData = Data("[1]".utf8) }
        _ = try await other.update(ada, .tokens) { $0.tokens.scope = ["more"] }
        _ = try await other.update(ada, .signInNeeded) { $0.signInNeeded = .grantGone }
        _ = try await other.update(bob, .profile) { $0.nickname = "b" }
        let expected = ["added ada", "added bob", "data bob", "tokens ada", "lost ada", "profile bob"]
        #expect(await next(6, of: events) == expected)
        try await other.remove(bob)
        #expect(await next(1, of: events) == ["removed bob"])
        #expect(test.repository.cache[ada]?.record.signInNeeded == .grantGone)
        #expect(test.repository.cache[bob] == nil)
    }

    @Test func `changes of others are published before a later change of this store`() async throws {
        let test = try Collaborators()
        let ada = try await test.addAccount()
        await test.publisher.didSave(1)
        let events = test.publisher.broadcaster.stream()
        let other = try test.anotherProcess()
        _ = try await other.update(ada, .userData) { $0.userData = Data("[1]".utf8) }
        _ = try await other.insert(try test.record("bob"))
        _ = try await test.repository.update(ada, .profile) { $0.nickname = "a" }
        await test.publisher.didSave(try #require(test.saves.all.last))
        #expect(await next(3, of: events) == ["data ada", "added bob", "profile ada"])
    }

    @Test func `a gap in the log becomes one event for many changes and empties the cache`() async throws {
        let test = try Collaborators(storage: GapStorage())
        let ada = try await test.addAccount()
        let events = test.publisher.broadcaster.stream()
        let posted = Log<String>()
        let names: [Notification.Name] = [.accountStoreDidChangeManyAccounts, .accountStoreAccountsDidChange]
        test.publisher.poster.setObject(posted)
        let observers = names.map { name in
            NotificationCenter.default.addObserver(forName: name, object: posted, queue: nil) { notification in
                if notification.userInfo == nil { posted.append(notification.name.rawValue) }
            }
        }
        defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
        await test.publisher.didSave(1)
        #expect(await next(1, of: events) == ["many"])
        #expect(test.repository.cache[ada] == nil)
        #expect(posted.all == names.map(\.rawValue))
    }

    @Test func `a log that cannot be read is read again after a second`() async throws {
        let storage = FailingStorage()
        let test = try Collaborators(storage: storage)
        try await test.publisher.watchStorage()
        let events = test.publisher.broadcaster.stream()
        storage.change { $0.looks = 3 }
        _ = try await test.anotherProcess().insert(try test.record())
        #expect(await next(1, of: events) == ["added ada"])
        #expect(test.sleeps.all == [.seconds(1), .seconds(1), .seconds(1)])
    }

    @Test func `after ten attempts the next change publishes the missing events`() async throws {
        let storage = FailingStorage()
        let test = try Collaborators(storage: storage)
        try await test.publisher.watchStorage()
        let events = test.publisher.broadcaster.stream()
        storage.change { $0.looks = 11 }
        let other = try test.anotherProcess()
        let ada = try await other.insert(try test.record()).id
        try await until { storage.failuresLeft == 0 }
        #expect(test.sleeps.all.count == 10)
        _ = try await other.update(ada, .profile) { $0.nickname = "a" }
        #expect(await next(2, of: events) == ["added ada", "profile ada"])
    }
}
