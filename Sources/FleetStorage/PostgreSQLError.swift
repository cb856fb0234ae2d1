import SealedStorage
import LodgePlatform

/// An error of a connection or a statement.
struct PostgreSQLError: Error {
    /// The SQLSTATE, five characters, or `nil` if the server sent none.
    var state: String?
    /// The first line of the message of the server or of libpq.
    var message: String
    /// Whether the connection is closed. It is then unknown whether the last statement took effect.
    var isLost = false
    /// The error that the caller gets instead.
    private var storageError: StorageError?

    init(state: String?, message: String, isLost: Bool = false) {
        self.state = state
        self.message = message
        self.isLost = isLost
    }

    /// Creates an error that the server did not report.
    init(_ error: StorageError) {
        self.init(state: nil, message: error.reason)
        storageError = error
    }

    /// Creates an error from libpq's report on a connection.
    ///
    /// The verbose form contains the SQLSTATE: `FATAL:  28P01: password ...`.
    init(report: String, isLost: Bool) {
        let line = report.split(separator: "\n").first.map(String.init) ?? "unknown error"
        var state: String?
        var message: [Substring] = []
        for part in line.split(separator: ":", omittingEmptySubsequences: false) {
            let word = part.drop { $0 == " " }
            if state == nil, !message.isEmpty, word.utf8.count == 5, part.hasPrefix("  "),
                word.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) })
            {
                state = String(word)
            } else {
                message.append(part)
            }
        }
        self.init(state: state, message: message.joined(separator: ":"), isLost: isLost)
    }

    /// Whether a retry may succeed: the server is unreachable, starts, stops, or has no free connection.
    var isTransient: Bool {
        guard storageError == nil else { return false }
        guard let state else { return true }
        return ["57P01", "57P02", "57P03", "53300"].contains(state) || state.hasPrefix("08")
    }

    /// Whether the server rolled back the transaction because of another one.
    var isConflict: Bool { state == "40001" || state == "40P01" }

    /// Returns the error for the caller of the storage.
    func storageError(location: String) -> StorageError {
        if let storageError { return storageError }
        func error(_ kind: StorageError.Kind, _ hint: Hint) -> StorageError {
            StorageError(kind, location: location, reason: message, hint: hint)
        }
        guard let state else { return error(.busy, Self.unreachable) }
        switch state {
        case "28P01", "28000":
            return error(
                .noPermission,
                "check user, pg_hba.conf and password; a password belongs in the file that PGPASSFILE names, mode 0600")
        case "3D000": return error(.other, "create the database with createdb, or choose another one")
        case "42501":
            return error(
                .noPermission, "let the database's owner grant the user USAGE and CREATE, or the schema's tables")
        case "25006": return error(.readOnly, "connect to the primary server: target_session_attrs=read-write")
        case "23505": return .duplicateIdentifier(location: location)
        case "53100": return error(.full, "free some space on the server and try again; the accounts are unchanged")
        case "53300":
            return error(.busy, "raise max_connections on the server, or start fewer workers, and try again")
        case "55P03", "57014", "40001", "40P01", "57P03":
            return error(.busy, "check the activity of the server, then try again")
        case "3F000", "42P01", "42703":
            return error(.notAStore, "the schema is damaged or was removed while it was open: restore it from a copy")
        case let state where state.hasPrefix("XX"):
            return error(.notAStore, "the server reports damage: restore the database from a copy")
        case let state where state.hasPrefix("08") || state.hasPrefix("57"): return error(.busy, Self.unreachable)
        default: return error(.other, "check the server's log (SQLSTATE \(state))")
        }
    }

    private static let unreachable: Hint = "check that the server is running and reachable, then try again"
}
