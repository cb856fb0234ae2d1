import Foundation
import HTTPExchange
import JOSE
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
struct KeyMoveTests {
    private static let choices: [KeyCustodyChoice] = [.keyFile, .secretService, .passphrase]
    private static let pairs = choices.flatMap { origin in
        choices.filter { $0 != origin }.map { (origin, $0) }
    }

    @Test(arguments: pairs)
    func `a moved key is only in the new location, and the store saves the location`(
        origin: KeyCustodyChoice, target: KeyCustodyChoice
    ) async throws {
        let test = TestPlaces()
        let key = try await test.open(origin).key.bytes
        #expect(await test.copies() == [origin.word])
        let move = try await test.move(to: target)
        #expect(move.isMoved)
        #expect(move.leftovers.isEmpty)
        #expect(await test.copies() == [target.word])
        let opened = try await test.open()
        #expect(opened.key.bytes == key)
        #expect(opened.custody.choice == target)
        #expect(try await test.record() == KeyLocationRecord(current: target))
    }

    @Test(arguments: pairs, [false, true])
    func `a key move interrupted at any step loses no key, and the next move completes it`(
        pair: (origin: KeyCustodyChoice, target: KeyCustodyChoice), hasEffect: Bool
    ) async throws {
        var step = 0
        while true {
            step += 1
            let test = TestPlaces()
            let key = try await test.open(pair.origin).key.bytes
            let fuse = Fuse(at: step, hasEffect: hasEffect)
            _ = try? await test.move(to: pair.target, fuse: fuse)

            // Each copy is either in use or recorded as a leftover.
            let record = try await test.record() ?? KeyLocationRecord(current: .keyFile)
            let known = ([record.current] + record.leftovers).map(\.word)
            #expect(await test.copies().allSatisfy(known.contains), "killed at \(step)")
            let opened = try await test.open()
            #expect(opened.key.bytes == key, "killed at \(step)")
            #expect(opened.custody.choice == record.current)

            _ = try await test.move(to: pair.target)
            #expect(await test.copies() == [pair.target.word], "killed at \(step)")
            #expect(try await test.record()?.leftovers == [])
            #expect(try await test.open().key.bytes == key)
            if !fuse.isBlown { break }
        }
        // The steps record the new location, save the key, switch, remove the old key and update the record.
        #expect(step > 5)
    }

    @Test func `moving back after an interrupted move removes the copies in the other location`() async throws {
        for step in 1...5 {
            let test = TestPlaces()
            let key = try await test.open().key.bytes
            _ = try? await test.move(to: .secretService, fuse: Fuse(at: step, hasEffect: true))
            _ = try await test.move(to: .keyFile)
            #expect(await test.copies() == ["key-file"], "killed at \(step)")
            #expect(try await test.open().key.bytes == key)
        }
    }

    @Test func `if the new location rejects the key, the move changes nothing`() async throws {
        var test = TestPlaces()
        test.edit = { if $0.word == "secret-service" { $0.saveError = $0.error("it is denied") } }
        let key = try await test.open().key.bytes
        let error = try await failure { try await test.move(to: .secretService) }
        #expect(error?.kind == .key)
        #expect(error?.reason.contains("denied") == true)
        #expect(await test.copies() == ["key-file"])
        #expect(try await test.record() == KeyLocationRecord(current: .keyFile))
        #expect(try await test.open().key.bytes == key)
    }

    @Test func `a location that returns a different key is not used`() async throws {
        var test = TestPlaces()
        test.edit = { if $0.word == "secret-service" { $0.isForgetful = true } }
        let key = try await test.open().key.bytes
        let error = try await failure { try await test.move(to: .secretService) }
        #expect(error?.reason.contains("returned a different key") == true)
        #expect(try await test.record()?.current == .keyFile)
        #expect(try await test.open().key.bytes == key)
    }

    @Test func `a move does not replace the key of another store in the new location`() async throws {
        let test = TestPlaces()
        _ = try await test.open()
        let other = try SealingKey.random().bytes
        test.vault["secret-service"] = other
        let error = try await failure { try await test.move(to: .secretService) }
        #expect(error?.reason.contains("another key is there") == true)
        #expect(test.vault["secret-service"] == other)
        #expect(try await test.record() == nil)
    }

    @Test func `an old copy that cannot be removed is reported, and the next move removes it`() async throws {
        var test = TestPlaces()
        _ = try await test.open(.secretService)
        test.edit = { if $0.word == "secret-service" { $0.removeError = $0.error("it is locked") } }
        let move = try await test.move(to: .passphrase)
        #expect(move.isMoved)
        #expect(move.leftovers.count == 1)
        #expect(move.leftovers.first?.description.contains("it is locked") == true)
        #expect(try await test.record() == KeyLocationRecord(current: .passphrase, leftovers: [.secretService]))
        #expect(await test.copies() == ["passphrase", "secret-service"])

        let store = try await AccountStore(
            settings: try Settings(types: [try TestStore.type()]), storage: test.storage, keyLocations: test.locations()
        )
        #expect(try await store.keyLeftovers().count == 1)
        #expect(store.keyChoice == .passphrase)

        test.edit = { _ in }
        let again = try await test.move(to: .passphrase)
        #expect(!again.isMoved)
        #expect(again.leftovers.isEmpty)
        #expect(await test.copies() == ["passphrase"])
        #expect(try await store.keyLeftovers().isEmpty)
    }

    @Test func `opening the store removes a key file that a move left behind`() async throws {
        var test = TestPlaces()
        _ = try await test.open()
        test.edit = { if $0.word == "key-file" { $0.removeError = $0.error("the directory is read-only") } }
        _ = try await test.move(to: .secretService)
        #expect(await test.copies() == ["key-file", "secret-service"])
        _ = try await test.open()
        #expect(await test.copies() == ["key-file", "secret-service"])
        test.edit = { _ in }
        _ = try await test.open()
        #expect(await test.copies() == ["secret-service"])
        #expect(try await test.record()?.leftovers == [])
    }

    @Test func `a key that cannot be read is not moved`() async throws {
        var test = TestPlaces()
        _ = try await test.open(.secretService)
        test.edit = { if $0.word == "secret-service" { $0.keyError = $0.error("it is locked") } }
        let error = try await failure { try await test.move(to: .keyFile) }
        #expect(error?.reason.contains("it is locked") == true)
        #expect(error?.hint == "unlock it")
        #expect(await test.copies() == ["secret-service"])
        #expect(try await test.record() == KeyLocationRecord(current: .secretService))
    }

    @Test func `concurrent moves run in turn and leave one copy`() async throws {
        let test = TestPlaces()
        let key = try await test.open().key.bytes
        try await withThrowingTaskGroup(of: Void.self) { group in
            for choice in [KeyCustodyChoice.secretService, .passphrase, .keyFile, .secretService, .passphrase] {
                group.addTask { _ = try await test.move(to: choice) }
            }
            try await group.waitForAll()
        }
        let current = try #require(try await test.record()?.current)
        #expect(await test.copies() == [current.word])
        #expect(try await test.open().key.bytes == key)
    }

    @Test func `an open store remains usable while its key moves`() async throws {
        let test = TestPlaces()
        var type = AccountType(
            name: "graph", provider: .endpoints, clientID: "client",
            redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: ["read"])
        type.endpoints.token = URL(string: "http://127.0.0.1:9/token")
        let store = try await AccountStore(
            settings: try Settings(types: [type]), storage: test.storage, keyLocations: test.locations())
        let answer = HTTPResponse(
            status: 200, fields: ["Content-Type": "application/json"],
            body: Data(#"{"access_token":"a","refresh_token":"r","expires_in":3600}"#.utf8))
        let account = try await store.add(try TokenResponse.read(answer), toType: type.name)
        _ = try await test.move(to: .secretService)
        try await store.setUserData("still here", for: account.id)
        let again = try await AccountStore(
            settings: try Settings(types: [type]), storage: test.storage, keyLocations: test.locations())
        #expect(try await again.account(account.id)?.userData(as: String.self) == "still here")
    }

    @Test func `moving a key file deletes every copy, and moving back creates it with mode 0600`() async throws {
        let directory = try TemporaryDirectory()
        let storage = SQLiteStorage(directory: directory.store)
        var locations = KeyLocations(directory: directory.store, environment: [:])
        locations.passphrase = { _ in TestPlaces.passphrase }
        locations.passphraseParameters = try Scrypt(cost: 2, blockSize: 1, parallelization: 1)
        let key = try await KeyLoader(storage: storage, given: nil, locations: locations).open().key.bytes
        // A temporary file of a process that was killed while it wrote the key file.
        #expect(try OwnerOnlyFile.create(directory.store.file("accounts.key.abc"), key, suffix: "x").get() == ())
        _ = try await AccountStore.moveKey(to: .passphrase, storage: storage, locations: locations)
        #expect(try directory.files().allSatisfy { !$0.hasPrefix("accounts.key") })
        #expect(try await KeyLoader(storage: storage, given: nil, locations: locations).open().key.bytes == key)
        _ = try await AccountStore.moveKey(to: .keyFile, storage: storage, locations: locations)
        #expect(try await KeyFile(directory: directory.store).key()?.bytes == key)
        #expect(try await storage.value("key-sealed") == nil)
    }

    @Test func `a key moves to a file descriptor only if the descriptor has the same key`() async throws {
        let test = TestPlaces()
        let key = try await test.open().key.bytes
        let wrong = try Pipe(holding: [UInt8](repeating: 1, count: 32))
        let error = try await failure {
            try await test.move(to: .descriptor(wrong.fileHandleForReading.fileDescriptor))
        }
        #expect(error?.reason.contains("another key") == true)
        #expect(await test.copies() == ["key-file"])
        let right = try Pipe(holding: key)
        #expect(try await test.move(to: .descriptor(right.fileHandleForReading.fileDescriptor)).isMoved)
        #expect(await test.copies() == [])
        #expect(
            try await thrownError(KeyCustodyError.self) { try await test.open() }?.reason == "no descriptor is named")
        let again = try Pipe(holding: key)
        #expect(try await test.open(.descriptor(again.fileHandleForReading.fileDescriptor)).key.bytes == key)
    }
}
