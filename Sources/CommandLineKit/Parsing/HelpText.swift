/// Formats the help of commands from their declarations.
package struct HelpText {
    package let syntax: CommandSyntax
    package var width = 80

    package init(syntax: CommandSyntax, width: Int = 80) {
        self.syntax = syntax
        self.width = width
    }

    private static let widestName = 28

    /// Returns the help for a topic, without a trailing line break. Empty for an unknown command.
    package func text(_ topic: HelpTopic) -> String {
        switch topic {
        case .page(let name): return syntax.page(name).map { lines($0).joined(separator: "\n") } ?? ""
        case .entry(let name, let page):
            // A name can have one entry in each of several dictionaries.
            let entries = syntax.page(page)?.entries.filter { $0.name == name || $0.aliases.contains(name) } ?? []
            return entries.map { lines($0).joined(separator: "\n") }.joined(separator: "\n\n")
        case .command(let path):
            guard let chain = syntax.chain(to: path) else { return "" }
            return lines(chain).joined(separator: "\n")
        }
    }

    private func lines(_ chain: [CommandSpec]) -> [String] {
        guard let command = chain.last else { return [] }
        let isProgram = chain.count == 1
        var lines = wrapped(command.summary, indent: 0) + ["", "Usage: " + usage(chain)]
        if !command.aliases.isEmpty { lines.append("Alias: " + command.aliases.joined(separator: ", ")) }
        lines += examples(command)
        let options = command.options.map { (name(of: $0), help(of: $0)) }
        lines += commands(command)
        lines += section("Arguments", command.arguments.map { ($0.usage, $0.help) }, aligned: options.map(\.0))
        lines += section("Options", options, aligned: command.arguments.map(\.usage))
        if !command.discussion.isEmpty, !isProgram { lines += paragraph(command.discussion) }
        lines.append("")
        if isProgram {
            let pages = syntax.reference.pages.map(\.name)
            lines += wrapped(
                "Help topics (\(syntax.hint([])) TOPIC): " + pages.joined(separator: ", "), indent: 0)
        } else {
            lines.append(syntax.reference.optionsNote)
        }
        return lines
    }

    private func examples(_ command: CommandSpec) -> [String] {
        guard !command.examples.isEmpty else { return [] }
        let explained = command.examples.filter { !$0.meaning.isEmpty }
        let column = 2 + (explained.map { TerminalText.width($0.line) }.max() ?? 0) + 3
        return ["", "Examples:"]
            + command.examples.flatMap { example -> [String] in
                let start = "  " + example.line
                guard !example.meaning.isEmpty else { return [start] }
                guard column + TerminalText.width(example.meaning) <= width else {
                    return [start] + wrapped(example.meaning, indent: 6)
                }
                return [TerminalText.padded(start, to: column) + example.meaning]
            }
    }

    /// Returns the subcommands of a command by group.
    private func commands(_ command: CommandSpec) -> [String] {
        let entries = command.subcommands.map { below -> (group: String, name: String, title: String) in
            var title = below.title
            if !below.aliases.isEmpty { title += " (alias: \(below.aliases.joined(separator: ", ")))" }
            if below.name == command.defaultSubcommand { title += " (the default)" }
            return (below.group.isEmpty ? "Commands" : below.group, below.name, title)
        }
        var groups: [String] = []
        for entry in entries where !groups.contains(entry.group) { groups.append(entry.group) }
        return groups.flatMap { group in
            section(
                group, entries.filter { $0.group == group }.map { ($0.name, $0.title) }, aligned: entries.map(\.name))
        }
    }

    private func lines(_ entry: HelpPage.Entry) -> [String] {
        let column = 2 + (entry.facts.map { $0.label.count }.max() ?? 0) + 3
        return wrapped("\(entry.name): \(entry.meaning).", indent: 0) + [""]
            + entry.facts.flatMap { label, value in
                let body = wrapped(value, indent: column)
                return [TerminalText.padded("  \(label):", to: column) + (body.first ?? "").drop { $0 == " " }]
                    + body.dropFirst()
            }
    }

    package func lines(_ page: HelpPage) -> [String] { [page.summary] + page.body(self) }

    /// Returns an empty line and the wrapped text.
    package func paragraph(_ text: String) -> [String] { [""] + wrapped(text, indent: 0) }

    package func usage(_ chain: [CommandSpec]) -> String {
        (chain.map(\.name) + [chain.last?.operands ?? ""]).joined(separator: " ")
    }

    package func name(of option: OptionSpec) -> String {
        option.short == nil ? "    " + option.usage : option.usage
    }

    package func help(of option: OptionSpec) -> String { option.fullHelp }

    /// Returns a titled list of names and descriptions in two columns. `aligned` are the names of an adjacent list.
    package func section(_ title: String, _ entries: [(String, String)], aligned: [String] = []) -> [String] {
        guard !entries.isEmpty else { return [] }
        // If no option has a short name, omit its column.
        let names = Self.withoutMargin(entries.map(\.0))
        let fitting = (names + Self.withoutMargin(aligned)).map(TerminalText.width).filter { $0 <= Self.widestName }
        let column = 2 + (fitting.max() ?? 0) + 2
        var lines = ["", title + ":"]
        for (name, entry) in zip(names, entries) {
            let start = "  " + name
            let helpLines = wrapped(entry.1, indent: column)
            if TerminalText.width(start) + 2 <= column, let first = helpLines.first {
                lines.append(TerminalText.padded(start, to: column) + first.drop { $0 == " " })
                lines += helpLines.dropFirst()
            } else {
                lines.append(start)
                lines += helpLines
            }
        }
        return lines
    }

    private static func withoutMargin(_ names: [String]) -> [String] {
        names.allSatisfy { $0.hasPrefix("    ") } ? names.map { String($0.dropFirst(4)) } : names
    }

    private func wrapped(_ text: String, indent: Int) -> [String] {
        TerminalText.wrapped(text, to: width - indent, limit: .max, breaksWords: false)
            .map { String(repeating: " ", count: indent) + $0 }
    }
}
