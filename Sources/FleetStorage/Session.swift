import SealedStorage
import Platform

/// The connection of an actor or a thread, which it opens on first use, and again after the connection broke.
struct Session {
    let target: ConnectionTarget
    private(set) var connection: PostgreSQLConnection?
    /// Whether there was a connection before. A restart of the server does not end a worker, but its first connection fails
    /// immediately.
    private(set) var wasConnected = false

    /// How long to wait for an unreachable server after a successful connection.
    static let reconnectTimeout = Duration.seconds(10)

    init(_ target: ConnectionTarget) { self.target = target }

    /// Returns the connection. A new one is prepared before its first use.
    mutating func connected(
        _ prepare: (PostgreSQLConnection) throws(PostgreSQLError) -> Void
    ) throws(PostgreSQLError) -> PostgreSQLConnection {
        if let connection { return connection }
        let new = try PostgreSQLConnection(target)
        try prepare(new)
        connection = new
        wasConnected = true
        return new
    }

    /// Closes the connection.
    mutating func close() { connection = nil }
}
