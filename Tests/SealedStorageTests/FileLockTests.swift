import Foundation
import StorageSuite
import TestSupport
import Testing

@testable import SealedStorage
@testable import LodgePlatform

/// Tests locks on file systems without support for them, and after the lock file is removed.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct FileLockTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL])
    func `a lock on a file system without lock support fails with a hint`(code: Int32) async throws {
        var lock = FileLock(path: directory.path + "/lock", sleep: { _ in })
        lock.request = { _, _ in code }
        let error = await #expect(throws: StorageError.self) { try await lock.lock("a", timeout: .seconds(1)) }
        #expect(error?.reason.contains("does not support locks") == true)
        #expect(error?.hint.description.contains("local disk") == true)
    }

    @Test func `a lock on a file that was removed first is taken again`() async throws {
        let path = directory.path + "/lock"
        var lock = FileLock(path: path, sleep: { _ in })
        let requests = Log<Int32>()
        lock.request = { file, _ in
            requests.append(file)
            if requests.all.count == 1 { unlink(path) }
            return 0
        }
        try await lock.lock("a", timeout: .seconds(1)).release()
        #expect(requests.all.count == 2)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func `confirm() fails if the lock file was removed or replaced`() async throws {
        let path = directory.path + "/lock"
        // As unique as the identifier of an account.
        let name = path
        let locks = FileLock(path: path, sleep: { _ in })
        let lock = try await locks.lock(name, timeout: .zero)
        try await lock.confirm()
        #expect(rename(path, path + "-moved") == 0)
        let error = await #expect(throws: StorageError.self) { try await lock.confirm() }
        #expect(error?.kind == .busy)
        #expect(error?.reason.contains("removed or replaced") == true)
        // Another process locks the new file.
        let other = try await locks.lock(name, timeout: .zero)
        await #expect(throws: StorageError.self) { try await lock.confirm() }
        #if os(Linux)
            // The request of the first holder may be in progress.
            let held = await #expect(throws: StorageError.self) { try await other.confirm() }
            #expect(held?.kind == .busy)
            #expect(held?.reason.contains("in another lock file") == true)
        #endif
        lock.release()
        try await other.confirm()
        other.release()
    }

    @Test func `tasks of a process get a lock in order, each at the release of the one before`() async throws {
        // No time passes: only a release can end a wait.
        let locks = FileLock(path: directory.path + "/lock", sleep: { _ in try await Promise<Void>().value() })
        let order = Log<Int>()
        let held = try await locks.lock("a", timeout: .seconds(60))
        var waiting: [Task<Void, any Error>] = []
        for number in 0..<10 {
            waiting.append(
                Task {
                    let lock = try await locks.lock("a", timeout: .seconds(60))
                    order.append(number)
                    lock.release()
                })
            try await until { locks.queue.count("a") == number + 1 }
        }
        // A cancelled task makes no other wait.
        for number in [0, 4] {
            waiting[number].cancel()
            await #expect(throws: CancellationError.self) { try await waiting[number].value }
        }
        #expect(order.all.isEmpty)
        try await locks.lock("b", timeout: .zero).release()
        held.release()
        for number in [1, 2, 3, 5, 6, 7, 8, 9] { try await waiting[number].value }
        #expect(order.all == [1, 2, 3, 5, 6, 7, 8, 9])
        #expect(locks.queue.count("a") == 0)
    }

    @Test func `the time limit of a task applies while others wait before it`() async throws {
        let path = directory.path + "/lock"
        let locks = FileLock(path: path) { delay in
            // The first task waits for its next attempt without end. The second one waits longer, for its turn.
            if delay < .milliseconds(100) { try await Promise<Void>().value() }
            #expect(delay < .seconds(1), "a deadline of the caller can refuse a longer wait")
        }
        let held = try await locks.lock("a", timeout: .zero)
        let first = Task { try await locks.lock("a", timeout: .seconds(60)) }
        try await until { locks.queue.count("a") == 1 }
        let error = await #expect(throws: StorageError.self) { try await locks.lock("a", timeout: .seconds(60)) }
        #expect(error?.kind == .busy && error?.lockHolder?.process == getpid())
        held.release()
        try await first.value.release()
    }

    // MARK: Holders

    private struct Deadline: Error {}

    private func entries() throws -> String {
        let bytes = try Data(contentsOf: URL(filePath: directory.path + "/lock"))
        return String(decoding: bytes, as: UTF8.self).filter { !$0.isWhitespace && $0 != "\0" }
    }

    @Test func `the timeout error names the process that holds the lock`() async throws {
        let locks = FileLock(path: directory.path + "/lock", sleep: { _ in })
        let lock = try await locks.lock("a", timeout: .zero)
        let name = try #require(ProcessStatus(of: getpid())?.name)
        for limit in [Duration.zero, .seconds(1)] {
            let error = await #expect(throws: StorageError.self) { try await locks.lock("a", timeout: limit) }
            #expect(error?.kind == .busy)
            #expect(error?.reason.hasPrefix("process \(getpid()) (\(name)) has held a lock for ") == true)
            #expect(error?.hint.description.contains("kill \(getpid())") == true)
            #expect(error?.lockHolder?.process == getpid())
        }
        // The caller's time limit ends the wait in the same way.
        let limited = FileLock(path: directory.path + "/lock", sleep: { _ in throw Deadline() })
        let error = await #expect(throws: StorageError.self) { try await limited.lock("a", timeout: .seconds(100)) }
        #expect(error?.lockHolder?.process == getpid())
        let cancelled = FileLock(path: directory.path + "/lock", sleep: { _ in throw CancellationError() })
        await #expect(throws: CancellationError.self) { try await cancelled.lock("a", timeout: .seconds(100)) }
        lock.release()
        #expect(try entries() == "")
    }

    @Test func `each lock has a separate holder, and a failed attempt keeps the holder`() async throws {
        let locks = FileLock(path: directory.path + "/lock", sleep: { _ in })
        let (one, two) = (try await locks.lock("a", timeout: .zero), try await locks.lock("b", timeout: .zero))
        for name in ["a", "b", "a", "b"] {
            let error = await #expect(throws: StorageError.self) { try await locks.lock(name, timeout: .zero) }
            #expect(error?.lockHolder?.process == getpid())
        }
        one.release()
        let error = await #expect(throws: StorageError.self) { try await locks.lock("b", timeout: .zero) }
        #expect(error?.lockHolder?.process == getpid())
        two.release()
        #expect(try entries() == "")
    }

    @Test(arguments: ["PID 1", "2147483647 START", "PID START 9 9", "PID", "x y z", "-1 START"])
    func `an entry of a crashed process is not reported as the holder`(entry: String) async throws {
        let path = directory.path + "/lock"
        let locks = FileLock(path: path, sleep: { _ in })
        let lock = try await locks.lock("a", timeout: .zero)
        // The entry of a killed process, and then a holder of an earlier version that writes no entry.
        let text = String(decoding: try Data(contentsOf: URL(filePath: path)), as: UTF8.self)
        let saved = try #require(text.split(whereSeparator: { $0 == "\0" || $0 == "\n" }).first).split(separator: " ")
        let stale = "\(saved[0]) \(entry) \(saved[3])"
            .replacing("PID", with: saved[1]).replacing("START", with: saved[2])
        let offset = try #require(text.utf8.firstIndex { $0 != 0 }).utf16Offset(in: text)
        let file = try FileHandle(forUpdating: URL(filePath: path))
        try file.seek(toOffset: UInt64(offset))
        try file.write(contentsOf: Data((stale + String(repeating: " ", count: 95 - stale.count) + "\n").utf8))
        try file.close()
        let error = await #expect(throws: StorageError.self) { try await locks.lock("a", timeout: .zero) }
        #expect(error?.lockHolder == nil)
        #expect(error?.reason.contains("another process") == true)
        lock.release()
    }

    @Test func `a process is distinguished from a later one with the same ID`() throws {
        let current = try #require(ProcessIdentity.current)
        #expect(current.status?.identity == current && current.status?.isStopped == false)
        #expect(ProcessIdentity(id: current.id, start: current.start + 1).status == nil)
        #expect(ProcessStatus(of: 0) == nil)
    }

    @Test func `OwnerOnlyFile creates a complete file once and leaves no other file`() throws {
        let path = directory.path + "/file"
        guard case .success = OwnerOnlyFile.create(path, [1, 2, 3], suffix: "x") else {
            Issue.record("not created")
            return
        }
        guard case .failure(let failure) = OwnerOnlyFile.create(path, [4], suffix: "x") else {
            Issue.record("created twice")
            return
        }
        #expect(failure.code == EEXIST)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 2, 3]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["file"])
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }

    @Test func `a lock that the system lists twice counts once`() {
        let list = """
            1: OFDLCK ADVISORY  WRITE -1 fe:00:77 41 41
            2: OFDLCK ADVISORY  WRITE -1 fe:00:77 41 41
            3: POSIX  ADVISORY  WRITE 9 fe:00:78 41 41
            4: OFDLCK ADVISORY  WRITE -1 fe:00:79 141 41
            5: OFDLCK ADVISORY  WRITE -1 fe:00:80 41 EOF
            5: -> OFDLCK ADVISORY  WRITE -1 fe:00:81 41 41
            """
        #expect(OpenFileLock.files(ofByte: 41, in: Array(list.utf8)) == [Array("fe:00:77".utf8)])
        let another = list + "\n6: OFDLCK ADVISORY  WRITE -1 fe:01:77 41 41\n"
        #expect(OpenFileLock.files(ofByte: 41, in: Array(another.utf8)).count == 2)
        #expect(OpenFileLock.files(ofByte: 41, in: []).isEmpty)
    }
}
