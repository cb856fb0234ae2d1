/// Base64 with the URL-safe alphabet and without padding, as in JOSE.
///
/// See [RFC 4648 section 5](https://www.rfc-editor.org/rfc/rfc4648#section-5) and [RFC 7515 section
/// 2](https://www.rfc-editor.org/rfc/rfc7515#section-2).
package enum Base64URL {
    /// Returns the encoded bytes without padding.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        withContiguousBytes(bytes) { encode(buffer: $0) }
    }

    /// Returns the decoded bytes, or `nil` if the string is not their canonical encoding.
    ///
    /// Padding, white space, line breaks, the other alphabet (`+` and `/`) and nonzero bits after the last byte are
    /// rejected: otherwise one signature would have many encodings.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        withContiguousBytes(text.utf8) { decode(buffer: $0) }
    }

    /// Returns the decoded bytes of a slice, or `nil` if it is not canonical.
    static func decode(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        text.withUnsafeBufferPointer { decode(buffer: $0) }
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    /// The value of each byte in the alphabet; 0xFF for other bytes.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, letter) in alphabet.enumerated() { values[Int(letter)] = UInt8(value) }
        return values
    }()

    private static func encode(buffer bytes: UnsafeBufferPointer<UInt8>) -> String {
        let (groups, rest) = bytes.count.quotientAndRemainder(dividingBy: 3)
        let count = groups * 4 + (rest == 0 ? 0 : rest + 1)
        return alphabet.withUnsafeBufferPointer { alphabet in
            String(unsafeUninitializedCapacity: count) { output in
                var target = 0
                var source = 0
                for _ in 0..<groups {
                    let bits = UInt32(bytes[source]) << 16 | UInt32(bytes[source + 1]) << 8 | UInt32(bytes[source + 2])
                    output[target] = alphabet[Int(bits >> 18)]
                    output[target + 1] = alphabet[Int(bits >> 12 & 63)]
                    output[target + 2] = alphabet[Int(bits >> 6 & 63)]
                    output[target + 3] = alphabet[Int(bits & 63)]
                    source += 3
                    target += 4
                }
                if rest > 0 {
                    let bits = UInt32(bytes[source]) << 16 | (rest == 2 ? UInt32(bytes[source + 1]) << 8 : 0)
                    output[target] = alphabet[Int(bits >> 18)]
                    output[target + 1] = alphabet[Int(bits >> 12 & 63)]
                    if rest == 2 { output[target + 2] = alphabet[Int(bits >> 6 & 63)] }
                }
                return count
            }
        }
    }

    private static func decode(buffer text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        let (groups, rest) = text.count.quotientAndRemainder(dividingBy: 4)
        guard rest != 1 else { return nil }
        let count = groups * 3 + (rest == 0 ? 0 : rest - 1)
        var canonical = true
        let bytes = values.withUnsafeBufferPointer { values in
            [UInt8](unsafeUninitializedCapacity: count) { output, written in
                // All values of the alphabet are below 64, so a set high bit indicates an invalid character.
                var seen: UInt8 = 0
                var source = 0
                var target = 0
                for _ in 0..<groups {
                    let first = values[Int(text[source])], second = values[Int(text[source + 1])]
                    let third = values[Int(text[source + 2])], fourth = values[Int(text[source + 3])]
                    seen |= first | second | third | fourth
                    output[target] = first << 2 | second >> 4
                    output[target + 1] = second << 4 | third >> 2
                    output[target + 2] = third << 6 | fourth
                    source += 4
                    target += 3
                }
                if rest > 0 {
                    let first = values[Int(text[source])], second = values[Int(text[source + 1])]
                    let third = rest == 3 ? values[Int(text[source + 2])] : 0
                    seen |= first | second | third
                    output[target] = first << 2 | second >> 4
                    if rest == 3 { output[target + 1] = second << 4 | third >> 2 }
                    canonical = rest == 3 ? third & 0b11 == 0 : second & 0b1111 == 0
                }
                canonical = canonical && seen & 0x80 == 0
                written = count
            }
        }
        return canonical ? bytes : nil
    }
}
