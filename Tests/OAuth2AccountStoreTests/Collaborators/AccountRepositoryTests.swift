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

/// A storage in which another process saves a record before the next replacements.
private final class ContestedStorage: WrappedStorage {
    let inner = MemoryStorage()
    private let contests: Mutex<Int>
    let rival: @Sendable (any AccountStorage) async throws -> Void

    init(contests: Int, rival: @escaping @Sendable (any AccountStorage) async throws -> Void) {
        self.contests = Mutex(contests)
        self.rival = rival
    }

    func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting values: [String: [UInt8]]
    ) async throws -> Int64? {
        let isContested = contests.withLock { contests in
            contests -= 1
            return contests >= 0
        }
        if isContested { try await rival(inner) }
        return await inner.replace(record, kind: kind, setting: values)
    }
}

@Suite(.timeLimit(.scaled(minutes: 5)))
struct AccountRepositoryTests {
    /// Saves the record as another process does, unchanged.
    private static func save(_ storage: any AccountStorage) async throws {
        let rival = AccountRepository(reader: try Collaborators.reader(storage)) { _ in }
        _ = try await rival.update(Account.ID(rawValue: "ada"), .profile) { _ in }
    }

    /// Saves a nickname as another process does.
    private static func rename(_ storage: any AccountStorage) async throws {
        let rival = AccountRepository(reader: try Collaborators.reader(storage)) { _ in }
        _ = try await rival.update(Account.ID(rawValue: "ada"), .profile) { $0.nickname = ($0.nickname ?? "") + "x" }
    }

    @Test func `the cache accepts the older record of a restored storage, but not the record of a late reader`()
        async throws
    {
        let storage = MemoryStorage()
        let reader = try Collaborators.reader(storage)
        let repository = AccountRepository(reader: reader) { _ in }
        let id = try await repository.insert(try Collaborators().record()).id
        let backup = try #require(await storage.record(id.rawValue))
        for _ in 0..<3 { _ = try await repository.update(id, .profile) { $0.nickname = "new" } }
        let old = CachedRecord(record: try #require(reader.seal.open(backup)), revision: 1, position: 1)
        reader.cache.remember(old)
        #expect(reader.cache[id]?.revision == 4)
        _ = await storage.remove(id.rawValue)
        _ = try await storage.insert(backup)
        #expect(try await repository.read(id)?.revision == 1)
        #expect(reader.cache[id]?.revision == 1)
        #expect(reader.cache[id]?.record.nickname == nil)
        #expect(try await repository.update(id, .profile) { $0.nickname = "again" }?.revision == 2)
    }

    @Test func `a change is saved and cached before it is published`() async throws {
        let storage = MemoryStorage()
        let reader = try Collaborators.reader(storage)
        let published = Log<String?>()
        let repository = AccountRepository(reader: reader) { _ in
            let saved = await storage.record("ada").flatMap(reader.seal.open)
            let cached = reader.cache[Account.ID(rawValue: "ada")]?.record
            if saved == cached { published.append(saved?.nickname) }
        }
        let id = try await repository.insert(try Collaborators().record()).id
        let updated = try await repository.update(id, .profile) { $0.nickname = "work" }
        #expect(updated?.revision == 2)
        #expect(published.all == [nil, "work"])
    }

    @Test func `an update retries when another process saved the record first`() async throws {
        let storage = ContestedStorage(contests: 2, rival: Self.rename)
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        let attempts = Log<String?>()
        let updated = try await test.repository.update(id, .userData) {
            attempts.append($0.nickname)
            $0.userData = Data("[1]".utf8)
        }
        #expect(attempts.all == [nil, "x", "xx"])
        #expect(updated?.record.nickname == "xx" && updated?.revision == 4)
        let saved = try await test.saved(id)
        #expect(saved == updated?.record)
        #expect(saved?.userData == Data("[1]".utf8))
    }

    @Test func `updates that always conflict yield to other tasks and stop when cancelled`()
        async throws
    {
        let attempts = Log<Void>()
        var updates: [Task<CachedRecord?, any Error>] = []
        // There are more updates than threads: updates that never suspend would block the task that cancels them.
        for _ in 0..<2 * ProcessInfo.processInfo.activeProcessorCount {
            let test = try Collaborators(storage: ContestedStorage(contests: .max, rival: Self.save))
            let id = try await test.addAccount()
            updates.append(Task { try await test.repository.update(id, .userData) { _ in attempts.append(()) } })
        }
        try await until { attempts.all.count > 3 * updates.count }
        for update in updates { update.cancel() }
        for update in updates {
            await #expect(throws: CancellationError.self) { try await update.value }
        }
    }

    @Test func `an update of a removed account changes nothing and returns nil`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        try await test.anotherProcess().remove(id)
        #expect(test.repository.cache[id] != nil)
        #expect(try await test.repository.update(id, .profile) { $0.nickname = "x" } == nil)
        #expect(test.repository.cache[id] == nil)
        let isRemoved = try await test.repository.remove(id)
        #expect(!isRemoved)
        #expect(test.saves.all == [1])
    }

    @Test func `a change that throws is not saved`() async throws {
        struct Rejection: Error {}
        let test = try Collaborators()
        let id = try await test.addAccount()
        let before = try await test.storage.record(id.rawValue)
        await #expect(throws: Rejection.self) {
            try await test.repository.update(id, .profile) {
                $0.nickname = "x"
                throw Rejection()
            }
        }
        #expect(try await test.storage.record(id.rawValue) == before)
        #expect(test.saves.all == [1])
    }

    @Test func `a late reader does not replace a newer record in the cache`() throws {
        let test = try Collaborators()
        var record = try test.record()
        let old = CachedRecord(record: record, revision: 1, position: 1)
        record.nickname = "new"
        test.repository.cache.remember(CachedRecord(record: record, revision: 2, position: 1))
        test.repository.cache.remember(old)
        #expect(test.repository.cache[record.id]?.record.nickname == "new")
    }
}
