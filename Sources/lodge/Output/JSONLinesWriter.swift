import StrictJSON

/// Writes one JSON value a line.
@MainActor final class JSONLinesWriter: RecordWriter {
    private let console: Console

    /// Lines on this console.
    init(on console: Console) { self.console = console }

    /// Writes the record on a line of its own.
    func write(_ record: some OutputRecord) throws(OutputError) {
        try console.write { output in
            record.writeLine(to: &output)
            output.append(0x0A)
        }
    }

    /// Shows the lines so far.
    func flush() throws(OutputError) { try console.flush() }

    /// Shows what is left.
    func finish() throws(OutputError) { try console.flush() }
}
