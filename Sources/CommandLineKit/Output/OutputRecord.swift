import StrictJSON

/// A record that can be written in every format. Each format requests only the representation that it needs.
package protocol OutputRecord {
    /// The cells of a row, one for each column of the table.
    var cells: [String] { get }
    var detail: Detail { get }
    var json: JSONValue { get }
    /// The vCard of the record, or `nil` if it is not a user.
    var vCard: VCard? { get }
    /// Appends the record as JSON on one line.
    func writeLine(to output: inout [UInt8])
}

extension OutputRecord {
    package var cells: [String] { [] }
    package var detail: Detail { Detail() }
    package var vCard: VCard? { nil }
    package func writeLine(to output: inout [UInt8]) { json.write(to: &output) }
}

/// Writes records one by one without storing them.
@MainActor package protocol RecordWriter: AnyObject {
    var console: Console { get }
    func write(_ record: some OutputRecord) throws(OutputError)
    /// Shows the output so far, for example after a page of results.
    func flush() throws(OutputError)
    /// Finishes the list. Call it even after an error, so that the output is well-formed.
    func finish() throws(OutputError)
}

extension RecordWriter {
    package func flush() throws(OutputError) { try console.flush() }
    package func finish() throws(OutputError) { try flush() }
}

extension OutputFormat {
    /// Returns a writer for a list with these columns. Without columns it has no headings.
    @MainActor package func list(_ columns: [TableColumn]?, _ console: Console) -> any RecordWriter {
        switch self {
        case .table: TableWriter(columns ?? [], on: console, mayPage: true)
        case .json: JSONArrayWriter(on: console)
        case .jsonLines: JSONLinesWriter(on: console)
        case .csv: DelimitedWriter(.comma, columns, on: console)
        case .tsv: DelimitedWriter(.tab, columns, on: console)
        case .vCard: VCardWriter(on: console)
        // Only the search command supports these formats, and writes them itself.
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
