/// A validated JSON value, stored as its bytes. Each access reads only the requested part.
///
/// Use it for long lists whose elements are mostly forwarded. A slice keeps the whole text in memory.
package struct JSONSlice: Sendable {
    /// Properties of the bytes.
    struct Traits: OptionSet, Sendable {
        var rawValue: UInt8
        /// White space or comments outside strings.
        static let spaced = Traits(rawValue: 1 << 0)
        /// Characters that could control a terminal, which a writer escapes.
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

    /// Creates a slice by checking JSON with the rules of ``JSONValue/init(parsing:options:)-(Sequence<UInt8>,_)``.
    package init(parsing text: some Sequence<UInt8>) throws(JSONError) {
        let bytes = Array(text)
        let (range, traits) = try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
            var scanner = JSONScanner(buffer)
            try scanner.start()
            let found = try scanner.element()
            try scanner.end()
            return found
        }
        self.init(bytes, range, traits)
    }

    /// The parsed value.
    package var value: JSONValue {
        // This cannot fail, because the bytes are validated.
        (try? JSONValue(parsing: bytes[range])) ?? .null
    }

    /// Whether it is an object.
    package var isObject: Bool { bytes[range.lowerBound] == UInt8(ascii: "{") }

    /// Whether it is `null`.
    package var isNull: Bool { bytes[range.lowerBound] == UInt8(ascii: "n") }

    /// The kind of value, for messages.
    package var kind: String { value.kind }

    /// The string, or `nil` for any other value.
    package var string: String? {
        guard bytes[range.lowerBound] == UInt8(ascii: "\"") else { return nil }
        let inner = bytes[(range.lowerBound + 1)..<(range.upperBound - 1)]
        guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
        return value.string
    }

    /// Whether a member's name starts with `@`, at any depth.
    package var hasAnnotations: Bool { traits.contains(.annotated) }

    /// The bytes if a writer can copy them unchanged, otherwise `nil`.
    ///
    /// They have no white space between values and no characters that ``JSONValue/serialized(_:)`` would escape.
    package var plainBytes: ArraySlice<UInt8>? {
        traits.isDisjoint(with: [.spaced, .steering]) ? bytes[range] : nil
    }

    /// The unchanged bytes, for comparing and hashing.
    package var rawBytes: ArraySlice<UInt8> { bytes[range] }

    /// The last member with a name, or `nil` if it is absent. Names are compared byte by byte.
    package subscript(name: String) -> JSONSlice? {
        var name = name
        return name.withUTF8 { member($0) }
    }

    private func member(_ name: UnsafeBufferPointer<UInt8>) -> JSONSlice? {
        guard isObject else { return nil }
        let found = try? bytes.withUnsafeBufferPointer { buffer throws(JSONError) -> (Range<Int>, Traits)? in
            var scanner = JSONScanner(buffer, at: range.lowerBound)
            var found: (Range<Int>, Traits)?
            if try scanner.enter(closing: UInt8(ascii: "}")) { return nil }
            repeat {
                let key = try scanner.name()
                let value = try scanner.element()
                let isNamed =
                    key.hasEscapes
                    ? try scanner.text(key).utf8.elementsEqual(name)
                    : key.range.count == name.count && buffer[key.range].elementsEqual(name)
                if isNamed { found = value }
            } while try !scanner.leave(closing: UInt8(ascii: "}"))
            return found
        }
        return found.map { JSONSlice(bytes, $0.0, $0.1) }
    }
}

extension JSONScanner {
    /// Checks a value and returns its range and traits.
    fileprivate mutating func element() throws(JSONError) -> (Range<Int>, JSONSlice.Traits) {
        let start = position
        traits = []
        try skipValue()
        return (start..<position, traits)
    }
}

/// A JSON object with one long list, whose elements are validated slices. The other members are parsed values.
package struct JSONListText: Sendable {
    /// The members without the list.
    package private(set) var members: JSONObject
    /// The elements of the list, or `nil` if the member is missing or not an array.
    package private(set) var elements: [JSONSlice]?

    /// Creates the list by checking a JSON object in one pass.
    ///
    /// - Parameter list: The name of the list member.
    /// - Returns: `nil` if the text is JSON but not an object.
    /// - Throws: ``JSONError`` if the text is not JSON by the rules of
    ///   ``JSONValue/init(parsing:options:)-(Sequence<UInt8>,_)``.
    package init?(parsing text: some Sequence<UInt8>, list: String) throws(JSONError) {
        let bytes = Array(text)
        let parts = try bytes.withUnsafeBufferPointer { buffer throws(JSONError) -> Parts? in
            try Self.scan(buffer, list)
        }
        guard let parts else { return nil }
        members = JSONObject(parts.members)
        elements = parts.elements.map { $0.map { JSONSlice(bytes, $0.0, $0.1) } }
    }

    private struct Parts {
        var members: [JSONObject.Member] = []
        var elements: [(Range<Int>, JSONSlice.Traits)]?
    }

    private static func scan(_ buffer: UnsafeBufferPointer<UInt8>, _ list: String) throws(JSONError) -> Parts? {
        var scanner = JSONScanner(buffer)
        var parts = Parts()
        try scanner.start()
        guard try scanner.first() == UInt8(ascii: "{") else {
            try scanner.skipValue()
            try scanner.end()
            return nil
        }
        if try !scanner.enter(closing: UInt8(ascii: "}")) {
            repeat {
                let name = try scanner.name()
                if try scanner.first() == UInt8(ascii: "["), buffer[name.range].elementsEqual(list.utf8) {
                    parts.elements = try elements(&scanner)
                } else {
                    parts.members.append(.init(name: try scanner.text(name), value: try scanner.value()))
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
        repeat { elements.append(try scanner.element()) } while try !scanner.leave(closing: UInt8(ascii: "]"))
        return elements
    }
}
