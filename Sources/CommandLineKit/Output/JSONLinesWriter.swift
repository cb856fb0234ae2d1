import StrictJSON

@MainActor package final class JSONLinesWriter: RecordWriter {
    private let console: Console

    package init(on console: Console) { self.console = console }

    package func write(_ record: some OutputRecord) throws(OutputError) {
        try console.write { output in
            record.writeLine(to: &output)
            output.append(0x0A)
        }
    }

    package func flush() throws(OutputError) { try console.flush() }

    package func finish() throws(OutputError) { try console.flush() }
}
