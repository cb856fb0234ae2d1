import HTTPExchange

/// Escaping for Microsoft Graph: one function a context, and no other place where text meets a request.
///
/// All of it works on UTF-8 bytes. Swift's `Character` would join a quote and a combining mark that follows it into one
/// character that is no quote any more, and the quote would go out undoubled.
enum ODataEscaping {
    /// A string literal of a filter: in quotes, each quote within doubled.
    ///
    /// OData 4.01 URL Conventions, section 5.1.1.6.1
    static func literal(_ text: String) -> String { "'" + doublingQuotes(text) + "'" }

    /// Returns a clause of a search: in double quotes, with a backslash before each double quote and backslash in it.
    static func searchClause(_ text: String) -> String { backslashQuoted(text, quote: "\"") }

    /// Returns a text between quotes, with a backslash before each quote and backslash in it.
    static func backslashQuoted(_ text: String, quote: Unicode.Scalar) -> String {
        let quote = UInt8(ascii: quote)
        var bytes = [quote]
        for byte in text.utf8 {
            if byte == quote || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
            bytes.append(byte)
        }
        return String(decoding: bytes + [quote], as: UTF8.self)
    }

    /// The address of a request within a batch: relative to the version, with a slash before it.
    static func batchAddress(_ target: String) -> String { "/" + target }

    /// The value of a query option, as a whole. Everything but RFC 3986's unreserved characters is percent-encoded, the
    /// plus sign and the space included: a server may read a bare plus as a space.
    static func queryValue(_ text: String) -> String {
        PercentEncoding.encode(text.utf8, keeping: PercentEncoding.isUnreserved)
    }

    /// One segment of a path. A quote is not doubled here. `$` and `@` stay, as in the service's own addresses.
    static func pathSegment(_ text: String) -> String {
        PercentEncoding.encode(text.utf8) {
            PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: "@")
        }
    }

    /// A key in parentheses, `('…')`, to stand behind a path segment: quotes doubled, then encoded as a segment.
    static func pathKey(_ text: String) -> String { "('" + pathSegment(doublingQuotes(text)) + "')" }

    /// An address that a server gave, byte for byte, except for bytes that no address may hold (RFC 3986 section 2): those
    /// are percent-encoded. Escapes already in it stay as they are.
    static func address(_ text: String) -> String {
        PercentEncoding.encode(text.utf8) { byte in
            switch byte {
            case 0...0x20, 0x7F...0xFF, UInt8(ascii: "\""), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
                UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
                false
            default: true
            }
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
