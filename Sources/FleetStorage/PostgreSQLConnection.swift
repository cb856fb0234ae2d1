#if PostgreSQL
    import CPostgreSQL

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// A connection to a PostgreSQL server. Used from one thread at a time, which may block; it closes with its last reference.
    final class PostgreSQLConnection {
        /// A value of a row or a parameter.
        enum Value: Equatable {
            case integer(Int64)
            case text(String)
            case blob([UInt8])
            case null
        }

        /// How long a server may take to answer, before it counts as gone.
        private static let patience: (connect: Duration, statement: Duration) = (.seconds(10), .seconds(45))

        private let handle: OpaquePointer
        private var prepared: [String: String] = [:]

        /// Connects.
        init(_ target: ConnectionTarget) throws(PostgreSQLError) {
            guard let handle = target.withParameters({ PQconnectStartParams($0, $1, 0) }) else {
                throw PostgreSQLError(state: nil, message: "no memory for a connection")
            }
            self.handle = handle
            // The long form has the code of a refused connection, which is to be had in no other way.
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            // Without this the server's notices go to standard error.
            PQsetNoticeProcessor(handle, { _, _ in }, nil)
            try connect()
            try configure()
        }

        deinit { PQfinish(handle) }

        private func connect() throws(PostgreSQLError) {
            let deadline = ContinuousClock.now + Self.patience.connect
            var progress = PGRES_POLLING_WRITING
            if PQstatus(handle) == CONNECTION_BAD { progress = PGRES_POLLING_FAILED }
            while progress != PGRES_POLLING_OK {
                guard progress != PGRES_POLLING_FAILED else { throw lost() }
                let events = progress == PGRES_POLLING_READING ? POLLIN : POLLOUT
                guard Self.wait(PQsocket(handle), Int32(events), until: deadline) else {
                    throw PostgreSQLError(
                        state: nil, message: "no connection within \(Self.patience.connect)", isLost: true)
                }
                progress = PQconnectPoll(handle)
            }
            // Sending never blocks either: a server that does not read is noticed.
            guard PQsetnonblocking(handle, 1) == 0 else { throw lost() }
        }

        /// Settings of the session, of which older servers do not know all.
        private func configure() throws(PostgreSQLError) {
            try run(
                """
                SELECT set_config(known.name, wished.value, false) FROM (VALUES
                    ('search_path', 'pg_catalog'), ('statement_timeout', '30s'), ('lock_timeout', '15s'),
                    ('idle_in_transaction_session_timeout', '60s'), ('idle_session_timeout', '0'),
                    ('default_transaction_isolation', 'read committed'), ('tcp_keepalives_idle', '10'),
                    ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '3'), ('tcp_user_timeout', '30s'),
                    ('synchronous_commit', CASE current_setting('synchronous_commit')
                        WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END)
                ) AS wished (name, value) JOIN pg_catalog.pg_settings AS known ON known.name = wished.name
                """)
        }

        /// The descriptor to wait on for notifications.
        var socket: Int32 { PQsocket(handle) }

        /// Whether something came, or the connection broke.
        var isReadable: Bool {
            var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            return poll(&waiting, 1, 0) > 0
        }

        /// Reads what came and drops it: whether there was a notification; nil when the connection is gone.
        func consumeNotifications() -> Bool? {
            guard PQconsumeInput(handle) == 1 else { return nil }
            var came = false
            while let notification = PQnotifies(handle) {
                came = true
                PQfreemem(notification)
            }
            return came
        }

        /// Runs statements without parameters and rows, in one transaction.
        func execute(_ sql: String) throws(PostgreSQLError) {
            guard PQsendQuery(handle, sql) == 1 else { throw lost() }
            _ = try answer()
        }

        /// Runs a statement and gives its rows. It is prepared once; the text is always the program's own.
        @discardableResult
        func run(_ sql: String, _ parameters: [Value] = []) throws(PostgreSQLError) -> [[Value]] {
            let name = try prepare(sql, parameters)
            var bytes: [UInt8] = []
            var places: [(offset: Int, count: Int)?] = []
            for parameter in parameters {
                let start = bytes.count
                switch parameter {
                case .integer(let number): bytes += (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
                case .text(let text): bytes += text.utf8
                case .blob(let blob): bytes += blob
                case .null: break
                }
                places.append(parameter == .null ? nil : (start, bytes.count - start))
            }
            // So that even an empty value has an address: a null one is NULL.
            bytes.append(0)
            let lengths = places.map { Int32(clamping: $0?.count ?? 0) }
            let formats = [Int32](repeating: 1, count: parameters.count)
            let sent = bytes.withUnsafeBytes { block in
                let values = places.map { place in
                    place.flatMap { place in
                        block.baseAddress.map { ($0 + place.offset).assumingMemoryBound(to: CChar.self) }
                    }
                }
                return PQsendQueryPrepared(handle, name, Int32(parameters.count), values, lengths, formats, 1)
            }
            guard sent == 1 else { throw lost() }
            return try answer()
        }

        private func prepare(_ sql: String, _ parameters: [Value]) throws(PostgreSQLError) -> String {
            // The same text may come with a null where it had a blob; the kinds are those of the columns.
            if let name = prepared[sql] { return name }
            let name = "s\(prepared.count)"
            let types = parameters.map { parameter -> Oid in
                switch parameter {
                case .integer: 20
                case .text: 25
                case .blob, .null: 17
                }
            }
            guard PQsendPrepare(handle, name, sql, Int32(types.count), types) == 1 else { throw lost() }
            _ = try answer()
            prepared[sql] = name
            return name
        }

        // MARK: Answers

        private func answer() throws(PostgreSQLError) -> [[Value]] {
            let deadline = ContinuousClock.now + Self.patience.statement
            var rows: [[Value]] = []
            var fault: PostgreSQLError?
            try flush(until: deadline)
            while true {
                while PQisBusy(handle) == 1 {
                    guard Self.wait(socket, Int32(POLLIN), until: deadline) else { throw silent() }
                    guard PQconsumeInput(handle) == 1 else { throw lost() }
                }
                guard let result = PQgetResult(handle) else { break }
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_TUPLES_OK: rows = Self.rows(result)
                case PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: break
                default: fault = fault ?? failure(result)
                }
            }
            if let fault { throw fault }
            guard PQstatus(handle) == CONNECTION_OK else { throw lost() }
            return rows
        }

        private func flush(until deadline: ContinuousClock.Instant) throws(PostgreSQLError) {
            while true {
                switch PQflush(handle) {
                case 0: return
                case 1:
                    guard Self.wait(socket, Int32(POLLIN | POLLOUT), until: deadline) else { throw silent() }
                    guard PQconsumeInput(handle) == 1 else { throw lost() }
                default: throw lost()
                }
            }
        }

        private static func rows(_ result: OpaquePointer) -> [[Value]] {
            let columns = 0..<PQnfields(result)
            return (0..<PQntuples(result)).map { row in columns.map { value(result, row, $0) } }
        }

        private static func value(_ result: OpaquePointer, _ row: Int32, _ column: Int32) -> Value {
            guard PQgetisnull(result, row, column) == 0, let start = PQgetvalue(result, row, column) else {
                return .null
            }
            let bytes = UnsafeRawBufferPointer(start: start, count: Int(max(PQgetlength(result, row, column), 0)))
            switch PQftype(result, column) {
            // Of these the numbers come as they are, the most significant byte first; bool is one byte.
            case 16, 20, 23: return .integer(bytes.reduce(Int64(0)) { $0 << 8 | Int64($1) })
            case 17: return .blob([UInt8](bytes))
            case 25: return .text(String(decoding: bytes, as: UTF8.self))
            default: return .null
            }
        }

        private func failure(_ result: OpaquePointer) -> PostgreSQLError {
            // PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY. The first sentence names tables and columns, never values.
            func field(_ code: Character) -> String? {
                code.asciiValue.flatMap { PQresultErrorField(result, Int32($0)) }.map { String(cString: $0) }
            }
            let isLost = PQstatus(handle) != CONNECTION_OK
            guard let state = field("C") else { return lost() }
            return PostgreSQLError(
                state: state, message: field("M") ?? "no reason was given",
                isLost: isLost || state.hasPrefix("57P") || state.hasPrefix("08"))
        }

        private func lost() -> PostgreSQLError {
            var fault = PostgreSQLError(report: PQerrorMessage(handle).map { String(cString: $0) } ?? "", isLost: true)
            // libpq gives up by itself when it has no password: the same as a wrong one.
            if fault.state == nil, PQconnectionNeedsPassword(handle) == 1 { fault.state = "28P01" }
            return fault
        }

        private func silent() -> PostgreSQLError {
            PostgreSQLError(state: nil, message: "no answer within \(Self.patience.statement)", isLost: true)
        }

        /// Waits for a descriptor; false when the time is over.
        private static func wait(_ socket: Int32, _ events: Int32, until deadline: ContinuousClock.Instant) -> Bool {
            guard socket >= 0 else { return false }
            while true {
                let left = ContinuousClock.now.duration(to: deadline)
                guard left > .zero else { return false }
                let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000
                var waiting = pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0)
                let ready = poll(&waiting, 1, Int32(clamping: milliseconds + 1))
                if ready > 0 { return true }
                if ready < 0, errno != EINTR { return false }
            }
        }
    }
#endif
