import Foundation
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

@Suite(.timeLimit(.scaled(minutes: 5)))
struct AccountTests {
    struct Pins: Codable, Equatable {
        var names: [String]
        var count: Int?
    }

    @Test(arguments: StorageKind.allCases)
    func `user data is saved, changed and removed`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        #expect(try ada.userData(as: Pins.self) == nil)
        let pins = Pins(names: ["O'Brien", "李", "\u{0}\u{202E}"], count: nil)
        try await test.store.setUserData(pins, for: ada.id)
        let saved = try #require(await test.store.account(ada.id))
        #expect(try saved.userData(as: Pins.self) == pins)
        #expect(throws: DecodingError.self) { try saved.userData(as: Int.self) }
        for text in ["", "one", String(repeating: "x", count: 1_000_000)] {
            try await test.store.setUserData(text, for: ada.id)
            #expect(try await test.store.account(ada.id)?.userData(as: String.self) == text)
        }
        try await test.store.setUserData(String?.none, for: ada.id)
        #expect(try await test.store.account(ada.id)?.userData(as: String.self) == nil)
        #expect(try await test.token(ada.id) == "AT-2")
    }

    @Test func `a new identifier never looks like a command-line option`() throws {
        for first in UInt8.min...UInt8.max {
            let id = try Account.ID.unused { count in [first] + [UInt8](repeating: 0, count: count - 1) }
            #expect(id.rawValue.count == 16 && !id.rawValue.hasPrefix("-"))
        }
    }

    @Test func `concurrent changes of user data and tokens are both saved`() async throws {
        let directory = try TemporaryDirectory()
        let provider = try FakeProvider(clock: FakeClock())
        let one = try await TestStore(storage: SQLiteStorage(directory: directory.store), provider: provider)
        let two = try await TestStore(storage: SQLiteStorage(directory: directory.store), provider: provider)
        let ada = try await one.signIn()
        provider.clock.advance(3600)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { _ = try await one.token(ada.id) }
            for number in 1...20 { group.addTask { try await two.store.setUserData([number], for: ada.id) } }
            try await group.waitForAll()
        }
        #expect(try await one.savedTokens(ada.id)?.accessToken == Secret("AT-3"))
        #expect(try await one.store.account(ada.id)?.userData(as: [Int].self)?.count == 1)
        #expect(provider.refreshes == 1)
    }

    @Test func `a missing account is nil or an unknownAccount error`() async throws {
        let test = try await TestStore()
        let nobody = Account.ID(rawValue: "nobody")
        #expect(try await test.store.account(nobody) == nil)
        #expect(try await test.store.accounts().isEmpty)
        #expect(try await test.store.currentAccount(ofType: "graph") == nil)
        try await test.store.remove(nobody)
        #expect(try await failure { try await test.token(nobody) }?.kind == .unknownAccount)
        #expect(try await failure { try await test.store.setUserData(1, for: nobody) }?.kind == .unknownAccount)
        #expect(try await failure { try await test.store.signOut(nobody) }?.kind == .unknownAccount)
    }

    @Test func `the current account is the last one signed in or selected`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn("ada"), bob = try await test.signIn("bob")
        #expect(try await test.store.currentAccount(ofType: "graph") == bob)
        #expect(try await test.store.activeAccount() == bob)
        try await test.store.makeCurrent(ada)
        #expect(try await test.store.currentAccount(ofType: "graph") == ada)
        #expect(try await test.store.activeAccount() == ada)
        try await test.store.remove(ada.id)
        #expect(try await test.store.currentAccount(ofType: "graph") == bob)
        #expect(try await test.store.activeAccount() == bob)
        try await test.store.remove(bob.id)
        #expect(try await test.store.activeAccount() == nil)
    }

    @Test func `two stores are independent of each other`() async throws {
        let one = try await TestStore(), two = try await TestStore()
        try await one.signIn()
        #expect(try await two.store.accounts().isEmpty)
        let prepared = try await one.store.prepareSignIn(to: "graph")
        #expect(
            try await failure { try await two.store.handleRedirect(one.provider.approve(prepared)) }?.kind
                == .redirectRefused)
    }

    @Test func `a sign-out reports each step`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let report = try await test.store.signOut(ada.id)
        #expect(report.account.id == ada.id)
        #expect(report.revocation == .succeeded)
        #expect(test.provider.revoked == ["RT-2", "AT-2"])
        let address = try #require(report.endSessionURL)
        #expect(address.absoluteString.hasPrefix("https://op.example.com/logout?"))
        #expect(address.query()?.contains("id_token_hint=") == true)
        #expect(try await test.store.accounts().isEmpty)
    }

    @Test func `a sign-out succeeds without revocation and reports it`() async throws {
        let clock = FakeClock()
        let provider = try FakeProvider(clock: clock)
        provider.change { $0.offersRevocation = false }
        let test = try await TestStore(provider: provider)
        let ada = try await test.signIn("ada"), bob = try await test.signIn("bob")
        #expect(try await test.store.signOut(ada.id).revocation == .notOffered)
        let asked = provider.requests.count
        #expect(try await test.store.signOut(bob.id, revoking: false).revocation == .skipped)
        #expect(provider.requests.count == asked)

        let offline = try await TestStore(provider: provider, transport: Providers(all: []))
        let answer = try TokenResponse.read(.json(["access_token": "t", "token_type": "bearer"]))
        let record = AccountRecord(
            id: Account.ID(rawValue: "x"), type: "graph", clientID: "client",
            tokens: TokenSet(answer, requested: [], received: clock.now), created: clock.now)
        _ = try await offline.store.repository.insert(record)
        let report = try await offline.store.signOut(record.id)
        guard case .failed = report.revocation else {
            Issue.record("\(report.revocation)")
            return
        }
        #expect(try await offline.store.accounts().isEmpty)
    }

    @Test func `a sign-out revokes the newest tokens, saved or not`() async throws {
        let storage = FailingStorage()
        let test = try await TestStore(storage: storage)
        let ada = try await test.signIn()
        storage.change { $0.replacements = 1 }
        _ = try await failure { try await test.token(ada.id, rejected: "AT-2") }
        _ = try await test.store.signOut(ada.id)
        #expect(test.provider.revoked == ["RT-3", "AT-3"])
    }

    @Test(arguments: [
        (["XDG_DATA_HOME": "/x", "HOME": "/h"], "/x/people"),
        (["XDG_DATA_HOME": "relative", "HOME": "/h"], "/h/.local/share/people"),
        (["HOME": "relative"], ""), ([:], ""), (["HOME": ""], ""),
    ])
    func `the default location is never the working directory`(
        environment: [String: String], path: String
    ) async throws {
        #expect(StoreLocation(application: "people", environment: environment).path == path)
        guard path.isEmpty else { return }
        let error = try await failure {
            try await AccountStore(
                settings: try Settings(types: [try TestStore.type()]), application: "people",
                dependencies: Dependencies(transport: Providers(all: []), environment: environment))
        }
        #expect(error?.reason.contains("HOME is not set") == true)
        #expect(error?.hint?.actions.first as? StorageRemedy == .chooseStore(.any))
    }

    @Test(arguments: ["", "a/b", "..", ".hidden", "/tmp", "a\u{0}b"])
    func `an identifier that is not one part of a path opens no store`(application: String) async throws {
        let home = try TemporaryDirectory()
        let settings = try Settings(types: [TestStore.type()])
        let dependencies = Dependencies(transport: Providers(all: []), environment: ["HOME": home.path])
        let error = try await failure {
            try await AccountStore(settings: settings, application: application, dependencies: dependencies)
        }
        #expect(error?.kind == .settings)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).isEmpty)
        #expect(StoreLocation(application: application, environment: ["HOME": home.path]).path.isEmpty)
    }

    @Test func `a storage without a folder requires the location of the key`() async throws {
        let settings = try Settings(types: [TestStore.type()])
        let error = try await failure { try await AccountStore(settings: settings, storage: MemoryStorage()) }
        #expect(error?.kind == .key)
    }

    @Test func `the key of a SQLite storage is in its folder`() async throws {
        let folder = try TemporaryDirectory()
        let store = try await AccountStore(
            settings: try Settings(types: [TestStore.type()]), storage: SQLiteStorage(directory: folder.store),
            watchesOtherProcesses: false)
        #expect(store.keyLocation.contains(folder.store.keyFile))
    }
}
