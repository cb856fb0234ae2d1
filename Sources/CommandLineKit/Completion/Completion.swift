/// A completion candidate and its description.
package struct Candidate: Sendable, Equatable {
    package var word: String
    package var help = ""

    package init(word: String, help: String = "") {
        self.word = word
        self.help = help
    }
}

/// The completion candidates for the current word, from the declarations of the commands.
package struct Completion: Sendable, Equatable {
    package enum Source: Sendable, Equatable {
        case words([Candidate])
        /// Candidates of this kind: files, or names from the store or the settings.
        case kind(CompletionKind)
    }

    /// The prefix of each candidate within the word: `--output=`.
    package var prefix = ""
    package var source: Source

    package static let nothing = Completion(source: .words([]))

    /// Creates the completion of `current` after these words.
    package init(after words: [String], of current: String, in syntax: CommandSyntax) {
        let line = CompletedLine(words, syntax)
        if let option = line.open {
            self = Self(valueOf: option)
            return
        }
        if !line.optionsEnded, current.hasPrefix("-") {
            if let equals = current.firstIndex(of: "="), current.hasPrefix("--") {
                let name = current[..<equals].dropFirst(2)
                self = line.options.first { $0.takesValue && $0.name == name }.map(Self.init(valueOf:)) ?? .nothing
                prefix = String(current[...equals])
                return
            }
            let left = line.options.filter { $0.isRepeated || !line.typedOptions.contains($0.name) }
            source = .words(left.map { Candidate(word: "--" + $0.name, help: $0.help) })
            return
        }
        self = Self(argumentOf: line, in: syntax)
    }

    /// Returns the prefix before a file name in a word such as `@photo.jpg` or `--part=file=@photo.jpg`.
    ///
    /// Returns `nil` if the word does not name a file.
    package func beginningOfFile(in current: String) -> String? {
        let value = current.dropFirst(prefix.count)
        var start = value.startIndex
        if source == .kind(.part) {
            guard let equals = value.firstIndex(of: "=") else { return nil }
            start = value.index(after: equals)
        }
        guard value[start...].hasPrefix("@") else { return nil }
        let begun = String(current[...start])
        // Omit a prefix that would break the line.
        return begun == begun.visible ? begun : nil
    }

    private init(source: Source) { self.source = source }

    private init(valueOf option: OptionSpec) {
        switch (option.completion, option.value) {
        case (.none, .choice(let words)): self.init(.words(words))
        case (let kind, _): self.init(kind)
        }
    }

    private init(_ kind: CompletionKind) {
        if case .words(let words) = kind {
            source = .words(words.map { Candidate(word: $0) })
        } else {
            source = .kind(kind)
        }
    }

    private init(argumentOf line: CompletedLine, in syntax: CommandSyntax) {
        func names(_ command: CommandSpec?) -> [Candidate] {
            (command?.subcommands ?? []).map { Candidate(word: $0.name, help: $0.summary) }
        }
        let command = line.chain.last ?? syntax.root
        if line.chain.map(\.name).dropFirst() == ["help"] {
            let below = syntax.chain(to: line.arguments)?.last
            let pages = syntax.reference.pages.map { Candidate(word: $0.name, help: $0.summary) }
            self.init(source: .words(names(below) + (line.arguments.isEmpty ? pages : [])))
        } else if !command.subcommands.isEmpty {
            self.init(source: .words(line.arguments.isEmpty ? names(command) : []))
        } else {
            let last = command.arguments.last.flatMap { $0.isVariadic ? $0 : nil }
            let location = line.arguments.count
            self.init((location < command.arguments.count ? command.arguments[location] : last)?.completion ?? .none)
        }
    }
}

private struct CompletedLine {
    var chain: [CommandSpec]
    var arguments: [String] = []
    var typedOptions: Set<String> = []
    /// The option that expects the next word as its value.
    var open: OptionSpec?
    var optionsEnded = false
    let syntax: CommandSyntax

    var options: [OptionSpec] { syntax.options(for: chain) }

    init(_ words: [String], _ syntax: CommandSyntax) {
        self.syntax = syntax
        chain = [syntax.root]
        for word in words { read(word) }
    }

    private mutating func read(_ word: String) {
        if open != nil {
            open = nil
        } else if !optionsEnded, word == "--" {
            optionsEnded = true
        } else if !optionsEnded, ArgumentScan.isOption(word) {
            readOption(word)
        } else if !optionsEnded, arguments.isEmpty, let next = chain.last?.subcommand(word) {
            chain.append(next)
        } else {
            arguments.append(word)
        }
    }

    private mutating func readOption(_ word: String) {
        if word.hasPrefix("--") {
            let name = word.dropFirst(2).prefix { $0 != "=" }
            guard let option = options.first(where: { $0.name == name }) else { return }
            typedOptions.insert(option.name)
            if option.takesValue, !word.contains("=") { open = option }
            return
        }
        for (location, letter) in word.dropFirst().enumerated() {
            guard let option = options.first(where: { $0.short == letter }) else { return }
            typedOptions.insert(option.name)
            guard option.takesValue else { continue }
            // The rest of the word is the value of this option.
            if location == word.count - 2 { open = option }
            return
        }
    }
}
