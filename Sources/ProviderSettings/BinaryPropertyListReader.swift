import LodgePlatform
import StrictJSON

/// A reader of binary property lists, without dates and data.
///
/// An object can occur in several lists and dictionaries, and in itself, so depth, values and text have limits.
struct BinaryPropertyListReader {
    private let bytes: [UInt8]
    private let offsets: Int
    private let offsetSize: Int
    private let referenceSize: Int
    private let count: Int
    private let top: Int
    private var budget = PropertyListBudget()
    private var textSize = 0

    private static let trailerSize = 32

    init(_ bytes: [UInt8]) throws(PropertyListError) {
        self.bytes = bytes
        guard bytes.starts(with: "bplist0".utf8), bytes.count >= 8 + Self.trailerSize else {
            throw PropertyListError(reason: "a binary property list of another version, or a part of one", offset: 0)
        }
        let trailer = bytes.count - Self.trailerSize
        offsetSize = Int(bytes[trailer + 6])
        referenceSize = Int(bytes[trailer + 7])
        let numbers = (0..<3).map { Self.number(bytes[(trailer + 8 + 8 * $0)...].prefix(8)) }
        guard let count = numbers[0], let top = numbers[1], let offsets = numbers[2], (1...8).contains(offsetSize),
            (1...8).contains(referenceSize), top < count, offsets > 8, offsets <= trailer,
            count <= (trailer - offsets) / offsetSize
        else { throw PropertyListError(reason: "a damaged trailer", offset: trailer) }
        (self.count, self.top, self.offsets) = (count, top, offsets)
    }

    /// Reads the only value.
    mutating func value() throws(PropertyListError) -> JSONValue { try value(top) }

    private static func error(_ reason: String, _ offset: Int) -> PropertyListError {
        PropertyListError(reason: reason, offset: offset)
    }

    /// Returns an unsigned number; `nil` if it is larger than any position in a file of settings.
    private static func number(_ bytes: some Sequence<UInt8>) -> Int? {
        let number = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return number <= UInt64(Int32.max) ? Int(number) : nil
    }

    private mutating func value(_ index: Int) throws(PropertyListError) -> JSONValue {
        let entry = offsets + index * offsetSize
        guard index < count, let start = Self.number(bytes[entry..<(entry + offsetSize)]), start >= 8, start < offsets
        else { throw Self.error("a reference to no object", entry) }
        try budget.addValue(at: start)
        let kind = bytes[start] >> 4, size = Int(bytes[start] & 0xF)
        switch (kind, size) {
        case (0, 8): return .bool(false)
        case (0, 9): return .bool(true)
        case (1, 0...4): return .number(try integer(try content(start + 1, 1 << size)))
        case (2, 2): return try real(Double(Float(bitPattern: UInt32(try bits(start, 4)))), start)
        case (2, 3): return try real(Double(bitPattern: try bits(start, 8)), start)
        case (3, _), (4, _): throw Self.error("a date or data", start)
        case (5, _): return try ascii(start)
        case (6, _): return try utf16(start)
        case (0xA, _): return try list(start)
        case (0xD, _): return try dictionary(start)
        default: throw Self.error("an object that settings cannot have", start)
        }
    }

    /// Returns the bytes of an object.
    private func content(_ start: Int, _ count: Int) throws(PropertyListError) -> ArraySlice<UInt8> {
        guard start <= offsets, count <= offsets - start else { throw Self.error("an object without its end", start) }
        return bytes[start..<(start + count)]
    }

    /// Returns the number of elements of an object, and the position of the first.
    private func elements(_ start: Int) throws(PropertyListError) -> (count: Int, start: Int) {
        let size = Int(bytes[start] & 0xF)
        guard size == 0xF else { return (size, start + 1) }
        guard let marker = try content(start + 1, 1).first, (0x10...0x13).contains(marker) else {
            throw Self.error("a damaged size", start)
        }
        let length = 1 << Int(marker & 0xF)
        guard let count = Self.number(try content(start + 2, length)) else {
            throw Self.error("an object without its end", start)
        }
        return (count, start + 2 + length)
    }

    // MARK: Values

    private func integer(_ bytes: ArraySlice<UInt8>) throws(PropertyListError) -> JSONNumber {
        // Shorter numbers have no sign.
        let low = bytes.suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard bytes.count <= 8 || bytes.prefix(8).allSatisfy({ $0 == 0 }) && low <= UInt64(Int64.max) else {
            throw Self.error("an integer that is not a number of 64 bits", bytes.startIndex)
        }
        return JSONNumber(Int64(bitPattern: low))
    }

    private func bits(_ start: Int, _ count: Int) throws(PropertyListError) -> UInt64 {
        try content(start + 1, count).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }

    private func real(_ value: Double, _ start: Int) throws(PropertyListError) -> JSONValue {
        guard let number = JSONNumber(value) else { throw Self.error("a real that is not a number", start) }
        return .number(number)
    }

    private mutating func ascii(_ start: Int) throws(PropertyListError) -> JSONValue {
        let (count, first) = try elements(start)
        let text = try content(first, count)
        try addText(count, start)
        guard text.allSatisfy({ $0 < 0x80 }) else { throw Self.error("text that is not ASCII", start) }
        return .string(String(decoding: text, as: UTF8.self))
    }

    private mutating func utf16(_ start: Int) throws(PropertyListError) -> JSONValue {
        let (count, first) = try elements(start)
        let text = try content(first, count * 2)
        try addText(count * 2, start)
        let units = (0..<count).map { UInt16(text[first + 2 * $0]) << 8 | UInt16(text[first + 2 * $0 + 1]) }
        guard let text = String(validating: units, as: UTF16.self) else {
            throw Self.error("text that is not UTF-16", start)
        }
        return .string(text)
    }

    private mutating func addText(_ size: Int, _ start: Int) throws(PropertyListError) {
        textSize += size
        guard textSize <= Settings.maximumSize else {
            throw Self.error("more than \(Settings.maximumSize) bytes of text", start)
        }
    }

    private mutating func list(_ start: Int) throws(PropertyListError) -> JSONValue {
        let references = try references(start, perElement: 1)
        try budget.enter(at: start)
        var elements: [JSONValue] = []
        for reference in references { elements.append(try value(reference)) }
        budget.leave()
        return .array(elements)
    }

    private mutating func dictionary(_ start: Int) throws(PropertyListError) -> JSONValue {
        let references = try references(start, perElement: 2)
        try budget.enter(at: start)
        var members: [JSONObject.Member] = []
        let count = references.count / 2
        for index in 0..<count {
            guard case .string(let name) = try value(references[index]) else {
                throw Self.error("a key that is not a string", start)
            }
            members.append(JSONObject.Member(name: name, value: try value(references[count + index])))
        }
        budget.leave()
        return try PropertyList.dictionary(members, at: start)
    }

    private func references(_ start: Int, perElement: Int) throws(PropertyListError) -> [Int] {
        let (elements, first) = try elements(start)
        let count = elements * perElement
        let content = try content(first, count * referenceSize)
        var references: [Int] = []
        // A list longer than the limit fails with its first excess value; the others need no memory.
        for index in 0..<min(count, PropertyList.maximumValues + 1) {
            let place = first + index * referenceSize
            guard let reference = Self.number(content[place..<(place + referenceSize)]) else {
                throw Self.error("a reference to no object", place)
            }
            references.append(reference)
        }
        return references
    }
}
