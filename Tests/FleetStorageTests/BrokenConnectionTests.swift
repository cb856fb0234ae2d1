import Foundation
import OAuth2AccountStore
import TestSupport
import Testing

@testable import FleetStorage

/// Tests a storage whose connection to PostgreSQL breaks.
@Suite(.enabled(if: TestServer.url != nil), .serialized, .timeLimit(.scaled(minutes: 2)))
struct BrokenConnectionTests {
    @Test func `a storage reconnects when the server ends its connections`() async throws {
        let schema = TestSchema()
        let storage = try schema.storage()
        _ = try await storage.insert(record("a"))
        #expect(try schema.terminate("INTO \(schema.name).accounts") == .integer(1))
        #expect(try await storage.record("a")?.revision == 1)
        #expect(try schema.terminate("FROM \(schema.name).accounts") == .integer(1))
        #expect(try await storage.replace(record("a", revision: 2), kind: .tokens) == 2)
        #expect(try schema.terminate("UPDATE \(schema.name).accounts") == .integer(1))
        #expect(try await storage.remove("a") == 3)
        #expect(try await storage.changes(after: 0)?.map(\.kind) == [.added, .tokens, .removed])
    }

    @Test func `a change that the server rolled back is retried and saved once`() async throws {
        let schema = TestSchema()
        let storage = try schema.storage()
        _ = try await storage.insert(record("a"))
        // The trigger ends the connection of each odd-numbered insert before the commit. A rollback does not reset a
        // sequence, so the retry has an even number and succeeds.
        try TestServer.connect().execute(
            """
            CREATE SEQUENCE \(schema.name).times;
            CREATE FUNCTION \(schema.name).fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('\(schema.name).times') % 2 = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()); END IF;
                RETURN new;
            END $$;
            CREATE TRIGGER fail BEFORE INSERT ON \(schema.name).changes FOR EACH ROW
                EXECUTE FUNCTION \(schema.name).fail();
            """)
        #expect(try await storage.replace(record("a", revision: 2, [2]), kind: .tokens) == 2)
        let added = try await storage.insert(record("b"))
        #expect(added.position == 2 && added.sequence == 3)
        #expect(try await storage.remove("a") == 4)
        #expect(try await storage.changes(after: 0)?.map(\.sequence) == [1, 2, 3, 4])
    }

    @Test func `a change whose result was lost is not repeated, and returns its sequence`() async throws {
        let schema = TestSchema()
        let proxy = try Proxy(to: TestServer.url)
        let storage = try schema.storage(TestServer.url { $0.port = Int(proxy.port) })
        // These calls prepare every statement. The next result that the proxy discards is then the result of the change
        // itself.
        _ = try await storage.insert(record("a"))
        _ = try await storage.replace(record("a", revision: 2), kind: .tokens)
        _ = try await storage.insert(record("b"))
        _ = try await storage.remove("b")
        proxy.loseNextResult()
        #expect(try await storage.replace(record("a", revision: 3, [3]), kind: .userData) == 5)
        #expect(proxy.lost == 1)
        #expect(try await storage.record("a")?.sealed == [3])
        _ = try await storage.replace(record("a", revision: 4), kind: .tokens)
        _ = try await storage.insert(record("c"))
        proxy.loseNextResult()
        let added = try await storage.insert(record("d"))
        #expect(added.position == 4 && added.sequence == 8)
        _ = try await storage.remove("c")
        proxy.loseNextResult()
        #expect(try await storage.remove("d") == 10)
        #expect(try await storage.changes(after: 0)?.map(\.sequence) == (1...10).map { $0 })
        #expect(proxy.lost == 3)
    }

    @Test func `the error says that the change may be saved if the server is unreachable after it`() async throws {
        let schema = TestSchema()
        let proxy = try Proxy(to: TestServer.url)
        let storage = try PostgreSQLStorage(
            connection: TestServer.url { $0.port = Int(proxy.port) }, schema: schema.name, sleep: { _ in })
        _ = try await storage.insert(record("a"))
        _ = try await storage.replace(record("a", revision: 2), kind: .tokens)
        proxy.loseNextResult(andCloseFor: true)
        let error = await #expect(throws: StorageError.self) {
            try await storage.replace(record("a", revision: 3), kind: .tokens)
        }
        #expect(error?.reason.contains("unknown whether the change was saved") == true)
        #expect(try await schema.storage().record("a")?.revision == 3)
    }

    @Test func `a storage takes the free locks of its broken connection again`() async throws {
        let schema = TestSchema()
        let (storage, other) = (try schema.storage(), try schema.storage())
        _ = try await storage.insert(record("a"))
        let kept = try await storage.lock("a", timeout: .zero)
        #expect(try schema.endHolder(of: "a") == .integer(1))
        // To take the next lock, the storage opens a new session, which first takes the free locks of the old one.
        try await storage.lock("b", timeout: .zero).release()
        await #expect(throws: StorageError.self) { try await other.lock("a", timeout: .zero) }
        #expect(try schema.endHolder(of: "a") == .integer(1))
        let taken = try await other.lock("a", timeout: .zero)
        // Both storages rely on their lock, but only the first one saves revision 2.
        #expect(try await other.replace(record("a", revision: 2, [2]), kind: .tokens) == 2)
        #expect(try await storage.replace(record("a", revision: 2, [3]), kind: .tokens) == nil)
        kept.release()
        await #expect(throws: StorageError.self) { try await storage.lock("a", timeout: .zero) }
        taken.release()
        try await storage.lock("a", timeout: .seconds(TestTime.seconds(30))).release()
    }

    @Test func `confirm() throws only for a lock whose connection broke`() async throws {
        let schema = TestSchema()
        let (storage, other) = (try schema.storage(), try schema.storage())
        let lock = try await storage.lock("a", timeout: .zero)
        try await lock.confirm()
        #expect(try schema.endHolder(of: "a") == .integer(1))
        // The second lock opens a new session, which also takes the first lock again.
        let next = try await storage.lock("b", timeout: .zero)
        try await next.confirm()
        next.release()
        // Another process could have held the first lock before the new session took it.
        let error = await #expect(throws: StorageError.self) { try await lock.confirm() }
        #expect(error?.kind == .busy)
        #expect(error?.reason.contains("the connection that held the lock broke") == true)
        lock.release()
        try await other.lock("a", timeout: .seconds(TestTime.seconds(30))).release()
        let again = try await storage.lock("a", timeout: .seconds(TestTime.seconds(30)))
        try await again.confirm()
        again.release()
    }

    @Test func `confirm() throws if the connection of the lock broke while it was idle`() async throws {
        let schema = TestSchema()
        let storage = try schema.storage()
        let lock = try await storage.lock("a", timeout: .zero)
        #expect(try schema.endHolder(of: "a") == .integer(1))
        await #expect(throws: StorageError.self) { try await lock.confirm() }
        lock.release()
    }

    @Test func `a confirmed lock whose connection broke excludes others until it is released`() async throws {
        let schema = TestSchema()
        let (storage, other) = (try schema.storage(), try schema.storage())
        let lock = try await storage.lock("a", timeout: .zero)
        try await lock.confirm()
        #expect(try schema.endHolder(of: "a") == .integer(1))
        let error = await #expect(throws: StorageError.self) { try await other.lock("a", timeout: .zero) }
        #expect(error?.kind == .busy && error?.isLeased == true)
        #expect(error?.reason.contains("its request may still be in progress") == true)
        #expect(error?.hint.description.contains("try again in") == true)
        // The lock of another account is free.
        try await other.lock("b", timeout: .zero).release()
        try schema.setLeaseEnd("interval '110 seconds'")
        lock.release()
        try await other.lock("a", timeout: .seconds(TestTime.seconds(15))).release()
        #expect(try schema.ask("SELECT count(*) FROM ~.facts WHERE name LIKE 'lease:%'") == .integer(0))
    }

    @Test func `end() of a confirmed lock returns after the lease has ended`() async throws {
        let schema = TestSchema()
        let lock = try await schema.storage().lock("a", timeout: .zero)
        try await lock.confirm()
        await lock.end()
        #expect(try schema.ask("SELECT count(*) FROM ~.facts WHERE name LIKE 'lease:%'") == .integer(0))
        try await schema.storage().lock("a", timeout: .zero).release()
    }

    @Test func `end() waits until the lock is released`() async throws {
        let schema = TestSchema()
        let (storage, other) = (try schema.storage(), try schema.storage())
        for _ in 0..<20 {
            let lock = try await storage.lock("a", timeout: .seconds(TestTime.seconds(30)))
            try await lock.confirm()
            lock.release()
            await lock.end()
            // Another process gets the lock at its first attempt.
            await (try other.lock("a", timeout: .zero)).end()
        }
    }

    @Test func `lock() stops waiting after ten seconds if a lease ends after the timeout`() async throws {
        let schema = TestSchema()
        let lock = try await schema.storage().lock("a", timeout: .zero)
        try await lock.confirm()
        #expect(try schema.endHolder(of: "a") == .integer(1))
        let waited = Log<Duration>()
        let other = try PostgreSQLStorage(
            connection: TestServer.url ?? "", schema: schema.name, leaseDuration: .seconds(60)
        ) { waited.append($0) }
        let error = await #expect(throws: StorageError.self) { try await other.lock("a", timeout: .seconds(40)) }
        #expect(error?.isLeased == true)
        #expect(waited.all.reduce(.zero, +) < .seconds(12))
        lock.release()
    }

    @Test func `a confirmed lock of a process that ended excludes others until its lease ends`() async throws {
        let schema = TestSchema()
        let other = try schema.storage()
        let lock = try await schema.storage(leaseDuration: .seconds(600)).lock("a", timeout: .zero)
        try await lock.confirm()
        #expect(try schema.endHolder(of: "a") == .integer(1))
        // The storage ignores a lease of more than two minutes: it was saved before a change of the server's clock.
        try await other.lock("a", timeout: .zero).release()
        try schema.setLeaseEnd("interval '1 minute'")
        await #expect(throws: StorageError.self) { try await other.lock("a", timeout: .zero) }
        try schema.setLeaseEnd("interval '-1 microsecond'")
        let next = try await other.lock("a", timeout: .zero)
        try await next.confirm()
        // The first holder must not end the lease of the second one.
        lock.release()
        await #expect(throws: StorageError.self) { try await schema.storage().lock("a", timeout: .zero) }
        #expect(try schema.ask("SELECT count(*) FROM ~.facts WHERE name LIKE 'lease:%'") == .integer(1))
        next.release()
    }

    @Test func `a listener repeats LISTEN on an idle connection and misses no change`() async throws {
        let schema = TestSchema()
        let storage = try schema.storage()
        _ = try await storage.insert(record("a"))
        let listener = ChangeListener(
            try ConnectionTarget(TestServer.url ?? "", schema: schema.name),
            try PostgreSQLSchema(schema.name, location: ""), idleTimeout: 5)
        let (notifications, continuation) = AsyncStream.makeStream(of: Void.self)
        let watch = try listener.watch { continuation.yield() }
        var calls = notifications.makeAsyncIterator()
        _ = await calls.next()
        let began =
            "SELECT count(DISTINCT query_start) FROM pg_stat_activity WHERE query = 'LISTEN ~' AND query_start > "
        let now = "(SELECT max(query_start) FROM pg_stat_activity WHERE query = 'LISTEN ~')"
        guard case .integer(let first)? = try schema.ask("SELECT (extract(epoch FROM \(now)) * 1000000)::bigint")
        else {
            Issue.record("the listener is not connected")
            return
        }
        try await until { try schema.ask("\(began) to_timestamp(\(first + 1) / 1000000.0)") == .integer(1) }
        for revision in 2...40 {
            _ = try await storage.replace(record("a", revision: Int64(revision)), kind: .tokens)
            _ = await calls.next()
        }
        watch.release()
    }

    @Test func `a watcher is called when the listener reconnects`() async throws {
        let schema = TestSchema()
        let (storage, other) = (try schema.storage(), try schema.storage())
        _ = try await other.insert(record("a"))
        let (notifications, continuation) = AsyncStream.makeStream(of: Void.self)
        let watch = try storage.watch { continuation.yield() }
        var calls = notifications.makeAsyncIterator()
        _ = await calls.next()
        #expect(try schema.terminate("LISTEN \(schema.name)") == .integer(1))
        // After it reconnects, the listener calls the watcher even if there was no change.
        _ = await calls.next()
        _ = try await other.insert(record("b"))
        _ = await calls.next()
        watch?.release()
        // Without watchers, the listener ends its session.
        try await until {
            try schema.ask(
                "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query = 'LISTEN ~'")
                == .integer(0)
        }
    }
}
