/// The range of a response with status 206: `Content-Range: bytes 5-9/10`.
///
/// A server may send less than requested.
///
/// See [RFC 9110 section 14.4](https://www.rfc-editor.org/rfc/rfc9110#section-14.4) and [section
/// 15.3.7](https://www.rfc-editor.org/rfc/rfc9110#section-15.3.7).
struct ContentRange: Equatable {
    /// The position of the first byte.
    let first: Int64
    /// The position of the last byte.
    let last: Int64
    /// The total number of bytes, or `nil` for `*` if the server does not know it.
    let total: Int64?

    /// Creates the range, or returns `nil` if the field is missing or is not a byte range.
    init?(_ fields: HTTPFields) {
        guard let text = fields["Content-Range"], text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false).map(Self.trimmed)
        guard parts.count == 2 else { return nil }
        let places = parts[0].split(separator: "-", omittingEmptySubsequences: false).map { Self.number($0) }
        guard places.count == 2, let first = places[0], let last = places[1], first <= last, last < .max else {
            return nil
        }
        self.first = first
        self.last = last
        guard parts[1] != "*" else {
            total = nil
            return
        }
        guard let total = Self.number(parts[1]), total > last else { return nil }
        self.total = total
    }

    /// Returns why the received content does not match the range, given its total size, or `nil` if it matches.
    func failure(at size: Int64) -> String? {
        if size <= last { return "The connection ended before the response was complete." }
        return size > last + 1 ? "The server sent more bytes than its Content-Range says." : nil
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first == " " { text.removeFirst() }
        while text.last == " " { text.removeLast() }
        return text
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
