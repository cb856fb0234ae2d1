import Foundation
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

extension AccountEvent {
    /// The event as a word, with its account.
    var word: String {
        switch self {
        case .added(let account): "added \(account.subject ?? "")"
        case .removed(let id, _): "removed \(id)"
        case .accessTokenChanged(let account): "tokens \(account.subject ?? "")"
        case .accessTokenLost(let account): "lost \(account.subject ?? "")"
        case .userDataChanged(let account): "data \(account.subject ?? "")"
        case .profileChanged(let account): "profile \(account.subject ?? "")"
        case .signInFailed(let type, _): "sign-in failed \(type)"
        case .accessTokenFailed(let account, _): "failed \(account.subject ?? "")"
        case .manyChanges: "many"
        }
    }
}

@Suite(.timeLimit(.scaled(minutes: 5)))
struct EventTests {
    private func next(_ count: Int, of events: AsyncStream<AccountEvent>) async -> [String] {
        var words: [String] = []
        for await event in events {
            words.append(event.word)
            if words.count == count { break }
        }
        return words
    }

    @Test(arguments: StorageKind.allCases)
    func `events are published once, in order, after the change is saved`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        let test = try await TestStore(storage: storage)
        let events = test.store.events()
        let ada = try await test.signIn()
        // A caller that receives the event can read the saved change.
        let first = Task {
            for await event in test.store.events() {
                if case .userDataChanged(let account) = event {
                    return try await test.store.account(account.id)?.userData(as: Int.self)
                }
            }
            return nil
        }
        await Task.yield()
        for number in 1...3 { try await test.store.setUserData(number, for: ada.id) }
        _ = try await test.token(ada.id, rejected: "AT-2")
        test.provider.next { _ in .refusal("invalid_grant") }
        _ = try await failure { try await test.token(ada.id, rejected: "AT-3") }
        try await test.signIn()
        try await test.store.remove(ada.id)
        let expected = [
            "added ada", "data ada", "data ada", "data ada", "tokens ada", "lost ada", "failed ada", "profile ada",
            "removed \(ada.id)",
        ]
        #expect(await next(expected.count, of: events) == expected)
        first.cancel()
        _ = try await first.value
    }

    @Test(arguments: StorageKind.allCases)
    func `changes of another store on the same storage are published here once`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        let clock = FakeClock()
        let provider = try FakeProvider(clock: clock)
        let here = try await TestStore(storage: storage, provider: provider)
        let otherStorage: any AccountStorage =
            kind == .sqlite ? SQLiteStorage(directory: directory.store) : storage
        let there = try await TestStore(storage: otherStorage, provider: provider)
        let events = here.store.events()
        let ada = try await there.signIn()
        try await there.store.setUserData("x", for: ada.id)
        _ = try await there.token(ada.id, rejected: "AT-2")
        #expect(await next(3, of: events) == ["added ada", "data ada", "tokens ada"])
        // This store uses the token that the other store refreshed.
        #expect(try await here.token(ada.id) == "AT-3")
        let own = here.store.events()
        try await here.store.setUserData("y", for: ada.id)
        try await there.store.remove(ada.id)
        #expect(await next(2, of: own) == ["data ada", "removed \(ada.id)"])
        #expect(try await failure { try await here.token(ada.id) }?.kind == .unknownAccount)
    }

    @Test func `two stores that write at the same time publish every change of both once`() async throws {
        let directory = try TemporaryDirectory()
        let provider = try FakeProvider(clock: FakeClock())
        let one = try await TestStore(storage: SQLiteStorage(directory: directory.store), provider: provider)
        let two = try await TestStore(storage: SQLiteStorage(directory: directory.store), provider: provider)
        let ada = try await one.signIn("ada"), bob = try await two.signIn("bob")
        let streams = [one.store.events(), two.store.events()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { try await one.store.setUserData(number, for: ada.id) }
                group.addTask { try await two.store.setUserData(number, for: bob.id) }
            }
            try await group.waitForAll()
        }
        try await one.store.remove(ada.id)
        for stream in streams {
            var words: [String] = []
            for await event in stream {
                words.append(event.word)
                if case .removed = event { break }
            }
            #expect(words.count { $0 == "data bob" } == 20)
            // If an account is removed before its change is published, only the removal is published.
            #expect(words.count { $0 == "data ada" } <= 20)
            #expect(words.last == "removed \(ada.id)")
        }
    }

    @Test func `a change log that is briefly unreadable loses no event`() async throws {
        let storage = FailingStorage()
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        let events = test.store.events()
        storage.change { $0.looks = 1 }
        try await test.store.setUserData(1, for: ada.id)
        try await test.store.setUserData(2, for: ada.id)
        #expect(await next(2, of: events) == ["data ada", "data ada"])
    }

    @Test func `cancelled callers neither stop the events nor use the processor`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let events = test.store.events()
        let writers = (0..<50).map { number in Task { try await test.store.setUserData(number, for: ada.id) } }
        for writer in writers { writer.cancel() }
        var saved = 0
        for writer in writers {
            if case .success = await writer.result { saved += 1 }
        }
        try await test.store.remove(ada.id)
        var words: [String] = []
        for await event in events {
            words.append(event.word)
            if case .removed = event { break }
        }
        #expect(words.count <= 51 && words.last == "removed \(ada.id)")
        #expect(saved <= 50)
    }

    @Test func `the event stream ends with its store`() async throws {
        var events: AsyncStream<AccountEvent>?
        do {
            let test = try await TestStore()
            events = test.store.events()
            try await test.signIn()
        }
        var count = 0
        for await _ in try #require(events) { count += 1 }
        #expect(count == 1)
    }

    @Test func `notifications have the NXOAuth2Client names, the store as object and the details`() async throws {
        let test = try await TestStore()
        let seen = Log<String>()
        let center = NotificationCenter.default
        let names: [Notification.Name] = [
            .accountStoreAccountsDidChange, .accountStoreDidFailToRequestAccess, .accountDidChangeUserData,
            .accountDidChangeAccessToken, .accountDidLoseAccessToken, .accountDidFailToGetAccessToken,
            .accountStoreDidAddAccount, .accountStoreDidRemoveAccount, .accountDidChangeProfile,
        ]
        let observers = names.map { name in
            center.addObserver(forName: name, object: test.store, queue: nil) { notification in
                let info = notification.userInfo ?? [:]
                var words = [notification.name.rawValue]
                if let account = info[AccountStore.accountKey] as? Account { words.append("account \(account.type)") }
                if let account = info[AccountStore.newAccountKey] as? Account { words.append("new \(account.type)") }
                if info[AccountStore.accountIDKey] is Account.ID { words.append("identifier") }
                if notification.userInfo == nil { words.append("no info") }
                if let type = info[AccountStore.accountTypeKey] as? String { words.append("type \(type)") }
                if let error = info[AccountStore.errorKey] as? AccountStoreError { words.append("error \(error.kind)") }
                seen.append(words.joined(separator: ", "))
            }
        }
        defer { for observer in observers { center.removeObserver(observer) } }
        let ada = try await test.signIn()
        try await test.store.setUserData(1, for: ada.id)
        _ = try await test.token(ada.id, rejected: "AT-2")
        test.provider.next { _ in .refusal("invalid_grant") }
        _ = try await failure { try await test.token(ada.id, rejected: "AT-3") }
        let prepared = try await test.store.prepareSignIn(to: "graph")
        _ = try await failure {
            try await test.store.handleRedirect(
                FakeProvider.redirect(prepared, "error=access_denied&state=\(prepared.id)"))
        }
        try await test.signIn()
        try await test.store.remove(ada.id)
        #expect(
            seen.all == [
                "OAuth2AccountStoreDidAddAccountNotification, new graph, type graph",
                "OAuth2AccountStoreAccountsDidChangeNotification, new graph, type graph",
                "OAuth2AccountDidChangeUserDataNotification, account graph",
                "OAuth2AccountDidChangeAccessTokenNotification, account graph",
                "OAuth2AccountDidLoseAccessTokenNotification, account graph",
                "OAuth2AccountDidFailToGetAccessTokenNotification, account graph, error signInNeeded(OAuth2AccountStore.Account.SignInReason.grantGone)",
                "OAuth2AccountStoreDidFailToRequestAccessNotification, type graph, error denied",
                "OAuth2AccountDidChangeProfileNotification, account graph",
                "OAuth2AccountStoreDidRemoveAccountNotification, identifier, type graph",
                "OAuth2AccountStoreAccountsDidChangeNotification, no info",
            ])
    }
}
