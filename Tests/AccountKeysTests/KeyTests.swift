import Foundation
import JOSE
import TestSupport
import Testing

@testable import AccountKeys
import LodgePlatform

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

    @Test func `a key file is created once, with mode 0600 and no other files`() async throws {
        #expect(try await file.key() == nil)
        let key = try await file.create()
        #expect(try await file.create().bytes == key.bytes)
        #expect(try await file.key()?.bytes == key.bytes)
        #expect(try mode(path) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["accounts.key"])
    }

    @Test func `concurrent calls of create() return the same key`() async throws {
        let path = path
        let keys = try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for _ in 0..<20 { group.addTask { try await KeyFile(path: path).create().bytes } }
            return try await group.reduce(into: Set<[UInt8]>()) { $0.insert($1) }
        }
        #expect(keys.count == 1)
    }

    @Test(arguments: [0, 31, 33, 5000])
    func `a key file of the wrong size is an error and is not modified`(size: Int) async throws {
        try Data(repeating: 1, count: size).write(to: URL(filePath: path))
        #expect(chmod(path, 0o600) == 0)
        let error = try #require(await error())
        #expect(error.hint.description.contains("copy") || error.reason.contains("bytes"))
        #expect(try Data(contentsOf: URL(filePath: path)).count == size)
    }

    @Test(arguments: [mode_t(0o640), 0o604, 0o666])
    func `a key file that others can read is an error with a chmod hint`(mode: mode_t) async throws {
        _ = try await file.create()
        #expect(chmod(path, mode) == 0)
        let error = try #require(await error())
        #expect(error.hint.description.contains("chmod 600"))
    }

    @Test func `a link or folder in place of the key file is an error`() async throws {
        let other = KeyFile(path: directory.path + "/other")
        _ = try await other.create()
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: other.path)
        #expect(try await error()?.reason == "it is not a plain file")
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try await error()?.reason == "it is not a plain file")
    }

    // A synchronous call on the concrete type would use the protocol's default.
    @Test func `KeyFile saves and removes a key when it is called directly`() async throws {
        let key = try SealingKey.random()
        try await file.save(key)
        #expect(try await file.key()?.bytes == key.bytes)
        try await file.remove(key)
        #expect(try await file.key() == nil)
    }

    @Test func `OwnerOnlyFile does not write through a planted temporary file`() async throws {
        let target = directory.path + "/target"
        try FileManager.default.createSymbolicLink(atPath: path + ".suffix", withDestinationPath: target)
        switch OwnerOnlyFile.create(path, [1, 2, 3], suffix: "suffix") {
        // If the system supports files without a name, the planted link has no effect.
        case .success: #expect(try Data(contentsOf: URL(filePath: path)) == Data([1, 2, 3]))
        case .failure(let failure):
            #expect(failure.code == EEXIST)
            #expect(!FileManager.default.fileExists(atPath: path))
        }
        #expect(!FileManager.default.fileExists(atPath: target))
    }
}
