/// One argument of a command that is known by its place.
package struct ArgumentSpec: Sendable, Equatable {
    /// What it is called in help: `USER`.
    package var name: String
    /// What it is for: a phrase without a full stop.
    package var help: String
    var isOptional: Bool
    /// Whether it takes every word from its place on. Only the last argument of a command may.
    var isVariadic: Bool
    package var completion: CompletionKind

    package init(
        _ name: String, _ help: String, optional: Bool = false, variadic: Bool = false,
        completion: CompletionKind = .none
    ) {
        self.name = name
        self.help = help
        isOptional = optional
        isVariadic = variadic
        self.completion = completion
    }

    /// How it is written in a usage line: `USER`, `[USER]`, `TEXT…`.
    package var usage: String {
        let word = isVariadic ? name + "…" : name
        return isOptional ? "[\(word)]" : word
    }
}

/// A complete command line that works, with its effect.
package struct CommandExample: Sendable, Equatable, ExpressibleByStringInterpolation {
    package var line: String
    /// The effect: a phrase without a full stop. Empty if the line explains itself.
    package var meaning: String

    package init(_ line: String, _ meaning: String) {
        self.line = line
        self.meaning = meaning
    }

    package init(stringLiteral line: String) { self.init(line, "") }
}

/// One command, declared once: parsing, help, completion and man pages all read this value.
package struct CommandSpec: Sendable, Equatable {
    package var name: String
    package var aliases: [String]
    /// The title of its group in the help of the command above it. Empty without groups.
    package var group = ""
    /// What it is for: one sentence with a full stop.
    package var summary: String
    /// What else a person must know, shown after the usage. May be empty.
    package var discussion: String
    /// The simplest first.
    package var examples: [CommandExample]
    package var arguments: [ArgumentSpec]
    /// The command's own options. One with the name of a global option takes its place.
    package var options: [OptionSpec]
    /// The formats in which it can answer; another one that is typed is an error.
    package var formats: [OutputFormat]
    /// The output with `--output json`; `nil` for a command without that format.
    package var json: JSONShape?
    package var subcommands: [CommandSpec]
    package var defaultSubcommand: String?

    package init(
        _ name: String, aliases: [String] = [], _ summary: String, discussion: String = "",
        examples: [CommandExample] = [],
        arguments: [ArgumentSpec] = [], options: [OptionSpec] = [], formats: [OutputFormat] = OutputFormat.ofThings,
        json: JSONShape? = nil, subcommands: [CommandSpec] = [], defaultSubcommand: String? = nil
    ) {
        self.name = name
        self.aliases = aliases
        self.summary = summary
        self.discussion = discussion
        self.examples = examples
        self.arguments = arguments
        self.options = options
        self.formats = formats
        self.json = json
        self.subcommands = subcommands
        self.defaultSubcommand = defaultSubcommand
    }

    /// The subcommand of this name or alias. Abbreviations are not names.
    package func subcommand(_ name: String) -> CommandSpec? {
        subcommands.first { $0.name == name || $0.aliases.contains(name) }
    }

    /// The summary without its full stop.
    var title: String { summary.hasSuffix(".") ? String(summary.dropLast()) : summary }

    /// The words that follow its name in a usage line.
    var operands: String {
        if subcommands.isEmpty { return (["[OPTIONS]"] + arguments.map(\.usage)).joined(separator: " ") }
        return defaultSubcommand == nil ? "COMMAND [OPTIONS]" : "[COMMAND] [OPTIONS]"
    }

    /// The options of this command and of every command below it.
    var allOptions: [OptionSpec] { options + subcommands.flatMap(\.allOptions) }
}
