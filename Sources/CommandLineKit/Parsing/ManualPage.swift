/// The manual page of a command in `man` macros, generated from its declaration.
package struct ManualPage {
    package let syntax: CommandSyntax
    /// The date of the page, such as `2026-12-01`.
    package let date: String
    /// The command and its parent commands, the program first.
    package let chain: [CommandSpec]

    /// Returns the pages of the program and all commands, with file names.
    ///
    /// - Parameter date: The date of all pages, such as `2026-12-01`.
    package static func all(_ syntax: CommandSyntax, date: String) -> [(name: String, text: String)] {
        ([[syntax.root]] + syntax.root.subcommands.map { [syntax.root, $0] }).map { chain in
            let page = ManualPage(syntax: syntax, date: date, chain: chain)
            return (page.title + ".1", page.text)
        } + syntax.reference.pages.filter { !$0.entries.isEmpty }.map { fileFormat($0, syntax, date) }
            + syntax.reference.pages.filter(\.isGuide).map { guide($0, syntax, date) }
    }

    /// Returns the first lines of the manual page for a page of help, in a section of the manual.
    private static func head(
        _ page: HelpPage, _ syntax: CommandSyntax, _ date: String, section: Int
    ) -> (title: String, lines: [String]) {
        let title = "\(syntax.program)-\(page.name)"
        let summary = page.title.prefix(1).lowercased() + page.title.dropFirst()
        let version = quoted("\(syntax.program) \(syntax.reference.version)")
        return (
            title,
            [
                ".TH \(quoted(title.uppercased())) \(section) \(quoted(date)) \(version)", ".SH NAME",
                "\(escaped(title)) \\- \(escaped(summary))", ".SH DESCRIPTION",
            ]
        )
    }

    /// Returns the manual page of a guide (section 7). A line ending in a colon between empty lines is a heading.
    private static func guide(_ page: HelpPage, _ syntax: CommandSyntax, _ date: String) -> (name: String, text: String)
    {
        var (title, lines) = head(page, syntax, date, section: 7)
        let body = Array(page.body(HelpText(syntax: syntax, width: 72)).drop { $0.isEmpty })
        var isExample = false
        for (index, text) in body.enumerated() {
            let isIndented = text.hasPrefix("  ")
            let isHeading =
                text.hasSuffix(":") && !isIndented && (index == 0 || body[index - 1].isEmpty)
                && index + 1 < body.count && body[index + 1].isEmpty
            if isExample, !isIndented, !text.isEmpty {
                lines.append(".EE")
                isExample = false
            }
            switch (isHeading, isIndented, text.isEmpty) {
            case (true, _, _): lines.append(".SS \(escaped(text.dropLast()))")
            case (_, true, _):
                if !isExample { lines.append(".EX") }
                isExample = true
                lines.append(line(text))
            case (_, _, true): lines.append(isExample ? "\\&" : ".PP")
            default: lines.append(line(text))
            }
        }
        if isExample { lines.append(".EE") }
        lines += [".SH SEE ALSO", ".BR \(syntax.program) (1)"]
        return (title + ".7", lines.joined(separator: "\n") + "\n")
    }

    /// Returns the page of a file format (section 5) with all entries of a page of help.
    private static func fileFormat(_ page: HelpPage, _ syntax: CommandSyntax, _ date: String) -> (
        name: String, text: String
    ) {
        var (title, lines) = head(page, syntax, date, section: 5)
        lines.append(".nf")
        let body = page.body(HelpText(syntax: syntax, width: 72)).drop { $0.isEmpty }
        lines += body.prefix { $0 != "Keys:" && !$0.hasPrefix("Keys of ") }.map(line)
        lines += [".fi", ".SH KEYS"]
        for entry in page.entries {
            lines += [".TP", ".B \(escaped(entry.name))", line(entry.meaning + ".")]
            for (label, value) in entry.facts { lines += [".br", line("\(label): \(value)")] }
        }
        lines += [".SH SEE ALSO", ".BR \(syntax.program) (1)"]
        return (title + ".5", lines.joined(separator: "\n") + "\n")
    }

    private var command: CommandSpec { chain.last ?? syntax.root }
    private var isProgram: Bool { chain.count == 1 }
    /// The title: `lodge-search`
    package var title: String { chain.map(\.name).joined(separator: "-") }
    private var name: String { chain.map(\.name).joined(separator: " ") }

    package var text: String {
        var lines = [
            ".TH \(Self.quoted(title.uppercased())) 1 \(Self.quoted(date)) "
                + Self.quoted("\(syntax.program) \(syntax.reference.version)")
        ]
        let summary = command.title.prefix(1).lowercased() + command.title.dropFirst()
        lines += [".SH NAME", "\(Self.escaped(title)) \\- \(Self.escaped(summary))"]
        lines += [".SH SYNOPSIS", ".B \(Self.escaped(name))", Self.line(command.operands)]
        lines += [".SH DESCRIPTION", Self.line(command.discussion.isEmpty ? command.summary : command.discussion)]
        if !command.aliases.isEmpty {
            lines += [".PP", Self.line("Alias: " + command.aliases.joined(separator: ", ") + ".")]
        }
        lines += subcommands + arguments(command) + options(command.options, title: "OPTIONS") + examples
        if isProgram {
            lines += options(syntax.globalOptions, title: "OPTIONS OF ALL COMMANDS") + dependencies
        } else {
            lines += [".SH SEE ALSO", ".BR \(syntax.program) (1),", "which has the options of all commands."]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private var subcommands: [String] {
        guard !command.subcommands.isEmpty else { return [] }
        return [".SH COMMANDS"]
            + command.subcommands.flatMap { below -> [String] in
                let usage = ([below.name] + below.arguments.map(\.usage)).joined(separator: " ")
                var lines = [".TP", ".B \(Self.escaped(usage))", Self.line(below.summary)]
                guard !isProgram else { return lines }
                if !below.discussion.isEmpty { lines.append(Self.line(below.discussion)) }
                for option in below.options { lines += [".RS"] + entry(option) + [".RE"] }
                return lines
            }
    }

    private func arguments(_ command: CommandSpec) -> [String] {
        guard !command.arguments.isEmpty else { return [] }
        return [".SH ARGUMENTS"]
            + command.arguments.flatMap { [".TP", ".I \(Self.escaped($0.usage))", Self.line($0.help + ".")] }
    }

    private func options(_ options: [OptionSpec], title: String) -> [String] {
        options.isEmpty ? [] : [".SH \(title)"] + options.flatMap(entry)
    }

    private func entry(_ option: OptionSpec) -> [String] {
        let variable = syntax.variable(of: option).map { " (\($0))" } ?? ""
        return [".TP", ".B \(Self.escaped(option.usage))", Self.line(option.helpWithChoices + variable + ".")]
    }

    private var examples: [String] {
        guard !command.examples.isEmpty else { return [] }
        return [".SH EXAMPLES"] + command.examples.flatMap { [".PP", ".EX", Self.line("$ " + $0.line), ".EE"] }
    }

    private var dependencies: [String] {
        var lines = [".SH EXIT STATUS"]
        for status in ExitStatus.allCases {
            lines += [".TP", ".B \(status.rawValue)", Self.line(status.meaning + ".")]
        }
        lines += [
            ".SH ENVIRONMENT",
            Self.line(
                "The options of all commands have variables. An option on the command line overrides its variable, and a variable "
                    + "overrides the settings. Other options have no variable."),
        ]
        for (name, option) in syntax.variables {
            lines += [
                ".TP", ".B \(Self.escaped(name))", Self.line("Same as --\(option.name): \(option.helpWithChoices)."),
            ]
        }
        for (name, meaning) in syntax.reference.variables {
            lines += [".TP", ".B \(Self.escaped(name))", Self.line(meaning + ".")]
        }
        lines.append(".SH FILES")
        for (file, meaning) in syntax.reference.files {
            lines += [".TP", ".I \(Self.escaped(file))", Self.line(meaning + ".")]
        }
        let pages =
            syntax.root.subcommands.map { ".BR \(syntax.program)\\-\(Self.escaped($0.name)) (1)" }
            + syntax.reference.pages.filter(\.isGuide).map { ".BR \(syntax.program)\\-\(Self.escaped($0.name)) (7)" }
        return lines + [".SH SEE ALSO"] + pages.dropLast().map { $0 + "," } + pages.suffix(1)
    }

    /// Returns text for the start of a line, where a period or quote would be a macro.
    private static func line(_ text: String) -> String {
        let escaped = escaped(text)
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }

    /// Returns text with backslashes, dashes and quotes escaped, and other non-ASCII characters by number.
    private static func escaped(_ text: some StringProtocol) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            case _ where scalar.isASCII: escaped.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                escaped += "\\[u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "]"
            }
        }
        return escaped
    }

    private static func quoted(_ text: String) -> String { "\"" + escaped(text) + "\"" }
}
