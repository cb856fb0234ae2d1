/// Checks a JSON text without making values of it: the same rules as the reader of ``JSONValue``, at several times its speed.
///
/// Works over bytes that stay in place while it works.
struct JSONScanner {
    let bytes: UnsafeBufferPointer<UInt8>
    let maximumDepth: Int
    var position: Int
    /// What was met since this was last set.
    var traits: JSONSlice.Traits = []
    private var depth = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, at position: Int = 0, maximumDepth: Int = 64) {
        self.bytes = bytes
        self.position = position
        self.maximumDepth = maximumDepth
    }

    func fault(_ reason: String) -> JSONError { JSONError(reason: reason, offset: position) }

    mutating func skipByteOrderMark() {
        if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { position = 3 }
    }

    @inline(__always)
    mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D:
                position += 1
                traits.insert(.spaced)
            default: return
            }
        }
    }

    mutating func end() throws(JSONError) {
        skipSpace()
        guard position == bytes.count else { throw fault("there is more after the value") }
    }

    mutating func value() throws(JSONError) {
        guard position < bytes.count else { throw fault("the text ends where a value is expected") }
        switch bytes[position] {
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "{"): try object()
        case UInt8(ascii: "["): try array()
        case UInt8(ascii: "n"): try literal("null")
        case UInt8(ascii: "t"): try literal("true")
        case UInt8(ascii: "f"): try literal("false")
        case UInt8(ascii: "-"), 0x30...0x39: try number()
        default: throw fault("a value is expected")
        }
    }

    private mutating func literal(_ word: StaticString) throws(JSONError) {
        let count = word.utf8CodeUnitCount
        guard position + count <= bytes.count else { throw fault("a value is expected") }
        for index in 0..<count where bytes[position + index] != word.utf8Start[index] {
            throw fault("a value is expected")
        }
        position += count
    }

    /// Steps into a list or an object.
    ///
    /// - Returns: Whether it is empty; then it is behind it.
    mutating func enter(closing close: UInt8) throws(JSONError) -> Bool {
        depth += 1
        guard depth <= maximumDepth else { throw fault("nested deeper than \(maximumDepth)") }
        position += 1
        skipSpace()
        guard position < bytes.count, bytes[position] == close else { return false }
        position += 1
        depth -= 1
        return true
    }

    /// Reads what stands between two elements.
    ///
    /// - Returns: True behind the list, false behind a comma.
    @inline(__always)
    mutating func leave(closing close: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        guard position < bytes.count else {
            throw fault(close == UInt8(ascii: "}") ? "the text ends inside an object" : "the text ends inside a list")
        }
        let byte = bytes[position]
        guard byte == close || byte == UInt8(ascii: ",") else { throw fault("a comma or the end is expected") }
        position += 1
        if byte == close {
            depth -= 1
            return true
        }
        skipSpace()
        return false
    }

    private mutating func array() throws(JSONError) {
        if try enter(closing: UInt8(ascii: "]")) { return }
        repeat { try value() } while try !leave(closing: UInt8(ascii: "]"))
    }

    private mutating func object() throws(JSONError) {
        if try enter(closing: UInt8(ascii: "}")) { return }
        repeat {
            _ = try name()
            try value()
        } while try !leave(closing: UInt8(ascii: "}"))
    }

    /// Reads a member's name and the colon.
    ///
    /// - Returns: Where the name is, without its quotes.
    @inline(__always)
    mutating func name() throws(JSONError) -> Range<Int> {
        guard position < bytes.count else { throw fault("the text ends inside an object") }
        guard bytes[position] == UInt8(ascii: "\"") else { throw fault("a member's name is expected") }
        let start = position + 1
        try string()
        let range = start..<(position - 1)
        if !range.isEmpty, bytes[start] == UInt8(ascii: "@") { traits.insert(.annotated) }
        skipSpace()
        guard position < bytes.count else { throw fault("the text ends inside an object") }
        guard bytes[position] == UInt8(ascii: ":") else { throw fault("a colon is expected") }
        position += 1
        skipSpace()
        return range
    }

    private mutating func number() throws(JSONError) {
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
    }

    private func isDigit(_ byte: UInt8) -> Bool { byte >= 0x30 && byte <= 0x39 }

    private mutating func skipDigits() {
        while position < bytes.count, isDigit(bytes[position]) { position += 1 }
    }

    // MARK: Strings

    @inline(__always)
    private mutating func string() throws(JSONError) {
        position += 1
        while true {
            skipPlainBytes()
            guard position < bytes.count else { throw fault("the text ends inside a string") }
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return
            }
            try unusual(byte)
        }
    }

    /// Goes to the next byte that is not plain: a quote, a backslash, a control character, or one beyond ASCII.
    @inline(__always)
    private mutating func skipPlainBytes() {
        guard let start = UnsafeRawPointer(bytes.baseAddress) else { return }
        // Eight bytes at a time: subtracting 1 from a byte that is 0 sets its highest bit, which was not set before, and so
        // with 0x20 for control characters; adding 1 to DEL sets it too. A borrow or carry can only come from a byte below
        // that is reported itself, so the lowest report is exact.
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highest = ones << 7
        while position + 8 <= bytes.count {
            let word = UInt64(littleEndian: start.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let quote = word ^ (ones &* UInt64(UInt8(ascii: "\"")))
            let backslash = word ^ (ones &* UInt64(UInt8(ascii: "\\")))
            var found = ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
            found |= ((word &- ones &* 0x20) & ~word) | word | (word &+ ones)
            found &= highest
            guard found == 0 else {
                position += found.trailingZeroBitCount >> 3
                return
            }
            position += 8
        }
        while position < bytes.count {
            let byte = bytes[position]
            if byte < 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            position += 1
        }
    }

    private mutating func unusual(_ byte: UInt8) throws(JSONError) {
        switch byte {
        case UInt8(ascii: "\\"): try escape()
        case 0x7F:
            traits.insert(.steering)
            position += 1
        case 0x80...0xFF: try scalar(byte)
        default: throw fault("a control character in a string")
        }
    }

    private mutating func escape() throws(JSONError) {
        position += 1
        guard position < bytes.count else { throw fault("the text ends inside a string") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"):
            let unit = try hexUnit()
            guard (0xD800...0xDFFF).contains(unit) else { return }
            guard unit < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
                bytes[position + 1] == UInt8(ascii: "u")
            else { throw fault("half of a surrogate pair") }
            position += 2
            guard (0xDC00...0xDFFF).contains(try hexUnit()) else { throw fault("half of a surrogate pair") }
        default: throw fault("an unknown escape")
        }
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

    /// Reads one scalar beyond ASCII.
    ///
    /// [RFC 3629 section 4](https://www.rfc-editor.org/rfc/rfc3629#section-4)
    private mutating func scalar(_ lead: UInt8) throws(JSONError) {
        let length: Int
        var value: UInt32
        switch lead {
        case 0xC2...0xDF: (length, value) = (2, UInt32(lead & 0x1F))
        case 0xE0...0xEF: (length, value) = (3, UInt32(lead & 0x0F))
        case 0xF0...0xF4: (length, value) = (4, UInt32(lead & 0x07))
        default: throw fault("not UTF-8")
        }
        guard position + length <= bytes.count else { throw fault("not UTF-8") }
        for index in 1..<length {
            let byte = bytes[position + index]
            guard byte & 0xC0 == 0x80 else { throw fault("not UTF-8") }
            value = value << 6 | UInt32(byte & 0x3F)
        }
        switch length {
        case 3: guard value >= 0x800, !(0xD800...0xDFFF).contains(value) else { throw fault("not UTF-8") }
        case 4: guard (0x10000...0x10FFFF).contains(value) else { throw fault("not UTF-8") }
        default: break
        }
        if JSONValue.couldSteer(value) { traits.insert(.steering) }
        position += length
    }
}
