import CommandLineKit

/// What is put into a terminal's cells for a text: pieces of which ncurses, the terminal and ``TerminalText`` all have the same width.
///
/// They disagree about emoji that are made of several and about hearts that want to be one. What they disagree about is shown as the part
/// on which they agree, with spaces up to the width that ``TerminalText`` counts, so that what follows stands where it belongs.
struct TerminalCells: Sendable {
    /// A piece and where it stands.
    enum Piece: Equatable {
        case ascii(String)
        /// One character and what is drawn over it.
        case cell([UInt32])
    }

    /// Whether the terminal can be sent more than ASCII.
    var isUnicode: Bool
    /// The columns of a scalar as the C library counts them, and with it ncurses; negative for one that cannot be shown.
    var width: @Sendable (UInt32) -> Int

    /// The most scalars that a cell of ncurses holds.
    private static let cellLimit = 5

    /// The pieces of a text in order, each with its column, from `column` to before `limit`; and the column behind the text.
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

    /// The cells of a character that takes so many columns, each with its width; nil in place of scalars: letters of ASCII instead.
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
        // The first part without what asks for another form of it.
        guard var first = cells.first, first.width <= columns else { return [(nil, columns)] }
        first.scalars.removeAll { $0 == 0xFE0F || $0 == 0x200D }
        return [(first.scalars, first.width)]
    }

    /// What a character is where it cannot be shown.
    private func plain(_ character: Character, _ columns: Int) -> String {
        let letter = Self.likenesses[character] ?? "?"
        return letter + String(repeating: " ", count: max(0, columns - 1))
    }

    /// Signs of the layout that ASCII has something like.
    private static let likenesses: [Character: String] = [
        "│": "|", "┃": "|", "─": "-", "━": "-", "┼": "+", "┬": "+", "┴": "+", "├": "+", "┤": "+", "┌": "+", "┐": "+",
        "└": "+", "┘": "+", "╭": "+", "╮": "+", "╰": "+", "╯": "+", "…": "~", "·": ".", "•": "*", "●": "*", "○": "o",
        "✓": "x", "▸": ">", "›": ">", "❯": ">", "→": ">", "←": "<", "↑": "^", "↓": "v", "—": "-", "–": "-", "’": "'",
        "‘": "'", "“": "\"", "”": "\"", "▌": "|", "▏": "|", "◌": "o",
    ]
}
