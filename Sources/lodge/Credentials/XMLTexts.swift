import LodgePlatform

/// The texts of the elements of a small XML document that contain no other element, by the names on their path:
/// `ErrorResponse/Error/Code`.
///
/// It accepts only the parts of XML in responses of AWS: UTF-8 without comments, CDATA, processing instructions, document type and
/// entity declarations. It ignores attributes.
struct XMLTexts {
    private struct Malformed: Error {}

    private static let maximumDepth = 16

    private let bytes: [UInt8]
    private var position = 0
    private var texts: [String: String] = [:]
    private var repeated: Set<String> = []

    /// Creates the texts of a document; `nil` if it is malformed.
    init?(_ bytes: [UInt8]) {
        self.bytes = bytes
        do { try read() } catch { return nil }
    }

    /// The text of an element, or `nil` if it does not exist exactly once.
    subscript(path: String) -> String? { repeated.contains(path) ? nil : texts[path] }

    private mutating func read() throws(Malformed) {
        skipSpace()
        if skip("<?xml ") {
            while !skip("?>") { _ = try next() }
        }
        skipSpace()
        var path: [String] = []
        var isLeaf = false
        repeat {
            let text = try text()
            if skip("/") {
                guard let name = path.last, try self.name() == name else { throw Malformed() }
                skipSpace()
                guard skip(">") else { throw Malformed() }
                try end(path, isLeaf ? text : nil, text)
                path.removeLast()
                isLeaf = false
            } else {
                guard Self.isSpace(text), path.count < Self.maximumDepth else { throw Malformed() }
                path.append(try name())
                try skipAttributes()
                isLeaf = true
                if skip("/>") {
                    try end(path, [], [])
                    path.removeLast()
                    isLeaf = false
                } else if !skip(">") {
                    throw Malformed()
                }
            }
        } while !path.isEmpty
        skipSpace()
        guard position == bytes.count else { throw Malformed() }
    }

    /// Notes the text of a leaf. An element with others contains only space after them.
    private mutating func end(_ path: [String], _ leaf: [UInt8]?, _ text: [UInt8]) throws(Malformed) {
        guard let leaf else {
            guard Self.isSpace(text) else { throw Malformed() }
            return
        }
        guard let text = String(validating: leaf, as: UTF8.self) else { throw Malformed() }
        if texts.updateValue(text, forKey: path.joined(separator: "/")) != nil {
            repeated.insert(path.joined(separator: "/"))
        }
    }

    /// Reads the text before a tag, and the first character of the tag.
    private mutating func text() throws(Malformed) -> [UInt8] {
        var text: [UInt8] = []
        while true {
            switch try next() {
            case UInt8(ascii: "<"): return text
            case UInt8(ascii: "&"): text += try Array(reference().utf8)
            case 0..<0x09, 0x0B, 0x0C, 0x0E..<0x20: throw Malformed()
            case let byte: text.append(byte)
            }
        }
    }

    /// Reads the rest of a reference to a character, such as `&amp;` or `&#x41;`.
    private mutating func reference() throws(Malformed) -> String {
        var name: [UInt8] = []
        while case let byte = try next(), byte != UInt8(ascii: ";") {
            name.append(byte)
            guard name.count <= 8 else { throw Malformed() }
        }
        let text = String(decoding: name, as: UTF8.self)
        switch text {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default: break
        }
        let isHexadecimal = text.hasPrefix("#x")
        let digits = text.dropFirst(isHexadecimal ? 2 : 1)
        guard text.hasPrefix("#"), digits.utf8.allSatisfy({ Self.isNamePart($0) }),
            let scalar = UInt32(digits, radix: isHexadecimal ? 16 : 10).flatMap(Unicode.Scalar.init),
            scalar.value >= 0x20 || [0x09, 0x0A, 0x0D].contains(scalar.value)
        else { throw Malformed() }
        return String(scalar)
    }

    private mutating func name() throws(Malformed) -> String {
        let name = bytes[position...].prefix(while: Self.isNamePart)
        guard !name.isEmpty, name.count <= 64 else { throw Malformed() }
        position = name.endIndex
        return String(decoding: name, as: UTF8.self)
    }

    private mutating func skipAttributes() throws(Malformed) {
        while skipSpace(), position < bytes.count, Self.isNamePart(bytes[position]) {
            _ = try name()
            guard skip("=") else { throw Malformed() }
            let quote = try next()
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw Malformed() }
            while case let byte = try next(), byte != quote {
                guard byte != UInt8(ascii: "<") else { throw Malformed() }
            }
        }
    }

    // MARK: Bytes

    private mutating func next() throws(Malformed) -> UInt8 {
        guard position < bytes.count else { throw Malformed() }
        position += 1
        return bytes[position - 1]
    }

    /// Skips these characters if they are next, and returns whether they are.
    private mutating func skip(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard bytes.count - position >= count,
            (0..<count).allSatisfy({ bytes[position + $0] == text.utf8Start[$0] })
        else { return false }
        position += count
        return true
    }

    @discardableResult
    private mutating func skipSpace() -> Bool {
        let space = bytes[position...].prefix { Self.isSpace([$0]) }
        position = space.endIndex
        return !space.isEmpty
    }

    private static func isSpace(_ bytes: [UInt8]) -> Bool {
        bytes.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "_-.:".utf8.contains(byte)
    }
}
