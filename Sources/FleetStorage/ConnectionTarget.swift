import SealedStorage
import Platform

/// The parameters of a connection, as libpq parsed them. They may contain a password, so only ``location`` is ever shown.
struct ConnectionTarget: Sendable, Redacted {
    private let parameters: [(keyword: String, value: String)]
    /// User, host, port, database and schema, without the password.
    let location: String
    /// Host, port and database as a relative path, for files that belong to the store.
    let path: String
    /// Whether one of the parameters is a password.
    let hasPassword: Bool

    /// The values of parameters that the caller does not set. With them, a connection to a server that lost its power
    /// fails within half a minute.
    private static let defaults = [
        ("client_encoding", "UTF8"), ("fallback_application_name", SessionName.own), ("keepalives_idle", "10"),
        ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
    ]

    init(_ connection: String, schema: String) throws(StorageError) {
        let libpq = try LibPQ()
        // libpq's own message quotes from the string, perhaps the password.
        guard !connection.utf8.contains(0), let given = libpq.parameters(of: connection) else {
            throw Self.unreadable("it is not a connection string of libpq or a postgresql:// URL")
        }
        func value(_ keyword: String) -> String? { given.first { $0.keyword == keyword }?.value }
        let isURL = connection.hasPrefix("postgresql:") || connection.hasPrefix("postgres:")
        // In a URL, a password with an @ or a / that is not percent-encoded ends up in the parts that are shown.
        let port = value("port") ?? ""
        guard port.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2C }) else {
            throw Self.unreadable("the port is not a number")
        }
        let shown = [value("host"), isURL ? value("dbname") : nil, value("user")]
        guard !shown.contains(where: { $0?.contains("@") == true }) else {
            throw Self.unreadable("host, database or user has an @")
        }
        parameters =
            Self.defaults.filter { value($0.0) == nil }.map { (keyword: $0.0, value: $0.1) }
            + given.map { (keyword: $0.keyword, value: $0.value) }
        let user = value("user").map { "\($0)@" } ?? ""
        let host = value("host") ?? value("hostaddr") ?? ""
        let server = host + (port.isEmpty ? "" : ":\(port)")
        location = "postgresql://\(user)\(server)/\(value("dbname") ?? "") (schema \(schema))"
        let service = value("service") ?? "default"
        path = Self.fileName(server.isEmpty ? service : server) + "/" + Self.fileName(value("dbname") ?? service)
        hasPassword = given.contains(where: \.isSecret)
    }

    /// Returns a name for a file or folder. Two texts never have the same one.
    private static func fileName(_ text: String) -> String {
        var name = ""
        for byte in text.utf8 {
            let isPlain =
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") || byte == UInt8(ascii: ":")
                || byte == UInt8(ascii: ".") && !name.isEmpty
            name +=
                isPlain
                ? String(Unicode.Scalar(byte)) : "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return name
    }

    private static func unreadable(_ reason: String) -> StorageError {
        StorageError(
            .other, location: "postgresql", reason: "cannot parse the connection: \(reason)",
            hint: "write it as postgresql://user@host:port/database, with special characters percent-encoded")
    }

    /// Calls `body` with the keywords and the values, each ending with a null pointer.
    func withParameters<Result>(_ body: (LibPQ.Strings, LibPQ.Strings) -> Result) -> Result {
        // One block of memory holds all strings, so that their addresses stay valid during the call.
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

    var description: String { location }
}
