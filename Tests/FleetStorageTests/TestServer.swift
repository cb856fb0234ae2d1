import Foundation
import OAuth2AccountStore

@testable import FleetStorage

/// The server to test against: the URL in `LODGE_TEST_POSTGRESQL`, whose password is in the file that `PGPASSFILE` names.
/// Each test has its own schema in the database.
enum TestServer {
    static let url = ProcessInfo.processInfo.environment["LODGE_TEST_POSTGRESQL"]

    /// The command that kills the server with SIGKILL and restarts it, one word per line. It is set only for a run of
    /// ``ServerCrashTests``, because the crash would break the other tests.
    static let crash = ProcessInfo.processInfo.environment["LODGE_TEST_POSTGRESQL_CRASH"]

    /// Creates a connection of the superuser.
    static func connect() throws -> PostgreSQLConnection {
        try PostgreSQLConnection(ConnectionTarget(url ?? "", schema: "none"))
    }

    /// Returns the URL with changed parts.
    static func url(_ change: (inout URLComponents) -> Void) -> String {
        var parts = URLComponents(string: url ?? "") ?? URLComponents()
        change(&parts)
        return parts.string ?? ""
    }
}

/// A schema that goes away with the value.
final class TestSchema: Sendable {
    let name = "test_" + UUID().uuidString.replacing("-", with: "").lowercased()

    deinit { try? TestServer.connect().execute("DROP SCHEMA IF EXISTS \(name) CASCADE") }

    func storage(
        _ connection: String? = nil, leaseDuration: Duration = .seconds(60)
    ) throws -> PostgreSQLStorage {
        try PostgreSQLStorage(
            connection: connection ?? TestServer.url ?? "", schema: name, leaseDuration: leaseDuration)
    }

    /// Changes the end of all leases to so long from now.
    func setLeaseEnd(_ interval: String) throws {
        try ask(
            """
            UPDATE ~.facts SET value = substring(value FROM 1 FOR 16) || decode(lpad(to_hex(
                (extract(epoch FROM clock_timestamp() + \(interval)) * 1000000)::bigint), 16, '0'), 'hex')
            WHERE name LIKE 'lease:%'
            """)
    }

    /// Runs a statement on another connection and returns the first value.
    @discardableResult
    func ask(_ sql: String) throws -> SQLValue? {
        try TestServer.connect().run(sql.replacing("~", with: name)).first?.first
    }

    /// Ends the connection that holds this lock. Gives how many.
    @discardableResult
    func endHolder(of lock: String) throws -> SQLValue? {
        try ask(
            """
            SELECT count(pg_terminate_backend(pid, 10000)) FROM (
                SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
                AND (classid::bigint << 32 | objid::bigint) = \(PostgreSQLSchema(name, location: "").lockKey(lock))
            ) AS holders
            """)
    }

    /// Ends the connections that did this last, as a restart of the server does. Gives how many.
    @discardableResult
    func terminate(_ query: String) throws -> SQLValue? {
        try ask(
            """
            SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
            WHERE pid <> pg_backend_pid() AND query LIKE '%\(query)%'
            """)
    }
}

func record(_ id: String, revision: Int64 = 1, _ bytes: [UInt8] = [1, 2, 0, 3]) -> SealedRecord {
    SealedRecord(id: id, type: "graph", revision: revision, sealed: bytes)
}
