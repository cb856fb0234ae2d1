import Foundation
import JOSE
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import Platform

extension TemporaryDirectory {
    /// The names of the files of the store.
    func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: store.path) }
}

@Suite(.timeLimit(.scaled(minutes: 5)))
struct KeyOpeningTests {
    @Test func `a new store uses the key file unless told otherwise, and remembers nothing`() async throws {
        let test = TestPlaces()
        #expect(try await test.open().custody.choice == .keyFile)
        #expect(await test.copies() == ["key-file"])
        #expect(try await test.record() == nil)
    }

    @Test func `another place than the one in use is refused, in words that name both, with the remedy`() async throws {
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

    @Test func `a custody that the program gives is held to what the store remembers`() async throws {
        let test = TestPlaces()
        let key = try await test.open(.secretService).key
        let file = ScriptedKey(.keyFile, test.vault)
        let error = try await thrownError(KeyCustodyError.self) {
            try await KeyLoader(storage: test.storage, given: file, locations: test.locations()).open()
        }
        #expect(error?.reason.contains("the Secret Service") == true)
        // A key that the program keeps itself is judged by whether it opens the store.
        let own = try await KeyLoader(storage: test.storage, given: MemoryKey(key), locations: test.locations()).open()
        #expect(own.key.bytes == key.bytes)
    }

    @Test func `many processes that open a new store at once make one key`() async throws {
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

    @Test func `a key that is missing from its place is not made anew`() async throws {
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

    @Test func `a new store whose place refuses has no key elsewhere, and may be given another place`() async throws {
        var test = TestPlaces()
        test.edit = { if $0.word == "secret-service" { $0.keyError = $0.error("it is locked") } }
        #expect(
            try await thrownError(KeyCustodyError.self) { try await test.open(.secretService) }?.reason
                == "it is locked")
        // Asked again without a choice it does not fall back silently.
        #expect(try await thrownError(KeyCustodyError.self) { try await test.open() }?.reason == "it is locked")
        #expect(await test.copies() == [])
        #expect(try await test.open(.keyFile).custody.choice == .keyFile)
        #expect(try await test.open().custody.choice == .keyFile)
    }

    @Test(arguments: [KeyCustodyChoice.keyFile, .secretService, .passphrase], [false, true])
    func `a first start that is killed at any step leaves a store that opens`(
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
    func `words of a later version are a fault that changes nothing`(words: String) async throws {
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
        @Test func `the Keychain is refused where there is none`() async throws {
            let test = TestPlaces()
            #expect(
                try await thrownError(KeyCustodyError.self) { try await test.open(.keychain) }?.reason
                    == "this system has no Keychain")
            #expect(try await test.open(.keyFile).custody.choice == .keyFile)
        }
    #endif
}
