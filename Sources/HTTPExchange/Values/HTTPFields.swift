/// The header fields of a request or a response: an ordered list with case-insensitive names.
///
/// See [RFC 9110 section 5](https://www.rfc-editor.org/rfc/rfc9110#section-5).
public struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral, Sequence {
    /// A field line.
    public struct Field: Sendable, Equatable {
        /// The name as written.
        public var name: String
        /// The value without surrounding white space.
        public var value: String

        /// Creates a field line.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    private var fields: [Field] = []

    /// Creates an empty list of fields.
    public init() {}

    /// Creates fields in this order. A name can be repeated.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value of this name, or `nil`. Setting it replaces all fields of the name; `nil` removes them.
    public subscript(name: String) -> String? {
        get { fields.first { Self.matches($0.name, name) }?.value }
        set {
            guard let newValue else {
                fields.removeAll { Self.matches($0.name, name) }
                return
            }
            guard let first = fields.firstIndex(where: { Self.matches($0.name, name) }) else {
                fields.append(Field(name: name, value: newValue))
                return
            }
            fields[first].value = newValue
            var index = fields.count - 1
            while index > first {
                if Self.matches(fields[index].name, name) { fields.remove(at: index) }
                index -= 1
            }
        }
    }

    /// Returns all values of this name in order.
    public func values(for name: String) -> [String] {
        fields.filter { Self.matches($0.name, name) }.map(\.value)
    }

    /// Appends a field line and keeps other lines of the same name.
    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The number of field lines.
    public var count: Int { fields.count }

    /// Returns an iterator over the field lines in order.
    public func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }

    /// Returns whether the string is a valid field value: it has no control character except tab.
    ///
    /// See RFC 9110 section 5.5.
    package static func isValue(_ text: some StringProtocol) -> Bool { text.utf8.allSatisfy(isValueByte) }

    /// Returns whether the byte is allowed in a field value.
    package static func isValueByte(_ byte: UInt8) -> Bool { byte == 0x09 || (byte >= 0x20 && byte != 0x7F) }

    /// Returns whether the string is a token, such as a method or a field name.
    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Returns whether the byte is allowed in a token.
    ///
    /// See RFC 9110 section 5.6.2.
    package static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    private static func matches(_ left: String, _ right: String) -> Bool {
        left.utf8.count == right.utf8.count
            && left.utf8.elementsEqual(right.utf8, by: { lowercased($0) == lowercased($1) })
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte
    }
}
