import CommandLineKit

/// A row that is put together from the left and is never wider than it may be.
struct ScreenLine: Hashable, Sendable {
    private(set) var pieces: [ScreenText] = []
    private(set) var width = 0
    let columns: Int

    init(columns: Int) { self.columns = max(0, columns) }

    /// A row with a text, cut where there is no room.
    init(_ text: String, _ style: ScreenStyle = .plain, columns: Int) {
        self.init(columns: columns)
        add(text, style)
    }

    /// Adds a visible text, cut with `…` where there is no room for all of it.
    mutating func add(_ text: String, _ style: ScreenStyle = .plain) {
        guard width < columns, !text.isEmpty else { return }
        let shown = TerminalText.truncated(text, to: columns - width)
        width += TerminalText.width(shown)
        if let last = pieces.last, last.style == style {
            pieces[pieces.count - 1].text += shown
        } else {
            pieces.append(ScreenText(text: shown, style: style))
        }
    }

    /// Adds spaces, or another character of one column, up to a column.
    mutating func fill(to column: Int? = nil, with character: Character = " ", style: ScreenStyle = .plain) {
        let missing = min(column ?? columns, columns) - width
        if missing > 0 { add(String(repeating: character, count: missing), style) }
    }

    mutating func add(_ line: ScreenLine) {
        for piece in line.pieces { add(piece.text, piece.style) }
    }

    /// The row in one style, whatever its pieces had.
    func all(_ style: ScreenStyle) -> ScreenLine {
        var line = ScreenLine(columns: columns)
        for piece in pieces { line.add(piece.text, style) }
        return line
    }
}

extension TerminalText {
    /// The visible text in lines that are no wider than `columns`, parted at spaces where there are some. Never none.
    ///
    /// - Parameter limit: how many lines there are at most; the last one is cut with `…`.
    static func wrapped(_ text: String, to columns: Int, limit: Int = 100) -> [String] {
        guard columns > 1, limit > 0 else { return [truncated(text, to: max(0, columns))] }
        var lines: [String] = []
        var rest = text[...]
        while !rest.isEmpty {
            if lines.count == limit - 1 {
                lines.append(truncated(String(rest), to: columns))
                break
            }
            let end = lineEnd(rest, columns)
            var line = rest[..<end]
            while line.last == " " { line.removeLast() }
            lines.append(String(line))
            rest = rest[end...]
            while rest.first == " " { rest.removeFirst() }
        }
        return lines.isEmpty ? [""] : lines
    }

    /// Where the first line of the text ends: after the last space that leaves it within `columns`, else after the last grapheme.
    private static func lineEnd(_ text: Substring, _ columns: Int) -> String.Index {
        var taken = 0
        var afterSpace: String.Index?
        for index in text.indices {
            taken += width(String(text[index]))
            if taken > columns {
                if text[index] == " " { return index }
                // One grapheme at least, or there would be no end.
                return afterSpace ?? (index == text.startIndex ? text.index(after: index) : index)
            }
            if text[index] == " ", index != text.startIndex { afterSpace = text.index(after: index) }
        }
        return text.endIndex
    }
}
