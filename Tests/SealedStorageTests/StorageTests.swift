import Foundation
import StorageSuite
import TestSupport
import Testing

@testable import SealedStorage
import LodgePlatform

/// Tests the requirements for every storage.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct StorageTests {
    /// Runs the checks for every storage. The tests of PostgreSQL run them too.
    @Test(arguments: StorageCheck.allCases)
    func `MemoryStorage passes the storage checks`(check: StorageCheck) async throws {
        let storage = MemoryStorage()
        try await check.run { storage }
    }

    @Test(arguments: StorageCheck.allCases)
    func `SQLiteStorage passes the storage checks, with any number of instances`(check: StorageCheck)
        async throws
    {
        let directory = try TemporaryDirectory()
        try await check.run { SQLiteStorage(directory: directory.store) }
        withExtendedLifetime(directory) {}
    }

    private func record(_ id: String, type: String = "graph", revision: Int64 = 1, _ bytes: [UInt8] = [1, 2, 0, 3])
        -> SealedRecord
    {
        SealedRecord(id: id, type: type, revision: revision, sealed: bytes)
    }

    @Test func `simultaneous calls of checkWritable share a write that starts after all of them`() async throws {
        let directory = try TemporaryDirectory()
        let storage = SQLiteStorage(directory: directory.store)
        try await storage.checkWritable()
        let other = try SQLiteConnection(path: storage.location)
        try other.execute("BEGIN EXCLUSIVE")
        let before = try transactionCount(storage)
        let calls = (0..<20).map { _ in Task { try await storage.checkWritable() } }
        // The first check waits for the other connection, perhaps before the other calls. The second check is for all of these.
        try await until { storage.checkCalls.load(ordering: .relaxed) == 21 }
        try other.execute("COMMIT")
        for call in calls { try await call.value }
        #expect([1, 2].contains(try transactionCount(storage) - before))
        // A later call writes again.
        try await storage.checkWritable()
        #expect([2, 3].contains(try transactionCount(storage) - before))
    }

    @Test func `a failed check fails for all calls that share it, and not for a later one`() async throws {
        let directory = try TemporaryDirectory()
        let storage = SQLiteStorage(directory: directory.store)
        try await storage.checkWritable()
        let path = storage.location
        #expect(rename(path, path + "-moved") == 0)
        let calls = (0..<5).map { _ in Task { try await storage.checkWritable() } }
        for call in calls { await #expect(throws: StorageError.self) { try await call.value } }
        #expect(rename(path + "-moved", path) == 0)
        try await storage.checkWritable()
    }

    /// Returns the number of transactions that changed a database: the file change counter.
    private func transactionCount(_ storage: SQLiteStorage) throws -> Int {
        let head = try Data(contentsOf: URL(filePath: storage.location)).prefix(28)
        return head.dropFirst(24).reduce(0) { $0 << 8 | Int($1) }
    }

    @Test func `a deinitialized SQLite lock is released, and the wait for a lock is limited`() async throws {
        let directory = try TemporaryDirectory()
        let storage = SQLiteStorage(directory: directory.store, sleep: { _ in })
        var held: (any StorageLock)? = try await storage.lock("a", timeout: .seconds(1))
        let error = await #expect(throws: StorageError.self) { try await storage.lock("a", timeout: .seconds(1)) }
        #expect(error?.kind == .busy)
        #expect(held != nil)
        held = nil
        try await storage.lock("a", timeout: .zero).release()
    }

    @Test(arguments: StorageKind.allCases)
    func `changes(after:) returns nil if the log does not reach back far enough`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        guard kind == .memory else { return }
        for _ in 0...SQLStatements.maximumChanges {
            _ = try await storage.insert(record("a"))
            _ = try await storage.remove("a")
        }
        #expect(try await storage.changes(after: 0) == nil)
        let last = try await storage.lastSequence()
        #expect(try await storage.changes(after: last - 5)?.count == 5)
    }

    @Test func `a restored older copy of the database does not report its lost changes`() async throws {
        let directory = try TemporaryDirectory()
        let storage = SQLiteStorage(directory: directory.store)
        _ = try await storage.insert(record("a"))
        let copy = try Data(contentsOf: URL(filePath: storage.location))
        _ = try await storage.replace(record("a", revision: 2), kind: .tokens)
        #expect(try await storage.changes(after: 1)?.count == 1)
        // Overwrites the file in place, as `cp` does.
        let file = try FileHandle(forUpdating: URL(filePath: storage.location))
        try file.write(contentsOf: copy)
        try file.close()
        let restored = SQLiteStorage(directory: directory.store)
        #expect(try await restored.changes(after: 2) == nil)
        #expect(try await restored.changes(after: 1) == [])
    }

    @Test(arguments: ["-journal", "-wal", "-shm"])
    func `a new store does not use the journal of a removed database`(suffix: String) async throws {
        let directory = try TemporaryDirectory()
        let old = SQLiteStorage(directory: directory.store)
        for number in 0..<50 { _ = try await old.insert(record("r\(number)")) }
        let path = old.location
        // The journal that a process killed in a transaction leaves behind.
        let connection = try SQLiteConnection(path: path)
        try connection.execute("PRAGMA cache_size=1; BEGIN; UPDATE accounts SET record = zeroblob(9000)")
        let journal = try Data(contentsOf: URL(filePath: path + "-journal"))
        try connection.execute("ROLLBACK")
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.store.path) {
            try FileManager.default.removeItem(atPath: directory.store.file(name))
        }
        try journal.write(to: URL(filePath: path + suffix))
        let storage = SQLiteStorage(directory: directory.store)
        for _ in 0..<2 {
            let error = await #expect(throws: StorageError.self) { try await storage.insert(record("new")) }
            #expect(error?.kind == .notAStore)
            #expect(error?.reason == "the database was removed, but not accounts.sqlite\(suffix)")
            #expect(throws: StorageError.self) { try storage.isMissing() }
        }
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: directory.store.path) == ["accounts.sqlite\(suffix)"])
        #expect(try Data(contentsOf: URL(filePath: path + suffix)) == journal)
        try FileManager.default.moveItem(atPath: path + suffix, toPath: directory.path + "/aside")
        #expect(try storage.isMissing())
        _ = try await storage.insert(record("new"))
        #expect(try await storage.errors().isEmpty)
        #expect(try await storage.records(ofType: nil).map(\.id) == ["new"])
    }

    @Test func `hasOtherNames detects a hard link to the database`() async throws {
        let directory = try TemporaryDirectory()
        let storage = SQLiteStorage(directory: directory.store)
        _ = try await storage.insert(record("a"))
        #expect(!storage.hasOtherNames)
        #expect(link(storage.location, directory.path + "/other") == 0)
        #expect(storage.hasOtherNames)
    }

    @Test func `deinitialized storages leave no thread blocked`() async throws {
        let directory = try TemporaryDirectory()
        for number in 0..<50 {
            let storage = SQLiteStorage(directory: directory.store)
            _ = try await storage.insert(record("r\(number)"))
        }
        #expect(try await SQLiteStorage(directory: directory.store).records(ofType: nil).count == 50)
    }
}
