/// What a shell may offer in the place of a value.
package enum CompletionKind: Sendable, Equatable {
    case none
    case file
    /// A text, or `@` and the name of a file.
    case content
    /// The same after a name and `=`.
    case part
    case folder
    /// Names of output formats.
    case format
    /// Names that only the program knows, by a name for their kind.
    case names(String)
    /// The same in a list with commas.
    case list(String)
    case words([String])
}

/// One option of a command, declared once: parsing, help, completion and man pages all read this value.
package struct OptionSpec: Sendable, Equatable {
    /// What an option takes. A value is checked while the command line is read, so a command never runs with a bad one.
    package enum Value: Sendable, Equatable {
        /// Nothing: the option is there or not.
        case flag
        case text
        /// A whole number within a range.
        case integer(ClosedRange<Int>)
        /// A number of seconds within a range; a decimal fraction is accepted.
        case seconds(ClosedRange<Double>)
        case choice([String])
    }

    /// The environment variable of a global option. An option of a single command has no variable: a forgotten variable would change
    /// the results of a search, or delete, replace or reveal something.
    package enum Variable: Sendable, Equatable {
        /// The program's name and the option's: `--ca-file` of `lodge` has `LODGE_CA_FILE`.
        case derived
        /// No variable: `--help`.
        case none
    }

    /// The long name, without the dashes.
    package var name: String
    /// The short name, without the dash.
    package var short: Character?
    /// What the value is called in help: `FILE`. Nil for a flag.
    var valueName: String?
    package var value: Value
    /// What it is for: a phrase without a full stop.
    package var help: String
    package var environment: Variable
    package var isRepeated: Bool
    /// Whether the empty text is a value. By default it is refused: it is nearly always an unset shell variable.
    package var allowsEmpty: Bool
    package var completion: CompletionKind

    package static func flag(_ name: String, short: Character? = nil, _ help: String, environment: Variable = .derived)
        -> Self
    {
        OptionSpec(
            name: name, short: short, value: .flag, help: help, environment: environment, isRepeated: false,
            allowsEmpty: false, completion: .none)
    }

    package static func value(
        _ name: String, short: Character? = nil, _ valueName: String, _ help: String, is value: Value = .text,
        repeated: Bool = false, allowsEmpty: Bool = false, completion: CompletionKind = .none,
        environment: Variable = .derived
    ) -> Self {
        OptionSpec(
            name: name, short: short, valueName: valueName, value: value, help: help, environment: environment,
            isRepeated: repeated, allowsEmpty: allowsEmpty, completion: completion)
    }

    /// Whether a value must follow.
    var takesValue: Bool { value != .flag }

    /// The help, and whether it may be repeated.
    var fullHelp: String { help + (isRepeated ? "; may be repeated" : "") }

    /// The full help with the words of a choice, unless the help has them.
    var helpWithChoices: String {
        guard case .choice(let words) = value, !help.contains(words[0]) else { return fullHelp }
        return fullHelp + ": " + Self.list(words)
    }

    /// How the option is written in help, its value included: `-o, --output FORMAT`.
    package var usage: String {
        let dashed = (short.map { "-\($0), " } ?? "") + "--" + name
        return valueName.map { "\(dashed) \($0)" } ?? dashed
    }
}
