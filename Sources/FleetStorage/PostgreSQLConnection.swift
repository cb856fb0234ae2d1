import SealedStorage
import LodgePlatform

/// A connection to a PostgreSQL server.
///
/// One thread at a time uses it, and waits for the server. It closes when the last reference is released.
final class PostgreSQLConnection {
    private static let connectTimeout = Duration.seconds(10)
    private static let statementTimeout = Duration.seconds(45)

    private let libpq: LibPQ
    private let handle: OpaquePointer
    private var prepared: [String: String] = [:]

    init(_ target: ConnectionTarget) throws(PostgreSQLError) {
        let libpq: LibPQ
        do throws(StorageError) { libpq = try LibPQ() } catch { throw PostgreSQLError(error) }
        self.libpq = libpq
        guard let handle = target.withParameters({ libpq.startConnection($0, $1, 0) }) else {
            throw PostgreSQLError(state: nil, message: "not enough memory for a connection")
        }
        self.handle = handle
        // Only the verbose form contains the code of a rejected connection.
        _ = libpq.setErrorVerbosity(handle, LibPQ.verboseErrors)
        // By default libpq writes the server's notices to standard error.
        _ = libpq.setNoticeProcessor(handle, { _, _ in }, nil)
        try connect()
        try configure()
    }

    deinit { libpq.finish(handle) }

    private func connect() throws(PostgreSQLError) {
        let deadline = ContinuousClock.now + Self.connectTimeout
        var progress = LibPQ.pollingWriting
        if libpq.status(handle) == LibPQ.connectionBad { progress = LibPQ.pollingFailed }
        while progress != LibPQ.pollingOK {
            guard progress != LibPQ.pollingFailed else { throw connectionError() }
            let events = progress == LibPQ.pollingReading ? POLLIN : POLLOUT
            guard Self.wait(socket, Int32(events), until: deadline) else {
                throw PostgreSQLError(
                    state: nil, message: "no connection within \(Self.connectTimeout)", isLost: true)
            }
            progress = libpq.pollConnection(handle)
        }
        // Sending never blocks, so that a server that does not read is noticed.
        guard libpq.setNonBlocking(handle, 1) == 0 else { throw connectionError() }
    }

    /// Configures the session with those settings that the server supports.
    private func configure() throws(PostgreSQLError) {
        try run(
            """
            SELECT set_config(known.name, setting.value, false) FROM (VALUES
                ('search_path', 'pg_catalog'), ('statement_timeout', '30s'), ('lock_timeout', '15s'),
                ('idle_in_transaction_session_timeout', '60s'), ('idle_session_timeout', '0'),
                ('default_transaction_isolation', 'read committed'), ('tcp_keepalives_idle', '10'),
                ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3'), ('tcp_user_timeout', '30s'),
                ('synchronous_commit', CASE current_setting('synchronous_commit')
                    WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END)
            ) AS setting (name, value) JOIN pg_catalog.pg_settings AS known ON known.name = setting.name
            """)
    }

    /// The descriptor that becomes readable with a notification.
    var socket: Int32 { libpq.socket(handle) }

    /// Whether there is data to read, or the connection is closed.
    var isReadable: Bool {
        var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        return poll(&descriptor, 1, 0) > 0
    }

    /// Reads and discards the notifications. Returns whether there was one, or `nil` if the connection is closed.
    func consumeNotifications() -> Bool? {
        guard libpq.consumeInput(handle) == 1 else { return nil }
        var isNotified = false
        while let notification = libpq.nextNotification(handle) {
            isNotified = true
            libpq.free(notification)
        }
        return isNotified
    }

    /// Runs statements without parameters and rows in one transaction.
    func execute(_ sql: String) throws(PostgreSQLError) {
        guard libpq.sendQuery(handle, sql) == 1 else { throw connectionError() }
        _ = try results()
    }

    /// Runs a statement and returns its rows.
    @discardableResult
    func run(_ statement: SQLStatement) throws(PostgreSQLError) -> [[SQLValue]] {
        try run(statement.text, statement.parameters)
    }

    /// Runs a statement and returns its rows. The connection prepares each text once.
    @discardableResult
    func run(_ sql: String, _ parameters: [SQLValue] = []) throws(PostgreSQLError) -> [[SQLValue]] {
        let name = try prepare(sql, parameters)
        var bytes: [UInt8] = []
        var ranges: [Range<Int>?] = []
        for parameter in parameters {
            let start = bytes.count
            switch parameter {
            case .integer(let number): bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
            case .text(let text): bytes += text.utf8
            case .blob(let blob): bytes += blob
            case .null: break
            }
            ranges.append(parameter == .null ? nil : start..<bytes.count)
        }
        // An empty value needs an address too, because a null pointer means NULL.
        bytes.append(0)
        let lengths = ranges.map { Int32(clamping: $0?.count ?? 0) }
        let formats = [Int32](repeating: 1, count: parameters.count)
        let isSent = bytes.withUnsafeBytes { block in
            let values = ranges.map { range in
                range.flatMap { range in
                    block.baseAddress.map { UnsafePointer(($0 + range.lowerBound).assumingMemoryBound(to: CChar.self)) }
                }
            }
            return libpq.sendPrepared(handle, name, Int32(parameters.count), values, lengths, formats, 1) == 1
        }
        guard isSent else { throw connectionError() }
        return try results()
    }

    private func prepare(_ sql: String, _ parameters: [SQLValue]) throws(PostgreSQLError) -> String {
        // The types fit later parameters too: only columns of bytes can be NULL.
        if let name = prepared[sql] { return name }
        let name = "s\(prepared.count)"
        let types = parameters.map { parameter -> UInt32 in
            switch parameter {
            case .integer: 20
            case .text: 25
            case .blob, .null: 17
            }
        }
        guard libpq.sendPrepare(handle, name, sql, Int32(types.count), types) == 1 else { throw connectionError() }
        _ = try results()
        prepared[sql] = name
        return name
    }

    // MARK: Results

    private func results() throws(PostgreSQLError) -> [[SQLValue]] {
        let deadline = ContinuousClock.now + Self.statementTimeout
        var rows: [[SQLValue]] = []
        var firstError: PostgreSQLError?
        try flush(until: deadline)
        while true {
            while libpq.isBusy(handle) == 1 { try receive(Int32(POLLIN), until: deadline) }
            guard let result = libpq.nextResult(handle) else { break }
            defer { libpq.clear(result) }
            switch libpq.resultStatus(result) {
            case LibPQ.tuplesOK: rows = self.rows(result)
            case LibPQ.commandOK, LibPQ.emptyQuery: break
            default: firstError = firstError ?? statementError(result)
            }
        }
        if let firstError { throw firstError }
        guard libpq.status(handle) == LibPQ.connectionOK else { throw connectionError() }
        return rows
    }

    private func flush(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) {
        while true {
            switch libpq.flush(handle) {
            case 0: return
            case 1: try receive(Int32(POLLIN | POLLOUT), until: deadline)
            default: throw connectionError()
            }
        }
    }

    private func receive(_ events: Int32, until deadline: ContinuousClock.Instant) throws(PostgreSQLError) {
        guard Self.wait(socket, events, until: deadline) else {
            throw PostgreSQLError(state: nil, message: "no result within \(Self.statementTimeout)", isLost: true)
        }
        guard libpq.consumeInput(handle) == 1 else { throw connectionError() }
    }

    private func rows(_ result: OpaquePointer) -> [[SQLValue]] {
        let columns = 0..<libpq.columnCount(result)
        return (0..<libpq.rowCount(result)).map { row in columns.map { value(result, row, $0) } }
    }

    private func value(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> SQLValue {
        guard libpq.isNull(result, row, column) == 0, let start = libpq.value(result, row, column) else { return .null }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(max(libpq.length(result, row, column), 0)))
        switch libpq.columnType(result, column) {
        // bool has one byte; int4 and int8 start with the most significant byte.
        case 16, 20, 23: return .integer(bytes.reduce(Int64(0)) { $0 << 8 | Int64($1) })
        case 17: return .blob([UInt8](bytes))
        case 25: return .text(String(decoding: bytes, as: UTF8.self))
        default: return .null
        }
    }

    // MARK: Errors

    private func statementError(_ result: OpaquePointer) -> PostgreSQLError {
        // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY. The primary message names tables and columns, never values.
        func field(_ code: Character) -> String? {
            code.asciiValue.flatMap { libpq.errorField(result, Int32($0)) }.map { String(cString: $0) }
        }
        guard let state = field("C") else { return connectionError() }
        let isLost = libpq.status(handle) != LibPQ.connectionOK
        return PostgreSQLError(
            state: state, message: field("M") ?? "unknown error",
            isLost: isLost || state.hasPrefix("57P") || state.hasPrefix("08"))
    }

    private func connectionError() -> PostgreSQLError {
        var error = PostgreSQLError(report: libpq.errorMessage(handle).map { String(cString: $0) } ?? "", isLost: true)
        // Without a password libpq closes the connection itself. Report it as a wrong password.
        if error.state == nil, libpq.needsPassword(handle) == 1 { error.state = "28P01" }
        return error
    }

    /// Waits until the descriptor is ready. Returns `false` after the deadline.
    private static func wait(_ socket: Int32, _ events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
        guard socket >= 0 else { return false }
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return false }
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
            var descriptor = pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0)
            let ready = poll(&descriptor, 1, Int32(clamping: milliseconds + 1))
            if ready > 0 { return true }
            if ready < 0, errno != EINTR { return false }
        }
    }
}
