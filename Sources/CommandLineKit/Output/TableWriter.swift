/// Writes a table row by row.
///
/// On a terminal the columns are aligned; the rows of the first part, up to ``flush()`` or a few hundred, decide how wide
/// they are. In a pipe the cells are separated by tabs, uncut, and each row is written as it comes. In both the headings
/// come first; a table without rows shows them only in a pipe, where a script skips the first line.
///
/// Text of cells is made visible here.
@MainActor package final class TableWriter: RecordWriter {
    private static let sample = 500

    package let console: Console
    private let columns: [TableColumn]
    private var waiting: [[String]] = []
    private var layout: TableLayout?
    private var hasBegun = false

    private var mayPage: Bool

    /// Creates a table, which a pager may show if it is longer than the screen.
    package init(_ columns: [TableColumn], on console: Console, mayPage: Bool = false) {
        self.columns = columns
        self.console = console
        self.mayPage = mayPage
    }

    package func write(_ record: some OutputRecord) throws(OutputError) { try write(record.cells) }

    /// Writes a row. Missing cells are empty; those without a column are dropped.
    package func write(_ cells: [String]) throws(OutputError) {
        var row = cells.prefix(columns.count).map(TerminalText.cell)
        row += Array(repeating: "", count: columns.count - row.count)
        guard console.terminal.outputIsTerminal else {
            try begin()
            return try console.writeLine(row.joined(separator: "\t"))
        }
        if let layout { return try console.writeLine(layout.line(row)) }
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

    /// The headings of a table in a pipe.
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
            natural: natural, cutLast: columns.map(\.isCutLast), available: console.terminal.columns)
        self.layout = layout
        try console.writeLine(heading(layout.line(headings)))
        for row in waiting { try console.writeLine(layout.line(row)) }
        waiting = []
    }

    private func heading(_ line: String) -> String { console.usesColor ? Style.bold(line) : line }
}
