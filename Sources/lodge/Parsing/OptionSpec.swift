/// What a shell may offer in the place of a value.
enum CompletionKind: Sendable, Equatable {
    /// Nothing.
    case none
    /// Names of files.
    case file
    /// A text, or `@` and the name of a file.
    case content
    /// The same after a name and `=`.
    case part
    /// Names of folders.
    case folder
    /// Names of kept accounts.
    case account
    /// Names of account types.
    case type
    /// Names of output formats.
    case format
    /// Names of the directory's properties.
    case field
    /// Names of presets of account types.
    case preset
    /// These words.
    case words([String])
}

/// One option of a command, declared once: parsing, help, completion and man pages all read this value.
struct OptionSpec: Sendable, Equatable {
    /// What an option takes. A value is checked while the command line is read, so a command never runs with a bad one.
    enum Value: Sendable, Equatable {
        /// Nothing: the option is there or not.
        case flag
        /// Any text.
        case text
        /// A whole number within a range.
        case integer(ClosedRange<Int>)
        /// A number of seconds within a range; a decimal fraction is accepted.
        case seconds(ClosedRange<Double>)
        /// One of these words.
        case choice([String])
    }

    /// Which environment variable stands in for an option that is not given.
    enum Variable: Sendable, Equatable {
        /// `LODGE_` and the option's name: `--page-size` has `LODGE_PAGE_SIZE`.
        case derived
        /// A name of its own, where the derived one would mean too much: `--all` of `sign-out`.
        case named(String)
        /// No variable, for options that only make sense when typed: `--help`.
        case none
    }

    /// The long name, without the dashes.
    var name: String
    /// The short name, without the dash.
    var short: Character?
    /// What the value is called in help: `FILE`. Nil for a flag.
    var valueName: String?
    /// What it takes.
    var value: Value
    /// What it is for: a phrase without a full stop.
    var help: String
    /// The environment variable, if there is one.
    var environment: String?
    /// Whether it may be given more than once.
    var isRepeated: Bool
    /// Whether the empty text is a value. By default it is refused: it is nearly always an unset shell variable.
    var allowsEmpty: Bool
    /// What a shell may offer for the value.
    var completion: CompletionKind

    /// An option that is there or not.
    static func flag(_ name: String, short: Character? = nil, _ help: String, environment: Variable = .derived) -> Self
    {
        OptionSpec(
            name: name, short: short, valueName: nil, value: .flag, help: help,
            environment: variable(environment, for: name), isRepeated: false, allowsEmpty: false, completion: .none)
    }

    /// An option with a value.
    static func value(
        _ name: String, short: Character? = nil, _ valueName: String, _ help: String, is value: Value = .text,
        repeated: Bool = false, allowsEmpty: Bool = false, completion: CompletionKind = .none,
        environment: Variable = .derived
    ) -> Self {
        OptionSpec(
            name: name, short: short, valueName: valueName, value: value, help: help,
            environment: variable(environment, for: name), isRepeated: repeated, allowsEmpty: allowsEmpty,
            completion: completion)
    }

    /// Whether a value must follow.
    var takesValue: Bool { value != .flag }

    /// How the option is written in help, its value included: `-o, --output FORMAT`.
    var usage: String {
        let dashed = (short.map { "-\($0), " } ?? "") + "--" + name
        return valueName.map { "\(dashed) \($0)" } ?? dashed
    }

    private static func variable(_ variable: Variable, for name: String) -> String? {
        switch variable {
        case .derived: derivedVariable(for: name)
        case .named(let name): name
        case .none: nil
        }
    }

    /// The variable that an option of this name has unless it is declared otherwise.
    static func derivedVariable(for name: String) -> String {
        "LODGE_" + String(name.uppercased().map { $0 == "-" ? "_" : $0 })
    }
}

extension OptionSpec {
    /// The options that every command takes, in the order of help.
    static let globals: [OptionSpec] = [
        .value("settings", "FILE", "settings to use, JSON or property list", completion: .file),
        .value("account", "NAME", "account to act for", completion: .account),
        .value("type", "TYPE", "account type to act for", completion: .type),
        .value("store", "DIR", "folder that keeps the accounts", completion: .folder),
        .value(
            "output", short: "o", "FORMAT", "format of the answer: " + OptionSpec.list(OutputFormat.names),
            is: .choice(OutputFormat.names), completion: .format),
        .flag("quiet", "say nothing but the answer and errors"),
        .flag("verbose", "say what is done"),
        .flag("debug", "say how it is done, secrets masked"),
        .flag("no-color", "no colour, no bold"),
        .flag("no-input", "never ask; fail where a question would be needed"),
        .flag("no-pager", "show long tables without LODGE_PAGER or PAGER"),
        .value(
            "timeout", "SECONDS", "give up after this long", is: .seconds(0.001...86_400)),
        .value("ca-file", "FILE", "certificate authorities to trust, PEM", completion: .file),
        .flag("help", short: "h", "show help and stop", environment: .none),
    ]
}
