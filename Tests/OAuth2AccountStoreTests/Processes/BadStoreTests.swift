import CLodgeSQLite
import Foundation
import HTTPExchange
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

/// Stores that are unusable or partly unusable: each is an error with a reason, and the store does not change.
@Suite(.serialized, .timeLimit(.scaled(minutes: 5)))
struct BadStoreTests {
    private let directory: TemporaryDirectory
    private let server: TokenServer
    private var database: String { directory.store.file("accounts.sqlite") }
    private var databaseURL: URL { URL(filePath: database) }

    init() throws {
        directory = try TemporaryDirectory()
        server = try TokenServer()
    }

    private func makeDirectory() throws {
        try FileManager.default.createDirectory(atPath: directory.store.path, withIntermediateDirectories: true)
        #expect(chmod(directory.store.path, 0o700) == 0)
    }

    private func open() async throws -> AccountStore {
        try await TestStore(
            storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store)
        ).store
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory.store.path).sorted()
    }

    private func mode(_ path: String) throws -> Int {
        try #require(FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
    }

    /// Runs a statement without the store.
    private func tamper(_ sql: String) throws {
        var connection: OpaquePointer?
        #expect(sqlite3_open(database, &connection) == SQLITE_OK)
        #expect(sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(connection)
    }

    @Test(arguments: [
        Data(), Data("x".utf8), Data(repeating: 0, count: 4096), Data(repeating: 0xA5, count: 100_000),
        Data("SQLite format 3\u{0}".utf8), Data("SQLite format 3\u{0}".utf8) + Data(repeating: 0xFF, count: 5000),
        Data(#"{"accounts":[]}"#.utf8),
    ])
    func `a file that is not a database is rejected and remains unchanged`(content: Data) async throws {
        try makeDirectory()
        try content.write(to: databaseURL)
        let error = try await failure { try await open() }
        #expect(error?.kind == .storage(.notAStore), "\(String(describing: error))")
        #expect(error?.remedy == .repairStore)
        #expect(error?.reason.contains(database) == true)
        #expect(try Data(contentsOf: databaseURL) == content)
        #expect(try names() == ["accounts.sqlite"])
    }

    @Test func `a truncated store is an error, not an empty store`() async throws {
        _ = try await server.makeStore(in: directory.store)
        let whole = try Data(contentsOf: databaseURL)
        for count in [0, 50, 511, 4096, whole.count - 4096] {
            try whole.prefix(count).write(to: databaseURL)
            #expect(chmod(database, 0o600) == 0)
            let error = try await failure { try await open().accounts() }
            #expect(error?.kind == .storage(.notAStore), "\(count): \(String(describing: error))")
            #expect(try Data(contentsOf: databaseURL).count == count)
        }
        try whole.write(to: databaseURL)
        #expect(try await open().accounts().count == 1)
    }

    @Test func `the database of another program is rejected and remains unchanged`() async throws {
        try makeDirectory()
        try tamper("CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES ('x'); PRAGMA user_version=3")
        let before = try Data(contentsOf: databaseURL)
        let error = try await failure { try await open() }
        #expect(error?.kind == .storage(.notAStore))
        #expect(error?.reason.contains("another program") == true)
        #expect(try Data(contentsOf: databaseURL) == before)
    }

    @Test func `a store of a later version is rejected and remains unchanged`() async throws {
        _ = try await server.makeStore(in: directory.store)
        try tamper("PRAGMA user_version=99")
        let before = try Data(contentsOf: databaseURL)
        let error = try await failure { try await open() }
        #expect(error?.kind == .storage(.laterVersion))
        #expect(error?.reason.contains("99") == true)
        #expect(try Data(contentsOf: databaseURL) == before)
    }

    @Test func `a database that is removed or replaced while the store is open is an error`() async throws {
        _ = try await server.makeStore(in: directory.store)
        let store = try await open()
        let id = try #require(try await store.accounts().first?.id)
        let copy = try Data(contentsOf: databaseURL)
        try FileManager.default.removeItem(atPath: database)
        for _ in 0..<2 {
            let error = try await failure { try await store.setUserData(1, for: id) }
            #expect(error?.kind == .storage(.notAStore))
            #expect(!FileManager.default.fileExists(atPath: database))
        }
        try copy.write(to: databaseURL)
        #expect(try await failure { try await store.setUserData(1, for: id) }?.reason.contains("replaced") == true)
        #expect(try await open().accounts().map(\.id) == [id])
    }

    @Test func `concurrent processes reuse the reserved space of a killed process`() async throws {
        _ = try await server.makeStore(in: directory.store)
        try tamper("INSERT OR REPLACE INTO facts (name, value) VALUES ('reserved', zeroblob(65536))")
        let storages = (0..<3).map { _ in SQLiteStorage(directory: directory.store) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for storage in storages + storages { group.addTask { try await storage.checkWritable() } }
            try await group.waitForAll()
        }
        let size = try Data(contentsOf: databaseURL).count
        for _ in 0..<5 { try await storages[0].checkWritable() }
        #expect(try Data(contentsOf: databaseURL).count == size)
    }

    @Test func `files have mode 0600 from their creation under every umask`() async throws {
        let store = directory.path + "/a/b"
        let process = try TestProcess(["look", store, "\(server.port)"], isUnmasked: true)
        #expect(await process.rest() == ["done"])
        for path in ["/a", "/a/b"] { #expect(try mode(directory.path + path) == 0o700) }
        let files = try FileManager.default.contentsOfDirectory(atPath: store)
        #expect(Set(files).isSuperset(of: ["accounts.key", "accounts.lock", "accounts.sqlite"]))
        for file in files { #expect(try mode(store + "/" + file) == 0o600, "\(file)") }
    }

    @Test(arguments: [mode_t(0o750), 0o705, 0o777])
    func `a store folder that other users can enter is rejected`(mode: mode_t) async throws {
        try makeDirectory()
        #expect(chmod(directory.store.path, mode) == 0)
        let error = try await failure { try await open() }
        #expect(error?.kind == .storage(.insecure))
        #expect(error?.hint?.description.contains("chmod 700") == true)
        #expect(try names().isEmpty)
    }

    @Test func `a database that other users can read gets mode 0600`() async throws {
        _ = try await server.makeStore(in: directory.store)
        #expect(chmod(database, 0o644) == 0)
        #expect(try await open().accounts().count == 1)
        #expect(try mode(database) == 0o600)
    }

    @Test func `symbolic links in place of the store's files are not followed`() async throws {
        let target = directory.path + "/target"
        try Data("precious".utf8).write(to: URL(filePath: target))
        for name in ["accounts.sqlite", "accounts.lock", "accounts.key"] {
            try makeDirectory()
            try FileManager.default.createSymbolicLink(
                atPath: directory.store.file(name), withDestinationPath: target)
            let error = try await failure { try await open() }
            #expect(error != nil, "\(name)")
            #expect(try Data(contentsOf: URL(filePath: target)) == Data("precious".utf8))
            try FileManager.default.removeItem(atPath: directory.store.path)
        }
    }

    @Test func `a store opens below a symbolic link to a folder`() async throws {
        let real = directory.path + "/real"
        try FileManager.default.createDirectory(atPath: real, withIntermediateDirectories: true)
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: real)
        _ = try await server.makeStore(in: StoreLocation(link + "/store"))
        let storage = SQLiteStorage(directory: StoreLocation(real + "/store"))
        #expect(try await storage.records(ofType: nil).count == 1)
    }

    @Test func `a file in place of the store's folder is rejected`() async throws {
        try Data().write(to: URL(filePath: directory.store.path))
        #expect(try await failure { try await open() }?.kind == .storage(.notAStore))
    }

    // MARK: As another user, in another process

    /// Makes the user of the other process the owner of the store.
    private func giveAway() throws {
        guard geteuid() == 0 else { return }
        for path in [directory.path, directory.store.path] + (try names().map(directory.store.file)) {
            #expect(chown(path, 65534, 65534) == 0)
        }
    }

    private func look() async throws -> [String] {
        try await TestProcess(["look", directory.store.path, "\(server.port)"], asNobody: true).rest()
    }

    @Test func `a read-only store returns its accounts and sends no refresh`() async throws {
        let id = try await server.makeStore(in: directory.store)
        try giveAway()
        #expect(chmod(database, 0o400) == 0)
        let lines = try await look()
        #expect(lines.first == "account \(id)")
        #expect(
            lines.last?.hasPrefix("error storage(SealedStorage.StorageError.Kind.readOnly)") == true, "\(lines)")
        #expect(server.counts.refreshes == 0)
        #expect(chmod(database, 0o600) == 0)
        // The lock and the journal do not exist and cannot be created.
        for name in ["accounts.lock", "accounts.sqlite-journal"] {
            try? FileManager.default.removeItem(atPath: directory.store.file(name))
        }
        #expect(chmod(directory.store.path, 0o500) == 0)
        let others = try await look()
        #expect(others.first == "account \(id)")
        #expect(others.last?.hasPrefix("error storage(SealedStorage.StorageError.Kind.") == true, "\(others)")
        #expect(server.counts.refreshes == 0)
        #expect(chmod(directory.store.path, 0o700) == 0)
        #expect(try await look() == ["account \(id)", "token", "done"])
        #expect(server.counts.refreshes == 1)
    }

    @Test func `a store without read permission is a permission error`() async throws {
        _ = try await server.makeStore(in: directory.store)
        try giveAway()
        #expect(chmod(database, 0) == 0)
        let lines = try await look()
        #expect(
            lines.count == 1 && lines[0].hasPrefix("error storage(SealedStorage.StorageError.Kind.noPermission)"),
            "\(lines)")
        #expect(chmod(database, 0o600) == 0)
        #expect(chmod(directory.path, 0) == 0)
        let others = try await look()
        #expect(others.count == 1 && others[0].hasPrefix("error storage("), "\(others)")
        #expect(chmod(directory.path, 0o700) == 0)
    }

    @Test func `a store of another user is rejected`() async throws {
        guard geteuid() == 0 else { return }
        _ = try await server.makeStore(in: directory.store)
        #expect(chmod(directory.path, 0o755) == 0)
        #expect(chown(directory.store.path, 65534, 65534) == 0)
        let lines = try await look()
        #expect(lines.count == 1 && lines[0].contains("belongs to another user"), "\(lines)")
        #expect(try await failure { try await open() }?.kind == .storage(.insecure))
    }

    @Test func `a save that exceeds the file size limit changes nothing`() async throws {
        let id = try await server.makeStore(in: directory.store)
        let before = try await SQLiteStorage(directory: directory.store).record(id.rawValue)
        let process = try TestProcess(["change", directory.store.path, "\(server.port)", "150000"])
        let lines = await process.rest()
        #expect(
            lines.count == 1 && lines[0].hasPrefix("error storage(SealedStorage.StorageError.Kind.full)"),
            "\(lines)")
        #expect(try await SQLiteStorage(directory: directory.store).record(id.rawValue) == before)
        #expect(try await open().accounts().count == 1)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount a small disk"))
    func `with a full disk a save fails without loss, and the reserved space still takes new tokens`() async throws {
        try makeDirectory()
        guard try run("/usr/bin/mount", "-t", "tmpfs", "-o", "size=400k,mode=700", "tmpfs", directory.store.path) else {
            // Root of a container may not mount a file system. The test of the file size limit covers that case.
            return
        }
        // Unmount lazily: another thread of the store may not have closed the file yet.
        defer { _ = try? run("/usr/bin/umount", "-l", directory.store.path) }
        let id = try await server.makeStore(in: directory.store)
        let storage = SQLiteStorage(directory: directory.store)
        // The space that checkWritable() reserved is available even if the disk is full when the store saves.
        try await storage.checkWritable()
        let filler = try fill()
        let record = try #require(try await storage.record(id.rawValue))
        var larger = record
        larger.revision += 1
        larger.sealed = [UInt8](repeating: 1, count: record.sealed.count + 8000)
        #expect(try await storage.replace(larger, kind: .tokens) != nil)
        larger.revision += 1
        larger.sealed = [UInt8](repeating: 2, count: 300_000)
        let error = await #expect(throws: StorageError.self) { try await storage.replace(larger, kind: .tokens) }
        #expect(error?.kind == .full)
        #expect(try await storage.record(id.rawValue)?.revision == record.revision + 1)
        try FileManager.default.removeItem(atPath: filler)
        #expect(try await SQLiteStorage(directory: directory.store).records(ofType: nil).count == 1)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount a small disk"))
    func `opening a store on a full disk is an error and leaves no partial files`() async throws {
        try makeDirectory()
        guard try run("/usr/bin/mount", "-t", "tmpfs", "-o", "size=16k,mode=700", "tmpfs", directory.store.path) else {
            return
        }
        defer { _ = try? run("/usr/bin/umount", "-l", directory.store.path) }
        let filler = try fill()
        let error = try await failure { try await open() }
        #expect(error?.kind == .storage(.full))
        #expect(error?.hint?.description.contains("free some space") == true)
        #expect(try names() == [URL(filePath: filler).lastPathComponent])
    }

    /// Fills the disk completely.
    private func fill() throws -> String {
        let path = directory.store.file("filler")
        let file = creat(path, 0o600)
        #expect(file >= 0)
        defer { close(file) }
        for size in [4096, 1] {
            let block = [UInt8](repeating: 0, count: size)
            while write(file, block, size) > 0 {}
        }
        return path
    }

    private func run(_ program: String, _ words: String...) throws -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = words
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.limit()
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
