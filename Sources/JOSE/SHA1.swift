/// The SHA-1 digest. It is not secure: use it only to identify a certificate.
///
/// See [FIPS 180-4](https://csrc.nist.gov/pubs/fips/180-4/upd1/final) and [RFC 7515 section
/// 4.1.7](https://www.rfc-editor.org/rfc/rfc7515#section-4.1.7).
package enum SHA1 {
    /// Returns the 20 bytes of the digest.
    package static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var padded = bytes + [0x80]
        padded += [UInt8](repeating: 0, count: (120 - padded.count % 64) % 64)
        padded += (0..<8).reversed().map { UInt8(truncatingIfNeeded: (bytes.count * 8) >> ($0 * 8)) }
        var state: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
        for start in stride(from: 0, to: padded.count, by: 64) {
            var words = stride(from: start, to: start + 64, by: 4).map { index in
                padded[index..<index + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            for index in 16..<80 {
                words.append(
                    rotated(words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16], by: 1))
            }
            var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
            for (index, word) in words.enumerated() {
                let (function, constant): (UInt32, UInt32) =
                    switch index {
                    case ..<20: (b & c | ~b & d, 0x5A82_7999)
                    case ..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                    case ..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                    default: (b ^ c ^ d, 0xCA62_C1D6)
                    }
                (a, b, c, d, e) = (rotated(a, by: 5) &+ function &+ e &+ constant &+ word, a, rotated(b, by: 30), c, d)
            }
            for (index, value) in [a, b, c, d, e].enumerated() { state[index] &+= value }
        }
        return state.flatMap { value in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) } }
    }

    private static func rotated(_ value: UInt32, by count: UInt32) -> UInt32 { value << count | value >> (32 - count) }
}
