/// The Markdown page of a command for DocC, generated from its declaration.
package struct ReferencePage {
    package let syntax: CommandSyntax
    /// The command and its parent commands, the program first.
    package let chain: [CommandSpec]

    /// Returns the pages of a catalog, with the names of their files: `PROGRAM-commands.md`, and one page for each command
    /// and each page of help. The catalog also needs a root page.
    package static func all(_ syntax: CommandSyntax) -> [(name: String, text: String)] {
        let commands = ([[syntax.root]] + syntax.root.subcommands.map { [syntax.root, $0] }).map { chain in
            let page = ReferencePage(syntax: syntax, chain: chain)
            return (
                page.isProgram ? page.name + "-commands.md" : page.name.replacing(" ", with: "-") + ".md", page.text
            )
        }
        return commands + syntax.reference.pages.map { ($0.documentName(syntax.program) + ".md", text($0, syntax)) }
    }

    private var command: CommandSpec { chain.last ?? syntax.root }
    private var isProgram: Bool { chain.count == 1 }
    /// The name: `lodge search`
    private var name: String { chain.map(\.name).joined(separator: " ") }

    package var text: String {
        var lines = [isProgram ? "# The command \(name)" : "# \(name)", ""]
        lines += [Self.escaped(command.summary), "", "## Overview", ""]
        lines += body(command, HelpText(syntax: syntax).usage(chain))
        for below in isProgram ? [] : command.subcommands {
            lines += ["## \(name) \(below.name)", "", Self.escaped(below.summary), ""]
            lines += body(below, HelpText(syntax: syntax).usage(chain + [below]))
        }
        lines += isProgram ? topics : ["The options of every command: <doc:\(syntax.program)-help-options>."]
        return lines.joined(separator: "\n") + "\n"
    }

    private func body(_ command: CommandSpec, _ usage: String) -> [String] {
        var lines = Self.block([usage])
        if !command.aliases.isEmpty {
            lines += ["Alias: " + command.aliases.map { "`\($0)`" }.joined(separator: ", ") + ".", ""]
        }
        if !command.discussion.isEmpty { lines += [Self.escaped(command.discussion), ""] }
        lines += Self.block(command.examples.map { "$ " + $0.line })
        if !command.arguments.isEmpty {
            lines += Self.table(
                ["Argument", "Meaning"], command.arguments.map { [Self.code($0.usage), Self.escaped($0.help)] })
        }
        lines += Self.options(command.options, syntax)
        if command.formats != OutputFormat.ofThings, command.subcommands.isEmpty {
            lines += ["Formats: " + command.formats.map { "`\($0.rawValue)`" }.joined(separator: ", ") + ".", ""]
        }
        if let json = command.json { lines += ["JSON: " + Self.escaped(json.text) + ".", ""] }
        return lines
    }

    private var topics: [String] {
        ["## Topics", "", "### Commands", ""]
            + syntax.root.subcommands.filter { $0.name != "help" }.map { "- <doc:\(syntax.program)-\($0.name)>" }
            + ["- <doc:\(syntax.program)-help>", "", "### For all commands", ""]
            + syntax.reference.pages.map { "- <doc:\($0.documentName(syntax.program))>" }
    }

    private static func text(_ page: HelpPage, _ syntax: CommandSyntax) -> String {
        var lines = ["# \(page.title)", "", escaped(page.summary), "", "## Overview", ""]
        if page.name == "options" { lines += options(syntax.globalOptions, syntax) }
        lines += block(HelpText(syntax: syntax).lines(page).dropFirst().drop { $0.isEmpty })
        return lines.joined(separator: "\n") + "\n"
    }

    private static func options(_ options: [OptionSpec], _ syntax: CommandSyntax) -> [String] {
        guard !options.isEmpty else { return [] }
        let rows = options.map { option in
            (cells: [code(option.usage), escaped(option.helpWithChoices)], variable: syntax.variable(of: option))
        }
        guard rows.contains(where: { $0.variable != nil }) else {
            return table(["Option", "Meaning"], rows.map(\.cells))
        }
        return table(["Option", "Meaning", "Variable"], rows.map { $0.cells + [$0.variable.map(code) ?? ""] })
    }

    package static func table(_ heads: [String], _ rows: [[String]]) -> [String] {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        return [line(heads), line(heads.map { _ in "---" })] + rows.map(line) + [""]
    }

    package static func block(_ lines: some Collection<String>) -> [String] {
        lines.isEmpty ? [] : ["```"] + lines + ["```", ""]
    }

    package static func code(_ text: String) -> String { "`" + text.replacing("|", with: "\\|") + "`" }

    /// Escapes the characters that Markdown would interpret.
    package static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            if "\\`*_[]<>|#~".contains(character) { escaped.append("\\") }
            escaped.append(character)
        }
        return escaped
    }
}
