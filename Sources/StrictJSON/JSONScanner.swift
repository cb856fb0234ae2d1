/// The tokenizer of JSON.
///
/// Reading values, checking slices and finding members share it, so that all accept the same input.
///
/// The bytes must stay in memory while it is in use.
struct JSONScanner {
    /// The contents of a string, without its quotes.
    struct StringToken {
        let range: Range<Int>
        let hasEscapes: Bool
    }

    let bytes: UnsafeBufferPointer<UInt8>
    let options: JSONReadingOptions
    var position: Int
    /// The properties of the bytes read since the last reset.
    var traits: JSONSlice.Traits = []
    private var depth = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int = 0, options: JSONReadingOptions = .init()) {
        self.bytes = bytes
        self.position = position
        self.options = options
    }

    func error(_ reason: String) -> JSONError { JSONError(reason: reason, offset: position) }

    /// Moves to the first byte of the value.
    mutating func start() throws(JSONError) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        try skipSpace()
        traits = []
    }

    /// Checks that only white space follows.
    mutating func end() throws(JSONError) {
        try skipSpace()
        guard position == bytes.count else { throw error("there is more after the value") }
    }

    @inline(__always)
    mutating func skipSpace() throws(JSONError) {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            case UInt8(ascii: "/") where options.allowsComments: try skipComment()
            default: return
            }
            traits.insert(.spaced)
        }
    }

    private mutating func skipComment() throws(JSONError) {
        guard position + 1 < bytes.count else { throw error("a lone slash") }
        switch bytes[position + 1] {
        case UInt8(ascii: "/"):
            while position < bytes.count, bytes[position] != 0x0A { position += 1 }
        case UInt8(ascii: "*"):
            var end = position + 2
            while end + 1 < bytes.count, bytes[end] != UInt8(ascii: "*") || bytes[end + 1] != UInt8(ascii: "/") {
                end += 1
            }
            guard end + 1 < bytes.count else { throw error("a comment without its end") }
            position = end + 2
        default:
            throw error("a lone slash")
        }
    }

    // MARK: Values

    /// Checks a value and moves to the byte after it.
    mutating func skipValue() throws(JSONError) {
        switch try first() {
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "{"):
            if try enter(closing: UInt8(ascii: "}")) { return }
            repeat {
                _ = try name()
                try skipValue()
            } while try !leave(closing: UInt8(ascii: "}"))
        case UInt8(ascii: "["):
            if try enter(closing: UInt8(ascii: "]")) { return }
            repeat { try skipValue() } while try !leave(closing: UInt8(ascii: "]"))
        case let byte: try scalar(byte)
        }
    }

    /// Returns the first byte of a value.
    @inline(__always)
    func first() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw error("the text ends where a value is expected") }
        return bytes[position]
    }

    /// Checks a number, `true`, `false` or `null`.
    ///
    /// - Parameter byte: its first byte.
    @inline(__always)
    mutating func scalar(_ byte: UInt8) throws(JSONError) {
        switch byte {
        case UInt8(ascii: "n"): try literal("null")
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "-"), 0x30...0x39: try number()
        default: throw error("a value is expected")
        }
    }

    private mutating func literal(_ word: StaticString) throws(JSONError) {
        let count = word.utf8CodeUnitCount
        guard position + count <= bytes.count else { throw error("a value is expected") }
        for index in 0..<count where bytes[position + index] != word.utf8Start[index] {
            throw error("a value is expected")
        }
        position += count
    }

    private mutating func number() throws(JSONError) {
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let isZero = position < bytes.count && bytes[position] == UInt8(ascii: "0")
        if isZero { position += 1 } else { try digits() }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            try digits()
        }
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while position < bytes.count, bytes[position] >= 0x30, bytes[position] <= 0x39 { position += 1 }
        guard position > start else { throw error("a digit is expected") }
    }

    // MARK: Arrays and objects

    /// Enters an array or an object. Returns whether it is empty; if so, moves to the byte after it.
    mutating func enter(closing close: UInt8) throws(JSONError) -> Bool {
        depth += 1
        guard depth <= options.maximumDepth else { throw error("nested deeper than \(options.maximumDepth)") }
        position += 1
        try skipSpace()
        guard position < bytes.count, bytes[position] == close else { return false }
        position += 1
        depth -= 1
        return true
    }

    /// Reads the bytes between two elements; returns `true` after the end of the list and `false` after a comma.
    @inline(__always)
    mutating func leave(closing close: UInt8) throws(JSONError) -> Bool {
        try skipSpace()
        guard position < bytes.count else {
            throw error(close == UInt8(ascii: "}") ? "the text ends inside an object" : "the text ends inside a list")
        }
        let byte = bytes[position]
        guard byte == close || byte == UInt8(ascii: ",") else { throw error("a comma or the end is expected") }
        position += 1
        if byte == close {
            depth -= 1
            return true
        }
        try skipSpace()
        return false
    }

    /// Reads the name of a member and the colon.
    @inline(__always)
    mutating func name(checksUTF8: Bool = true) throws(JSONError) -> StringToken {
        guard position < bytes.count else { throw error("the text ends inside an object") }
        guard bytes[position] == UInt8(ascii: "\"") else { throw error("a member's name is expected") }
        let name = try string(checksUTF8: checksUTF8)
        if !name.range.isEmpty, bytes[name.range.lowerBound] == UInt8(ascii: "@") { traits.insert(.annotated) }
        try skipSpace()
        guard position < bytes.count else { throw error("the text ends inside an object") }
        guard bytes[position] == UInt8(ascii: ":") else { throw error("a colon is expected") }
        position += 1
        try skipSpace()
        return name
    }

    // MARK: Strings

    /// Checks a string and moves to the byte after it.
    ///
    /// - Parameter checksUTF8: `false` if ``text(_:)`` follows, which also checks it.
    @inline(__always)
    mutating func string(checksUTF8: Bool = true) throws(JSONError) -> StringToken {
        position += 1
        let start = position
        var hasEscapes = false
        while true {
            skipPlainBytes(stopsOutsideASCII: checksUTF8)
            guard position < bytes.count else { throw error("the text ends inside a string") }
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return StringToken(range: start..<(position - 1), hasEscapes: hasEscapes)
            case UInt8(ascii: "\\"):
                hasEscapes = true
                _ = try escape()
            case 0x7F:
                traits.insert(.steering)
                position += 1
            case 0x80...: try utf8Sequence()
            default: throw error("a control character in a string")
            }
        }
    }

    /// Returns the decoded string.
    func text(_ token: StringToken) throws(JSONError) -> String {
        guard token.hasEscapes else { return try utf8(bytes[token.range]) }
        var text: [UInt8] = []
        text.reserveCapacity(token.range.count)
        var scanner = self
        scanner.position = token.range.lowerBound
        while let escape = bytes[scanner.position..<token.range.upperBound].firstIndex(of: UInt8(ascii: "\\")) {
            text += bytes[scanner.position..<escape]
            scanner.position = escape
            text += try scanner.escape().utf8
        }
        return try utf8(text + bytes[scanner.position..<token.range.upperBound])
    }

    @inline(__always)
    private func utf8(_ bytes: some Sequence<UInt8>) throws(JSONError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw error("not UTF-8") }
        return text
    }

    /// Moves to the next quote, backslash or control character, and stops before DEL and bytes outside ASCII if requested.
    @inline(__always)
    private mutating func skipPlainBytes(stopsOutsideASCII: Bool) {
        guard let start = UnsafeRawPointer(bytes.baseAddress) else { return }
        // Eight bytes at a time: subtracting 1 from a zero byte sets its highest bit, and likewise 0x20 for control
        // characters; adding 1 to DEL sets it too. A borrow or carry only comes from a lower byte that is itself a
        // match, so the lowest match is exact.
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highest = ones << 7
        while position + 8 <= bytes.count {
            let word = UInt64(littleEndian: start.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            var found = ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
            found |= (word &- ones &* 0x20) & ~word
            if stopsOutsideASCII { found |= word | (word &+ ones) }
            found &= highest
            guard found == 0 else {
                position += found.trailingZeroBitCount >> 3
                return
            }
            position += 8
        }
        while position < bytes.count {
            let byte = bytes[position]
            if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            if stopsOutsideASCII, byte >= 0x7F { return }
            position += 1
        }
    }

    private mutating func escape() throws(JSONError) -> Unicode.Scalar {
        position += 1
        guard position < bytes.count else { throw error("the text ends inside a string") }
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
        default: throw error("an unknown escape")
        }
    }

    private mutating func unicodeEscape() throws(JSONError) -> Unicode.Scalar {
        let unit = try hexUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw error("unpaired surrogate") }
        position += 2
        let low = try hexUnit()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + ((UInt32(unit) - 0xD800) << 10) + (UInt32(low) - 0xDC00))
        else { throw error("unpaired surrogate") }
        return scalar
    }

    private mutating func hexUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let byte = position < bytes.count ? bytes[position] : 0
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x41 + 10
            case 0x61...0x66: digit = byte - 0x61 + 10
            default: throw error("four hexadecimal digits are expected")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }

    /// Checks the UTF-8 sequences outside ASCII up to the next ASCII byte.
    ///
    /// See [RFC 3629 section 4](https://www.rfc-editor.org/rfc/rfc3629#section-4).
    private mutating func utf8Sequence() throws(JSONError) {
        while position < bytes.count, bytes[position] >= 0x80 {
            let lead = bytes[position]
            let length: Int
            var value: UInt32
            let allowed: ClosedRange<UInt32>
            switch lead {
            case 0xC2...0xDF: (length, value, allowed) = (2, UInt32(lead & 0x1F), 0x80...0x7FF)
            case 0xE0...0xEF: (length, value, allowed) = (3, UInt32(lead & 0x0F), 0x800...0xFFFF)
            case 0xF0...0xF4: (length, value, allowed) = (4, UInt32(lead & 0x07), 0x10000...0x10FFFF)
            default: throw error("not UTF-8")
            }
            guard position + length <= bytes.count else { throw error("not UTF-8") }
            for index in 1..<length {
                let byte = bytes[position + index]
                guard byte & 0xC0 == 0x80 else { throw error("not UTF-8") }
                value = value << 6 | UInt32(byte & 0x3F)
            }
            guard allowed.contains(value), !(0xD800...0xDFFF).contains(value) else { throw error("not UTF-8") }
            if JSONValue.couldSteer(value) { traits.insert(.steering) }
            position += length
        }
    }
}
