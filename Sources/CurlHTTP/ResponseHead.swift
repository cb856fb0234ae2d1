import HTTPExchange
/// The status and fields of a response, parsed line by line.
///
/// Interim responses (1xx) and trailer fields are dropped: they are not needed, and RFC 9110 section 6.5.1 warns of
/// merging trailers into the header.
struct ResponseHead {
    /// The maximum total size of header lines in one exchange, including interim responses and trailers.
    static let maximumBytes = 262_144

    private(set) var status = 0
    private(set) var fields = HTTPFields()
    /// Whether the blank line after the fields of the final response has arrived.
    private(set) var isComplete = false
    /// Whether the header exceeded ``maximumBytes``.
    private(set) var isTooLarge = false

    private var bytes = 0
    private var last: HTTPFields.Field?

    /// Parses one line with its line break. Returning `false` stops the transfer.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Bool {
        bytes += line.count
        guard bytes <= Self.maximumBytes else {
            isTooLarge = true
            return false
        }
        guard !isComplete else { return true }
        let text = Self.withoutSpace(line[...])
        if text.isEmpty, line.first != 0x20, line.first != 0x09 {
            flush()
            isComplete = status >= 200
            return true
        }
        if line.starts(with: "HTTP/".utf8) {
            status = Self.status(in: text)
            fields = HTTPFields()
            last = nil
            return true
        }
        if line.first == 0x20 || line.first == 0x09 {
            // A folded line (RFC 9112 section 5.2) continues the previous value. Appended in place: a new string for
            // each line would take quadratic time.
            if last?.value.isEmpty == false { last?.value.append(" ") }
            last?.value.append(Self.string(text))
            return true
        }
        flush()
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return true }
        let name = String(decoding: text[..<colon], as: UTF8.self)
        guard HTTPFields.isToken(name) else { return true }
        last = HTTPFields.Field(name: name, value: Self.string(Self.withoutSpace(text[(colon + 1)...])))
        return true
    }

    private mutating func flush() {
        if let field = last { fields.append(name: field.name, value: field.value) }
        last = nil
    }

    /// Returns the three digits after the version, or 0 if they are missing.
    private static func status(in line: Slice<UnsafeRawBufferPointer>) -> Int {
        guard let space = line.firstIndex(of: 0x20) else { return 0 }
        let digits = line[(space + 1)...].prefix { $0 != 0x20 }
        guard digits.count == 3, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return 0 }
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func withoutSpace(_ bytes: Slice<UnsafeRawBufferPointer>) -> Slice<UnsafeRawBufferPointer> {
        var rest = bytes
        while let first = rest.first, first == 0x20 || first == 0x09 || first == 0x0D || first == 0x0A {
            rest.removeFirst()
        }
        while let end = rest.last, end == 0x20 || end == 0x09 || end == 0x0D || end == 0x0A { rest.removeLast() }
        return rest
    }

    /// Returns a string from UTF-8, or from Latin-1 if it is not valid UTF-8.
    ///
    /// Control characters become spaces (RFC 9110 section 5.5).
    private static func string(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        let clean = bytes.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }
        if let text = String(validating: clean, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(clean.map { Unicode.Scalar($0) }))
    }
}
