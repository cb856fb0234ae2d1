/// The reason why input is not valid JSON.
@usableFromInline
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The expected or actual token. Never quotes the text, which may contain secrets.
    package let reason: String
    /// The number of bytes before the error.
    package let offset: Int

    /// The reason and the position.
    @usableFromInline
    package var description: String { "\(reason) at byte \(offset)" }
}

/// The accepted extensions of RFC 8259 and additional checks.
@usableFromInline
package struct JSONReadingOptions: Sendable, Equatable {
    /// Whether `// …` and `/* … */` are accepted as white space, for files that users write.
    package var allowsComments = false
    /// Whether an object with a duplicate name is rejected.
    package var rejectsDuplicates = false
    /// The maximum depth of arrays and objects.
    package var maximumDepth = 64

    /// Creates options. The defaults are for JSON from other programs.
    @usableFromInline
    package init(allowsComments: Bool = false, rejectsDuplicates: Bool = false, maximumDepth: Int = 64) {
        self.allowsComments = allowsComments
        self.rejectsDuplicates = rejectsDuplicates
        self.maximumDepth = maximumDepth
    }
}

extension JSONValue {
    /// Creates a value from JSON.
    ///
    /// Only UTF-8 is accepted, a leading byte order mark is skipped, and only white space may follow the value.
    ///
    /// See [RFC 8259](https://www.rfc-editor.org/rfc/rfc8259).
    @inlinable
    package init(parsing bytes: some Sequence<UInt8>, options: JSONReadingOptions = .init()) throws(JSONError) {
        let result = bytes.withContiguousStorageIfAvailable { buffer in
            Result { () throws(JSONError) in try Self.parse(buffer, options) }
        }
        if let result {
            self = try result.get()
        } else {
            self = try Array(bytes).withUnsafeBufferPointer { buffer throws(JSONError) in
                try Self.parse(buffer, options)
            }
        }
    }

    /// Creates a value from a JSON string.
    package init(parsing text: String, options: JSONReadingOptions = .init()) throws(JSONError) {
        try self.init(parsing: text.utf8, options: options)
    }

    @usableFromInline
    static func parse(
        _ buffer: UnsafeBufferPointer<UInt8>, _ options: JSONReadingOptions
    ) throws(JSONError) -> JSONValue {
        var scanner = JSONScanner(buffer, options: options)
        try scanner.start()
        let value = try scanner.value()
        try scanner.end()
        return value
    }
}

extension JSONScanner {
    /// Reads a value and moves to the byte after it.
    mutating func value() throws(JSONError) -> JSONValue {
        switch try first() {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try text(string(checksUTF8: false)))
        case let byte:
            let start = position
            try scalar(byte)
            switch byte {
            case UInt8(ascii: "t"): return .bool(true)
            case UInt8(ascii: "f"): return .bool(false)
            case UInt8(ascii: "n"): return .null
            default:
                return .number(JSONNumber(validLiteral: String(decoding: bytes[start..<position], as: UTF8.self)))
            }
        }
    }

    private mutating func array() throws(JSONError) -> [JSONValue] {
        var elements: [JSONValue] = []
        if try enter(closing: UInt8(ascii: "]")) { return elements }
        repeat { elements.append(try value()) } while try !leave(closing: UInt8(ascii: "]"))
        return elements
    }

    private mutating func object() throws(JSONError) -> JSONObject {
        if try enter(closing: UInt8(ascii: "}")) { return JSONObject() }
        var members: [JSONObject.Member] = []
        repeat {
            let name = try text(name(checksUTF8: false))
            members.append(JSONObject.Member(name: name, value: try value()))
        } while try !leave(closing: UInt8(ascii: "}"))
        let object = JSONObject(members)
        if options.rejectsDuplicates, !object.duplicatedNames.isEmpty { throw error("duplicate member") }
        return object
    }
}
