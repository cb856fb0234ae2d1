import LodgePlatform

extension URL {
    /// Creates a URL from user input or a server's response, or returns `nil` if it is invalid.
    ///
    /// Percent-encodes invalid bytes individually, brackets outside of the host, and a `%` without two digits after it.
    /// All other bytes stay: `URL(string:)` encodes a whole component, including its `%`, if one byte is invalid, which
    /// changes the meaning of `x%20y`.
    ///
    /// - Parameter base: the base of a relative URL.
    ///
    /// See [RFC 3986 section 2](https://www.rfc-editor.org/rfc/rfc3986#section-2).
    package init?(written text: String, relativeTo base: URL? = nil) {
        let encoded = Self.encoded(text)
        guard let url = URL(string: encoded, encodingInvalidCharacters: false) else { return nil }
        guard let base else {
            self = url
            return
        }
        guard let absolute = URL(string: encoded, relativeTo: base)?.absoluteURL else { return nil }
        self = absolute
    }

    private static func encoded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let authority = authority(of: bytes)
        var hasFragment = false
        var result: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            let stays: Bool
            switch byte {
            case UInt8(ascii: "%"):
                stays =
                    index + 2 < bytes.count
                    && bytes[index + 1...index + 2].allSatisfy { PercentEncoding.hexadecimalValue($0) != nil }
            case UInt8(ascii: "["), UInt8(ascii: "]"):
                stays = authority.contains(index)
            case UInt8(ascii: "#"):
                stays = !hasFragment
                hasFragment = true
            default:
                stays = byte > 0x20 && byte < 0x7F && !"\"<>\\^`{|}".utf8.contains(byte)
            }
            if stays {
                result.append(byte)
            } else {
                PercentEncoding.append(byte, to: &result)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the range of host and port, after `//` at the start or after the scheme.
    private static func authority(of bytes: [UInt8]) -> Range<Int> {
        let scheme = bytes.prefix { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: false
            }
        }
        var start = 0
        if scheme.count < bytes.count, bytes[scheme.count] == UInt8(ascii: ":") { start = scheme.count + 1 }
        guard bytes[start...].starts(with: "//".utf8) else { return 0..<0 }
        start += 2
        return start..<(bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.count)
    }
}
