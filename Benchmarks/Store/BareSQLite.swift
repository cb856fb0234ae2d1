import CLodgeSQLite

/// SQLite without a layer above it: the peer of all store measurements.
final class BareSQLite {
    private var database: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    enum Value {
        case integer(Int64)
        case text(String)
        case blob([UInt8])
        case null
    }

    init(path: String) throws(BenchmarkError) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(path, &database, flags, nil) == SQLITE_OK else { throw fault() }
        try execute("PRAGMA synchronous=FULL; PRAGMA journal_mode=PERSIST")
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(database)
    }

    func execute(_ sql: String) throws(BenchmarkError) {
        guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else { throw fault() }
    }

    /// Runs a statement and returns the bytes of the first value in the first row.
    @discardableResult
    func run(_ sql: String, _ values: Value...) throws(BenchmarkError) -> [UInt8] {
        let statement = try prepared(sql)
        defer { sqlite3_reset(statement) }
        for (index, value) in values.enumerated() {
            let location = Int32(index + 1)
            switch value {
            case .integer(let number): sqlite3_bind_int64(statement, location, number)
            case .text(let text): _ = csqlite_bind_text(statement, location, text, Int32(text.utf8.count))
            case .blob(let bytes): _ = csqlite_bind_blob(statement, location, bytes, Int32(bytes.count))
            case .null: sqlite3_bind_null(statement, location)
            }
        }
        switch sqlite3_step(statement) {
        case SQLITE_ROW:
            let count = Int(sqlite3_column_bytes(statement, 0))
            return [UInt8](UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, 0), count: count))
        case SQLITE_DONE: return []
        default: throw fault()
        }
    }

    private func prepared(_ sql: String) throws(BenchmarkError) -> OpaquePointer? {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else { throw fault() }
        statements[sql] = statement
        return statement
    }

    private func fault() -> BenchmarkError { BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(database)))") }
}
