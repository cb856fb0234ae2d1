import Foundation
import JOSE
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

extension TemporaryDirectory {
    /// Returns the names of the files in the store's folder.
    func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: store.path) }
}

@Suite(.timeLimit(.scaled(minutes: 5)))
struct KeyOpeningTests {
    @Test func `a new store uses the key file by default and saves no location`() async throws {
        let test = TestPlaces()
        #expect(try await test.open().custody.choice == .keyFile)
        #expect(await test.copies() == ["key-file"])
        #expect(try await test.record() == nil)
    }

    @Test func `a different key location is rejected with both locations and the command to move the key`() async throws
    {
        let test = TestPlaces()
        _ = try await test.open()
        let error = try #require(try await thrownError(KeyCustodyError.self) { try await test.open(.secretService) })
        #expect(error.reason.contains("it is in a key file, not in the Secret Service"))
        #expect(error.hint.actions.first as? KeyRemedy == .moveKey(to: .secretService))
        #expect(await test.copies() == ["key-file"])
        _ = try await test.move(to: .secretService)
        let back = try #require(try await thrownError(KeyCustodyError.self) { try await test.open(.keyFile) })
        #expect(back.hint.actions.first as? KeyRemedy == .moveKey(to: .keyFile))
        #expect(try await test.open(.secretService).custody.choice == .secretService)
    }

    @Test func `a key storage passed by the program must match the saved key location`() async throws {
        let test = TestPlaces()
        let key = try await test.open(.secretService).key
        let file = ScriptedKey(.keyFile, test.vault)
        let error = try await thrownError(KeyCustodyError.self) {
            try await KeyLoader(storage: test.storage, given: file, locations: test.locations()).open()
        }
        #expect(error?.reason.contains("the Secret Service") == true)
        // A key in memory has no location. It only has to open the store.
        let own = try await KeyLoader(storage: test.storage, given: MemoryKey(key), locations: test.locations()).open()
        #expect(own.key.bytes == key.bytes)
    }

    @Test func `processes that open a new store at the same time create one key`() async throws {
        let test = TestPlaces()
        let locations = try test.locations(.secretService)
        let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await KeyLoader(storage: test.storage, given: nil, locations: locations).open().key.bytes
                }
            }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(keys.count == 1)
        #expect((locations.replacements["secret-service"] as? ScriptedKey)?.made.all.count == 1)
    }

    @Test func `a missing key is not created again`() async throws {
        let test = TestPlaces()
        _ = try await test.open(.secretService)
        test.vault["secret-service"] = nil
        let error = try #require(try await thrownError(KeyCustodyError.self) { try await test.open() })
        #expect(error.reason == "the key of this store is missing")
        #expect(await test.copies() == [])
        test.vault["secret-service"] = try SealingKey.random().bytes
        #expect(
            try await thrownError(KeyCustodyError.self) { try await test.open() }?.reason
                == "it is not the key of this store")
    }

    @Test func `if the location of a new store fails, no key is created elsewhere, and another choice works`()
        async throws
    {
        var test = TestPlaces()
        test.edit = { if $0.word == "secret-service" { $0.keyError = $0.error("it is locked") } }
        #expect(
            try await thrownError(KeyCustodyError.self) { try await test.open(.secretService) }?.reason
                == "it is locked")
        // Opening without a choice does not fall back to another location.
        #expect(try await thrownError(KeyCustodyError.self) { try await test.open() }?.reason == "it is locked")
        #expect(await test.copies() == [])
        #expect(try await test.open(.keyFile).custody.choice == .keyFile)
        #expect(try await test.open().custody.choice == .keyFile)
    }

    @Test(arguments: [KeyCustodyChoice.keyFile, .secretService, .passphrase], [false, true])
    func `a first start interrupted at any step leaves a store that opens`(
        choice: KeyCustodyChoice, hasEffect: Bool
    ) async throws {
        var step = 0
        while true {
            step += 1
            let test = TestPlaces()
            let fuse = Fuse(at: step, hasEffect: hasEffect)
            let storage = FusedStorage(inner: test.storage, fuse: fuse)
            _ = try? await KeyLoader(storage: storage, given: nil, locations: test.locations(choice, fuse: fuse)).open()
            let key = try await test.open(choice).key.bytes
            #expect(try await test.open().key.bytes == key)
            #expect(await test.copies() == [choice.word])
            if !fuse.isBlown { break }
        }
        #expect(step > 2)
    }

    @Test(arguments: ["vault", "key-file vault", "", String(repeating: "key-file ", count: 500)])
    func `an unknown key location of a later version is an error that changes nothing`(words: String) async throws {
        let test = TestPlaces()
        _ = try await test.open()
        await test.storage.setValue(Array(words.utf8), for: "key-custody")
        let error = try #require(try await thrownError(KeyCustodyError.self) { try await test.open() })
        #expect(error.hint.description.contains("version"))
        #expect(await test.storage.value("key-custody") == Array(words.utf8))
        let moveError = try await failure { try await test.move(to: .secretService) }
        #expect(moveError?.kind == .key)
    }

    #if !canImport(Security)
        @Test func `the Keychain is rejected on systems without one`() async throws {
            let test = TestPlaces()
            #expect(
                try await thrownError(KeyCustodyError.self) { try await test.open(.keychain) }?.reason
                    == "this system has no Keychain")
            #expect(try await test.open(.keyFile).custody.choice == .keyFile)
        }
    #endif
}
