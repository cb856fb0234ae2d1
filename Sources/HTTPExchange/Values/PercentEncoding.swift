/// Percent-encoding of bytes.
///
/// See RFC 3986 section 2.1.
package enum PercentEncoding {
    /// Returns the bytes as a string, and percent-encodes each byte that the predicate rejects.
    ///
    /// - Parameter isKept: Whether a byte, which must be ASCII, stays unchanged.
    package static func encode(_ bytes: some Sequence<UInt8>, keeping isKept: (UInt8) -> Bool) -> String {
        var output: [UInt8] = []
        output.reserveCapacity(bytes.underestimatedCount)
        for byte in bytes {
            if isKept(byte) { output.append(byte) } else { append(byte, to: &output) }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// Appends a percent sign and two hexadecimal digits.
    package static func append(_ byte: UInt8, to output: inout [UInt8]) {
        let digits = StaticString("0123456789ABCDEF")
        output.append(UInt8(ascii: "%"))
        output.append(digits.utf8Start[Int(byte >> 4)])
        output.append(digits.utf8Start[Int(byte & 15)])
    }

    /// Returns the value of a hexadecimal digit, or `nil` for another byte.
    package static func hexadecimalValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }

    /// Returns whether a byte is an unreserved character: a letter, a digit, or one of `-._~`.
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    /// Returns the decoded string, or `nil` if an escape is malformed or the bytes are not UTF-8.
    ///
    /// - Parameter plusIsSpace: Whether a plus sign is a space, as in a form.
    package static func decode(_ bytes: some Sequence<UInt8>, plusIsSpace: Bool = false) -> String? {
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
