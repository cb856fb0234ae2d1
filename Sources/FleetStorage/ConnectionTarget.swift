#if PostgreSQL
    import CPostgreSQL
    import OAuth2AccountStore

    /// Where to connect, as libpq reads it. It may hold a password, so only ``place`` of it is ever shown.
    struct ConnectionTarget: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
        private let parameters: [(keyword: String, value: String)]
        /// User, host, port and database, without the password.
        let place: String

        /// What is set unless the caller says otherwise. A connection whose other end is gone without a word, as after a power
        /// failure, is noticed within half a minute.
        private static let defaults = [
            ("client_encoding", "UTF8"), ("fallback_application_name", "oauth2-accounts"), ("keepalives_idle", "10"),
            ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
        ]

        init(_ connection: String, schema: String) throws(StorageError) {
            // libpq's own sentence about a string it cannot read quotes from it, perhaps the password.
            guard !connection.utf8.contains(0), let options = PQconninfoParse(connection, nil) else {
                throw Self.unreadable("it is no connection string of libpq and no postgresql:// URL")
            }
            defer { PQconninfoFree(options) }
            var given: [(keyword: String, value: String)] = []
            var option = options
            while let keyword = option.pointee.keyword {
                if let value = option.pointee.val { given.append((String(cString: keyword), String(cString: value))) }
                option += 1
            }
            func value(_ keyword: String) -> String? { given.first { $0.keyword == keyword }?.value }
            let isURL = connection.hasPrefix("postgresql:") || connection.hasPrefix("postgres:")
            // A password with an @ or a / that is not percent-encoded lands in the parts that are shown.
            let port = value("port") ?? ""
            guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2C }) else {
                throw Self.unreadable("the port is no number")
            }
            let shown = [value("host"), isURL ? value("dbname") : nil, value("user")]
            guard !shown.contains(where: { $0?.contains("@") == true }) else {
                throw Self.unreadable("host, database or user has an @")
            }
            parameters = Self.defaults.filter { value($0.0) == nil }.map { (keyword: $0.0, value: $0.1) } + given
            let user = value("user").map { "\($0)@" } ?? ""
            let host = value("host") ?? value("hostaddr") ?? ""
            place =
                "postgresql://\(user)\(host)\(port.isEmpty ? "" : ":\(port)")/\(value("dbname") ?? "") (schema \(schema))"
        }

        private static func unreadable(_ reason: String) -> StorageError {
            StorageError(
                .other, place: "postgresql", reason: "the connection cannot be made out: \(reason)",
                hint: "write it as postgresql://user@host:port/database, with what is special in it percent-encoded")
        }

        /// Calls `body` with the keywords and the values as libpq wants them.
        func withParameters<Result>(
            _ body: (UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<UnsafePointer<CChar>?>?) -> Result
        ) -> Result {
            // All strings in one block of memory, which stays where it is during the call.
            var bytes: [CChar] = []
            var offsets: [Int] = []
            for text in parameters.map(\.keyword) + parameters.map(\.value) {
                offsets.append(bytes.count)
                bytes += text.utf8CString
            }
            return bytes.withUnsafeBufferPointer { block in
                let strings = offsets.map { offset in block.baseAddress.map { $0 + offset } }
                let keywords = Array(strings.prefix(parameters.count)) + [nil]
                let values = Array(strings.suffix(parameters.count)) + [nil]
                return keywords.withUnsafeBufferPointer { keywords in
                    values.withUnsafeBufferPointer { body(keywords.baseAddress, $0.baseAddress) }
                }
            }
        }

        var description: String { place }
        var debugDescription: String { place }
        var customMirror: Mirror { Mirror(self, children: ["place": place]) }
    }
#endif
