import LodgePlatform

/// A parsed command line: the action and the values.
package struct Invocation: Sendable, Equatable, Redacted {
    package enum Action: Sendable, Equatable {
        case run
        case help(HelpTopic)
        case version
    }

    package enum Source: Sendable, Equatable {
        case option
        /// From the environment variable of this name.
        case environment(String)
    }

    /// The values of one option and their source.
    package struct Value: Sendable, Equatable, Redacted {
        /// The values in order. Empty for a flag.
        package var texts: [String]
        package var source: Source

        package var description: String { "a value of \(source)" }
    }

    package var program: String
    package var action: Action
    /// The names of the command and its subcommand, aliases resolved: `["accounts", "list"]`.
    package var path: [String]
    /// The given options by long name. Their values have passed the checks of their declarations.
    package var values: [String: Value] = [:]
    package var named: [String: [String]] = [:]
    /// The names of the command's options, to detect programming errors.
    var declaredOptions: Set<String> = []
    /// The names of the command's arguments, to detect programming errors.
    var declaredArguments: Set<String> = []

    package subscript<Value>(option: Option<Value>) -> Value { option.value(values(option)?.texts) }

    package subscript<Value>(argument: Argument<Value>) -> Value {
        let name = argument.spec.name
        assert(action != .run || declaredArguments.contains(name), "\(path) declares no argument \(name)")
        return argument.value(named[name] ?? [])
    }

    /// Returns the source of an option's value, or `nil` if the option is not given.
    package func source(of option: any DeclaredOption) -> Source? { values(option)?.source }

    /// Returns whether the first of two options that cannot be combined is given.
    ///
    /// - Throws: ``CommandError`` if both are given.
    package func prefers(_ first: any DeclaredOption, over second: any DeclaredOption) throws(CommandError) -> Bool {
        guard source(of: first) != nil else { return false }
        guard source(of: second) == nil else { throw conflict(first, second) }
        return true
    }

    /// Returns the error for two options that cannot be combined.
    package func conflict(
        _ first: any DeclaredOption, _ second: any DeclaredOption, reason: String? = nil
    ) -> CommandError {
        CommandError(
            .usage, "--\(first.spec.name) and --\(second.spec.name) cannot be combined", reason: reason,
            hint: Hint(([program, "help"] + path).joined(separator: " ")))
    }

    // Values can be secrets, such as a body or a parameter, so print only names.

    /// The command and the names of its options, without values.
    package var description: String {
        ([program] + path + values.keys.sorted().map { "--" + $0 }).joined(separator: " ")
    }

    private func values(_ option: any DeclaredOption) -> Value? {
        let name = option.spec.name
        assert(action != .run || declaredOptions.contains(name), "\(path) declares no option \(name)")
        return values[name]
    }
}

/// A help topic.
package enum HelpTopic: Sendable, Equatable {
    /// A command. The empty path is the program.
    case command([String])
    case page(String)
    /// An entry of a page.
    case entry(String, of: String)
}

extension OutputFormat {
    /// Creates the format that the command line selects, or the default.
    package init(_ invocation: Invocation) {
        self = invocation[StandardOptions(program: invocation.program).output] ?? .table
    }
}
