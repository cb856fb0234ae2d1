import LodgePlatform

// The SDKs of Apple have this module, so that a build for iOS contains no path of the build machine.
#if canImport(SQLite3)
    import SQLite3
#else
    import CLodgeSQLite
#endif

/// A connection to a SQLite file, for one thread at a time. It closes with the last reference.
package final class SQLiteConnection {
    private var database: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]
    package let path: String
    /// SQLITE_TRANSIENT, a cast that Swift does not import: SQLite copies the bytes.
    private static let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    package init(path: String) throws(StorageError) {
        self.path = path
        // One thread uses the connection, so it needs no mutex of SQLite. SQLite rejects symbolic links.
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        let code = sqlite3_open_v2(path, &database, flags, nil)
        guard code == SQLITE_OK else {
            let error = storageError(code)
            sqlite3_close_v2(database)
            database = nil
            throw error
        }
        sqlite3_extended_result_codes(database, 1)
        sqlite3_busy_timeout(database, 10_000)
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(database)
    }

    /// Whether the file is read-only.
    var isReadOnly: Bool { sqlite3_db_readonly(database, "main") == 1 }

    /// The number of rows that the last statement changed.
    package var changedRows: Int { Int(sqlite3_changes(database)) }

    /// The rowid of the last insertion.
    package var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(database) }

    /// Returns the database as the bytes of a file, or `nil` if there is not enough memory.
    package func image() -> [UInt8]? {
        var size: sqlite3_int64 = 0
        guard let bytes = sqlite3_serialize(database, "main", &size, 0) else { return nil }
        defer { sqlite3_free(bytes) }
        return [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(size)))
    }

    /// Runs statements without parameters and rows.
    package func execute(_ sql: String) throws(StorageError) {
        try check(sqlite3_exec(database, sql, nil, nil, nil))
    }

    /// Runs a statement and returns its rows.
    @discardableResult
    package func run(_ statement: SQLStatement) throws(StorageError) -> [[SQLValue]] {
        try run(statement.text, statement.parameters)
    }

    /// Runs a statement and returns its rows. The connection prepares each statement once.
    @discardableResult
    package func run(_ sql: String, _ parameters: [SQLValue] = []) throws(StorageError) -> [[SQLValue]] {
        let statement = try prepared(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in parameters.enumerated() {
            try check(bind(value, to: statement, at: Int32(index + 1)))
        }
        var rows: [[SQLValue]] = []
        while let row = try nextRow(statement) { rows.append(row) }
        return rows
    }

    /// Returns the rows of a query up to the first damage or the limit, and whether these are all rows.
    func readable(_ sql: String, limit: Int = 1000) -> (rows: [[SQLValue]], isWhole: Bool) {
        var rows: [[SQLValue]] = []
        do throws(StorageError) {
            let statement = try prepared(sql)
            defer { sqlite3_reset(statement) }
            while rows.count < limit {
                guard let row = try nextRow(statement) else { return (rows, true) }
                rows.append(row)
            }
        } catch {}
        return (rows, false)
    }

    /// Returns the next row, or `nil` after the last one.
    private func nextRow(_ statement: OpaquePointer?) throws(StorageError) -> [SQLValue]? {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return (0..<sqlite3_column_count(statement)).map { column(statement, $0) }
        case SQLITE_DONE: return nil
        case let code: throw storageError(code)
        }
    }

    private func check(_ code: Int32) throws(StorageError) {
        guard code == SQLITE_OK else { throw storageError(code) }
    }

    /// Runs `body` in a transaction, which rolls back if `body` throws.
    @discardableResult
    package func transaction<Result>(_ body: () throws(StorageError) -> Result) throws(StorageError) -> Result {
        try execute("BEGIN IMMEDIATE")
        do throws(StorageError) {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // After some errors SQLite has already rolled back, and this has no effect.
            try? execute("ROLLBACK")
            throw error
        }
    }

    private func prepared(_ sql: String) throws(StorageError) -> OpaquePointer? {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw storageError(code) }
        statements[sql] = statement
        return statement
    }

    private func bind(_ value: SQLValue, to statement: OpaquePointer?, at index: Int32) -> Int32 {
        switch value {
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .text(let text):
            var text = text
            return text.withUTF8 { bytes in
                bytes.withMemoryRebound(to: CChar.self) {
                    sqlite3_bind_text(statement, index, $0.baseAddress, Int32(clamping: $0.count), Self.copies)
                }
            }
        case .blob(let bytes):
            guard !bytes.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
            return sqlite3_bind_blob(statement, index, bytes, Int32(clamping: bytes.count), Self.copies)
        case .null: return sqlite3_bind_null(statement, index)
        }
    }

    private func column(_ statement: OpaquePointer?, _ index: Int32) -> SQLValue {
        switch sqlite3_column_type(statement, index) {
        case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(statement, index) else { return .null }
            return .text(String(cString: text))
        case SQLITE_BLOB:
            let count = Int(sqlite3_column_bytes(statement, index))
            guard count > 0, let bytes = sqlite3_column_blob(statement, index) else { return .blob([]) }
            return .blob([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
        default: return .null
        }
    }

    private func storageError(_ code: Int32) -> StorageError {
        // SQLite's message contains tables and columns, never values.
        let reason = database.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
        func error(_ kind: StorageError.Kind, _ hint: Hint) -> StorageError {
            StorageError(kind, location: path, reason: reason, hint: hint)
        }
        switch code & 0xFF {
        case SQLITE_NOTADB, SQLITE_CORRUPT:
            return error(
                .notAStore,
                "the file is unchanged; restore a copy, or \(StorageRemedy.chooseStore(.other)), "
                    + "or copy what can be read of it: \(StorageRemedy.salvage)")
        case SQLITE_FULL: return error(.full, "free some space and try again; the store is unchanged")
        case SQLITE_READONLY:
            return error(
                .readOnly, "allow writing to the file and its folder, or \(StorageRemedy.chooseStore(.other))")
        case SQLITE_BUSY, SQLITE_LOCKED:
            return error(.busy, "check which process uses the store, then try again")
        case SQLITE_PERM, SQLITE_AUTH, SQLITE_CANTOPEN:
            return error(.noPermission, "check who owns the file and its directory, and their modes")
        case SQLITE_IOERR where code == SQLITE_IOERR | 3 << 8:
            // SQLITE_IOERR_WRITE: a quota or a limit on the file's size.
            return error(.full, "free some space or raise the limit, and try again; the store is unchanged")
        // The errors of locking: SQLITE_IOERR_UNLOCK, _RDLOCK, _CHECKRESERVEDLOCK, _LOCK.
        case SQLITE_IOERR where [8, 9, 14, 15].contains(code >> 8): return .noLocks(location: path, reason: reason)
        default: return error(.other, "try again; if the error remains, \(StorageRemedy.chooseStore(.other))")
        }
    }
}
