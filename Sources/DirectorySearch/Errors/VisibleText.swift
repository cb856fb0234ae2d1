extension String {
    /// Returns the text on one line, with characters escaped that could control a terminal or hide text: `\u{1B}`.
    ///
    /// These are control characters, bidirectional controls, line separators, the byte order mark and tags.
    ///
    /// - Parameter limit: The maximum number of Unicode scalars.
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

    /// Returns at most this number of Unicode scalars, because a server's text can have any length.
    func clipped(to limit: Int) -> String {
        guard utf8.count > limit else { return self }
        return String(String.UnicodeScalarView(unicodeScalars.prefix(limit)))
    }

    /// Whether the text is empty or white space.
    var isBlank: Bool { unicodeScalars.allSatisfy(\.properties.isWhitespace) }

    /// Throws an error if the text cannot be the name of a user or would change the path of a URL.
    func checkIsName() throws(DirectoryError) {
        guard !isBlank else { throw DirectoryError(.emptySearch) }
        guard self != ".", self != ".." else {
            throw .invalidQuery("\"\(self)\" is nobody's identifier")
        }
    }
}
