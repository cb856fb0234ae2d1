import Foundation
import StorageSuite
import TestSupport
import Testing

@testable import SealedStorage
import Platform

/// What every storage has to do.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct StorageTests {
    /// What holds for every storage; PostgreSQL's tests do the same.
    @Test(arguments: StorageCheck.allCases)
    func `a storage in memory does what every storage does`(check: StorageCheck) async throws {
        let storage = MemoryStorage()
        try await check.run { storage }
    }

    @Test(arguments: StorageCheck.allCases)
    func `a storage in a file does what every storage does, opened as often as it likes`(check: StorageCheck)
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

    @Test func `a lock of SQLite's storage is dropped with its value and waited for only so long`() async throws {
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
    func `a log that does not reach back says so`(kind: StorageKind) async throws {
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

    @Test func `storages that are made and dropped leave no thread in trouble`() async throws {
        let directory = try TemporaryDirectory()
        for number in 0..<50 {
            let storage = SQLiteStorage(directory: directory.store)
            _ = try await storage.insert(record("r\(number)"))
        }
        #expect(try await SQLiteStorage(directory: directory.store).records(ofType: nil).count == 50)
    }
}
