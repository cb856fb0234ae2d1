#if PostgreSQL
    import CPostgreSQL
    import OAuth2AccountStore

    /// What went wrong with a connection or a statement.
    struct PostgreSQLError: Error {
        /// The code by which the server tells errors apart, five characters; nil when the server said nothing.
        var state: String?
        /// What the server or libpq said, one line.
        var message: String
        /// Whether the connection is gone. Whether the last statement took effect is then not known.
        var isLost = false
        /// What is to be told instead of the above.
        var told: StorageError?

        init(state: String?, message: String, isLost: Bool = false) {
            self.state = state
            self.message = message
            self.isLost = isLost
        }

        /// A fault of the store that the server knows nothing about.
        init(_ error: StorageError) {
            self.init(state: nil, message: error.reason)
            told = error
        }

        /// From libpq's report on a connection. In its long form the line has the code: `FATAL:  28P01: password ...`.
        init(report: String, isLost: Bool) {
            let line = report.split(separator: "\n").first.map(String.init) ?? "no reason was given"
            var state: String?
            var message: [Substring] = []
            for part in line.split(separator: ":", omittingEmptySubsequences: false) {
                let word = part.drop { $0 == " " }
                // The code stands alone between two colons.
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

        /// Whether the same may go well a little later: the server is away, starts, stops, or has no connection left.
        var isPassing: Bool {
            guard told == nil else { return false }
            guard let state else { return true }
            return ["57P01", "57P02", "57P03", "53300"].contains(state) || state.hasPrefix("08")
        }

        /// Whether the server ended the transaction because of another one, so that it may be tried again at once.
        var isConflict: Bool { state == "40001" || state == "40P01" }

        /// For the caller.
        func error(place: String) -> StorageError {
            if let told { return told }
            func error(_ kind: StorageError.Kind, _ hint: String) -> StorageError {
                StorageError(kind, place: place, reason: message, hint: hint)
            }
            guard let state else {
                // Busy is the kind that is worth another attempt later; nothing about the store is to be repaired.
                return error(.busy, "see that the server runs and can be reached, and try again")
            }
            switch state {
            case "28P01", "28000":
                return error(
                    .noPermission,
                    "check user, pg_hba.conf and password; a password belongs in the file that PGPASSFILE names, mode 0600"
                )
            case "3D000": return error(.other, "create the database with createdb, or name another one")
            case "42501":
                return error(
                    .noPermission, "let the database's owner grant the user USAGE and CREATE, or the schema's tables")
            case "25006": return error(.readOnly, "connect to the primary server: target_session_attrs=read-write")
            case "23505":
                return StorageError(
                    .other, place: place, reason: "the identifier is taken", hint: "use another identifier")
            case "53100": return error(.full, "free some space on the server and try again; nothing was changed")
            case "53300":
                return error(.busy, "raise max_connections on the server, or start fewer workers, and try again")
            case "55P03", "57014", "40001", "40P01", "57P03":
                return error(.busy, "see what the server is doing, and try again")
            case "3F000", "42P01", "42703":
                return error(
                    .notAStore, "the schema is damaged or was removed while it was open: restore it from a copy")
            case let state where state.hasPrefix("XX"):
                return error(.notAStore, "the server reports damage: restore the database from a copy")
            case let state where state.hasPrefix("08") || state.hasPrefix("57"):
                return error(.busy, "see that the server runs and can be reached, and try again")
            default: return error(.other, "see the server's log (SQLSTATE \(state))")
            }
        }
    }
#endif
