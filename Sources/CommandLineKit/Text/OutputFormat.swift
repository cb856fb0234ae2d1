/// An output format, named as in `--output`.
package enum OutputFormat: String, Sendable, CaseIterable {
    /// Aligned columns on a terminal; tab-separated columns in a pipe. The default in both.
    case table
    /// One JSON array, or one object for a single record.
    case json
    /// One JSON value per line.
    case jsonLines = "jsonl"
    /// Comma-separated values with headings, one record per line (RFC 4180).
    case csv
    /// Tab-separated values with headings, one record per line.
    case tsv
    /// vCards 4.0, for address books (RFC 6350). For users only.
    case vCard = "vcard"
    /// Lines for the query command of mutt and neomutt.
    case mutt
    /// Lines for the address-book command of aerc.
    case aerc

    /// The formats of any list or record.
    package static let ofThings: [OutputFormat] = [.table, .json, .jsonLines, .csv, .tsv]
    /// The formats of users.
    package static let ofUsers = ofThings + [.vCard]
    /// The formats of a command that prints sentences, or one object in JSON.
    package static let ofSentences: [OutputFormat] = [.table, .json]
    /// The format of a command whose output another program defines.
    package static let ofText: [OutputFormat] = [.table]
    package static var names: [String] { allCases.map(\.rawValue) }

    /// Whether columns have member names instead of headings: in the formats that programs read.
    package var namesMembers: Bool { self == .csv || self == .tsv }
}
