import Platform

/// A command line that was understood: what to do, with which values.
package struct Invocation: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
    /// What was asked for.
    package enum Action: Sendable, Equatable {
        /// Run the command.
        case run
        /// Show help on the topic.
        case help(HelpTopic)
        /// Show the version.
        case version
    }

    /// Where a value came from.
    package enum Source: Sendable, Equatable {
        /// From the command line.
        case option
        /// From the environment variable of this name.
        case environment(String)
    }

    /// The values of one option and where they came from.
    package struct Given: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
        /// The texts, in order. Empty for a flag.
        package var texts: [String]
        /// Where they came from.
        package var source: Source

        /// The source alone.
        package var description: String { "a value of \(source)" }
        /// The description, also for `dump`.
        package var customMirror: Mirror { Mirror(self, children: ["source": source]) }
    }

    /// The name of the program.
    package var program: String
    /// What was asked for.
    package var action: Action
    /// The names of the command and its subcommand, aliases resolved: `["accounts", "list"]`.
    package var path: [String]
    /// The options that were given, by long name. Every value has passed the check that its declaration asks for.
    package var given: [String: Given] = [:]
    /// The arguments by name.
    package var named: [String: [String]] = [:]
    /// The names of the options that this command has, to find slips in the program.
    var declaredOptions: Set<String> = []
    /// The names of the arguments that this command has, to find slips in the program.
    var declaredArguments: Set<String> = []

    /// Whether the flag is set.
    package func flag(_ name: String) -> Bool { value(name) != nil }

    /// The value of an option; nil when it was not given.
    package func string(_ name: String) -> String? { value(name)?.texts.last }

    /// The values of an option that may be repeated.
    package func strings(_ name: String) -> [String] { value(name)?.texts ?? [] }

    /// The value of an option declared as an integer; nil when it was not given.
    package func integer(_ name: String) -> Int? { string(name).flatMap { Int($0) } }

    /// The value of an option declared as seconds; nil when it was not given.
    package func duration(_ name: String) -> Duration? { string(name).flatMap { Double($0) }.map { .seconds($0) } }

    /// The value of an option declared as a choice; nil when it was not given.
    package func choice<Choice: RawRepresentable<String>>(_ name: String, as type: Choice.Type = Choice.self) -> Choice?
    {
        string(name).flatMap { Choice(rawValue: $0) }
    }

    /// Which of two options that exclude each other holds; what is typed wins over what the environment says. Nil when neither is given.
    ///
    /// - Throws: ``CommandError`` when both are typed, or both are in the environment.
    package func chosen(_ first: String, or second: String) throws(CommandError) -> String? {
        guard let one = source(of: first) else { return flag(second) ? second : nil }
        guard let other = source(of: second), (one == .option) == (other == .option) else {
            return one == .option || !flag(second) ? first : second
        }
        throw CommandError(
            .usage, "--\(first) and --\(second) exclude each other",
            hint: Hint(([program, "help"] + path).joined(separator: " ")))
    }

    /// Where the value of an option came from; nil when it was not given.
    package func source(of name: String) -> Source? { value(name)?.source }

    /// The argument of this name; nil when it was left out.
    package func argument(_ name: String) -> String? { arguments(name).first }

    /// The words of the variadic argument of this name.
    package func arguments(_ name: String) -> [String] {
        assert(action != .run || declaredArguments.contains(name), "\(path) declares no argument \(name)")
        return named[name] ?? []
    }

    // The values may be secrets (a body to send, a parameter), so that only names are printed.

    /// The command and the names of its options, without values.
    package var description: String {
        ([program] + path + given.keys.sorted().map { "--" + $0 }).joined(separator: " ")
    }

    /// The description, also for `dump`.
    package var customMirror: Mirror { Mirror(self, children: ["command": description]) }

    private func value(_ name: String) -> Given? {
        assert(action != .run || declaredOptions.contains(name), "\(path) declares no option \(name)")
        return given[name]
    }
}

/// What help can be shown on.
package enum HelpTopic: Sendable, Equatable {
    /// A command; the empty path is the program.
    case command([String])
    /// The page of this name.
    case page(String)
}

extension OutputFormat {
    /// Creates the format that the command line asks for, or the default.
    package init(_ invocation: Invocation) { self = invocation.choice("output") ?? .table }
}
