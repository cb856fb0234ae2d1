import CommandLineKit
import LodgePlatform
import DirectorySearch
import OAuth2AccountStore

/// `completion`, and the request of its scripts.
@MainActor struct CompletionCommand {
    enum Input {
        static let shell = Argument.required(
            "SHELL", "bash, zsh or fish", completion: .words(CompletionScript.allCases.map(\.rawValue)))
    }

    nonisolated static let command = Command(
        "completion", "Print the completion script for a shell.",
        discussion: "The script completes commands, options, accounts, account types, fields and files.",
        examples: ["source <(lodge completion bash)", "lodge completion fish | source"], arguments: [Input.shell],
        formats: OutputFormat.ofText
    ) { try CompletionCommand($0.world).run($0.invocation) }

    private let world: CommandEnvironment

    init(_ world: CommandEnvironment) { self.world = world }

    func run(_ invocation: Invocation) throws -> ExitStatus {
        let name = invocation[Input.shell]
        guard let script = CompletionScript(rawValue: name) else {
            let names = CompletionScript.allCases.map(\.rawValue)
            throw CommandError(
                .usage, "no completion for \(UsageError.quoted(name))", reason: "expected \(OptionSpec.list(names))",
                hint: SpellingSuggestion.nearest(to: name, in: names).map { "lodge completion \($0)" }
                    ?? "lodge help completion")
        }
        try world.console.write(script.text(program: commandSyntax.program))
        return .done
    }

    /// Prints the candidates for the last word, one per line, each with its help after a tab.
    func complete(_ words: [String]) async throws {
        let (before, current) = (Array(words.dropLast()), words.last ?? "")
        let completion = Completion(after: before, of: current, in: commandSyntax)
        var candidates: [Candidate] = []
        switch completion.source {
        case .words(let words): candidates = words
        case .kind(.file): return try world.console.writeLine(CompletionScript.files)
        case .kind(.content), .kind(.part):
            guard let begun = completion.beginningOfFile(in: current) else { return }
            return try world.console.writeLine(CompletionScript.files + "\t" + begun)
        case .kind(.folder): return try world.console.writeLine(CompletionScript.folders)
        case .kind(let kind): candidates = await known(kind, before)
        }
        // Fields form a list: the text before the last comma stays.
        if case .kind(.list) = completion.source {
            let typed = current.dropFirst(completion.prefix.count)
            let begun = typed.lastIndex(of: ",").map { String(typed[...$0]) } ?? ""
            candidates = candidates.map { Candidate(word: begun + $0.word, help: $0.help) }
        }
        for candidate in candidates {
            let word = completion.prefix + candidate.word
            // Omit a candidate that would break the line or the terminal.
            guard word.hasPrefix(current), word == word.visible else { continue }
            try world.console.writeLine(word + "\t" + candidate.help.visible)
        }
    }

    /// Returns names from the settings and the store; empty if they cannot be read, because completion shows no errors.
    private func known(_ kind: CompletionKind, _ words: [String]) async -> [Candidate] {
        // The options that select the settings and the store, if already typed.
        guard
            let invocation = try? commandSyntax.parse(
                arguments: ["accounts", "list"] + storeOptions(in: words), environment: world.environment)
        else { return [] }
        let context = CommandContext(command: AccountsCommand.listCommand, invocation: invocation, world: world)
        switch kind {
        case .names("type"):
            let settings = try? context.settings()
            let types = settings?.typeNames ?? []
            return types.map { Candidate(word: $0, help: "account type") }
                + ProviderPreset.names.filter { !types.contains($0) }.map { Candidate(word: $0, help: "preset") }
        case .names("account"):
            guard let settings = try? context.settings(), let store = try? await context.store(settings) else {
                return []
            }
            let accounts = (try? await store.accounts(ofType: nil)) ?? []
            return accounts.map { Candidate(word: $0.label, help: "account of type \($0.type)") }
        case .format: return OutputFormat.names.map { Candidate(word: $0) }
        case .list: return UserProperty.documented.map { Candidate(word: $0.rawValue) }
        case .names("preset"): return ProviderPreset.names.map { Candidate(word: $0, help: "preset") }
        case .words(let words): return words.map { Candidate(word: $0) }
        case .none, .file, .folder, .content, .part, .names: return []
        }
    }

    private func storeOptions(in words: [String]) -> [String] {
        let names = ["--settings", "--store"]
        var found: [String] = []
        for (location, word) in words.enumerated() {
            if names.contains(word), location + 1 < words.count { found += [word + "=" + words[location + 1]] }
            if names.contains(where: { word.hasPrefix($0 + "=") }) { found.append(word) }
        }
        return found
    }
}
