import FleetStorage
import OAuth2AccountStore

/// The location of the store: a folder, or `postgresql://...#SCHEMA#FOLDER`, whose folder contains only the key.
struct StorePlace {
    /// The argument on the command line.
    let word: String
    /// The folder of the key.
    let directory: StoreLocation
    /// The connection and schema, or `nil` for SQLite.
    private let server: (connection: String, schema: String)?

    init(_ word: String) {
        self.word = word
        let parts = word.split(separator: "#", maxSplits: 2).map(String.init)
        guard word.hasPrefix("postgresql://"), parts.count == 3 else {
            directory = StoreLocation(word)
            server = nil
            return
        }
        directory = StoreLocation(parts[2])
        server = (parts[0], parts[1])
    }

    /// Returns an unused location of the same type.
    func new(_ number: Int) -> StorePlace {
        guard let server else { return StorePlace(directory.path + "-new") }
        return StorePlace("\(server.connection)#\(server.schema)_\(number)#\(directory.path)-new")
    }

    func storage() throws -> any AccountStorage {
        guard let server else { return SQLiteStorage(directory: directory) }
        // The local provider completes the requests of a killed process immediately or never.
        return try PostgreSQLStorage(
            connection: server.connection, schema: server.schema, leaseDuration: .milliseconds(500))
    }
}
