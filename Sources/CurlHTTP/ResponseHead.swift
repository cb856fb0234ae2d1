import HTTPExchange
/// The status and fields of an answer, read line by line.
///
/// Interim answers (1xx) are dropped, and so are trailer fields: nothing here needs them, and merging them into the
/// header is what RFC 9110 section 6.5.1 warns of.
struct ResponseHead {
    /// The most bytes of header lines in one exchange, interim answers and trailers included.
    static let maximumBytes = 262_144

    private(set) var status = 0
    private(set) var fields = HTTPFields()
    /// Whether the blank line after the final answer's fields came.
    private(set) var isComplete = false
    /// Whether there were more than ``maximumBytes``.
    private(set) var isTooLarge = false

    private var bytes = 0
    private var last: HTTPFields.Field?

    /// Takes one line with its line break. False stops the transfer.
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
            // A folded line, RFC 9112 section 5.2: it continues the value before it.
            // In place: a new string for each line would take quadratic time.
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

    /// The three digits after the version; 0 where there are none.
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

    /// UTF-8, or Latin-1 where it is not UTF-8. Control characters become spaces, RFC 9110 section 5.5.
    private static func string(_ bytes: Slice<UnsafeRawBufferPointer>) -> String {
        let clean = bytes.map { $0 < 0x20 || $0 == 0x7F ? 0x20 : $0 }
        if let text = String(validating: clean, as: UTF8.self) { return text }
        return String(String.UnicodeScalarView(clean.map { Unicode.Scalar($0) }))
    }
}
