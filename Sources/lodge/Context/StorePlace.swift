import CommandLineKit
import FleetStorage
import OAuth2AccountStore
import LodgePlatform

// The store of the command line: a folder of this machine, or a PostgreSQL database that several machines share.
extension CommandContext {
    /// The PostgreSQL connection of the store, or `nil` if the store is in a folder.
    private var connection: String? {
        guard let place = invocation[GlobalOptions.store] else { return nil }
        return ["postgresql://", "postgres://"].contains(where: place.hasPrefix) ? place : nil
    }

    /// The folder of the store on this machine: its database unless PostgreSQL is used, the key file and offline
    /// copies.
    var storeDirectory: StoreLocation {
        get throws {
            if let connection {
                return StoreLocation(
                    try ownDirectory.file("postgresql/" + wrapped { try PostgreSQLStorage.path(of: connection) }))
            }
            if let path = invocation[GlobalOptions.store] { return StoreLocation(path) }
            return try ownDirectory
        }
    }

    /// The folder of the database, or `nil` if the store is in PostgreSQL.
    var databaseFolder: String? { get throws { connection == nil ? try storeDirectory.path : nil } }

    /// Whether a store may exist.
    var hasStore: Bool {
        get throws { try connection != nil || FileManager.default.fileExists(atPath: storeDirectory.path) }
    }

    /// The location of the accounts, without a password.
    var storeLocation: String {
        get throws { connection == nil ? try storeDirectory.path : try storage().location }
    }

    /// The user's own folder.
    ///
    /// Fails for root with the home folder of another user, as some configurations of sudo leave it: the store would
    /// belong to root.
    private var ownDirectory: StoreLocation {
        get throws(CommandError) {
            try checkHome()
            return StoreLocation(application: Program.name, environment: world.environment)
        }
    }

    private func checkHome() throws(CommandError) {
        var status = stat()
        guard geteuid() == 0, world.environment["XDG_DATA_HOME"]?.hasPrefix("/") != true,
            let home = world.environment["HOME"], home.hasPrefix("/"), stat(home, &status) == 0, status.st_uid != 0
        else { return }
        throw CommandError(
            .store, "cannot use the store of HOME",
            reason: "lodge runs as root, and \(home) belongs to another user",
            hint:
                "run it without sudo; for accounts of root, run it with HOME=/root, or use --store or LODGE_STORE"
        )
    }

    /// Returns the storage of the accounts, which opens or creates its database on first use.
    func storage(
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) throws -> any AccountStorage {
        guard let connection else { return SQLiteStorage(directory: try storeDirectory, sleep: sleep) }
        let directory = try storeDirectory
        return try wrapped {
            if invocation.source(of: GlobalOptions.store) == .option, try PostgreSQLStorage.hasPassword(connection) {
                throw CommandError(
                    .usage, "--store contains a password", reason: "other users can read the arguments of a program",
                    hint:
                        "put the password into the file that PGPASSFILE names (mode 0600), or the URL into LODGE_STORE")
            }
            return try PostgreSQLStorage(connection: connection, rescueFolder: directory, sleep: sleep)
        }
    }

    /// Returns the storage if it is a file on this machine.
    func fileStorage(for action: String) throws -> SQLiteStorage {
        guard let storage = try storage() as? SQLiteStorage else {
            throw CommandError(
                .usage, "cannot \(action)", reason: "the store is in PostgreSQL: \(try storeLocation)",
                hint: "use the backups of the server (pg_dump, pg_restore)")
        }
        return storage
    }

    private func wrapped<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as StorageError {
            throw AccountStoreError.wrapping(error, what: "cannot open the account store")
        }
    }
}
