/// Writes a table row by row and escapes invisible characters.
///
/// On a terminal, columns are aligned, and a row has several lines if a cell must be complete. The first rows, up to
/// ``flush()`` or a few hundred, determine the widths. In a pipe, tabs separate the complete cells, and each row is
/// written immediately. Headings come first in both cases; an empty table shows them only in a pipe, where a script
/// skips the first line.
@MainActor package final class TableWriter: RecordWriter {
    private static let sample = 500

    package let console: Console
    private let columns: [TableColumn]
    private var waiting: [[String]] = []
    private var layout: TableLayout?
    private var hasBegun = false

    private var mayPage: Bool

    /// Creates a table. `mayPage` allows a pager if the table is longer than the screen.
    package init(_ columns: [TableColumn], on console: Console, mayPage: Bool = false) {
        self.columns = columns
        self.console = console
        self.mayPage = mayPage
    }

    package func write(_ record: some OutputRecord) throws(OutputError) { try write(record.cells) }

    /// Writes a row. Missing cells are empty; cells without a column are ignored.
    package func write(_ cells: [String]) throws(OutputError) {
        var row = cells.prefix(columns.count).map(TerminalText.cell)
        row += Array(repeating: "", count: columns.count - row.count)
        guard console.terminal.outputIsTerminal else {
            try begin()
            return try console.writeLine(row.joined(separator: "\t"))
        }
        if let layout { return try write(row, layout) }
        waiting.append(row)
        if waiting.count >= Self.sample { try layOut() }
    }

    package func flush() throws(OutputError) {
        if console.terminal.outputIsTerminal, !waiting.isEmpty { try layOut() }
        try console.flush()
    }

    package func finish() throws(OutputError) {
        if !console.terminal.outputIsTerminal { try begin() }
        try flush()
        try console.endPaging()
    }

    /// Writes the headings of a table in a pipe.
    private func begin() throws(OutputError) {
        guard !hasBegun else { return }
        hasBegun = true
        try console.writeLine(heading(columns.map { $0.heading.visible }.joined(separator: "\t")))
    }

    private func layOut() throws(OutputError) {
        if mayPage { try console.beginPaging() }
        mayPage = false
        let headings = columns.map { $0.heading.visible }
        var natural = headings.map(TerminalText.width)
        for row in waiting {
            for (column, cell) in row.enumerated() { natural[column] = max(natural[column], TerminalText.width(cell)) }
        }
        let layout = TableLayout(
            natural: natural, columns.map(\.overflow), available: console.terminal.columns)
        self.layout = layout
        let cut = zip(headings, layout.widths).map { TerminalText.truncated($0, to: $1) }
        for line in layout.lines(cut) { try console.writeLine(heading(line)) }
        for row in waiting { try write(row, layout) }
        waiting = []
    }

    private func write(_ row: [String], _ layout: TableLayout) throws(OutputError) {
        for line in layout.lines(row) { try console.writeLine(line) }
    }

    private func heading(_ line: String) -> String { console.usesColor ? Style.bold(line) : line }
}
