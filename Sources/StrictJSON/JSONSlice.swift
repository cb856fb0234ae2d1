/// A JSON value that was checked in full and is kept as the bytes that it came in. What is in it is read when it is asked for.
///
/// For long lists of which most parts are only handed on. A slice keeps the whole text that it is a part of in memory.
public struct JSONSlice: Sendable {
    /// What the bytes have beside their values.
    struct Traits: OptionSet, Sendable {
        var rawValue: UInt8
        /// White space outside strings.
        static let spaced = Traits(rawValue: 1 << 0)
        /// Characters that could steer a terminal, which a writer escapes.
        static let steering = Traits(rawValue: 1 << 1)
        /// A member whose name begins with `@`.
        static let annotated = Traits(rawValue: 1 << 2)
    }

    private let bytes: [UInt8]
    private let range: Range<Int>
    private let traits: Traits

    init(_ bytes: [UInt8], _ range: Range<Int>, _ traits: Traits) {
        self.bytes = bytes
        self.range = range
        self.traits = traits
    }

    /// Checks one JSON text, by the rules of ``JSONValue/init(parsing:options:)-(Sequence<UInt8>,_)``.
    public init(parsing text: some Sequence<UInt8>) throws(JSONError) {
        let bytes = Array(text)
        let checked = bytes.withUnsafeBufferPointer { buffer -> Result<(Range<Int>, Traits), JSONError> in
            var scanner = JSONScanner(buffer)
            do throws(JSONError) {
                scanner.skipByteOrderMark()
                scanner.skipSpace()
                scanner.traits = []
                let start = scanner.position
                try scanner.value()
                let found = (start..<scanner.position, scanner.traits)
                try scanner.end()
                return .success(found)
            } catch {
                return .failure(error)
            }
        }
        let (range, traits) = try checked.get()
        self.init(bytes, range, traits)
    }

    /// The value, read.
    public var value: JSONValue {
        // It was checked: there is no way to fail.
        (try? JSONValue(parsing: bytes[range])) ?? .null
    }

    /// Whether it is an object.
    public var isObject: Bool { bytes[range.lowerBound] == UInt8(ascii: "{") }

    /// Whether it is `null`.
    public var isNull: Bool { bytes[range.lowerBound] == UInt8(ascii: "n") }

    /// What kind of value this is, in a word for messages.
    public var kind: String { value.kind }

    /// The string, if this is one.
    public var string: String? {
        guard bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
        let inner = bytes[(range.lowerBound + 1)..<(range.upperBound - 1)]
        guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
        return value.string
    }

    /// Whether a member's name begins with `@`, at any depth. False says that none does.
    public var hasAnnotations: Bool { traits.contains(.annotated) }

    /// The bytes of the text, on one line, when they need no change to be written: no white space between the values, and no
    /// characters that ``JSONValue/serialized(_:)`` would escape.
    public var plainBytes: ArraySlice<UInt8>? {
        traits.isDisjoint(with: [.spaced, .steering]) ? bytes[range] : nil
    }

    /// Its bytes as they came, for comparing and hashing.
    public var rawBytes: ArraySlice<UInt8> { bytes[range] }

    /// The last member of this name; nil when there is none, or this is no object. Names are compared byte by byte.
    public subscript(name: String) -> JSONSlice? {
        var name = name
        return name.withUTF8 { member($0) }
    }

    private func member(_ name: UnsafeBufferPointer<UInt8>) -> JSONSlice? {
        guard isObject else { return nil }
        let found = bytes.withUnsafeBufferPointer { buffer -> (Range<Int>, Traits)? in
            var scanner = JSONScanner(buffer, at: range.lowerBound)
            var found: (Range<Int>, Traits)?
            do throws(JSONError) {
                if try scanner.enter(closing: UInt8(ascii: "}")) { return nil }
                repeat {
                    let key = try scanner.name()
                    let start = scanner.position
                    scanner.traits = []
                    try scanner.value()
                    if Self.isNamed(name, UnsafeBufferPointer(rebasing: buffer[key])) {
                        found = (start..<scanner.position, scanner.traits)
                    }
                } while try !scanner.leave(closing: UInt8(ascii: "}"))
            } catch {
                // It was checked: there is no way to get here.
                return nil
            }
            return found
        }
        return found.map { JSONSlice(bytes, $0.0, $0.1) }
    }

    /// - Parameter key: as it stands in the text, maybe with escapes.
    private static func isNamed(_ name: UnsafeBufferPointer<UInt8>, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
        if key.count == name.count, key.elementsEqual(name) { return true }
        // An escape is longer than what it stands for.
        guard key.count > name.count, key.contains(UInt8(ascii: "\\")) else { return false }
        let quoted = [UInt8(ascii: "\"")] + key + [UInt8(ascii: "\"")]
        return (try? JSONValue(parsing: quoted))?.string?.utf8.elementsEqual(name) == true
    }
}

/// A JSON object with one long list in it: the other members are read, the elements of the list are checked and kept as slices.
public struct JSONListText: Sendable {
    /// The members but the list.
    public private(set) var members: JSONObject
    /// The elements of the list; nil when there is no such member or it is no array.
    public private(set) var elements: [JSONSlice]?

    /// Checks a JSON text that is an object, in one pass.
    ///
    /// - Parameter list: the name of the member that is the list.
    /// - Returns: nil when the text is JSON but no object.
    /// - Throws: ``JSONError`` when the text is no JSON, by the rules of ``JSONValue/init(parsing:options:)-(Sequence<UInt8>,_)``.
    public init?(parsing text: some Sequence<UInt8>, list: String) throws(JSONError) {
        let bytes = Array(text)
        let scanned = bytes.withUnsafeBufferPointer { buffer -> Result<Parts?, JSONError> in
            do throws(JSONError) {
                return .success(try Self.scan(buffer, list))
            } catch {
                return .failure(error)
            }
        }
        guard let parts = try scanned.get() else { return nil }
        var members: [JSONObject.Member] = []
        for (name, value) in parts.members {
            let quoted = bytes[(name.lowerBound - 1)...name.upperBound]
            members.append(
                .init(
                    name: (try JSONValue(parsing: quoted)).string ?? "", value: try JSONValue(parsing: bytes[value])))
        }
        self.members = JSONObject(members)
        elements = parts.elements.map { $0.map { JSONSlice(bytes, $0.0, $0.1) } }
    }

    private struct Parts {
        var members: [(Range<Int>, Range<Int>)] = []
        var elements: [(Range<Int>, JSONSlice.Traits)]?
    }

    private static func scan(_ buffer: UnsafeBufferPointer<UInt8>, _ list: String) throws(JSONError) -> Parts? {
        var scanner = JSONScanner(buffer)
        var parts = Parts()
        scanner.skipByteOrderMark()
        scanner.skipSpace()
        guard scanner.position < buffer.count, buffer[scanner.position] == UInt8(ascii: "{") else {
            try scanner.value()
            try scanner.end()
            return nil
        }
        if try !scanner.enter(closing: UInt8(ascii: "}")) {
            repeat {
                let name = try scanner.name()
                let start = scanner.position
                if start < buffer.count, buffer[start] == UInt8(ascii: "["), buffer[name].elementsEqual(list.utf8) {
                    parts.elements = try elements(&scanner)
                } else {
                    try scanner.value()
                    parts.members.append((name, start..<scanner.position))
                }
            } while try !scanner.leave(closing: UInt8(ascii: "}"))
        }
        try scanner.end()
        return parts
    }

    private static func elements(
        _ scanner: inout JSONScanner
    ) throws(JSONError) -> [(Range<Int>, JSONSlice.Traits)] {
        var elements: [(Range<Int>, JSONSlice.Traits)] = []
        if try scanner.enter(closing: UInt8(ascii: "]")) { return elements }
        repeat {
            let start = scanner.position
            scanner.traits = []
            try scanner.value()
            elements.append((start..<scanner.position, scanner.traits))
        } while try !scanner.leave(closing: UInt8(ascii: "]"))
        return elements
    }
}
