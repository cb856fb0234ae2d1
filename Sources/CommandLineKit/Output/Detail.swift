/// The view of one thing: a label and its value a line.
///
/// On a terminal the values are aligned and a list stands one below the other. In a pipe each line is the label, a tab and
/// the value, and every value of a list has its label.
package struct Detail: Sendable, Equatable {
    package struct Entry: Sendable, Equatable {
        package var label: String
        package var values: [String]
    }

    package private(set) var entries: [Entry] = []

    package init() {}

    /// Adds a value. Nothing is added for a value that is absent or empty.
    package mutating func add(_ label: String, _ value: String?) {
        if let value, !value.isEmpty { entries.append(Entry(label: label, values: [value])) }
    }

    /// Adds a list of values. Nothing is added for an empty list.
    package mutating func add(_ label: String, _ values: [String]) {
        if !values.isEmpty { entries.append(Entry(label: label, values: values)) }
    }

    /// Writes the view. Text is made visible here.
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
