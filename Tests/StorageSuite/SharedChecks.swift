import SealedStorage
import Synchronization

/// A thread-safe list of numbers.
private final class Noted: Sendable {
    private let numbers = Mutex<[Int]>([])
    func note(_ number: Int) { numbers.withLock { $0.append(number) } }
    var all: [Int] { numbers.withLock { $0 } }
}

/// The checks of changes, locks and concurrent use.
enum SharedChecks {
    static func log(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        try await expect(try await storage.lastSequence() == 0, "no sequence at first")
        try await expect(try await storage.changes(after: 0) == [], "no changes at first")
        _ = try await storage.insert(record("a"))
        _ = try await storage.replace(record("a", revision: 2), kind: .userData)
        _ = try await storage.replace(record("a", revision: 2), kind: .userData)
        _ = try await storage.remove("a")
        let another = try await open()
        let changes = try await another.changes(after: 0) ?? []
        try await expect(changes.map(\.kind) == [.added, .userData, .removed], "each change once: \(changes)")
        try await expect(changes.map(\.sequence) == [1, 2, 3] && changes.allSatisfy { $0.id == "a" }, "in order")
        try await expect(try await storage.changes(after: 2)?.map(\.kind) == [.removed], "the last change")
        try await expect(try await storage.changes(after: 3) == [], "no more changes")
        try await expect(try await storage.lastSequence() == 3, "three changes")
    }

    static func future(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        _ = try await storage.insert(record("a"))
        // Empty, or nil because the log does not reach there: but no change.
        try await expect(try await storage.changes(after: 100)?.isEmpty != false, "no changes")
    }

    static func writers(_ open: @escaping StorageCheck.Open) async throws {
        let first = try await open()
        _ = try await first.insert(record("shared", []))
        let (writers, times) = (6, 12)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for writer in 0..<writers {
                group.addTask {
                    let storage = try await open()
                    for time in 0..<times {
                        let id = "w\(writer)-\(time)"
                        _ = try await storage.insert(record(id))
                        while true {
                            guard let now = try await storage.record("shared") else { break }
                            let next = record(
                                "shared", revision: now.revision + 1, now.sealed + [UInt8(truncatingIfNeeded: writer)])
                            if try await storage.replace(next, kind: .tokens) != nil { break }
                        }
                        if time % 2 == 0 { _ = try await storage.remove(id) }
                    }
                }
            }
            try await group.waitForAll()
        }
        let shared = try await first.record("shared")
        try await expect(shared?.sealed.count == writers * times, "all replacements")
        try await expect(shared?.revision == Int64(writers * times + 1), "one revision for each replacement")
        let changes = try await first.changes(after: 0) ?? []
        try await expect(changes.count == 1 + writers * times * 5 / 2, "each change in the log: \(changes.count)")
        try await expect(changes.map(\.sequence) == (1...Int64(max(changes.count, 1))).map { $0 }, "no gap in the log")
        let positions = try await first.records(ofType: nil).map(\.position)
        try await expect(Set(positions).count == positions.count, "a unique position for each record")
    }

    static func watch(_ open: StorageCheck.Open) async throws {
        let (storage, other) = (try await open(), try await open())
        _ = try await storage.insert(record("a"))
        let (told, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = try storage.watch { continuation.yield() }
        guard watch != nil else { return }
        var sequence = try await storage.lastSequence()
        for number in 1...3 {
            _ = try await other.insert(record("b\(number)"))
            // A call without a change is allowed; a change without a call is not, and would never end this loop.
            for await _ in told {
                let changes = try await storage.changes(after: sequence) ?? []
                sequence += Int64(changes.count)
                if changes.contains(where: { $0.id == "b\(number)" }) { break }
            }
        }
        watch?.release()
    }

    static func unwatch(_ open: StorageCheck.Open) async throws {
        let storage = try await open()
        _ = try await storage.insert(record("a"))
        let (told, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let calls = Noted()
        let first = try storage.watch { calls.note(1) }
        let second = try storage.watch { continuation.yield() }
        guard let first, let second else { return }
        first.release()
        first.release()
        // Wait for calls that were in progress at the release.
        _ = try await storage.insert(record("b"))
        for await _ in told where try await storage.lastSequence() == 2 { break }
        let before = calls.all
        _ = try await storage.insert(record("c"))
        for await _ in told where try await storage.lastSequence() == 3 { break }
        try await expect(calls.all == before, "no call after the release")
        second.release()
    }

    static func locks(_ open: @escaping StorageCheck.Open) async throws {
        let storages = [try await open(), try await open()]
        let inside = Noted()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<10 {
                group.addTask {
                    let lock = try await storages[number % 2].lock("a", timeout: .seconds(60))
                    inside.note(1)
                    await Task.yield()
                    inside.note(-1)
                    lock.release()
                    lock.release()
                }
            }
            try await group.waitForAll()
        }
        let seen = inside.all
        try await expect(
            seen == (0..<10).flatMap { _ in [1, -1] },
            "each holder releases the lock before the next acquires it: \(seen)")
        let first = try await storages[0].lock("a", timeout: .seconds(60))
        let second = try await storages[1].lock("b", timeout: .seconds(60))
        let third = try await storages[0].lock("c", timeout: .seconds(60))
        for lock in [first, second, third] { lock.release() }
    }

    static func cancelledLock(_ open: StorageCheck.Open) async throws {
        let (storage, other) = (try await open(), try await open())
        let held = try await storage.lock("a", timeout: .seconds(60))
        let waiting = Task { try await other.lock("a", timeout: .seconds(60)) }
        waiting.cancel()
        do {
            _ = try await waiting.value
            throw StorageCheckFailure(description: "expected: a cancelled wait acquires no lock")
        } catch is CancellationError {}
        held.release()
        try await other.lock("a", timeout: .seconds(60)).release()
    }

    static func droppedLock(_ open: StorageCheck.Open) async throws {
        let (storage, other) = (try await open(), try await open())
        // Discard the lock, which releases it.
        _ = try await storage.lock("a", timeout: .seconds(60))
        try await other.lock("a", timeout: .seconds(60)).release()
    }
}
