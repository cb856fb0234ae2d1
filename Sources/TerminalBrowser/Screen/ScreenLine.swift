import CommandLineKit

/// A row, built from the left, that never exceeds its width.
struct ScreenLine: Hashable, Sendable {
    private(set) var pieces: [ScreenText] = []
    private(set) var width = 0
    let columns: Int

    init(columns: Int) { self.columns = max(0, columns) }

    /// Creates a row with a string, cut to the width.
    init(_ text: String, _ style: ScreenStyle = .plain, columns: Int) {
        self.init(columns: columns)
        add(text, style)
    }

    /// Appends a visible text. Cuts it with `…` if it does not fit.
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

    /// Appends spaces, or another character of width 1, up to a column.
    mutating func fill(to column: Int? = nil, with character: Character = " ", style: ScreenStyle = .plain) {
        let missing = min(column ?? columns, columns) - width
        if missing > 0 { add(String(repeating: character, count: missing), style) }
    }

    mutating func add(_ line: ScreenLine) { for piece in line.pieces { add(piece.text, piece.style) } }

    /// Returns the row in one style, which replaces the styles of its pieces.
    func all(_ style: ScreenStyle) -> ScreenLine {
        var line = ScreenLine(columns: columns)
        for piece in pieces { line.add(piece.text, style) }
        return line
    }
}
