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

/// A store that the first version created: `Databases/schema-1`, with three users of type `graph` and an account
/// without a subject.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct MigrationTests {
    private let directory: TemporaryDirectory
    private static let ids = ["J1U5rVA-yBA1-07n", "hjNshr-cQ4S6DZY1", "GFfyCpum-4nj5TUA", "b992I5yzQsZA2kdU"]

    init() throws {
        directory = try TemporaryDirectory()
        try Self.copy(to: directory.store)
    }

    static func copy(to directory: StoreLocation) throws {
        let source = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Databases/schema-1").path
        try FileManager.default.createDirectory(atPath: directory.path, withIntermediateDirectories: true)
        #expect(chmod(directory.path, 0o700) == 0)
        for name in ["accounts.sqlite", "accounts.key"] {
            try FileManager.default.copyItem(atPath: source + "/" + name, toPath: directory.file(name))
            #expect(chmod(directory.file(name), 0o600) == 0)
        }
    }

    private func open() async throws -> TestStore {
        var plain = try TestStore.type("plain", redirect: "http://127.0.0.1/callback")
        plain.provider = .endpoints
        plain.scope = ["read"]
        plain.endpoints.token = URL(string: "https://plain.example.com/token")
        return try await TestStore(
            types: [try TestStore.type(), plain], storage: SQLiteStorage(directory: directory.store),
            custody: KeyFile(directory: directory.store))
    }

    /// Returns the result of a query on the database file.
    private func ask(_ sql: String) throws -> Int64 {
        var connection: OpaquePointer?
        #expect(sqlite3_open(directory.store.file("accounts.sqlite"), &connection) == SQLITE_OK)
        defer { sqlite3_close(connection) }
        var statement: OpaquePointer?
        #expect(sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK)
        defer { sqlite3_finalize(statement) }
        #expect(sqlite3_step(statement) == SQLITE_ROW)
        return sqlite3_column_int64(statement, 0)
    }

    @Test func `a store of schema 1 opens, and a sign-in finds the existing account`() async throws {
        #expect(try ask("PRAGMA user_version") == 1)
        let test = try await open()
        #expect(try await test.store.accounts().map(\.id.rawValue) == Self.ids)
        #expect(try ask("PRAGMA user_version") == 2)
        #expect(try ask("SELECT count(*) FROM accounts WHERE identity IS NULL") == 4)
        #expect(try await test.store.currentAccount(ofType: "graph")?.subject == "eve")
        #expect(try await test.signIn("bob").id.rawValue == Self.ids[1])
        // The first search adds the identities of all accounts of the type.
        #expect(try ask("SELECT count(*) FROM accounts WHERE identity IS NULL AND type = 'graph'") == 0)
        #expect(try await test.signIn("ada").id.rawValue == Self.ids[0])
        let answer = try TokenResponse.read(.json(["access_token": "AT", "token_type": "Bearer", "expires_in": 3600]))
        let plain = try await test.store.add(answer, toType: "plain")
        #expect(plain.id.rawValue == Self.ids[3])
        #expect(try plain.userData(as: String.self) == "kept")
        #expect(try await test.store.accounts().map(\.id.rawValue) == Self.ids)
        #expect(try await test.signIn("new").id.rawValue != Self.ids[0])
        #expect(try await test.store.accounts().count == 5)
    }

    @Test func `a store of schema 1 is migrated once when several stores open it at the same time`() async throws {
        let stores = try await withThrowingTaskGroup(of: AccountStore.self) { group in
            for _ in 0..<6 { group.addTask { try await open().store } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for store in stores { #expect(try await store.accounts().map(\.id.rawValue) == Self.ids) }
        #expect(try ask("PRAGMA user_version") == 2)
        #expect(try ask("SELECT count(*) FROM pragma_table_info('accounts') WHERE name = 'identity'") == 1)
    }

    @Test func `an account that an older program adds later is found`() async throws {
        let test = try await open()
        let ada = try await test.signIn("ada")
        // The first version writes no identities.
        _ = try ask("UPDATE accounts SET identity = NULL WHERE id = '\(ada.id)' RETURNING 1")
        #expect(try await test.signIn("ada").id == ada.id)
        #expect(try ask("SELECT count(*) FROM accounts WHERE identity IS NULL AND type = 'graph'") == 0)
    }

    @Test func `a wrong identity does not select another user's account`() async throws {
        let test = try await open()
        let ada = try await test.signIn("ada"), bob = try await test.signIn("bob")
        _ = try ask(
            "UPDATE accounts SET identity = (SELECT identity FROM accounts WHERE id = '\(ada.id)') WHERE id = '\(bob.id)' RETURNING 1"
        )
        #expect(try await test.signIn("ada").id == ada.id)
        #expect(try await test.store.account(bob.id)?.subject == "bob")
    }

    @Test func `a read-only store of schema 1 returns its accounts`() async throws {
        let database = directory.store.file("accounts.sqlite")
        if geteuid() == 0 {
            for path in [directory.path, directory.store.path, database, directory.store.file("accounts.key")] {
                #expect(chown(path, 65534, 65534) == 0)
            }
        }
        #expect(chmod(database, 0o400) == 0)
        let before = try Data(contentsOf: URL(filePath: database))
        let lines = try await TestProcess(["look", directory.store.path, "1"], asNobody: true).rest()
        #expect(lines.first == "account \(Self.ids[0])", "\(lines)")
        #expect(try Data(contentsOf: URL(filePath: database)) == before)
    }

    @Test func `a process killed during the migration leaves the old or the new schema`() async throws {
        var numbers = SystemRandomNumberGenerator()
        for _ in 0..<10 {
            let location = StoreLocation(directory.path + "/\(UUID().uuidString)")
            try Self.copy(to: location)
            let process = try TestProcess(["look", location.path, "1"])
            // Kill the process at a random moment.
            for _ in 0..<Int.random(in: 0..<40_000, using: &numbers) { await Task.yield() }
            process.kill()
            _ = await process.rest()
            let storage = SQLiteStorage(directory: location)
            #expect(try await storage.records(ofType: nil).map(\.id) == Self.ids)
        }
    }
}
