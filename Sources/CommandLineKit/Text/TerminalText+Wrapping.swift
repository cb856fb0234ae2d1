extension TerminalText {
    /// Returns visible text wrapped at spaces to lines of at most `columns`. There is always at least one line.
    ///
    /// - Parameters:
    ///   - limit: the maximum number of lines; the last one is cut with `…`.
    ///   - breaksWords: whether to split a word that is wider than a line; otherwise its line is wider.
    package static func wrapped(_ text: String, to columns: Int, limit: Int = 100, breaksWords: Bool = true) -> [String]
    {
        guard columns > 1, limit > 0 else { return [truncated(text, to: max(0, columns))] }
        var lines: [String] = []
        var rest = text[...]
        while !rest.isEmpty {
            if lines.count == limit - 1 {
                lines.append(truncated(String(rest), to: columns))
                break
            }
            let end = lineEnd(rest, columns, breaksWords: breaksWords)
            var line = rest[..<end]
            while line.last == " " { line.removeLast() }
            lines.append(String(line))
            rest = rest[end...]
            while rest.first == " " { rest.removeFirst() }
        }
        return lines.isEmpty ? [""] : lines
    }

    /// Returns the end of the first line: after the last space that fits `columns`, otherwise after the last grapheme
    /// or the first word.
    private static func lineEnd(_ text: Substring, _ columns: Int, breaksWords: Bool) -> String.Index {
        var taken = 0
        var afterSpace: String.Index?
        for index in text.indices {
            taken += width(String(text[index]))
            if taken > columns {
                if text[index] == " " { return index }
                if afterSpace == nil, !breaksWords { return text[index...].firstIndex(of: " ") ?? text.endIndex }
                return afterSpace ?? (index == text.startIndex ? partEnd(text, columns) : index)
            }
            if text[index] == " ", index != text.startIndex { afterSpace = text.index(after: index) }
        }
        return text.endIndex
    }

    /// Returns the end of the part of the first grapheme that fits: some scripts join any number of letters into one.
    ///
    /// A scalar has at most two columns.
    private static func partEnd(_ text: Substring, _ columns: Int) -> String.Index {
        let end = text.index(after: text.startIndex)
        return text.unicodeScalars.index(text.startIndex, offsetBy: max(1, columns / 2), limitedBy: end) ?? end
    }
}
