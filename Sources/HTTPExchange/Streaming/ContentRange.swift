/// What part of the whole an answer with the status 206 has: `Content-Range: bytes 5-9/10`.
///
/// A server may send less than it was asked for.
/// [RFC 9110 section 14.4](https://www.rfc-editor.org/rfc/rfc9110#section-14.4),
/// [section 15.3.7](https://www.rfc-editor.org/rfc/rfc9110#section-15.3.7)
struct ContentRange: Equatable {
    /// The place of the first byte.
    let first: Int64
    /// The place of the last byte.
    let last: Int64
    /// How many bytes the whole has; nil for `*`, when the server does not know.
    let total: Int64?

    /// Nil where the field is missing, or is no range of bytes.
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

    /// Why what came is not what the answer said, when this many bytes are there with it; nil when it is.
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
