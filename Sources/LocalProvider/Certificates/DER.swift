/// An encoder for the Distinguished Encoding Rules, for the values that certificates and keys need.
///
/// See [X.690](https://www.itu.int/rec/T-REC-X.690).
enum DER {
    /// Returns a value with its tag and length.
    static func value(_ tag: UInt8, _ content: some Collection<UInt8>) -> [UInt8] {
        var length: [UInt8] = []
        if content.count < 0x80 {
            length = [UInt8(content.count)]
        } else {
            var rest = content.count
            while rest > 0 {
                length.insert(UInt8(rest & 0xFF), at: 0)
                rest >>= 8
            }
            length.insert(0x80 | UInt8(length.count), at: 0)
        }
        return [tag] + length + content
    }

    static func sequence(_ values: [UInt8]...) -> [UInt8] { value(0x30, values.joined()) }

    static func set(_ values: [UInt8]...) -> [UInt8] { value(0x31, values.joined()) }

    /// Returns a non-negative integer, most significant byte first.
    static func integer(_ bytes: [UInt8]) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
        return value(0x02, digits)
    }

    static func boolean(_ flag: Bool) -> [UInt8] { value(0x01, [flag ? 0xFF : 0]) }

    static func octets(_ bytes: [UInt8]) -> [UInt8] { value(0x04, bytes) }

    /// Returns a bit string without the last `unused` bits.
    static func bits(_ bytes: [UInt8], unused: UInt8 = 0) -> [UInt8] { value(0x03, [unused] + bytes) }

    static func text(_ text: String) -> [UInt8] { value(0x0C, Array(text.utf8)) }

    /// Returns a time: `UTCTime` until 2049 and `GeneralizedTime` after it. See RFC 5280 section 4.1.2.5.
    ///
    /// - Parameter digits: The year, month, day, hour, minute and second: 14 digits.
    static func time(_ digits: String) -> [UInt8] {
        let isGeneralized = digits < "1950" || digits >= "2050"
        return value(isGeneralized ? 0x18 : 0x17, Array((digits.dropFirst(isGeneralized ? 0 : 2) + "Z").utf8))
    }

    /// Returns an object identifier. The first two components are combined into one number.
    static func identifier(_ components: Int...) -> [UInt8] {
        guard components.count >= 2 else { return value(0x06, []) }
        let numbers = [components[0] * 40 + components[1]] + components.dropFirst(2)
        return value(
            0x06,
            numbers.flatMap { number in
                var bytes = [UInt8(number & 0x7F)]
                var rest = number >> 7
                while rest > 0 {
                    bytes.insert(UInt8(rest & 0x7F) | 0x80, at: 0)
                    rest >>= 7
                }
                return bytes
            })
    }

    /// Returns values with an explicit context-specific tag.
    static func tagged(_ number: UInt8, _ values: [UInt8]...) -> [UInt8] { value(0xA0 | number, values.joined()) }

    /// Returns bytes with an implicit context-specific tag.
    static func implicit(_ number: UInt8, _ bytes: [UInt8]) -> [UInt8] { value(0x80 | number, bytes) }
}
