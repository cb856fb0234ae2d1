import LodgePlatform
import StrictJSON

/// A reader of XML property lists in UTF-8, without dates, data and entity declarations.
struct XMLPropertyListReader {
    private struct Tag {
        var name: String
        var isEnd = false
        /// Whether the element has no content: `<true/>`.
        var isEmpty = false
    }

    private let bytes: [UInt8]
    private var position = 0
    private var budget = PropertyListBudget()

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Reads the only value.
    mutating func value() throws(PropertyListError) -> JSONValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        try skipMarkup()
        var tag = try tag()
        let isWrapped = tag.name == "plist" && !tag.isEnd && !tag.isEmpty
        if isWrapped { tag = try nextTag() }
        let value = try value(tag)
        if isWrapped { try expectEnd("plist", try nextTag()) }
        try skipMarkup()
        guard position == bytes.count else { throw error("more after the value") }
        return value
    }

    private func error(_ reason: String) -> PropertyListError { PropertyListError(reason: reason, offset: position) }

    // MARK: Values

    private mutating func value(_ tag: Tag) throws(PropertyListError) -> JSONValue {
        guard !tag.isEnd else { throw error("an end tag where a value is expected") }
        try budget.addValue(at: position)
        switch tag.name {
        case "dict": return try dictionary(tag)
        case "array": return .array(try list(tag))
        case "string": return .string(try text(tag))
        case "integer": return .number(try integer(try text(tag)))
        case "real":
            guard let value = Double(Self.trimmed(try text(tag))), let number = JSONNumber(value) else {
                throw error("a real that is not a number")
            }
            return .number(number)
        case "true", "false":
            if !tag.isEmpty { try expectEnd(tag.name, try nextTag()) }
            return .bool(tag.name == "true")
        case "date", "data": throw error("a date or data")
        default: throw error("an element that no property list has")
        }
    }

    private mutating func dictionary(_ tag: Tag) throws(PropertyListError) -> JSONValue {
        guard !tag.isEmpty else { return .object([:]) }
        try budget.enter(at: position)
        var members: [JSONObject.Member] = []
        while true {
            let key = try nextTag()
            if key.isEnd {
                try expectEnd("dict", key)
                break
            }
            guard key.name == "key" else { throw error("a value without a key") }
            let name = try text(key)
            members.append(JSONObject.Member(name: name, value: try value(try nextTag())))
        }
        budget.leave()
        return try PropertyList.dictionary(members, at: position)
    }

    private mutating func list(_ tag: Tag) throws(PropertyListError) -> [JSONValue] {
        guard !tag.isEmpty else { return [] }
        try budget.enter(at: position)
        var elements: [JSONValue] = []
        while true {
            let next = try nextTag()
            if next.isEnd {
                try expectEnd("array", next)
                break
            }
            elements.append(try value(next))
        }
        budget.leave()
        return elements
    }

    /// Reads a decimal number, or a hexadecimal one after `0x`.
    private func integer(_ text: String) throws(PropertyListError) -> JSONNumber {
        let digits = Self.trimmed(text)
        let isNegative = digits.first == "-"
        let unsigned = isNegative || digits.first == "+" ? digits.dropFirst() : digits[...]
        let isHexadecimal = unsigned.lowercased().hasPrefix("0x")
        let number = isHexadecimal ? unsigned.dropFirst(2) : unsigned
        guard number.utf8.first?.isLetterOrDigit == true,
            let value = Int64((isNegative ? "-" : "") + number, radix: isHexadecimal ? 16 : 10)
        else { throw error("an integer that is not a number of 64 bits") }
        return JSONNumber(value)
    }

    private static func trimmed(_ text: String) -> String {
        let space: Set<Unicode.Scalar> = [" ", "\t", "\n", "\r"]
        let start = text.unicodeScalars.drop(while: space.contains)
        return String(start[..<(start.lastIndex { !space.contains($0) }.map(start.index(after:)) ?? start.startIndex)])
    }

    // MARK: Text

    /// Reads the text of an element, and its end tag.
    private mutating func text(_ tag: Tag) throws(PropertyListError) -> String {
        guard !tag.isEmpty else { return "" }
        var text: [UInt8] = []
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "<"):
                if skip("<![CDATA[") {
                    let end = try end(of: "]]>", "a CDATA section")
                    text += bytes[position..<end]
                    position = end + 3
                    continue
                }
                try expectEnd(tag.name, try self.tag())
                guard let text = String(validating: text, as: UTF8.self) else { throw error("text that is not UTF-8") }
                return text
            case UInt8(ascii: "&"): text += try Array(entity().utf8)
            case 0..<0x09, 0x0B, 0x0C, 0x0E..<0x20: throw error("a control character")
            case let byte:
                text.append(byte)
                position += 1
            }
        }
        throw error("a string without its end")
    }

    /// Reads a reference to a character, such as `&amp;` or `&#x41;`.
    private mutating func entity() throws(PropertyListError) -> String {
        let name = bytes[(position + 1)...].prefix(12).prefix { $0 != UInt8(ascii: ";") }
        let end = name.endIndex
        guard end < bytes.count, bytes[end] == UInt8(ascii: ";") else { throw error("a reference without its end") }
        let text = String(decoding: name, as: UTF8.self)
        let scalar: Unicode.Scalar?
        switch text {
        case "amp": scalar = "&"
        case "lt": scalar = "<"
        case "gt": scalar = ">"
        case "quot": scalar = "\""
        case "apos": scalar = "'"
        default:
            let isHexadecimal = text.hasPrefix("#x")
            let digits = text.dropFirst(isHexadecimal ? 2 : 1)
            let isNumber = text.hasPrefix("#") && digits.utf8.first?.isLetterOrDigit == true
            scalar = isNumber ? UInt32(digits, radix: isHexadecimal ? 16 : 10).flatMap(Unicode.Scalar.init) : nil
        }
        guard let scalar, scalar.value >= 0x20 || [0x09, 0x0A, 0x0D].contains(scalar.value) else {
            throw error("a reference to no character")
        }
        position = end + 1
        return String(scalar)
    }

    // MARK: Markup

    private mutating func nextTag() throws(PropertyListError) -> Tag {
        try skipMarkup()
        return try tag()
    }

    private func expectEnd(_ name: String, _ tag: Tag) throws(PropertyListError) {
        guard tag.isEnd, tag.name == name else { throw error("<\(name)> without its end") }
    }

    /// Reads a tag. Its attributes are ignored.
    private mutating func tag() throws(PropertyListError) -> Tag {
        guard position < bytes.count else { throw error("the end where an element is expected") }
        guard bytes[position] == UInt8(ascii: "<") else { throw error("text where an element is expected") }
        position += 1
        let isEnd = skip("/")
        let name = bytes[position...].prefix { $0.isLetterOrDigit }
        guard !name.isEmpty, name.count <= 16 else { throw error("an element without a name that property lists have") }
        position = name.endIndex
        var tag = Tag(name: String(decoding: name, as: UTF8.self), isEnd: isEnd)
        while true {
            let hasSpace = skipSpace()
            if skip(">") { return tag }
            if !isEnd, skip("/>") {
                tag.isEmpty = true
                return tag
            }
            guard hasSpace, !isEnd else { throw error("a tag without its end") }
            try skipAttribute()
        }
    }

    private mutating func skipAttribute() throws(PropertyListError) {
        let name = bytes[position...].prefix { !isSpace($0) && !"=<>\"'/".utf8.contains($0) }
        position = name.endIndex
        _ = skipSpace()
        guard !name.isEmpty, skip("=") else { throw error("a tag without its end") }
        _ = skipSpace()
        guard position < bytes.count, [UInt8(ascii: "\""), UInt8(ascii: "'")].contains(bytes[position]),
            let end = bytes[(position + 1)...].firstIndex(of: bytes[position])
        else { throw error("an attribute without a value") }
        position = end + 1
    }

    private mutating func skipSpace() -> Bool {
        let start = position
        while position < bytes.count, isSpace(bytes[position]) { position += 1 }
        return position > start
    }

    /// Skips white space, comments, processing instructions and the document type.
    private mutating func skipMarkup() throws(PropertyListError) {
        while position < bytes.count {
            if skipSpace() { continue }
            if skip("<!--") {
                position = try end(of: "-->", "a comment") + 3
            } else if skip("<?") {
                let end = try end(of: "?>", "an instruction")
                try checkEncoding(bytes[position..<end])
                position = end + 2
            } else if skip("<!DOCTYPE") {
                let end = try end(of: ">", "a document type")
                guard !bytes[position..<end].contains(UInt8(ascii: "[")) else {
                    throw error("a document type with declarations")
                }
                position = end + 1
            } else {
                return
            }
        }
    }

    /// Checks the encoding of an XML declaration.
    private func checkEncoding(_ instruction: ArraySlice<UInt8>) throws(PropertyListError) {
        guard instruction.starts(with: "xml".utf8) else { return }
        let text = String(decoding: instruction.prefix(200), as: UTF8.self).lowercased()
        guard let range = text.firstRange(of: "encoding") else { return }
        let name = text[range.upperBound...].drop { " =\t\r\n\"'".contains($0) }.prefix { $0 != "\"" && $0 != "'" }
        guard ["utf-8", "utf8", "us-ascii", "ascii"].contains(name) else {
            throw error("an encoding that is not UTF-8")
        }
    }

    private func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    /// Skips these bytes if they are next, and returns whether they are.
    private mutating func skip(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count else { return false }
        for index in 0..<count where bytes[position + index] != text.utf8Start[index] { return false }
        position += count
        return true
    }

    /// Returns the position of the string that ends a part.
    private func end(of text: StaticString, _ part: String) throws(PropertyListError) -> Int {
        let count = text.utf8CodeUnitCount
        var index = position
        while index + count <= bytes.count {
            if (0..<count).allSatisfy({ bytes[index + $0] == text.utf8Start[$0] }) { return index }
            index += 1
        }
        throw error("\(part) without its end")
    }
}

extension UInt8 {
    fileprivate var isLetterOrDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x7A).contains(self | 0x20) }
}
