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

/// One command, declared once: parsing, help, completion and man pages all read this value.
package struct CommandSpec: Sendable, Equatable {
    package var name: String
    package var aliases: [String]
    /// What it is for: one sentence with a full stop.
    package var summary: String
    /// What else a person must know, shown after the usage. May be empty.
    package var discussion: String
    /// Whole command lines that work, the simplest first.
    package var examples: [String]
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
        _ name: String, aliases: [String] = [], _ summary: String, discussion: String = "", examples: [String] = [],
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
        if subcommands.isEmpty { return (["[options]"] + arguments.map(\.usage)).joined(separator: " ") }
        return defaultSubcommand == nil ? "COMMAND [options]" : "[COMMAND] [options]"
    }

    /// The options of this command and of every command below it.
    var allOptions: [OptionSpec] { options + subcommands.flatMap(\.allOptions) }
}
