package struct TableColumn: Sendable, Equatable {
    package var heading: String
    /// Whether the column is cut last: what people copy, a mail address or an identifier, is of no use without its end.
    var isCutLast: Bool

    package init(_ heading: String, cutLast: Bool = false) {
        self.heading = heading
        isCutLast = cutLast
    }
}

/// How wide each column of a table is drawn.
package struct TableLayout: Sendable, Equatable {
    package static let gap = 2
    /// The columns below which a cell says nothing any more.
    static let minimumWidth = 4

    /// The width of each column that is drawn. Shorter than the table when the last columns have no room.
    package let widths: [Int]

    /// A layout in `available` columns of the terminal.
    ///
    /// When the columns do not fit, the widest are cut to one width, narrower ones stay as they are; those that are kept
    /// whole are cut only when the others are at their least. What still does not fit falls away from the right.
    ///
    /// - Parameter natural: the width that each column would like to have.
    package init(natural: [Int], cutLast: [Bool], available: Int) {
        var count = natural.count
        while count > 1, Self.minimum(natural.prefix(count)) + Self.gaps(count) > available { count -= 1 }
        var widths = Array(natural.prefix(count))
        let room = available - Self.gaps(count)
        let whole = widths.indices.filter { $0 < cutLast.count && cutLast[$0] }
        let others = widths.indices.filter { !whole.contains($0) }
        let wholeWidth = whole.reduce(0) { $0 + widths[$1] }
        if wholeWidth + Self.minimum(others.map { widths[$0] }) <= room {
            Self.shrink(&widths, others, to: room - wholeWidth)
        } else {
            for column in others { widths[column] = min(widths[column], count == 1 ? room : Self.minimumWidth) }
            Self.shrink(&widths, whole, to: others.reduce(room) { $0 - widths[$1] })
        }
        self.widths = widths
    }

    private static func gaps(_ count: Int) -> Int { gap * max(0, count - 1) }

    private static func minimum(_ widths: some Sequence<Int>) -> Int { widths.reduce(0) { $0 + min($1, minimumWidth) } }

    /// Cuts the widest of these columns to a common width so that all of them take `room`. What cannot be shared out
    /// evenly goes to the first ones.
    private static func shrink(_ widths: inout [Int], _ columns: [Int], to room: Int) {
        var left = max(room, columns.count)
        guard columns.reduce(0, { $0 + widths[$1] }) > left else { return }
        // From the narrowest on: each takes what it needs as long as that is no more than an equal share of the rest.
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

    /// One line of cells, which must be visible text. Nothing stands behind the last cell.
    package func line(_ cells: [String]) -> String {
        var line = ""
        var owed = 0
        for (cell, width) in zip(cells, widths) {
            let cell = TerminalText.truncated(cell, to: width)
            if !cell.isEmpty {
                line += String(repeating: " ", count: owed) + cell
                owed = 0
            }
            owed += width - TerminalText.width(cell) + Self.gap
        }
        return line
    }
}
