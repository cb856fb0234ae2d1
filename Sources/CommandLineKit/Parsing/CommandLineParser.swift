import LodgePlatform

extension CommandSyntax {
    /// Parses a command line.
    ///
    /// Options may appear anywhere; `--` ends them. A value follows its option (`--output json`, `-o json`), is
    /// attached (`-ojson`) or follows an equals sign (`--output=json`). A value that begins with a dash requires the
    /// equals sign, so that a missing value is detected. Abbreviated names are not accepted. `--help` takes precedence
    /// over every error except an unknown command.
    ///
    /// A global option that is not given takes the value of its environment variable. An empty variable counts as
    /// unset.
    ///
    /// - Parameter arguments: the words after the program's name.
    package func parse(arguments: [String], environment: [String: String]) throws(UsageError) -> Invocation {
        if arguments.isEmpty { return invocation(.help(.command([])), []) }
        let location = try locate(arguments)
        if let topic = location.topic { return invocation(.help(topic), location.path) }
        var scan = ArgumentScan(syntax: self, chain: location.chain)
        try scan.read(arguments, skipping: location.indexes)
        if scan.values["help"] != nil { return invocation(.help(.command(location.path)), location.path) }
        if location.path.isEmpty {
            if scan.values["version"] != nil { return invocation(.version, []) }
            throw UsageError(message: "no command", reason: "an option requires a command", hint: hint([]))
        }
        try scan.readEnvironment(environment)
        let named = try scan.namedArguments()
        return Invocation(
            program: program, action: .run, path: location.path, values: scan.values, named: named,
            declaredOptions: Set(scan.options.map(\.name)),
            declaredArguments: Set(location.chain.last?.arguments.map(\.name) ?? []))
    }

    private func invocation(_ action: Invocation.Action, _ path: [String]) -> Invocation {
        Invocation(program: program, action: action, path: path)
    }

    /// Returns whether an invalid command line requests JSON, so that the error can be printed as JSON.
    package func prefersJSON(arguments: [String], environment: [String: String]) -> Bool {
        let options = arguments.prefix { $0 != "--" }
        var previous = ""
        for word in options {
            if word == "-ojson" || word == "--output=json" { return true }
            if word == "json", previous == "-o" || previous == "--output" { return true }
            previous = word
        }
        return environment[variable(named: "output")] == OutputFormat.json.rawValue
    }

    private struct Location {
        /// The commands from the program down to the selected one.
        var chain: [CommandSpec]
        var indexes: Set<Int> = []
        var topic: HelpTopic?
        /// The names of the commands with aliases resolved.
        var path: [String] { chain.dropFirst().map(\.name) }
    }

    private func locate(_ arguments: [String]) throws(UsageError) -> Location {
        var location = Location(chain: [root])
        var stray: String?
        var unknownOption: String?
        var index = 0
        let end = arguments.firstIndex(of: "--") ?? arguments.count
        while index < end, let command = location.chain.last, !command.subcommands.isEmpty {
            let word = arguments[index]
            if ArgumentScan.isOption(word) {
                if unknownOption == nil, !isKnown(word, after: location.chain) { unknownOption = word }
                index += takesNext(word, after: location.chain) ? 2 : 1
            } else if let next = command.subcommand(word) {
                location.chain.append(next)
                location.indexes.insert(index)
                index += 1
            } else {
                stray = word
                break
            }
        }
        let command = location.chain.last ?? root
        let requestsHelp = arguments[..<end].contains { $0 == "--help" || $0 == "-h" }
        if location.path == ["help"] {
            location.topic = requestsHelp ? .command(["help"]) : try topic(arguments[..<end], location.indexes)
            return location
        }
        if let stray {
            // The word may be the value of a misspelled option.
            if let unknownOption {
                var scan = ArgumentScan(syntax: self, chain: location.chain)
                try scan.read([unknownOption], skipping: [])
            }
            let byDefault = command.defaultSubcommand.flatMap(command.subcommand)
            if byDefault?.arguments.isEmpty ?? true { throw unknownCommand(stray, below: location.chain) }
        }
        if requestsHelp {
            location.topic = .command(location.path)
        } else if let name = command.defaultSubcommand, let next = command.subcommand(name) {
            location.chain.append(next)
        } else if location.chain.count > 1, !command.subcommands.isEmpty {
            throw UsageError(
                message: "\(location.path.joined(separator: " ")) needs a command",
                reason: "it has " + OptionSpec.list(command.subcommands.map(\.name)), hint: hint(location.path))
        }
        return location
    }

    /// Returns whether a long option exists for the command or a subcommand.
    private func isKnown(_ word: String, after chain: [CommandSpec]) -> Bool {
        guard word.hasPrefix("--"), word != "--" else { return true }
        let name = word.dropFirst(2).prefix { $0 != "=" }
        return (options(for: chain) + (chain.last?.allOptions ?? [])).contains { $0.name == name }
    }

    /// Returns whether the option takes the next word as its value.
    ///
    /// While the command is unknown, checks the options of every command that is still possible.
    private func takesNext(_ word: String, after chain: [CommandSpec]) -> Bool {
        let options = globalOptions + chain.dropFirst().dropLast().flatMap(\.options) + (chain.last?.allOptions ?? [])
        if word.hasPrefix("--") {
            return options.contains { $0.takesValue && word == "--" + $0.name }
        }
        for (location, letter) in word.dropFirst().enumerated() {
            if options.contains(where: { $0.takesValue && $0.short == letter }) { return location == word.count - 2 }
        }
        return false
    }

    private func topic(_ arguments: ArraySlice<String>, _ indexes: Set<Int>) throws(UsageError) -> HelpTopic {
        var words: [String] = []
        var index = arguments.startIndex
        while index < arguments.endIndex {
            // As with --help, options have no effect: `help -o json` prints the help. Their values are not topics.
            if ArgumentScan.isOption(arguments[index]) {
                index += takesNext(arguments[index], after: [root]) ? 2 : 1
                continue
            }
            if !indexes.contains(index) { words.append(arguments[index]) }
            index += 1
        }
        if let first = words.first, let page = page(first), root.subcommand(first) == nil {
            guard words.count > 1 else { return .page(page.name) }
            let names = page.entries.map(\.name)
            guard words.count == 2, !names.isEmpty else { throw unexpected(words[1], inHelpOn: [first]) }
            guard page.entries.contains(where: { $0.name == words[1] || $0.aliases.contains(words[1]) }) else {
                throw UsageError(
                    message: "no entry \(UsageError.quoted(words[1])) in the help on \(first)",
                    reason: SpellingSuggestion.nearest(to: words[1], in: names).map {
                        "did you mean \(program) help \(first) \($0)?"
                    }, hint: hint([first]))
            }
            return .entry(words[1], of: page.name)
        }
        var chain = [root]
        for word in words {
            if let command = chain.last, command.subcommands.isEmpty {
                throw unexpected(word, inHelpOn: chain.dropFirst().map(\.name))
            }
            guard let next = chain.last?.subcommand(word) else {
                throw unknownCommand(word, below: chain, orPages: chain.count == 1)
            }
            chain.append(next)
        }
        return .command(chain.dropFirst().map(\.name))
    }

    /// Returns the error for a word after a topic without subtopics.
    private func unexpected(_ word: String, inHelpOn path: [String]) -> UsageError {
        UsageError(
            message: "unexpected argument \(UsageError.quoted(word))",
            reason: "help on \(path.joined(separator: " ")) is one page", hint: hint(path))
    }

    /// Returns the error for an unknown command.
    ///
    /// - Parameter orPages: whether the word may also be a page of help.
    private func unknownCommand(_ word: String, below chain: [CommandSpec], orPages: Bool = false) -> UsageError {
        let path = chain.dropFirst().map(\.name)
        let commands = chain.last?.subcommands ?? []
        let pages = orPages ? reference.pages.map(\.name) : []
        let near = SpellingSuggestion.nearest(to: word, in: commands.flatMap { [$0.name] + $0.aliases } + pages)
        let full = ([program] + path).joined(separator: " ")
        var reason = near.map { "did you mean \(full) \(pages.contains($0) ? "help " : "")\($0)?" }
        if path.isEmpty, root.options.contains(where: { $0.name == word }) {
            reason = "did you mean \(full) --\(word)?"
        }
        if near == nil, !path.isEmpty { reason = "\(full) has " + OptionSpec.list(commands.map(\.name)) }
        return UsageError(message: "unknown command \(UsageError.quoted(word))", reason: reason, hint: hint(path))
    }
}
