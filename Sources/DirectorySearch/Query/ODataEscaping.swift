import HTTPExchange

/// Escaping for Microsoft Graph, with one function for each context. No other code inserts values into a request.
///
/// The functions compare UTF-8 bytes. Swift combines a quote and a following combining mark into one `Character`, which
/// is not equal to a quote and would not be doubled.
enum ODataEscaping {
    /// Returns a string literal of a filter: in quotes, with quotes doubled.
    ///
    /// See OData 4.01 URL Conventions, section 5.1.1.6.1.
    static func literal(_ text: String) -> String { "'" + doublingQuotes(text) + "'" }

    /// Returns a clause of a search: in double quotes, with quotes and backslashes escaped by a backslash.
    static func searchClause(_ text: String) -> String { backslashQuoted(text, quote: "\"") }

    /// Returns a quoted string with quotes and backslashes escaped by a backslash.
    static func backslashQuoted(_ text: String, quote: Unicode.Scalar) -> String {
        let quote = UInt8(ascii: quote)
        var bytes = [quote]
        for byte in text.utf8 {
            if byte == quote || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return String(decoding: bytes + [quote], as: UTF8.self)
    }

    /// Returns the URL of a request in a batch: relative to the version, with a leading slash.
    static func batchURL(_ target: String) -> String { "/" + target }

    /// Returns the value of a query option.
    ///
    /// Percent-encodes all except RFC 3986's unreserved characters, because a server may treat a plus sign as a space.
    static func queryValue(_ text: String) -> String {
        PercentEncoding.encode(text.utf8, keeping: PercentEncoding.isUnreserved)
    }

    /// Returns one path segment. Does not double quotes or encode `$` and `@`, like the service's own URLs.
    static func pathSegment(_ text: String) -> String {
        PercentEncoding.encode(text.utf8) {
            PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: "@")
        }
    }

    /// Returns a key in parentheses, `('…')`, for the end of a path segment.
    static func pathKey(_ text: String) -> String { "('" + pathSegment(doublingQuotes(text)) + "')" }

    /// Returns a server's URL with invalid bytes percent-encoded (RFC 3986 section 2).
    ///
    /// Percent-encoded bytes stay unchanged.
    static func url(_ text: String) -> String {
        PercentEncoding.encode(text.utf8) { byte in
            (0x21...0x7E).contains(byte) && !"\"<>\\^`{|}".utf8.contains(byte)
        }
    }

    private static func doublingQuotes(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 2)
        for byte in text.utf8 {
            bytes.append(byte)
            if byte == UInt8(ascii: "'") { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
