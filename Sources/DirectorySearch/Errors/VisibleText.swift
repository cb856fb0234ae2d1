extension String {
    /// The text with characters that could steer a terminal or hide what is written made visible as `\u{1B}`, on one line,
    /// at most this many Unicode scalars long.
    ///
    /// Those are the control characters, the bidirectional controls, line separators, the byte order mark and tags.
    func visible(limit: Int = 500) -> String {
        var result = ""
        var count = 0
        for scalar in unicodeScalars {
            guard count < limit else { return result + "…" }
            count += 1
            switch scalar.value {
            case 0x09, 0x0A, 0x0D:
                result.unicodeScalars.append(" ")
            case 0..<0x20, 0x7F...0x9F, 0x61C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF,
                0xE0000...0xE007F:
                result += "\\u{" + String(scalar.value, radix: 16, uppercase: true) + "}"
            default:
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// At most this many Unicode scalars of the text: what a server says is kept, but not without end.
    func clipped(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.prefix(limit)))
    }

    /// Whether there is nothing but white space.
    var isBlank: Bool { unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    /// Refuses what names nobody and would change the path that it stands in.
    func checkIsName() throws(DirectoryError) {
        guard !isBlank else { throw DirectoryError(.emptySearch) }
        guard self != ".", self != ".." else {
            throw .invalidQuery("\"\(self)\" is nobody's identifier")
        }
    }
}
