import FleetStorage
import OAuth2AccountStore

/// Where the store is: a directory, or `postgresql://...#SCHEMA#DIRECTORY`, where the directory is that of the key.
struct StorePlace {
    /// What the command line calls it.
    let word: String
    /// The directory of the key.
    let directory: StoreLocation
    /// Connection and schema; nil for SQLite.
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

    /// Another place of the same kind, where nothing is yet.
    func new(_ number: Int) -> StorePlace {
        guard let server else { return StorePlace(directory.path + "-new") }
        return StorePlace("\(server.connection)#\(server.schema)_\(number)#\(directory.path)-new")
    }

    func storage() throws -> any AccountStorage {
        guard let server else { return SQLiteStorage(directory: directory) }
        // The requests of a killed process go to a provider on this machine, which completes them immediately or never.
        return try PostgreSQLStorage(
            connection: server.connection, schema: server.schema, leaseDuration: .milliseconds(500))
    }
}
