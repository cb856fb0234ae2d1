import LodgePlatform

/// Reads the options and arguments of a command line whose command is known.
package struct ArgumentScan {
    package let options: [OptionSpec]
    package private(set) var values: [String: Invocation.Value] = [:]
    private let syntax: CommandSyntax
    private let command: CommandSpec
    private let path: [String]
    private var positionals: [String] = []

    package init(syntax: CommandSyntax, chain: [CommandSpec]) {
        self.syntax = syntax
        options = syntax.options(for: chain)
        command = chain.last ?? syntax.root
        path = chain.dropFirst().map(\.name)
    }

    /// Returns whether a word looks like an option: a dash with more characters. A single dash means standard input.
    static func isOption(_ word: String) -> Bool { word.hasPrefix("-") && word.unicodeScalars.count > 1 }

    /// Reads all words except the command's name, whose words are at `indexes`.
    package mutating func read(_ arguments: [String], skipping indexes: Set<Int>) throws(UsageError) {
        var index = 0
        var optionsEnded = false
        while index < arguments.count {
            let word = arguments[index]
            defer { index += 1 }
            if indexes.contains(index), !optionsEnded { continue }
            if optionsEnded || !Self.isOption(word) {
                positionals.append(word)
            } else if word == "--" {
                optionsEnded = true
            } else {
                // The next word, in case the option needs it. The name of the command is never a value.
                let hasNext = index + 1 < arguments.count && !indexes.contains(index + 1)
                let next = hasNext && !Self.looksLikeOption(arguments[index + 1]) ? arguments[index + 1] : nil
                let usedNext = word.hasPrefix("--") ? try readLong(word, next) : try readCluster(word, next)
                if usedNext { index += 1 }
            }
        }
    }

    /// Returns whether a word looks like an option. A negative number may be a value, which the option then checks.
    private static func looksLikeOption(_ word: String) -> Bool {
        guard isOption(word) else { return false }
        return !(word.utf8.dropFirst().first.map { $0 >= 0x30 && $0 <= 0x39 } ?? false)
    }

    private mutating func readLong(_ word: String, _ next: String?) throws(UsageError) -> Bool {
        let body = word.dropFirst(2)
        let name = String(body.prefix { $0 != "=" })
        let attached = body.count > name.count ? String(body.dropFirst(name.count + 1)) : nil
        guard let option = options.first(where: { $0.name == name }) else { throw unknown("--" + name) }
        return try take(option, as: "--" + name, attached: attached, next: next)
    }

    /// Parses `-v`, `-vq`, `-ojson`: flags, of which the last can be an option with its value.
    private mutating func readCluster(_ word: String, _ next: String?) throws(UsageError) -> Bool {
        var rest = word.dropFirst()
        while let letter = rest.popFirst() {
            guard let option = options.first(where: { $0.short == letter }) else { throw unknown("-\(letter)") }
            if option.takesValue {
                return try take(option, as: "-\(letter)", attached: rest.isEmpty ? nil : String(rest), next: next)
            }
            let isAssigned = rest.first == "="
            _ = try take(option, as: "-\(letter)", attached: isAssigned ? String(rest.dropFirst()) : nil, next: nil)
        }
        return false
    }

    /// Stores one option. Returns whether the next word was its value.
    private mutating func take(
        _ option: OptionSpec, as typed: String, attached: String?, next: String?
    ) throws(UsageError) -> Bool {
        guard option.takesValue else {
            // The message omits the value: if the option was confused with another one, it may be a secret.
            if attached != nil { throw error("\(typed) takes no value", "it is a flag") }
            values[option.name] = Invocation.Value(texts: [], source: .option)
            return false
        }
        guard let text = attached ?? next else {
            let dash = typed.hasPrefix("--") ? "\(typed)=VALUE" : "\(typed)VALUE"
            throw error(
                "\(typed) needs a value",
                "write \(typed) \(option.valueName ?? "VALUE"), or \(dash) if it begins with a dash")
        }
        if let expected = option.problem(in: text) {
            throw error("\(typed) cannot be \(UsageError.quoted(text))", expected)
        }
        if values[option.name] != nil, !option.isRepeated {
            throw error("\(typed) is given twice", "it takes one value")
        }
        values[option.name, default: Invocation.Value(texts: [], source: .option)].texts.append(text)
        return attached == nil
    }

    /// Reads options that are not on the command line from their environment variables.
    mutating func readEnvironment(_ environment: [String: String]) throws(UsageError) {
        for option in options where values[option.name] == nil {
            guard let variable = syntax.variable(of: option), let text = environment[variable], !text.isEmpty else {
                continue
            }
            if option.takesValue {
                let texts = option.isRepeated ? text.split(separator: "\n").map(String.init) : [text]
                for text in texts {
                    guard let expected = option.problem(in: text) else { continue }
                    throw error("\(variable) cannot be \(UsageError.quoted(text))", expected)
                }
                values[option.name] = Invocation.Value(texts: texts, source: .environment(variable))
            } else if let isSet = OptionSpec.truth(text) {
                if isSet { values[option.name] = Invocation.Value(texts: [], source: .environment(variable)) }
            } else {
                throw error("\(variable) cannot be \(UsageError.quoted(text))", "expected 1 or 0, true or false")
            }
        }
    }

    func namedArguments() throws(UsageError) -> [String: [String]] {
        var named: [String: [String]] = [:]
        var rest = positionals[...]
        for argument in command.arguments {
            if rest.isEmpty, !argument.isOptional {
                throw error("\(argument.name) is missing", argument.help)
            }
            named[argument.name] = argument.isVariadic ? Array(rest) : Array(rest.prefix(1))
            rest = argument.isVariadic ? [] : rest.dropFirst()
        }
        if let extra = rest.first {
            let count = command.arguments.count
            let reason =
                switch count {
                case 0: "\(path.joined(separator: " ")) takes none"
                case 1: "\(path.joined(separator: " ")) takes one; quote it if it has spaces"
                default: "\(path.joined(separator: " ")) takes \(count)"
                }
            throw error("unexpected argument \(UsageError.quoted(extra))", reason)
        }
        return named
    }

    private func unknown(_ typed: String) -> UsageError {
        let visible = TerminalText.truncated(String(typed.prefix(64)).visible, to: 40)
        var reason: String?
        if typed.hasPrefix("--"), let near = SpellingSuggestion.nearest(to: typed, in: options.map { "--" + $0.name }) {
            reason = "did you mean \(near)?"
        } else if typed.hasPrefix("-"), !typed.hasPrefix("--"), !command.arguments.isEmpty {
            reason = "write -- before words that begin with a dash"
        }
        return error("unknown option \(visible)", reason)
    }

    private func error(_ message: String, _ reason: String?) -> UsageError {
        UsageError(message: message, reason: reason, hint: syntax.hint(path))
    }
}
