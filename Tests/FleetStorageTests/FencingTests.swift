import Foundation
import OAuth2AccountStore
import TestSupport
import Testing

@testable import FleetStorage

/// Workers whose connections break while a refresh is at the provider: no other worker sends the same refresh token.
@Suite(.enabled(if: TestServer.url != nil), .serialized, .timeLimit(.scaled(minutes: 3)))
struct FencingTests {
    /// Refreshes the token of a worker, breaks something while only the provider knows the new tokens, and lets another worker
    /// try.
    private func refresh(
        _ fleet: Fleet, _ one: AccountStore, _ two: AccountStore, expecting blocked: String,
        breaking: () throws -> Void,
        restoring: () throws -> Void = {}
    ) async throws {
        let old = try await two.accessToken(for: fleet.id)
        #expect(old.secret.value == "AT-1")
        fleet.provider.holdNext()
        async let first = one.accessToken(for: fleet.id, rejected: old.secret)
        await fleet.provider.stalled()
        try breaking()
        async let second = two.accessToken(for: fleet.id, rejected: old.secret)
        // The second worker has tried to get the lock.
        try await until {
            try fleet.provider.counts.refreshes != 2
                || fleet.schema.ask(
                    "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%\(blocked)%'"
                ) == .integer(1)
        }
        try restoring()
        fleet.provider.letGo()
        #expect(try await first.secret.value == "AT-2")
        #expect(try await second.secret.value == "AT-2")
        #expect(fleet.provider.counts.refreshes == 2)
        #expect(fleet.provider.counts.reuses == 0)
        #expect(try await two.account(fleet.id)?.signInNeeded == nil)
    }

    @Test func `a refresh whose lock connection is killed is saved before another worker starts one`() async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        try await refresh(
            fleet, try await fleet.open(), try await fleet.open(), expecting: "pg_advisory_unlock",
            breaking: {
                let ended = try fleet.schema.endHolder(of: "account:\(fleet.id)")
                #expect(ended == .integer(1))
            })
    }

    @Test func `a refresh of a worker whose network is cut is saved before another worker starts one`() async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        let proxy = try Proxy(to: TestServer.url)
        let cut = try await fleet.open(TestServer.url { $0.port = Int(proxy.port) })
        try await refresh(
            fleet, cut, try await fleet.open(), expecting: "pg_advisory_unlock", breaking: proxy.cut,
            restoring: proxy.restore)
    }

    @Test func `a refresh of a worker whose network loses everything is saved before another worker starts one`()
        async throws
    {
        let fleet = try await Fleet()
        defer { fleet.end() }
        let proxy = try Proxy(to: TestServer.url)
        let lost = try await fleet.open(TestServer.url { $0.port = Int(proxy.port) })
        // The server does not notice it for a while: the lock is still held.
        try await refresh(
            fleet, lost, try await fleet.open(), expecting: "pg_try_advisory_lock", breaking: proxy.swallow,
            restoring: proxy.restore)
    }

    @Test func `a refresh whose lock connection broke before the request sends nothing`() async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        let store = try await fleet.open()
        let old = try await store.accessToken(for: fleet.id)
        // The check that the account is writable is the last step before the lock is confirmed.
        try TestServer.connect().execute(
            """
            CREATE FUNCTION \(fleet.schema.name).fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF new.name = 'reserved' THEN
                    PERFORM pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
                    AND (classid::bigint << 32 | objid::bigint)
                        = \(PostgreSQLSchema(fleet.schema.name, location: "").lockKey("account:\(fleet.id)"));
                END IF;
                RETURN new;
            END $$;
            CREATE TRIGGER fail BEFORE INSERT ON \(fleet.schema.name).facts FOR EACH ROW
                EXECUTE FUNCTION \(fleet.schema.name).fail();
            """)
        let error = await #expect(throws: AccountStoreError.self) {
            try await store.accessToken(for: fleet.id, rejected: old.secret)
        }
        #expect(error?.remedy == .retryLater(after: nil))
        #expect(fleet.provider.counts.refreshes == 1)
        try fleet.schema.ask("DROP TRIGGER fail ON ~.facts")
        #expect(try await store.accessToken(for: fleet.id, rejected: old.secret).secret.value == "AT-2")
        #expect(fleet.provider.counts.reuses == 0)
    }

    @Test func `a restored backup is noticed, and names the sign-in that it lost`() async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        let (one, two) = (try await fleet.open(), try await fleet.open())
        try await one.setUserData("before", for: fleet.id)
        let tables = ["accounts", "facts", "changes", "state"]
        let schema = fleet.schema.name
        for table in tables {
            try TestServer.connect().execute("CREATE TABLE \(schema).old_\(table) AS TABLE \(schema).\(table)")
        }
        let old = try await one.accessToken(for: fleet.id)
        try await one.setUserData("after", for: fleet.id)
        #expect(try await two.account(fleet.id)?.userData(as: String.self) == "after")
        var events = two.events().makeAsyncIterator()
        try TestServer.connect().execute(
            tables.map { "TRUNCATE \(schema).\($0); INSERT INTO \(schema).\($0) TABLE \(schema).old_\($0);" }
                .joined())
        // Both read the older record, although they had the newer one in memory, and can change it.
        #expect(try await one.account(fleet.id)?.userData(as: String.self) == "before")
        try await two.setUserData("again", for: fleet.id)
        // The log is at a lower number. The notification of an earlier change can come before it.
        while let event = await events.next() {
            if case .manyChanges = event { break }
        }
        #expect(try await one.account(fleet.id)?.userData(as: String.self) == "again")
        #expect(fleet.provider.counts.refreshes == 1)
        // The token that was refreshed after the backup is lost: the provider rejects the older one, and the account remains.
        let error = await #expect(throws: AccountStoreError.self) {
            try await two.accessToken(for: fleet.id, rejected: old.secret)
        }
        guard case .signInNeeded? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try await one.accounts().map(\.id) == [fleet.id])
        #expect(try await one.account(fleet.id)?.userData(as: String.self) == "again")
    }
}
