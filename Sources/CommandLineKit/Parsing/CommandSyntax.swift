/// The syntax of a program: its commands and the options accepted by every command.
package struct CommandSyntax: Sendable {
    /// The program. Its options apply without a command (`--version`).
    package let root: CommandSpec
    package let globalOptions: [OptionSpec]
    /// Additional content of help and manual pages.
    package let reference: ProgramReference

    /// Creates the syntax of a program. Adds the command `help` if it is not declared.
    package init(root: CommandSpec, globalOptions: [OptionSpec], reference: ProgramReference = ProgramReference()) {
        var root = root
        if root.subcommand("help") == nil { root.subcommands.append(.help(reference)) }
        self.root = root
        self.globalOptions = globalOptions
        self.reference = reference
    }

    package var program: String { root.name }

    /// Returns the environment variable of an option, or `nil` if the option is not global.
    package func variable(of option: OptionSpec) -> String? {
        let isGlobal = globalOptions.contains { $0.name == option.name && $0.value == option.value }
        return isGlobal && option.environment == .derived ? variable(named: option.name) : nil
    }

    /// The global options that have an environment variable, each with its variable.
    package var variables: [(name: String, option: OptionSpec)] {
        globalOptions.compactMap { option in variable(of: option).map { ($0, option) } }
    }

    /// Returns the variable of the program for a name: `LODGE_CA_FILE` for `ca-file`.
    package func variable(named name: String) -> String {
        String((program + "-" + name).uppercased().map { $0 == "-" ? "_" : $0 })
    }

    package func page(_ name: String) -> HelpPage? { reference.pages.first { $0.name == name } }

    /// Returns the help command for a command.
    package func hint(_ path: [String]) -> String { ([program, "help"] + path).joined(separator: " ") }

    /// Returns the commands from the program down to a path of names, or `nil` if the path does not exist.
    package func chain(to path: [String]) -> [CommandSpec]? {
        var chain = [root]
        for name in path {
            guard let next = chain.last?.subcommand(name) else { return nil }
            chain.append(next)
        }
        return chain
    }

    /// Returns the options for the last command of the chain.
    ///
    /// These are its own options, the options of its parent commands except the program, and the global options that
    /// these do not replace.
    package func options(for chain: [CommandSpec]) -> [OptionSpec] {
        let own = chain.count > 1 ? chain.dropFirst().reversed().flatMap(\.options) : root.options
        var names = Set<String>()
        var shorts = Set<Character>()
        return (own + globalOptions).compactMap { option in
            guard names.insert(option.name).inserted else { return nil }
            var option = option
            if let short = option.short, !shorts.insert(short).inserted { option.short = nil }
            return option
        }
    }

    /// Returns errors in the declarations, for a test.
    package func problems() -> [String] { problems(of: [root]) }

    private func problems(of chain: [CommandSpec]) -> [String] {
        guard let command = chain.last else { return [] }
        var problems: [String] = []
        func require(_ condition: Bool, _ problem: String) {
            if !condition { problems.append(chain.map(\.name).joined(separator: " ") + ": " + problem) }
        }
        require(command.summary.hasSuffix("."), "the summary is not a sentence")
        require(command.summary.count <= 80, "the summary is longer than a line")
        require(Self.areUnique(command.options.map(\.name)), "two options have the same name")
        require(Self.areUnique(command.options.compactMap(\.short)), "two options have the same short name")
        require(Self.areUnique(command.arguments.map(\.name)), "two arguments have the same name")
        require(
            Self.areUnique(command.subcommands.flatMap { [$0.name] + $0.aliases }), "two commands have the same name")
        require(command.arguments.dropLast().allSatisfy { !$0.isVariadic }, "only the last argument may be variadic")
        let optionals = command.arguments.drop { !$0.isOptional }
        require(optionals.allSatisfy(\.isOptional), "a required argument follows an optional one")
        require(
            command.subcommands.isEmpty || command.arguments.isEmpty, "a command with subcommands has no arguments")
        if let name = command.defaultSubcommand {
            require(command.subcommand(name) != nil, "there is no command \(name) to run by default")
        }
        for option in command.options + (chain.count == 1 ? globalOptions : []) {
            require(!option.help.hasSuffix("."), "the help of --\(option.name) ends with a full stop")
            let isReplacement = globalOptions.contains { $0.name == option.name && $0 != option }
            require(
                !isReplacement || variable(of: option) == nil,
                "--\(option.name) shares a variable with the global option that it replaces")
            require(option.takesValue == (option.valueName != nil), "--\(option.name) lacks the name of its value")
        }
        return problems + command.subcommands.flatMap { self.problems(of: chain + [$0]) }
    }

    private static func areUnique<Element: Hashable>(_ elements: [Element]) -> Bool {
        Set(elements).count == elements.count
    }
}

extension CommandSpec {
    /// Returns the `help` command. ``CommandSyntax/parse(arguments:environment:)`` runs it.
    package static func help(_ reference: ProgramReference) -> CommandSpec {
        var help = CommandSpec(
            "help", "Show help for a command or topic.",
            discussion: "Without COMMAND, help lists all commands and topics. The option --help shows the same text.",
            examples: reference.helpExamples,
            arguments: [
                ArgumentSpec(
                    "COMMAND", "command to explain, or \(OptionSpec.list(reference.pages.map(\.name)))",
                    optional: true, variadic: true)
            ])
        help.group = reference.helpGroup
        return help
    }
}
