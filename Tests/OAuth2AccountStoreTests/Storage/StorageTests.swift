import Foundation
import Testing

@testable import OAuth2AccountStore

/// The storages that the same tests run against.
enum StorageKind: CaseIterable {
    case memory, sqlite

    /// A fresh storage, and what keeps its directory.
    func make() throws -> (storage: any AccountStorage, directory: TemporaryDirectory) {
        let directory = try TemporaryDirectory()
        switch self {
        case .memory: return (MemoryStorage(), directory)
        case .sqlite: return (SQLiteStorage(directory: directory.store), directory)
        }
    }
}

/// What every storage has to do.
@Suite(.timeLimit(.minutes(1)))
struct StorageTests {
    private func record(_ id: String, type: String = "graph", revision: Int64 = 1, _ bytes: [UInt8] = [1, 2, 0, 3])
        -> SealedRecord
    {
        SealedRecord(id: id, type: type, revision: revision, sealed: bytes)
    }

    @Test(arguments: StorageKind.allCases)
    func `records come back as they were, in the order they were added`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        #expect(try await storage.records(ofType: nil).isEmpty)
        for id in ["c", "a", "b"] { _ = try await storage.insert(record(id, type: id == "a" ? "other" : "graph")) }
        _ = try await storage.replace(record("c", revision: 2, [9]), kind: .tokens)
        #expect(try await storage.records(ofType: nil).map(\.id) == ["c", "a", "b"])
        #expect(try await storage.records(ofType: "graph").map(\.id) == ["c", "b"])
        #expect(try await storage.records(ofType: "none").isEmpty)
        let changed = try #require(await storage.record("c"))
        #expect(changed.revision == 2 && changed.sealed == [9] && changed.position == 1)
        #expect(try await storage.record("nobody") == nil)
    }

    @Test(arguments: StorageKind.allCases)
    func `a taken identifier is refused and changes nothing`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        _ = try await storage.insert(record("a"))
        await #expect(throws: StorageError.self) { try await storage.insert(record("a", [5])) }
        #expect(try await storage.record("a")?.sealed == [1, 2, 0, 3])
        #expect(try await storage.lastSequence() == 1)
    }

    @Test(arguments: StorageKind.allCases)
    func `only the next revision replaces a record`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        _ = try await storage.insert(record("a"))
        #expect(try await storage.replace(record("a", revision: 1, [7]), kind: .tokens) == nil)
        #expect(try await storage.replace(record("a", revision: 3, [7]), kind: .tokens) == nil)
        #expect(try await storage.replace(record("b", revision: 2, [7]), kind: .tokens) == nil)
        #expect(try await storage.record("a")?.sealed == [1, 2, 0, 3])
        #expect(try await storage.replace(record("a", revision: 2, [7]), kind: .tokens) == 2)
        #expect(try await storage.remove("a") == 3)
        #expect(try await storage.remove("a") == nil)
        #expect(try await storage.replace(record("a", revision: 3, [7]), kind: .tokens) == nil)
    }

    @Test(arguments: StorageKind.allCases)
    func `a removed record's place is not given to the record before it`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        for id in ["a", "b", "c"] { _ = try await storage.insert(record(id)) }
        _ = try await storage.remove("b")
        _ = try await storage.insert(record("d"))
        #expect(try await storage.records(ofType: nil).map(\.id) == ["a", "c", "d"])
    }

    @Test(arguments: StorageKind.allCases)
    func `small values are kept, replaced and removed`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        #expect(try await storage.value("x") == nil)
        try await storage.setValue([0, 1], for: "x")
        try await storage.setValue([], for: "y")
        try await storage.setValue([2], for: "x")
        #expect(try await storage.value("x") == [2])
        #expect(try await storage.value("y") == [])
        try await storage.setValue(nil, for: "x")
        #expect(try await storage.value("x") == nil)
    }

    @Test(arguments: StorageKind.allCases)
    func `the log has every change once and in order`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        #expect(try await storage.lastSequence() == 0)
        #expect(try await storage.changes(after: 0) == [])
        _ = try await storage.insert(record("a"))
        _ = try await storage.replace(record("a", revision: 2), kind: .userData)
        _ = try await storage.replace(record("a", revision: 2), kind: .userData)
        _ = try await storage.remove("a")
        let changes = try #require(await storage.changes(after: 0))
        #expect(changes.map(\.kind) == [.added, .userData, .removed])
        #expect(changes.map(\.sequence) == [1, 2, 3])
        #expect(try await storage.changes(after: 2)?.map(\.kind) == [.removed])
        #expect(try await storage.changes(after: 3) == [])
        #expect(try await storage.lastSequence() == 3)
    }

    @Test(arguments: StorageKind.allCases)
    func `a lock is given to one at a time, and names do not wait for each other`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        let inside = Log<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<10 {
                group.addTask {
                    let lock = try await storage.lock("a", timeout: .seconds(30))
                    inside.append(1)
                    await Task.yield()
                    inside.append(-1)
                    lock.release()
                    lock.release()
                }
            }
            try await group.waitForAll()
        }
        // Whoever came in went out before the next came in.
        #expect(inside.all == (0..<10).flatMap { _ in [1, -1] })
        let first = try await storage.lock("a", timeout: .seconds(30))
        let second = try await storage.lock("b", timeout: .seconds(30))
        first.release()
        second.release()
    }

    @Test(arguments: StorageKind.allCases)
    func `who gives up waiting for a lock does not get it`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        defer { withExtendedLifetime(directory) {} }
        let held = try await storage.lock("a", timeout: .seconds(30))
        let waiting = Task { try await storage.lock("a", timeout: .seconds(30)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        held.release()
        try await storage.lock("a", timeout: .seconds(30)).release()
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
        for _ in 0...SQLiteStorage.keptChanges {
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
