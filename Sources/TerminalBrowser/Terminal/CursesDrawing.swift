import CommandLineKit
import CNCurses

/// Draws screens with ncurses, which sends only the changes. Used only on the terminal's thread.
struct CursesDrawing {
    private(set) var palette = TerminalPalette(colors: 0)
    private var pairs: [Int: Int32] = [:]
    private let cells: TerminalCells
    /// Whether the next draw must write everything.
    private var isForgotten = true

    init(isUnicode: Bool) {
        cells = TerminalCells(isUnicode: isUnicode) { Int(wcwidth(wchar_t(truncatingIfNeeded: $0))) }
    }

    mutating func begin(colors: Int) {
        palette = TerminalPalette(colors: colors)
        guard colors >= 8 else { return }
        for hue in TerminalPalette.hues.values {
            let color = colors >= 256 ? hue.of256 : hue.of8
            guard pairs[color] == nil else { continue }
            let number = Int32(pairs.count + 1)
            if ccurses_define_pair(number, Int32(color)) != 0 { pairs[color] = number }
        }
    }

    /// Marks the content of the terminal as unknown.
    mutating func forget() { isForgotten = true }

    /// The screen shown last, for redrawing.
    private(set) var shown: Screen?

    /// Draws a screen and leaves unchanged rows. Returns the rows in which pictures may be overwritten.
    @discardableResult mutating func draw(_ screen: Screen) -> Erased {
        var erased = Erased(isAll: isForgotten)
        var (columns, rows): (Int32, Int32) = (0, 0)
        ccurses_current_size(&columns, &rows)
        if isForgotten { ccurses_redraw_all() }
        for row in 0..<Int(rows) {
            let texts = row < screen.rows.count ? screen.rows[row] : []
            if !isForgotten, let shown, row < shown.rows.count, shown.rows[row] == texts { continue }
            // ncurses writes the changed cells, and erases the rest of the row if its length changes.
            let before = shown.map { row < $0.rows.count ? Self.width($0.rows[row]) : 0 }
            if before != Self.width(texts) { erased.rows.insert(row) }
            ccurses_clear_row(Int32(row))
            var column = 0
            for text in texts { column = put(text, row, column, limit: Int(columns)) }
        }
        Self.show(screen.cursor.flatMap { $0.row < rows && $0.column < columns ? $0 : nil })
        shown = screen
        isForgotten = false
        return erased
    }

    /// The rows that ncurses overwrote.
    struct Erased {
        /// Whether the whole screen was overwritten.
        var isAll = false
        var rows: Set<Int> = []

        func touches(_ area: ScreenArea) -> Bool {
            isAll || (area.row..<area.row + area.rows).contains(where: rows.contains)
        }
    }

    private static func width(_ row: [ScreenText]) -> Int {
        var text = row.map(\.text).joined()[...]
        while text.last == " " { text.removeLast() }
        return TerminalText.width(String(text))
    }

    /// Rewrites these rows, over anything drawn without ncurses.
    func rewrite(row: Int, count: Int) {
        ccurses_redraw_rows(Int32(row), Int32(count))
        Self.show(shown?.cursor)
    }

    private static func show(_ cursor: ScreenPosition?) {
        ccurses_show(Int32(cursor?.row ?? -1), Int32(cursor?.column ?? -1))
    }

    private func put(_ text: ScreenText, _ row: Int, _ column: Int, limit: Int) -> Int {
        let appearance = palette.appearance(text.style)
        let look = appearance.look.rawValue
        let pair = appearance.color.flatMap { pairs[$0] } ?? 0
        let (pieces, end) = cells.pieces(text.text, from: column, limit: limit)
        for (column, piece) in pieces {
            switch piece {
            case .ascii(let letters):
                ccurses_put_ascii(Int32(row), Int32(column), letters, Int32(letters.utf8.count), look, pair)
            case .cell(let scalars):
                ccurses_put_cell(Int32(row), Int32(column), scalars, Int32(scalars.count), look, pair)
            }
        }
        return end
    }
}
