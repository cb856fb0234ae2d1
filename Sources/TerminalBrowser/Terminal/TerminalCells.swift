import CommandLineKit

/// Splits a string into pieces whose width is the same for ncurses, the terminal and ``TerminalText``.
///
/// They disagree about emoji sequences and about characters with a variation selector. For these, the result has the
/// part on which they agree, padded with spaces to the width of ``TerminalText``, so that the following text stays
/// aligned.
struct TerminalCells: Sendable {
    /// A piece of text for one position.
    enum Piece: Equatable {
        case ascii(String)
        /// One character with its combining marks.
        case cell([UInt32])
    }

    /// Whether the terminal supports more than ASCII.
    var isUnicode: Bool
    /// Returns the width of a scalar according to the C library, and so ncurses; negative if it cannot be shown.
    var width: @Sendable (UInt32) -> Int

    /// The maximum number of scalars in a cell of ncurses.
    private static let cellLimit = 5

    /// Returns the pieces of a string with their columns, from `column` up to `limit`, and the column after the text.
    func pieces(_ text: String, from column: Int, limit: Int) -> (pieces: [(column: Int, piece: Piece)], end: Int) {
        var pieces: [(column: Int, piece: Piece)] = []
        var column = column
        var run = ""
        var runStart = column
        func endRun() {
            if !run.isEmpty { pieces.append((runStart, .ascii(run))) }
            run = ""
        }
        for character in text {
            if let byte = character.asciiValue {
                guard column < limit else { break }
                if run.isEmpty { runStart = column }
                run.append(byte >= 0x20 && byte < 0x7F ? character : "?")
                column += 1
                continue
            }
            let columns = TerminalText.width(String(character))
            guard column + columns <= limit else { break }
            endRun()
            var next = column
            for (scalars, width) in cells(character, columns) {
                if let scalars {
                    pieces.append((next, .cell(scalars)))
                } else {
                    pieces.append((next, .ascii(plain(character, width))))
                }
                next += width
            }
            if next < column + columns {
                pieces.append((next, .ascii(String(repeating: " ", count: column + columns - next))))
            }
            column += columns
        }
        endRun()
        return (pieces, column)
    }

    /// Returns the cells of a character with the given width. `nil` scalars stand for an ASCII replacement.
    private func cells(_ character: Character, _ columns: Int) -> [([UInt32]?, Int)] {
        guard columns > 0 else { return [] }
        guard isUnicode else { return [(nil, columns)] }
        var cells: [(scalars: [UInt32], width: Int)] = []
        for scalar in character.unicodeScalars {
            let width = width(scalar.value)
            if width > 0 {
                cells.append(([scalar.value], width))
            } else if width == 0, var last = cells.popLast() {
                if last.scalars.count < Self.cellLimit { last.scalars.append(scalar.value) }
                cells.append(last)
            }
        }
        let sum = cells.reduce(0) { $0 + $1.width }
        if sum == columns { return cells.map { ($0.scalars, $0.width) } }
        // The first part, without variation selector and joiner.
        guard var first = cells.first, first.width <= columns else { return [(nil, columns)] }
        first.scalars.removeAll { $0 == 0xFE0F || $0 == 0x200D }
        return [(first.scalars, first.width)]
    }

    /// Returns the ASCII replacement of a character.
    private func plain(_ character: Character, _ columns: Int) -> String {
        let letter = Self.likenesses[character] ?? "?"
        return letter + String(repeating: " ", count: max(0, columns - 1))
    }

    /// ASCII replacements for symbols of the layout.
    private static let likenesses: [Character: String] = [
        "│": "|", "┃": "|", "─": "-", "━": "-", "┼": "+", "┬": "+", "┴": "+", "├": "+", "┤": "+", "┌": "+", "┐": "+",
        "└": "+", "┘": "+", "╭": "+", "╮": "+", "╰": "+", "╯": "+", "…": "~", "·": ".", "•": "*", "●": "*", "○": "o",
        "✓": "x", "▸": ">", "›": ">", "❯": ">", "→": ">", "←": "<", "↑": "^", "↓": "v", "—": "-", "–": "-", "’": "'",
        "‘": "'", "“": "\"", "”": "\"", "▌": "|", "▏": "|", "◌": "o",
    ]
}
