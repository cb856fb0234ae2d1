/// The detail view of one record: one label and value per line.
///
/// On a terminal, values are aligned and the elements of a list are on separate lines. In a pipe, each line is the
/// label, a tab and the value, and the label is repeated for each element of a list.
package struct Detail: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package var label: String
        package var values: [String]
    }

    package private(set) var entries: [Entry] = []

    package init() {}

    /// Adds a value. Ignores `nil` and empty strings.
    package mutating func add(_ label: String, _ value: String?) {
        if let value, !value.isEmpty { entries.append(Entry(label: label, values: [value])) }
    }

    /// Adds a list of values. Ignores an empty list.
    package mutating func add(_ label: String, _ values: [String]) {
        if !values.isEmpty { entries.append(Entry(label: label, values: values)) }
    }

    /// Writes the view and escapes invisible characters.
    @MainActor package func write(to console: Console) throws(OutputError) {
        let labels = entries.map { $0.label.visible }
        let column = (labels.map(TerminalText.width).max() ?? 0) + 3
        for (label, entry) in zip(labels, entries) {
            for (location, value) in entry.values.map(TerminalText.cell).enumerated() {
                guard console.terminal.outputIsTerminal else {
                    try console.writeLine((console.usesColor ? Style.bold(label) : label) + "\t" + value)
                    continue
                }
                let shown = location == 0 ? label + ":" : ""
                let space = String(repeating: " ", count: column - TerminalText.width(shown))
                try console.writeLine((console.usesColor && location == 0 ? Style.bold(shown) : shown) + space + value)
            }
        }
    }
}
