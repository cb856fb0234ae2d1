/// A positional argument of a command.
package struct ArgumentSpec: Sendable, Equatable {
    /// The name in help: `USER`.
    package var name: String
    /// The description: a phrase without a full stop.
    package var help: String
    var isOptional: Bool
    /// Whether the argument takes all remaining words. Only the last argument of a command may do so.
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

    /// The form in a usage line: `USER`, `[USER]`, `TEXT…`.
    package var usage: String {
        let word = isVariadic ? name + "…" : name
        return isOptional ? "[\(word)]" : word
    }
}

/// An example: a complete command line and its effect.
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

/// A declaration of a command, from which parsing, help, completion and manual pages are derived.
package struct CommandSpec: Sendable, Equatable {
    package var name: String
    package var aliases: [String]
    /// The title of its group in the help of the parent command. Empty without groups.
    package var group = ""
    /// The purpose: one sentence with a full stop.
    package var summary: String
    /// Additional information, shown after the usage. May be empty.
    package var discussion: String
    /// The examples, the simplest first.
    package var examples: [CommandExample]
    package var arguments: [ArgumentSpec]
    /// The command's own options. An option replaces a global option with the same name.
    package var options: [OptionSpec]
    /// The supported output formats. Any other format on the command line is an error.
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

    /// Returns the subcommand with this name or alias. Abbreviations are not accepted.
    package func subcommand(_ name: String) -> CommandSpec? {
        subcommands.first { $0.name == name || $0.aliases.contains(name) }
    }

    /// The summary without its full stop.
    var title: String { summary.hasSuffix(".") ? String(summary.dropLast()) : summary }

    /// The words after its name in a usage line.
    var operands: String {
        if subcommands.isEmpty { return (["[OPTIONS]"] + arguments.map(\.usage)).joined(separator: " ") }
        return defaultSubcommand == nil ? "COMMAND [OPTIONS]" : "[COMMAND] [OPTIONS]"
    }

    /// The options of this command and all its subcommands.
    var allOptions: [OptionSpec] { options + subcommands.flatMap(\.allOptions) }
}
