import Foundation
import StorageSuite
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Events about changes of other processes.
@Suite(.serialized, .timeLimit(.scaled(minutes: 5)))
struct ProcessEventTests {
    @Test func `every saved change of another process is published in order`() async throws {
        let directory = try TemporaryDirectory()
        let server = try TokenServer()
        let id = try await server.makeStore(in: directory.store)
        let test = try await TestStore(
            storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store))
        let events = test.store.events()
        let process = try TestProcess(["edit", directory.store.path, "\(server.port)", "30"])
        var seen: [Int] = []
        for await event in events {
            switch event {
            case .userDataChanged(let account):
                #expect(account.id == id)
                seen.append(try account.userData(as: Int.self) ?? 0)
            case .removed(id, "graph"): break
            default: Issue.record("another event: \(event.word)")
            }
            if case .removed = event { break }
        }
        #expect(await process.rest() == ["done"])
        // An event has the current state of the account, so a number may repeat. After the account is removed, only the
        // removal is published for changes before it.
        #expect(seen == seen.sorted() && seen.count <= 30)
        #expect(try await test.store.account(id) == nil)
    }

    @Test func `each change of two processes is published once`() async throws {
        let directory = try TemporaryDirectory()
        let server = try TokenServer()
        let id = try await server.makeStore(in: directory.store)
        let test = try await TestStore(
            storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store))
        let events = test.store.events()
        let process = try TestProcess(["change", directory.store.path, "\(server.port)", "1000000000"])
        for number in 0..<20 { try await test.store.setUserData(number, for: id) }
        #expect(await process.rest() == ["saved"])
        var count = 0
        for await event in events {
            guard case .userDataChanged = event else {
                Issue.record("another event: \(event.word)")
                break
            }
            count += 1
            if count == 21 { break }
        }
        try await test.store.remove(id)
        // The next event is the removal.
        for await event in events {
            #expect(event.word == "removed \(id)")
            break
        }
    }

    @Test func `a change log that cannot be read is read again without another change`() async throws {
        let storage = FailingStorage()
        let provider = try FakeProvider(clock: FakeClock())
        var dependencies = Dependencies(transport: provider, environment: [:])
        dependencies.useTestTime()
        dependencies.now = { provider.clock.now }
        let waits = Log<Duration>()
        dependencies.sleep = { waits.append($0) }
        let store = try await AccountStore(
            settings: try Settings(types: [try TestStore.type()]), storage: storage, custody: try TestStore.key(),
            dependencies: dependencies)
        let prepared = try await store.prepareSignIn(to: "graph")
        let ada = try await store.handleRedirect(provider.approve(prepared, as: "ada"))
        let events = store.events()
        storage.change { $0.looks = 4 }
        try await store.setUserData(1, for: ada.id)
        for await event in events {
            #expect(event.word == "data ada")
            break
        }
        #expect(waits.all.contains(.seconds(1)))
    }
}
