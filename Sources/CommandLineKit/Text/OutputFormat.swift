/// A format of a command's output, by the name that `--output` takes.
package enum OutputFormat: String, Sendable, CaseIterable {
    /// Aligned columns on a terminal; columns separated by tabs in a pipe. The default in both.
    case table
    /// One JSON array, or one object for a single thing.
    case json
    /// One JSON value a line.
    case jsonLines = "jsonl"
    /// Values separated by commas, a thing a line, headings first (RFC 4180).
    case csv
    /// Values separated by tabs, a thing a line, headings first.
    case tsv
    /// vCards 4.0, for address books (RFC 6350). For users only.
    case vCard = "vcard"
    /// Lines for the query command of mutt and neomutt.
    case mutt
    /// Lines for the address-book command of aerc.
    case aerc

    /// The formats of any list or thing.
    package static let ofThings: [OutputFormat] = [.table, .json, .jsonLines, .csv, .tsv]
    /// The formats of users.
    package static let ofUsers = ofThings + [.vCard]
    /// The formats of a command that prints sentences, or one object with JSON.
    package static let ofSentences: [OutputFormat] = [.table, .json]
    /// The format of a command whose output another program defines.
    package static let ofText: [OutputFormat] = [.table]
    package static var names: [String] { allCases.map(\.rawValue) }

    /// Whether the columns have the names of the things' members: in the formats that programs read.
    package var namesMembers: Bool { self == .csv || self == .tsv }
}
