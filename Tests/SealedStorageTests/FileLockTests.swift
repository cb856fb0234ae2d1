import Foundation
import StorageSuite
import TestSupport
import Testing

@testable import SealedStorage
import Platform

/// Locks where a file system has none, and where somebody removes the file.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct FileLockTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [ENOLCK, EOPNOTSUPP, ENOSYS, EINVAL])
    func `a file system without locks is an error that says so`(code: Int32) async throws {
        var lock = FileLock(path: directory.path + "/lock", sleep: { _ in })
        lock.request = { _, _ in code }
        let error = await #expect(throws: StorageError.self) { try await lock.lock("a", timeout: .seconds(1)) }
        #expect(error?.reason.contains("offers no locks") == true)
        #expect(error?.hint.description.contains("local disk") == true)
    }

    @Test func `a lock on a file that was removed meanwhile does not count`() async throws {
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

    @Test func `a private file is made whole, once, and with nothing beside it`() throws {
        let path = directory.path + "/file"
        guard case .success = OwnerOnlyFile.create(path, [1, 2, 3], suffix: "x") else {
            Issue.record("not made")
            return
        }
        guard case .failure(let failure) = OwnerOnlyFile.create(path, [4], suffix: "x") else {
            Issue.record("made twice")
            return
        }
        #expect(failure.code == EEXIST)
        #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 2, 3]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["file"])
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }
}
