/// The kind of candidates for a value.
package enum CompletionKind: Sendable, Equatable {
    case none
    case file
    /// A string, or `@` and a file name.
    case content
    /// A string, or `@` and a file name, after a name and `=`.
    case part
    case folder
    /// Names of output formats.
    case format
    /// Names known to the program, identified by their kind.
    case names(String)
    /// A comma-separated list of names known to the program.
    case list(String)
    case words([String])
}

/// A declaration of an option, from which parsing, help, completion and manual pages are derived.
package struct OptionSpec: Sendable, Equatable {
    /// The kind of value of an option. Values are checked during parsing, so commands never get an invalid one.
    package enum Value: Sendable, Equatable {
        /// No value: a flag.
        case flag
        case text
        /// A whole number within a range.
        case integer(ClosedRange<Int>)
        /// A number of seconds within a range. Decimal fractions are accepted.
        case seconds(ClosedRange<Double>)
        case choice([String])
    }

    /// The environment variable of a global option.
    ///
    /// An option of a single command has no variable: a forgotten variable could change search results, or delete,
    /// replace or reveal data.
    package enum Variable: Sendable, Equatable {
        /// The names of program and option combined: `LODGE_CA_FILE` for `--ca-file` of `lodge`.
        case derived
        /// No variable: `--help`.
        case none
    }

    /// The long name without dashes.
    package var name: String
    /// The short name without its dash.
    package var short: Character?
    /// The name of the value in help: `FILE`; `nil` for a flag.
    var valueName: String?
    package var value: Value
    /// The description: a phrase without a full stop.
    package var help: String
    package var environment: Variable
    package var isRepeated: Bool
    /// Whether an empty value is accepted. The default is no, because it usually comes from an unset shell variable.
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

    /// Whether the option requires a value.
    var takesValue: Bool { value != .flag }

    /// The description, and whether the option may be repeated.
    var fullHelp: String { help + (isRepeated ? "; may be repeated" : "") }

    /// The full description, with the choices unless it already lists them.
    var helpWithChoices: String {
        guard case .choice(let words) = value, !help.contains(words[0]) else { return fullHelp }
        return fullHelp + ": " + Self.list(words)
    }

    /// The form in help, with its value: `-o, --output FORMAT`.
    package var usage: String {
        let dashed = (short.map { "-\($0), " } ?? "") + "--" + name
        return valueName.map { "\(dashed) \($0)" } ?? dashed
    }
}
