/// Why a text is not JSON.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What was expected or found. Never quotes the text: it may hold secrets.
    public let reason: String
    /// How many bytes were read before the fault.
    public let offset: Int

    /// The reason and the place.
    public var description: String { "\(reason) at byte \(offset)" }
}

/// What a reader accepts beyond, and refuses within, RFC 8259.
public struct JSONReadingOptions: Sendable, Equatable {
    /// Accepts `// …` and `/* … */` where white space may stand. For files that people write.
    public var allowsComments = false
    /// Refuses an object in which a name occurs twice.
    public var refusesDuplicates = false
    /// How deep arrays and objects may nest.
    public var maximumDepth = 64

    /// The options for what other programs send.
    public init(allowsComments: Bool = false, refusesDuplicates: Bool = false, maximumDepth: Int = 64) {
        self.allowsComments = allowsComments
        self.refusesDuplicates = refusesDuplicates
        self.maximumDepth = maximumDepth
    }
}

extension JSONValue {
    /// Reads one JSON text.
    ///
    /// Only UTF-8 is read, a leading byte order mark is skipped, and anything after the value but white space is an error.
    ///
    /// [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259)
    @inlinable
    public init(parsing bytes: some Sequence<UInt8>, options: JSONReadingOptions = .init()) throws(JSONError) {
        let parsed: Result<JSONValue, JSONError>? = bytes.withContiguousStorageIfAvailable { buffer in
            Self.parse(buffer, options)
        }
        let result = parsed ?? Array(bytes).withUnsafeBufferPointer { Self.parse($0, options) }
        self = try result.get()
    }

    /// Reads one JSON text.
    public init(parsing text: String, options: JSONReadingOptions = .init()) throws(JSONError) {
        try self.init(parsing: text.utf8, options: options)
    }

    @usableFromInline
    static func parse(
        _ buffer: UnsafeBufferPointer<UInt8>, _ options: JSONReadingOptions
    ) -> Result<JSONValue, JSONError> {
        var reader = JSONReader(bytes: buffer, options: options)
        do throws(JSONError) {
            return .success(try reader.document())
        } catch {
            return .failure(error)
        }
    }
}

/// A recursive-descent reader over bytes that stay in place while it works.
private struct JSONReader {
    let bytes: UnsafeBufferPointer<UInt8>
    let options: JSONReadingOptions
    var position = 0
    var depth = 0

    init(bytes: UnsafeBufferPointer<UInt8>, options: JSONReadingOptions) {
        self.bytes = bytes
        self.options = options
    }

    mutating func document() throws(JSONError) -> JSONValue {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { position = 3 }
        try skipSpace()
        let value = try value()
        try skipSpace()
        guard position == bytes.count else { throw fault("there is more after the value") }
        return value
    }

    private func fault(_ reason: String) -> JSONError { JSONError(reason: reason, offset: position) }

    private mutating func skipSpace() throws(JSONError) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where options.allowsComments: try skipComment()
            default: return
            }
        }
    }

    private mutating func skipComment() throws(JSONError) {
        guard position + 1 < bytes.count else { throw fault("a lone slash") }
        switch bytes[position + 1] {
        case UInt8(ascii: "/"):
            while position < bytes.count, bytes[position] != 0x0A { position += 1 }
        case UInt8(ascii: "*"):
            var end = position + 2
            while end + 1 < bytes.count, !(bytes[end] == UInt8(ascii: "*") && bytes[end + 1] == UInt8(ascii: "/")) {
                end += 1
            }
            guard end + 1 < bytes.count else { throw fault("a comment without its end") }
            position = end + 2
        default:
            throw fault("a lone slash")
        }
    }

    private mutating func value() throws(JSONError) -> JSONValue {
        guard position < bytes.count else { throw fault("the text ends where a value is expected") }
        switch bytes[position] {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), 0x30...0x39: return .number(try number())
        default: throw fault("a value is expected")
        }
    }

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        let count = word.utf8CodeUnitCount
        guard position + count <= bytes.count else { throw fault("a value is expected") }
        for index in 0..<count where bytes[position + index] != word.utf8Start[index] {
            throw fault("a value is expected")
        }
        position += count
        return value
    }

    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= options.maximumDepth else { throw fault("nested deeper than \(options.maximumDepth)") }
        position += 1
        try skipSpace()
    }

    private mutating func array() throws(JSONError) -> [JSONValue] {
        try enter()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        if position < bytes.count, bytes[position] == UInt8(ascii: "]") {
            position += 1
            return elements
        }
        while true {
            elements.append(try value())
            if try endOfList(UInt8(ascii: "]")) { return elements }
        }
    }

    private mutating func object() throws(JSONError) -> JSONObject {
        try enter()
        defer { depth -= 1 }
        var members: [JSONObject.Member] = []
        if position < bytes.count, bytes[position] == UInt8(ascii: "}") {
            position += 1
            return JSONObject()
        }
        while true {
            guard position < bytes.count else { throw fault("the text ends inside an object") }
            guard bytes[position] == UInt8(ascii: "\"") else { throw fault("a member's name is expected") }
            let name = try string()
            try skipSpace()
            guard position < bytes.count else { throw fault("the text ends inside an object") }
            guard bytes[position] == UInt8(ascii: ":") else { throw fault("a colon is expected") }
            position += 1
            try skipSpace()
            members.append(JSONObject.Member(name: name, value: try value()))
            if try endOfList(UInt8(ascii: "}")) { break }
        }
        let object = JSONObject(members)
        if options.refusesDuplicates, !object.duplicatedNames.isEmpty { throw fault("a member stands twice") }
        return object
    }

    /// Reads what stands between two elements: true at the end of the list, false after a comma.
    private mutating func endOfList(_ close: UInt8) throws(JSONError) -> Bool {
        try skipSpace()
        guard position < bytes.count else {
            throw fault(close == UInt8(ascii: "}") ? "the text ends inside an object" : "the text ends inside a list")
        }
        let byte = bytes[position]
        guard byte == close || byte == UInt8(ascii: ",") else { throw fault("a comma or the end is expected") }
        position += 1
        if byte == close { return true }
        try skipSpace()
        return false
    }

    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        guard position < bytes.count, isDigit(bytes[position]) else { throw fault("a digit is expected") }
        if bytes[position] == UInt8(ascii: "0") { position += 1 } else { skipDigits() }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard position < bytes.count, isDigit(bytes[position]) else { throw fault("a digit is expected") }
            skipDigits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard position < bytes.count, isDigit(bytes[position]) else { throw fault("a digit is expected") }
            skipDigits()
        }
        return JSONNumber(validLiteral: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private mutating func skipDigits() {
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        let start = position
        skipPlainWords()
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                let text = try utf8(start..<position)
                position += 1
                return text
            }
            if byte == UInt8(ascii: "\\") { return try stringWithEscapes(from: start) }
            guard byte >= 0x20 else { throw fault("a control character in a string") }
            position += 1
        }
        throw fault("the text ends inside a string")
    }

    /// Skips bytes of a string, eight at a time, as long as there is no quote, backslash or control character among them.
    private mutating func skipPlainWords() {
        guard let start = UnsafeRawPointer(bytes.baseAddress) else { return }
        // Subtracting 1 from a byte that is 0 sets its highest bit, which was not set before; the same with 0x20 for control
        // characters. A borrow from the byte below can only report too much, and the caller looks at each byte then.
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highest = ones << 7
        while position + 8 <= bytes.count {
            let word = start.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            let found =
                ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | ((word &- ones &* 0x20) & ~word)
            if found & highest != 0 { return }
            position += 8
        }
    }

    private func utf8(_ range: Range<Int>) throws(JSONError) -> String {
        guard let text = String(validating: bytes[range], as: UTF8.self) else { throw fault("not UTF-8") }
        return text
    }

    private mutating func stringWithEscapes(from start: Int) throws(JSONError) -> String {
        var text = try utf8(start..<position)
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return text
            }
            if byte == UInt8(ascii: "\\") {
                text.unicodeScalars.append(try escape())
                continue
            }
            let plain = position
            while position < bytes.count, bytes[position] != UInt8(ascii: "\""), bytes[position] != UInt8(ascii: "\\") {
                guard bytes[position] >= 0x20 else { throw fault("a control character in a string") }
                position += 1
            }
            text += try utf8(plain..<position)
        }
        throw fault("the text ends inside a string")
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        position += 1
        guard position < bytes.count else { throw fault("the text ends inside a string") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try unicodeEscape()
        default: throw fault("an unknown escape")
        }
    }

    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let unit = try hexUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw fault("half of a surrogate pair") }
        position += 2
        let low = try hexUnit()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + ((UInt32(unit) - 0xD800) << 10) + (UInt32(low) - 0xDC00))
        else { throw fault("half of a surrogate pair") }
        return scalar
    }

    private mutating func hexUnit() throws(JSONError) -> UInt16 {
        guard position + 4 <= bytes.count else { throw fault("four hexadecimal digits are expected") }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let byte = bytes[position]
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x41 + 10
            case 0x61...0x66: digit = byte - 0x61 + 10
            default: throw fault("four hexadecimal digits are expected")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}
