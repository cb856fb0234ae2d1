import Foundation
import OAuth2AccountStore
import StorageSuite
import TestSupport
import Testing

@testable import FleetStorage

/// The checks of every storage, on a real server.
@Suite(.enabled(if: TestServer.url != nil), .serialized, .timeLimit(.scaled(minutes: 2)))
struct PostgreSQLStorageTests {
    @Test(arguments: StorageCheck.allCases)
    func `PostgreSQL passes the checks of all storages`(check: StorageCheck) async throws {
        let schema = TestSchema()
        try await check.run { try schema.storage() }
    }

    @Test func `eight storages that start together create one store`() async throws {
        let schema = TestSchema()
        let sequences = try await withThrowingTaskGroup(of: Int64.self) { group in
            for number in 0..<8 {
                group.addTask { try await schema.storage().insert(record("r\(number)")).sequence }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(sequences.sorted() == (1...8).map { $0 })
    }

    @Test func `changes returns nil when the log was pruned`() async throws {
        let schema = TestSchema()
        let storage = try schema.storage()
        _ = try await storage.insert(record("a"))
        // As if there had been as many changes.
        try schema.ask(
            """
            INSERT INTO ~.changes SELECT number, 'a', 'graph', 'tokens', decode(md5(number::text), 'hex')
            FROM generate_series(2, 10239) AS number
            """)
        try schema.ask("UPDATE ~.state SET sequence = 10239")
        #expect(try await storage.changes(after: 0)?.count == 10_239)
        #expect(try await storage.replace(record("a", revision: 2), kind: .userData) == 10_240)
        #expect(try schema.ask("SELECT count(*) FROM ~.changes") == .integer(10_000))
        #expect(try await storage.changes(after: 0) == nil)
        #expect(try await storage.changes(after: 239) == nil)
        #expect(try await storage.changes(after: 240)?.count == 10_000)
        #expect(try await storage.changes(after: 10_239)?.map(\.kind) == [.userData])
        // The sequence of a server before it was restored from an older copy.
        #expect(try await storage.changes(after: 20_000) == nil)
    }

    @Test func `a lock throws after its timeout`() async throws {
        let schema = TestSchema()
        let storage = try PostgreSQLStorage(
            connection: TestServer.url ?? "", schema: schema.name, sleep: { _ in })
        let held = try await schema.storage().lock("a", timeout: .zero)
        let error = await #expect(throws: StorageError.self) { try await storage.lock("a", timeout: .seconds(1)) }
        #expect(error?.kind == .busy && error?.isLockTimeout == true)
        #expect(error?.lockHolder?.process == getpid() && error?.lockHolder?.machine == nil)
        held.release()
    }

    @Test func `isMissing creates nothing`() async throws {
        let schema = TestSchema()
        #expect(try await schema.storage().isMissing())
        #expect(try schema.ask("SELECT count(*) FROM pg_namespace WHERE nspname = '~'") == .integer(0))
        let storage = try schema.storage()
        #expect(try await storage.isMissing())
        _ = try await storage.insert(record("a"))
        #expect(try await !storage.isMissing())
        #expect(try await !schema.storage().isMissing())
    }

    @Test func `schemas of one database are independent`() async throws {
        let (one, two) = (TestSchema(), TestSchema())
        let lock = try await one.storage().lock("a", timeout: .zero)
        try await two.storage().lock("a", timeout: .zero).release()
        lock.release()
        _ = try await one.storage().insert(record("a"))
        #expect(try await two.storage().count(ofType: nil) == 0)
    }
}

/// Servers, schemas and connections that the storage rejects.
@Suite(.enabled(if: TestServer.url != nil), .timeLimit(.scaled(minutes: 1)))
struct RejectionTests {
    private func failure(_ storage: PostgreSQLStorage) async -> StorageError? {
        await #expect(throws: StorageError.self) { try await storage.count(ofType: nil) }
    }

    @Test func `a store of a later version is rejected and unchanged`() async throws {
        let schema = TestSchema()
        _ = try await schema.storage().insert(record("a"))
        try schema.ask("UPDATE ~.state SET version = 2")
        let error = await failure(try schema.storage())
        #expect(error?.kind == .laterVersion)
        #expect(error?.reason == "it was written by a later version (schema 2, this one knows 1)")
        #expect(try schema.ask("SELECT version FROM ~.state") == .integer(2))
        #expect(try schema.ask("SELECT count(*) FROM ~.accounts") == .integer(1))
    }

    @Test(arguments: ["CREATE TABLE ~.people (name text)", "CREATE TABLE ~.state (place text)"])
    func `the tables of another program are not changed`(table: String) async throws {
        let schema = TestSchema()
        try schema.ask("CREATE SCHEMA ~")
        try schema.ask(table)
        #expect(await failure(try schema.storage())?.kind == .notAStore)
        #expect(
            try schema.ask(
                "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = '~'::regnamespace")
                == .integer(1))
    }

    @Test func `the error for a wrong password does not contain the password`() async throws {
        let wrong = "wrong-\(UUID().uuidString)"
        let storage = try TestSchema().storage(TestServer.url { $0.password = wrong })
        let error = try #require(await failure(storage))
        #expect(error.kind == .noPermission)
        #expect(error.reason.contains("password authentication failed") && !error.reason.contains("28P01"))
        var shown = ""
        dump((storage, error), to: &shown)
        for text in [shown, "\(storage)", "\(error) \(error.hint)", storage.location, String(reflecting: storage)] {
            #expect(!text.contains(wrong))
        }
        #expect(storage.location.hasPrefix("postgresql://worker@127.0.0.1:"))
    }

    @Test func `a missing database and an unreachable server have different errors`() async throws {
        let missing = await failure(try TestSchema().storage(TestServer.url { $0.path = "/no_such_database" }))
        #expect(missing?.hint.description.contains("createdb") == true)
        // Port 1 is reserved, and has no listener.
        let away = await failure(try TestSchema().storage("postgresql://worker@127.0.0.1:1/db"))
        // The kind says that a retry may help.
        #expect(away?.kind == .busy)
        #expect(away?.hint == "check that the server is running and reachable, then try again")
    }

    @Test func `checkWritable throws for a read-only session`() async throws {
        let schema = TestSchema()
        _ = try await schema.storage().insert(record("a"))
        let standby = try schema.storage(
            TestServer.url {
                $0.queryItems = [URLQueryItem(name: "options", value: "-cdefault_transaction_read_only=on")]
            })
        #expect(try await standby.count(ofType: nil) == 1)
        let error = await #expect(throws: StorageError.self) { try await standby.checkWritable() }
        #expect(error?.kind == .readOnly)
    }

    @Test func `a user without permissions gets an error`() async throws {
        let schema = TestSchema()
        _ = try await schema.storage().insert(record("a"))
        try schema.ask("CREATE ROLE \(schema.name)_r NOLOGIN")
        defer { _ = try? schema.ask("DROP ROLE \(schema.name)_r") }
        let storage = try schema.storage(
            TestServer.url { $0.queryItems = [URLQueryItem(name: "options", value: "-crole=\(schema.name)_r")] })
        #expect(await failure(storage)?.kind == .noPermission)
    }
}

/// Tests that need libpq, but no server.
@Suite(.enabled(if: (try? LibPQ()) != nil))
struct ConnectionTests {
    @Test(arguments: [
        "postgresql://ada:pa@ss@db.example.com/accounts", "postgresql://ada:pa/ss@db.example.com/accounts",
        "postgresql://ada:pass@db.example.com:pass/accounts", "host=db password='pass", "pass", "user=a@pass",
        "postgresql://ada:pass@[db/accounts", "host=db\0password=pass",
    ])
    func `the error for an invalid connection does not contain it`(connection: String) throws {
        let error = #expect(throws: StorageError.self) { try PostgreSQLStorage(connection: connection) }
        let shown = try #require(error.map { "\($0) \($0.hint)" })
        #expect(!shown.contains("pass") && !shown.contains("ss@"))
    }

    @Test func `the location contains everything except the password`() throws {
        let url = try PostgreSQLStorage(
            connection: "postgresql://ada:secret%40x@db.example.com:5433/accounts", schema: "s")
        #expect(url.location == "postgresql://ada@db.example.com:5433/accounts (schema s)")
        let words = try PostgreSQLStorage(connection: "host=db dbname=accounts password=secret")
        #expect(words.location == "postgresql://db/accounts (schema oauth2_accounts)")
        #expect(
            !String(reflecting: words).contains("secret")
                && !"\(Mirror(reflecting: words).children.map(\.value))".contains("secret"))
    }

    @Test(arguments: [
        ("postgresql://ada@db.example.com:5433/accounts", "db.example.com:5433/accounts"),
        ("postgresql://ada@db.example.com/accounts", "db.example.com/accounts"),
        ("host=db dbname=../../etc", "db/%2e.%2f..%2fetc"), ("host=/run/a%b dbname=a", "%2frun%2fa%25b/a"),
        ("postgresql:///?service=lodge", "lodge/lodge"), ("postgresql://", "default/default"),
    ])
    func `the path of a connection is a folder and a folder in it`(connection: String, path: String) throws {
        #expect(try PostgreSQLStorage.path(of: connection) == path)
    }

    @Test(arguments: [
        ("postgresql://ada:secret@db/accounts", true), ("postgresql://ada@db/accounts?password=secret", true),
        ("postgresql://ada@db/accounts?sslpassword=secret", true), ("postgresql://ada@db/accounts", false),
        ("postgresql://ada@db/accounts?passfile=/run/pass", false),
    ])
    func `a password of a connection is found`(connection: String, hasPassword: Bool) throws {
        #expect(try PostgreSQLStorage.hasPassword(connection) == hasPassword)
    }

    @Test func `the name of a session tells the process and the machine`() {
        let own = SessionName.process(SessionName.own)
        #expect(own?.process == getpid() && own?.machine == nil)
        let other = SessionName.process("my program 4711@worker-3")
        #expect(other?.holds("a lock") == "process 4711 (my program) on worker-3 holds a lock")
        #expect(other?.remedy.description == "wait for it, or end it there: kill 4711")
        for name in ["", "psql", "lodge x@y", "lodge 0@y", "lodge 1", " @"] {
            #expect(SessionName.process(name) == nil)
        }
    }

    @Test(arguments: [
        "", "Accounts", "a-b", "1a", "a;drop schema a", "pg_x", "a\"b", "ä", String(repeating: "a", count: 64),
    ])
    func `an invalid schema name is rejected`(name: String) {
        #expect(throws: StorageError.self) { try PostgreSQLStorage(connection: "", schema: name) }
    }

    @Test func `the report of a rejected connection contains the SQLSTATE`() {
        let report = PostgreSQLError(
            report:
                "connection to server at \"::1\", port 5432 failed: FATAL:  28P01: password authentication failed\nLOCATION",
            isLost: true)
        #expect(report.state == "28P01")
        #expect(
            report.message
                == "connection to server at \"::1\", port 5432 failed: FATAL: password authentication failed")
        let away = PostgreSQLError(report: "connection failed: Connection refused", isLost: true)
        #expect(away.state == nil && away.isTransient)
    }
}

/// Machines without libpq.
struct LibPQTests {
    @Test func `the error for a missing libpq says how to install it`() {
        let error = #expect(throws: StorageError.self) { try LibPQ(fileNames: ["libpq-missing.so.5"]) }
        #expect(
            error?.reason.hasPrefix("cannot load libpq, the client library of PostgreSQL: libpq-missing.so.5") == true)
        #expect(error?.hint == "install libpq (libpq5 on Debian and Ubuntu, libpq with Homebrew)")
    }

    @Test func `a library without the functions of libpq is rejected`() {
        #if canImport(Darwin)
            let other = "libSystem.B.dylib"
        #else
            let other = "libc.so.6"
        #endif
        let error = #expect(throws: StorageError.self) { try LibPQ(fileNames: [other]) }
        #expect(error?.reason.hasSuffix("it has no function PQconninfoParse") == true)
    }
}
