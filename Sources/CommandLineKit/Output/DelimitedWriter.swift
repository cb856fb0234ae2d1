import Platform

/// Writes rows of values for spreadsheets and scripts, headings first.
@MainActor package final class DelimitedWriter: RecordWriter {
    package enum Delimiter {
        /// A comma. Values with a comma, a quote or a line break stand in quotes, lines end with CR LF.
        ///
        /// [RFC 4180 section 2](https://www.rfc-editor.org/rfc/rfc4180#section-2)
        case comma
        /// A tab. Tab, line break and backslash are written as `\t`, `\n` and `\\`.
        case tab
    }

    package let console: Console
    private let delimiter: Delimiter
    private let columns: [TableColumn]?
    private var hasBegun = false

    /// Creates a writer; without columns it has no headings.
    package init(_ delimiter: Delimiter, _ columns: [TableColumn]?, on console: Console) {
        self.delimiter = delimiter
        self.columns = columns
        self.console = console
    }

    package func write(_ record: some OutputRecord) throws(OutputError) {
        try begin()
        try write(record.cells)
    }

    package func finish() throws(OutputError) {
        try begin()
        try console.flush()
    }

    private func begin() throws(OutputError) {
        guard !hasBegun else { return }
        hasBegun = true
        if let columns { try write(columns.map(\.heading)) }
    }

    private func write(_ cells: [String]) throws(OutputError) {
        let isTerminal = console.terminal.outputIsTerminal
        let values = cells.map { cell in
            let guarded = Self.isFormula(cell) ? "'" + cell : cell
            // What a terminal shows must not steer it; a file gets the text as it is.
            let text = isTerminal ? guarded.visible : guarded
            return delimiter == .comma ? Self.quoted(text) : Self.escaped(text)
        }
        try console.write(
            values.joined(separator: delimiter == .comma ? "," : "\t") + (delimiter == .comma ? "\r\n" : "\n"))
    }

    /// Whether a spreadsheet could take the text for a formula. Such a text gets an apostrophe before it.
    private static func isFormula(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first else { return false }
        return ["=", "+", "-", "@", "\t", "\r"].contains(first)
    }

    private static func quoted(_ text: String) -> String {
        guard text.utf8.contains(where: { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }) else { return text }
        return "\"" + text.replacingBytes("\"", with: "\"\"") + "\""
    }

    private static func escaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\t": result.append(text: "\\t")
            case "\n": result.append(text: "\\n")
            case "\r": result.append(text: "\\r")
            case "\\": result.append(text: "\\\\")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
