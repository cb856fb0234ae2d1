import SealedStorage
import LodgePlatform

/// The connection of an actor or a thread. It opens on first use, and again after the connection broke.
struct Session {
    let target: ConnectionTarget
    private(set) var connection: PostgreSQLConnection?
    /// Whether there was a connection before. A worker waits while the server restarts, but its first connection fails
    /// immediately if the server is unreachable.
    private(set) var wasConnected = false

    /// The time to wait for an unreachable server after a successful connection.
    static let reconnectTimeout = Duration.seconds(10)

    init(_ target: ConnectionTarget) { self.target = target }

    /// Returns the connection. It prepares a new connection before the first use.
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
