import LodgePlatform

/// Writes rows of delimited values with headings, for spreadsheets and scripts.
@MainActor package final class DelimitedWriter: RecordWriter {
    package enum Delimiter {
        /// A comma (CSV).
        ///
        /// Values with a comma, a quote or a line break are quoted; lines end with CR LF. Cells that a spreadsheet
        /// could treat as formulas start with an apostrophe, unless the console options select raw CSV.
        ///
        /// See [RFC 4180 section 2](https://www.rfc-editor.org/rfc/rfc4180#section-2).
        case comma
        /// A tab (TSV). Tab, line break and backslash are escaped as `\t`, `\n` and `\\`.
        case tab
    }

    package let console: Console
    private let delimiter: Delimiter
    private let columns: [TableColumn]?
    private var hasBegun = false

    /// Creates a writer. Without columns it writes no headings.
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
        let isRaw = console.options.writesRawCSV
        let values = cells.map { cell in
            let text = delimiter == .tab ? Self.escaped(cell) : isRaw ? cell : Self.guarded(cell)
            // Escape control and bidirectional characters on a terminal. A file gets the text unchanged.
            let shown = isTerminal ? text.visible : text
            return delimiter == .comma ? Self.quoted(shown) : shown
        }
        try console.write(
            values.joined(separator: delimiter == .comma ? "," : "\t") + (delimiter == .comma ? "\r\n" : "\n"))
    }

    /// Returns the text with an apostrophe before each line that a spreadsheet could treat as a formula.
    ///
    /// Some programs end a cell at a line break, even inside quotes.
    private static func guarded(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 1)
        if let first = bytes.first, first == UInt8(ascii: "\t") || isLineBreak(first) {
            result.append(UInt8(ascii: "'"))
        }
        var start = 0
        while true {
            let end = bytes[start...].firstIndex(where: isLineBreak) ?? bytes.count
            if isFormula(String(decoding: bytes[start..<end], as: UTF8.self).unicodeScalars[...]) {
                result.append(UInt8(ascii: "'"))
            }
            result += bytes[start..<min(end + 1, bytes.count)]
            guard end < bytes.count else { return String(decoding: result, as: UTF8.self) }
            start = end + 1
        }
    }

    private static func isLineBreak(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }

    /// Returns whether the line starts like a formula and is not a phone number.
    ///
    /// Skips spaces, separators and invisible characters, and checks full-width forms too.
    private static func isFormula(_ line: Substring.UnicodeScalarView) -> Bool {
        let separators: Set<Unicode.Scalar> = [",", ";", "|", ":", "\"", "'"]
        let text = line.drop {
            separators.contains($0) || $0.properties.isWhitespace || $0.properties.isDefaultIgnorableCodePoint
                || $0.value < 0x20
        }
        switch text.first {
        case "=", "-", "@", "\u{FF1D}", "\u{FF0B}", "\u{FF0D}", "\u{FF20}": return true
        case "+": return text.startIndex != line.startIndex || !isPhoneNumber(text)
        default: return false
        }
    }

    /// Returns whether the text after the plus sign is a phone number: digits, punctuation and optionally an extension.
    private static func isPhoneNumber(_ text: Substring.UnicodeScalarView) -> Bool {
        func isDigit(_ scalar: Unicode.Scalar) -> Bool { (0x30...0x39).contains(scalar.value) }
        let number = text.dropFirst()
        guard let first = number.first, isDigit(first) || first == "(" else { return false }
        let rest = number.drop { isDigit($0) || [" ", "\u{A0}", "(", ")", "-", ".", "/"].contains($0) }
        guard !rest.isEmpty else { return true }
        let word = rest.prefix { !isDigit($0) && $0 != " " }
        let digits = rest.dropFirst(word.count).drop { $0 == " " }
        return ["x", "ext", "ext."].contains(String(word).lowercased()) && !digits.isEmpty && digits.allSatisfy(isDigit)
    }

    /// Returns the value, quoted if it contains a quote, a line break or a list separator of any locale.
    private static func quoted(_ text: String) -> String {
        let special = Set("\",;\t\n\r".utf8)
        guard text.utf8.contains(where: special.contains) else { return text }
        return "\"" + text.replacingBytes("\"", with: "\"\"") + "\""
    }

    private static func escaped(_ text: String) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\t"): result += "\\t".utf8
            case UInt8(ascii: "\n"): result += "\\n".utf8
            case UInt8(ascii: "\r"): result += "\\r".utf8
            case UInt8(ascii: "\\"): result += "\\\\".utf8
            default: result.append(byte)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
