import StrictJSON

/// One thing that can be shown in every format. A format asks for the view that it needs and no other is made.
package protocol OutputRecord {
    /// The cells of a row, as many as the table has columns.
    var cells: [String] { get }
    var detail: Detail { get }
    var json: JSONValue { get }
    /// The thing as a vCard; nil for what is no person.
    var vCard: VCard? { get }
    /// Appends the thing as JSON on one line.
    func writeLine(to output: inout [UInt8])
}

extension OutputRecord {
    package var cells: [String] { [] }
    package var detail: Detail { Detail() }
    package var vCard: VCard? { nil }
    package func writeLine(to output: inout [UInt8]) { json.write(to: &output) }
}

/// Writes records one by one, without keeping them.
@MainActor package protocol RecordWriter: AnyObject {
    var console: Console { get }
    func write(_ record: some OutputRecord) throws(OutputError)
    /// Shows what was written so far: after a page of answers, while the next one is fetched.
    func flush() throws(OutputError)
    /// Ends the list. Called also when it ends early with an error, so that what was written can be read.
    func finish() throws(OutputError)
}

extension RecordWriter {
    package func flush() throws(OutputError) { try console.flush() }
    package func finish() throws(OutputError) { try flush() }
}

extension OutputFormat {
    /// Starts a list with these columns; without columns it has no headings.
    @MainActor package func list(_ columns: [TableColumn]?, _ console: Console) -> any RecordWriter {
        switch self {
        case .table: TableWriter(columns ?? [], on: console, mayPage: true)
        case .json: JSONArrayWriter(on: console)
        case .jsonLines: JSONLinesWriter(on: console)
        case .csv: DelimitedWriter(.comma, columns, on: console)
        case .tsv: DelimitedWriter(.tab, columns, on: console)
        case .vCard: VCardWriter(on: console)
        // Only the command that completes addresses has them, and writes them itself.
        case .mutt, .aerc: DelimitedWriter(.tab, nil, on: console)
        }
    }

    @MainActor package func show(_ record: some OutputRecord, _ console: Console) throws(OutputError) {
        switch self {
        case .table:
            try console.beginPaging()
            try record.detail.write(to: console)
            try console.endPaging()
        case .json: try console.write(record.json)
        default: try list(nil, console).write(record)
        }
    }
}
