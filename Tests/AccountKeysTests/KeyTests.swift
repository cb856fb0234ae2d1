import Foundation
import JOSE
import TestSupport
import Testing

@testable import AccountKeys
import Platform

@Suite(.timeLimit(.scaled(minutes: 5)))
struct KeyTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let file: KeyFile

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.path + "/accounts.key"
        file = KeyFile(path: path)
    }

    private func error() async throws -> KeyCustodyError? {
        do {
            _ = try await file.key()
            return nil
        } catch let error as KeyCustodyError { return error }
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    @Test func `a key is made once, with mode 0600, and nothing stays beside it`() async throws {
        #expect(try await file.key() == nil)
        let key = try await file.create()
        #expect(try await file.create().bytes == key.bytes)
        #expect(try await file.key()?.bytes == key.bytes)
        #expect(try mode(path) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["accounts.key"])
    }

    @Test func `many who make the key at once get the same one`() async throws {
        let path = path
        let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<20 { group.addTask { try await KeyFile(path: path).create().bytes } }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(keys.count == 1)
    }

    @Test(arguments: [0, 31, 33, 5000])
    func `a key file of another size is a fault and stays as it is`(size: Int) async throws {
        try Data(repeating: 1, count: size).write(to: URL(filePath: path))
        #expect(chmod(path, 0o600) == 0)
        let error = try #require(await error())
        #expect(error.hint.description.contains("copy") || error.reason.contains("bytes"))
        #expect(try Data(contentsOf: URL(filePath: path)).count == size)
    }

    @Test(arguments: [mode_t(0o640), 0o604, 0o666])
    func `a key file that others can read is a fault that says what to do`(mode: mode_t) async throws {
        _ = try await file.create()
        #expect(chmod(path, mode) == 0)
        let error = try #require(await error())
        #expect(error.hint.description.contains("chmod 600"))
    }

    @Test func `a link or a directory in place of the key file is a fault`() async throws {
        let other = KeyFile(path: directory.path + "/other")
        _ = try await other.create()
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other.path)
        #expect(try await error()?.reason == "it is not a plain file")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try await error()?.reason == "it is not a plain file")
    }

    // Without async, a call on the type itself would use the default of the protocol.
    @Test func `a key file saves and removes a key when it is called directly`() async throws {
        let key = try SealingKey.random()
        try await file.save(key)
        #expect(try await file.key()?.bytes == key.bytes)
        try await file.remove(key)
        #expect(try await file.key() == nil)
    }

    @Test func `a key file that was planted as a half-written one is not written through`() async throws {
        let target = directory.path + "/target"
        try FileManager.default.createSymbolicLink(atPath: path + ".suffix", withDestinationPath: target)
        switch OwnerOnlyFile.create(path, [1, 2, 3], suffix: "suffix") {
        // Where a file can be written without a name, what was planted is in nobody's way.
        case .success: #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 2, 3]))
        case .failure(let failure):
            #expect(failure.code == EEXIST)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        #expect(!FileManager.default.fileExists(atPath: target))
    }
}
