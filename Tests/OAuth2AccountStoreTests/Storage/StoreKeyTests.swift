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

@Suite(.timeLimit(.scaled(minutes: 5)))
struct StoreKeyTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test func `a store with a missing, different or damaged key does not open and is not changed`() async throws {
        let storage = SQLiteStorage(directory: directory.store)
        let custody = KeyFile(directory: directory.store)
        try await TestStore(storage: storage, custody: custody).signIn()
        let before = try await storage.records(ofType: nil)
        let key = directory.store.file("accounts.key")
        let bytes = try Data(contentsOf: URL(filePath: key))

        try FileManager.default.removeItem(atPath: key)
        let missing = try await failure { try await TestStore(storage: storage, custody: custody) }
        #expect(missing?.kind == .key)
        #expect(missing?.reason.contains("missing") == true)
        #expect(!FileManager.default.fileExists(atPath: key))

        let wrong = try await failure { try await TestStore(storage: storage, custody: try TestStore.key(9)) }
        #expect(wrong?.kind == .key)
        #expect(wrong?.remedy == .repairStore)

        try bytes.write(to: URL(filePath: key))
        #expect(chmod(key, 0o600) == 0)
        #expect(try await storage.records(ofType: nil) == before)
        #expect(try await TestStore(storage: storage, custody: custody).store.accounts().count == 1)
    }

    @Test func `accounts without a key check value do not get a new key`() async throws {
        let path = directory.path + "/accounts.key"
        let storage = MemoryStorage()
        try await TestStore(storage: storage).signIn()
        await storage.setValue(nil, for: "key-check")
        let error = try await failure { try await TestStore(storage: storage, custody: KeyFile(path: path)) }
        #expect(error?.kind == .storage(.notAStore))
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
