/// All that can be typed: the program, its commands and the options that every command takes.
struct CommandSyntax: Sendable {
    /// The program. Its options are those that stand without a command (`--version`).
    let root: CommandSpec
    /// The options of every command.
    let globalOptions: [OptionSpec]

    /// The syntax of a program. The command `help` is added when it is not declared.
    init(root: CommandSpec, globalOptions: [OptionSpec] = OptionSpec.globals) {
        var root = root
        if root.subcommand("help") == nil { root.subcommands.append(.help) }
        self.root = root
        self.globalOptions = globalOptions
    }

    /// The commands from the program down to the one named; nil when there is none of that name.
    func chain(to path: [String]) -> [CommandSpec]? {
        var chain = [root]
        for name in path {
            guard let next = chain.last?.subcommand(name) else { return nil }
            chain.append(next)
        }
        return chain
    }

    /// The options that hold for the last command of the chain: its own, those of the commands above it but the program,
    /// and the global ones that none of these replace.
    func options(for chain: [CommandSpec]) -> [OptionSpec] {
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

    /// Mistakes in the declarations, in words. A test of the program's own declarations expects none.
    func faults() -> [String] { faults(of: [root]) }

    private func faults(of chain: [CommandSpec]) -> [String] {
        guard let command = chain.last else { return [] }
        var faults: [String] = []
        func require(_ condition: Bool, _ fault: String) {
            if !condition { faults.append(chain.map(\.name).joined(separator: " ") + ": " + fault) }
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
            command.subcommands.isEmpty || command.arguments.isEmpty, "a command with commands below has no arguments")
        if let name = command.defaultSubcommand {
            require(command.subcommand(name) != nil, "there is no command \(name) to run by default")
        }
        for option in command.options + (chain.count == 1 ? globalOptions : []) {
            require(!option.help.hasSuffix("."), "the help of --\(option.name) ends with a full stop")
            let replaced = globalOptions.first { $0.name == option.name && $0 != option }
            require(
                replaced?.environment == nil || replaced?.environment != option.environment,
                "--\(option.name) shares a variable with the global option that it replaces")
            require(option.takesValue == (option.valueName != nil), "--\(option.name) lacks the name of its value")
        }
        if chain.count == 1 { faults += faultsOfVariables() }
        return faults + command.subcommands.flatMap { self.faults(of: chain + [$0]) }
    }

    /// One variable may stand for options of several commands, but only for options that take the same.
    private func faultsOfVariables() -> [String] {
        var owners: [String: OptionSpec] = [:]
        return (globalOptions + root.allOptions).compactMap { option in
            guard let variable = option.environment else { return nil }
            let owner = owners[variable, default: option]
            owners[variable] = owner
            let isSame = owner.value == option.value && owner.isRepeated == option.isRepeated
            return isSame ? nil : "\(variable): two options --\(option.name) take different values"
        }
    }

    private static func areUnique<Element: Hashable>(_ elements: [Element]) -> Bool {
        Set(elements).count == elements.count
    }
}

extension CommandSpec {
    /// The command that explains the others. ``CommandSyntax/parse(arguments:environment:)`` answers it by itself.
    static let help = CommandSpec(
        "help", "Explain a command.",
        examples: ["lodge help search", "lodge help environment"],
        arguments: [
            ArgumentSpec(
                "COMMAND", "command to explain, or \(OptionSpec.list(HelpPage.allCases.map(\.rawValue)))",
                optional: true, variadic: true)
        ])
}
