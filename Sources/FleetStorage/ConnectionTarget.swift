import SealedStorage
import LodgePlatform

/// The parameters of a connection, as libpq parsed them.
///
/// They may contain a password, so messages and descriptions contain only ``location``.
struct ConnectionTarget: Sendable, Redacted {
    private let parameters: [(keyword: String, value: String)]
    /// User, host, port, database and schema, without the password.
    let location: String
    /// Host, port and database, or the name of a libpq service, as a relative path for files of the store.
    let path: String
    /// Whether the parameters contain a password.
    let hasPassword: Bool

    /// The defaults of omitted parameters. With them, a connection to a server that lost power fails within half a
    /// minute.
    private static let defaults = [
        ("client_encoding", "UTF8"), ("fallback_application_name", SessionName.own), ("keepalives_idle", "10"),
        ("keepalives_interval", "5"), ("keepalives_count", "3"), ("tcp_user_timeout", "30000"),
    ]

    init(_ connection: String, schema: String) throws(StorageError) {
        let libpq = try LibPQ()
        // The error omits the message of libpq, which quotes the string and may therefore contain the password.
        guard !connection.utf8.contains(0), let given = libpq.parameters(of: connection) else {
            throw Self.unreadable("it is not a connection string of libpq or a postgresql:// URL")
        }
        func value(_ keyword: String) -> String? { given.first { $0.keyword == keyword }?.value }
        let isURL = connection.hasPrefix("postgresql:") || connection.hasPrefix("postgres:")
        // If the password in a URL contains an unencoded @ or /, libpq reads a part of it as the host, port or
        // database, which `location` shows.
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

    /// Returns a percent-encoded name for a file or folder. Different strings have different names.
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

    /// Calls `body` with an array of keywords and an array of values. Each array ends with a null pointer.
    func withParameters<Result>(_ body: (LibPQ.Strings, LibPQ.Strings) -> Result) -> Result {
        // One block of memory contains all strings, so that their addresses stay valid during the call.
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
