import StrictJSON

/// One thing that can be shown in every format. A format asks for the view that it needs and no other is made.
protocol OutputRecord {
    /// The cells of a row, as many as the table has columns.
    var cells: [String] { get }
    /// The labels and values of the view of this thing alone.
    var detail: Detail { get }
    /// The thing as JSON.
    var json: JSONValue { get }
    /// The thing as a vCard; nil for what is no person.
    var vCard: VCard? { get }
    /// Appends the thing as JSON on one line.
    func writeLine(to output: inout [UInt8])
}

extension OutputRecord {
    /// No cells, for a thing that is only shown alone.
    var cells: [String] { [] }
    /// No labels, for a thing that is only shown in lists.
    var detail: Detail { Detail() }
    /// None.
    var vCard: VCard? { nil }
    /// The JSON, written.
    func writeLine(to output: inout [UInt8]) { json.write(to: &output) }
}

/// Writes records one by one, without keeping them.
@MainActor protocol RecordWriter: AnyObject {
    /// Writes a record.
    func write(_ record: some OutputRecord) throws(OutputError)
    /// Shows what was written so far: after a page of answers, while the next one is fetched.
    func flush() throws(OutputError)
    /// Ends the list. Called also when it ends early with an error, so that what was written can be read.
    func finish() throws(OutputError)
}

/// A format of the answer. An open set: a new format is a static member with its two ways of writing, and a place in
/// ``available``.
struct OutputFormat: Sendable, Equatable, RawRepresentable {
    /// The name, as given to `--output`.
    let name: String
    /// Begins a list with these columns.
    let list: @MainActor @Sendable (_ columns: [TableColumn], _ console: Console) -> any RecordWriter
    /// Shows one thing.
    let show: @MainActor @Sendable (_ record: any OutputRecord, _ console: Console) throws(OutputError) -> Void

    /// Aligned columns on a terminal; columns separated by tabs in a pipe. The default in both.
    static let table = OutputFormat(
        name: "table", list: { columns, console in TableWriter(columns, on: console, mayPage: true) },
        show: { record, console throws(OutputError) in
            try console.beginPaging()
            try record.detail.write(to: console)
            try console.endPaging()
        })

    /// One JSON array, or one object where the answer is one thing.
    static let json = OutputFormat(
        name: "json", list: { _, console in JSONArrayWriter(on: console) },
        show: { record, console throws(OutputError) in try console.write(record.json) })

    /// One JSON value a line.
    static let jsonLines = OutputFormat(
        name: "jsonl", list: { _, console in JSONLinesWriter(on: console) },
        show: { record, console throws(OutputError) in try JSONLinesWriter(on: console).write(record) })

    /// Values separated by commas, a thing a line, headings first (RFC 4180).
    static let csv = OutputFormat(
        name: "csv", list: { columns, console in DelimitedWriter(.comma, columns, on: console) },
        show: { record, console throws(OutputError) in try DelimitedWriter(.comma, nil, on: console).write(record) })

    /// Values separated by tabs, a thing a line, headings first.
    static let tsv = OutputFormat(
        name: "tsv", list: { columns, console in DelimitedWriter(.tab, columns, on: console) },
        show: { record, console throws(OutputError) in try DelimitedWriter(.tab, nil, on: console).write(record) })

    /// vCards 4.0, for address books (RFC 6350). For people only.
    static let vCard = OutputFormat(
        name: "vcard", list: { _, console in VCardWriter(on: console) },
        show: { record, console throws(OutputError) in try VCardWriter(on: console).write(record) })

    /// The formats that there are. Asking for another one is a usage error that names these.
    static let available: [OutputFormat] = [.table, .json, .jsonLines, .csv, .tsv, .vCard]
    /// The formats of any list or thing.
    static let ofThings: [OutputFormat] = [.table, .json, .jsonLines, .csv, .tsv]
    /// The formats of a command that says sentences: errors are objects with JSON.
    static let ofSentences: [OutputFormat] = [.table, .json]
    /// Whether the columns have the names of the things' members: where a program reads them.
    var namesMembers: Bool { self == .csv || self == .tsv }
    /// Their names.
    static var names: [String] { available.map(\.name) }

    private init(
        name: String, list: @escaping @MainActor @Sendable ([TableColumn], Console) -> any RecordWriter,
        show: @escaping @MainActor @Sendable (any OutputRecord, Console) throws(OutputError) -> Void
    ) {
        self.name = name
        self.list = list
        self.show = show
    }

    /// The format of this name; nil when there is none.
    init?(rawValue: String) {
        guard let format = Self.available.first(where: { $0.name == rawValue }) else { return nil }
        self = format
    }

    /// The format that the command line asks for, or the default.
    init(_ invocation: Invocation) {
        self = invocation.choice("output") ?? .table
    }

    /// The name.
    var rawValue: String { name }

    /// Formats are the same when they have the same name.
    static func == (left: OutputFormat, right: OutputFormat) -> Bool { left.name == right.name }
}
