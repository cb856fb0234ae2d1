package struct TableColumn: Sendable, Equatable {
    /// The treatment of cells that are wider than their column.
    package enum Overflow: Sendable, Equatable {
        /// The cell is cut, with `…` at the end.
        case cut
        /// The cell wraps after the other columns have reached their minimum width.
        ///
        /// For values that must be complete: an address, a phone number, an expiry.
        case keep
        /// The cell wraps before another column becomes narrower. For sentences.
        case wrap
    }

    package var heading: String
    package var overflow: Overflow

    package init(_ heading: String, _ overflow: Overflow = .cut) {
        self.heading = heading
        self.overflow = overflow
    }
}

/// The widths of the columns of a table.
package struct TableLayout: Sendable, Equatable {
    package static let gap = 2
    /// The minimum width of a column whose cells are cut.
    static let minimumWidth = 4
    /// The minimum width of a column of sentences before other columns become narrower.
    private static let sentenceWidth = 24

    /// The widths of the columns that are shown. Fewer than in the table if the last columns do not fit.
    package let widths: [Int]
    private let overflows: [TableColumn.Overflow]

    /// Creates a layout for `available` columns of the terminal.
    ///
    /// If the table does not fit, sentences become narrower first, then cells that can be cut, then all others. The
    /// widest columns of a kind get the same width. Columns that still do not fit are omitted, from the right.
    ///
    /// - Parameter natural: The width of each column's widest cell.
    package init(natural: [Int], _ overflows: [TableColumn.Overflow], available: Int) {
        var count = natural.count
        while count > 1, Self.minimum(natural.prefix(count)) + Self.gaps(count) > available { count -= 1 }
        var widths = Array(natural.prefix(count))
        let room = available - Self.gaps(count)
        func columns(_ kinds: TableColumn.Overflow...) -> [Int] {
            widths.indices.filter { kinds.contains($0 < overflows.count ? overflows[$0] : .cut) }
        }
        /// Makes the columns of a kind narrower, down to a minimum width.
        func shrink(_ columns: [Int], to minimum: Int) {
            let others = widths.indices.filter { !columns.contains($0) }.reduce(0) { $0 + widths[$1] }
            let least = columns.reduce(0) { $0 + min(widths[$1], minimum) }
            if others + least <= room {
                Self.shrink(&widths, columns, to: room - others)
            } else {
                for column in columns { widths[column] = min(widths[column], minimum) }
            }
        }
        shrink(columns(.wrap), to: Self.sentenceWidth)
        shrink(columns(.cut), to: count == 1 ? max(room, 1) : Self.minimumWidth)
        shrink(columns(.keep, .wrap), to: 1)
        self.widths = widths
        self.overflows = overflows
    }

    private static func gaps(_ count: Int) -> Int { gap * max(0, count - 1) }

    private static func minimum(_ widths: some Sequence<Int>) -> Int { widths.reduce(0) { $0 + min($1, minimumWidth) } }

    /// Reduces the widest of these columns to a common width, so that all of them take `room`.
    ///
    /// The first columns get the remainder.
    private static func shrink(_ widths: inout [Int], _ columns: [Int], to room: Int) {
        var left = max(room, columns.count)
        guard columns.reduce(0, { $0 + widths[$1] }) > left else { return }
        // In ascending order of width: a column keeps its width if that is at most an equal share of the remaining
        // space.
        let ordered = columns.sorted { (widths[$0], $0) < (widths[$1], $1) }
        for (location, column) in ordered.enumerated() {
            let share = left / (ordered.count - location)
            if widths[column] > share {
                let cut = ordered[location...].sorted()
                for (rank, column) in cut.enumerated() {
                    widths[column] = share + (rank < left - share * cut.count ? 1 : 0)
                }
                return
            }
            left -= widths[column]
        }
    }

    /// Returns the lines of a row without trailing spaces. Cells must be visible text.
    package func lines(_ cells: [String]) -> [String] {
        let parts = zip(cells, widths).enumerated().map { column, cell in
            column < overflows.count && overflows[column] != .cut && TerminalText.width(cell.0) > cell.1
                ? TerminalText.wrapped(cell.0, to: cell.1, limit: .max) : [TerminalText.truncated(cell.0, to: cell.1)]
        }
        let height = parts.map(\.count).max() ?? 1
        return (0..<height).map { index in line(parts.map { index < $0.count ? $0[index] : "" }) }
    }

    private func line(_ cells: [String]) -> String {
        var line = ""
        var owed = 0
        for (cell, width) in zip(cells, widths) {
            if !cell.isEmpty {
                line += String(repeating: " ", count: owed) + cell
                owed = 0
            }
            owed += max(0, width - TerminalText.width(cell)) + Self.gap
        }
        return line
    }
}
