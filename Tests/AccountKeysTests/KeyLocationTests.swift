import Foundation
import JOSE
import SealedStorage
import TestSupport
import Testing

@testable import AccountKeys

@Suite(.timeLimit(.scaled(minutes: 5)))
struct KeyLocationTests {
    @Test func `two stores have different identities, and each identity is stable`() async throws {
        let locations = KeyLocations(directory: StoreLocation("/nonexistent"), environment: [:])
        var identities: [String] = []
        for _ in 0..<2 {
            let storage = MemoryStorage()
            let missing = try await thrownError(KeyCustodyError.self) {
                try await locations.custody(.secretService, storage)
            }
            #expect(missing?.hint.description.contains("the store is unchanged") == true)
            for makes in [true, false] {
                let custody = try await locations.custody(.secretService, storage, makesIdentity: makes)
                identities.append(try #require(custody as? SecretServiceKey).identity)
            }
            await storage.setValue(Array("$(rm)".utf8), for: "key-identity")
            #expect(
                try await thrownError(KeyCustodyError.self) { try await locations.custody(.secretService, storage) }
                    != nil
            )
        }
        #expect(identities[0] == identities[1] && identities[2] == identities[3])
        #expect(Set(identities).count == 2)
    }

    @Test func `descriptions of key locations omit the environment`() throws {
        var locations = KeyLocations(directory: StoreLocation("/store"), environment: ["TOKEN": "hush-hush"])
        locations.choice = .secretService
        let key = SecretServiceKey(identity: "me", label: "Key", environment: locations.environment)
        for value in [locations, key] as [Any] {
            var dumped = ""
            dump(value, to: &dumped)
            #expect(!dumped.contains("hush-hush"))
            #expect(!"\(value)".contains("hush-hush"))
            #expect(!String(reflecting: value).contains("hush-hush"))
        }
    }

    @Test func `without a session bus the Secret Service is not used`() async throws {
        let key = SecretServiceKey(identity: "me", label: "Key", environment: ["XDG_RUNTIME_DIR": "/nonexistent"])
        for error in [
            try await thrownError(KeyCustodyError.self) { try await key.key() },
            try await thrownError(KeyCustodyError.self) { try await key.save(SealingKey.random()) },
            try await thrownError(KeyCustodyError.self) { try await key.remove(SealingKey.random()) },
        ] {
            #expect(error?.reason.contains("no session bus") == true)
            #expect(error?.hint.actions.first as? KeyRemedy == .moveKey(to: .keyFile))
        }
    }
}
