/// The header fields of a request or an answer: an ordered list whose names are compared without case.
///
/// [RFC 9110 section 5](https://www.rfc-editor.org/rfc/rfc9110#section-5)
public struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral, Sequence {
    /// One field line.
    public struct Field: Sendable, Equatable {
        /// The name as it was written.
        public var name: String
        /// The value without the white space around it.
        public var value: String

        /// A field of this name and value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    private var fields: [Field] = []

    /// No fields.
    public init() {}

    /// Fields in the order written here; a name may stand more than once.
    public init(dictionaryLiteral elements: (String, String)...) {
        fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    /// The first value of this name, or nil. Setting replaces every field of the name; nil removes them.
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

    /// Every value of this name, in order.
    public func values(for name: String) -> [String] {
        fields.filter { Self.matches($0.name, name) }.map(\.value)
    }

    /// Adds a field line, keeping those of the same name.
    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The number of field lines.
    public var count: Int { fields.count }

    /// Goes through the field lines in order.
    public func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }

    /// Whether a text can be the value of a field: it has no control character except the tab.
    ///
    /// See RFC 9110 section 5.5.
    package static func isValue(_ text: some StringProtocol) -> Bool { text.utf8.allSatisfy(isValueByte) }

    /// Whether a byte can be in the value of a field.
    package static func isValueByte(_ byte: UInt8) -> Bool { byte == 0x09 || (byte >= 0x20 && byte != 0x7F) }

    /// Whether a text is a token, such as a method or the name of a field.
    package static func isToken(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    /// Whether a byte can be in a token.
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
