/// The names and values of a query or of form content, in order.
///
/// [URL Standard, application/x-www-form-urlencoded](https://url.spec.whatwg.org/#application/x-www-form-urlencoded)
struct FormFields: Sendable, Equatable {
    struct Field: Sendable, Equatable {
        var name: String
        var value: String
    }

    private(set) var fields: [Field] = []

    init() {}

    /// Reads `a=b&c=d`. Nil when an escape is not two hexadecimal digits or the bytes are not UTF-8.
    init?(parsing text: some StringProtocol) {
        for part in text.utf8.split(separator: UInt8(ascii: "&")) {
            let name = part.prefix { $0 != UInt8(ascii: "=") }
            guard let decodedName = PercentCoding.decode(name, plusIsSpace: true),
                let decodedValue = PercentCoding.decode(part.dropFirst(name.count + 1), plusIsSpace: true)
            else { return nil }
            fields.append(Field(name: decodedName, value: decodedValue))
        }
    }

    /// The value of the only field of this name; nil when there is none or an empty one.
    ///
    /// RFC 6749 section 3.1: parameters without a value are treated as omitted.
    subscript(name: String) -> String? {
        fields.first { $0.name == name && !$0.value.isEmpty }?.value
    }

    /// Whether a name stands more than once, which OAuth requests must not have.
    var hasDuplicates: Bool { Set(fields.map(\.name)).count < fields.count }

    mutating func append(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    /// The fields as a query or as form content: everything escaped but unreserved characters.
    var encoded: String {
        fields.map { "\(PercentCoding.encode($0.name))=\(PercentCoding.encode($0.value))" }.joined(separator: "&")
    }
}

/// Percent-encoding. RFC 3986 section 2.
enum PercentCoding {
    static func encode(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var encoded: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    static func decode(_ text: some StringProtocol) -> String? { decode(text.utf8, plusIsSpace: false) }

    static func decode(_ bytes: some Sequence<UInt8>, plusIsSpace: Bool) -> String? {
        var decoded: [UInt8] = []
        var iterator = bytes.makeIterator()
        while let byte = iterator.next() {
            if byte == UInt8(ascii: "%") {
                guard let high = iterator.next().flatMap(digit), let low = iterator.next().flatMap(digit) else {
                    return nil
                }
                decoded.append(high << 4 | low)
            } else {
                decoded.append(plusIsSpace && byte == UInt8(ascii: "+") ? 0x20 : byte)
            }
        }
        return String(validating: decoded, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
