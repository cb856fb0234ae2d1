import Foundation
import Testing

@testable import CommandLineKit
@testable import lodge

/// The contract of the command declarations, for each command and option.
@Suite struct ContractTests {
    /// A command that can be run, and the words that select it.
    struct Leaf: CustomTestStringConvertible, Sendable {
        let chain: [CommandSpec]
        var command: CommandSpec { chain[chain.count - 1] }
        var path: [String] { chain.dropFirst().map(\.name) }
        var testDescription: String { path.joined(separator: " ") }
        /// A command line with all required arguments.
        var line: [String] {
            path + command.arguments.filter { !$0.isOptional }.map { _ in "word" }
        }
    }

    static let commands: [Leaf] = {
        func leaves(_ chain: [CommandSpec]) -> [Leaf] {
            let below = chain[chain.count - 1].subcommands
            return below.isEmpty ? [Leaf(chain: chain)] : below.flatMap { leaves(chain + [$0]) }
        }
        return leaves([commandSyntax.root])
    }()

    @Test func `the command declarations are valid`() {
        #expect(commandSyntax.problems().isEmpty)
        #expect(Self.commands.count > 30)
    }

    @Test(arguments: commands) func `a transcript runs each command with each of its options`(leaf: Leaf) throws {
        guard leaf.path != ["help"] else { return }
        let sources = try TranscriptSources.all.get()
        var words = leaf.chain.dropFirst().map { [$0.name] + $0.aliases }
        var isRun = sources.runs(words)
        if leaf.chain[leaf.chain.count - 2].defaultSubcommand == leaf.command.name {
            isRun = isRun || sources.runs(words.dropLast())
            if leaf.command.options.isEmpty { words = words.dropLast() }
        }
        #expect(isRun, "no transcript runs it")
        let missing = leaf.command.options.map(\.name).filter { !sources.runs(words, with: $0) }
        #expect(missing.isEmpty, "no transcript runs it with these options")
    }

    @Test func `a transcript uses each global option`() throws {
        let sources = try TranscriptSources.all.get()
        let missing = commandSyntax.globalOptions.filter { option in
            !sources.lines.contains { line in
                line.contains {
                    $0 == "--\(option.name)" || $0.hasPrefix("--\(option.name)=") || $0 == "-\(option.short ?? "-")"
                }
            }
        }
        #expect(missing.map(\.name).isEmpty)
    }

    @Test(arguments: commands) func `the help of each command starts with a valid example`(leaf: Leaf) throws {
        for command in leaf.chain { #expect(!command.examples.isEmpty, "\(command.name)") }
        for example in leaf.command.examples {
            let words = try #require(Self.words(of: example.line), "\(example)")
            let invocation = try commandSyntax.parse(arguments: words, environment: [:])
            if leaf.path == ["help"] {
                guard case .help = invocation.action else {
                    Issue.record("\(example)")
                    continue
                }
            } else {
                #expect(invocation.path == leaf.path, "\(example)")
            }
        }
    }

    /// Returns the words after `lodge` in a shell command line, up to the first operator of the shell.
    static func words(of example: String) -> [String]? {
        guard let range = example.firstRange(of: #/(^|[ (])lodge /#) else { return nil }
        var words: [String] = []
        var word: String?
        var quote: Character?
        var rest = example[range.upperBound...]
        while let character = rest.popFirst() {
            if character == "\\", let next = rest.popFirst() {
                word = (word ?? "") + String(next)
            } else if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "'" || character == "\"" {
                (quote, word) = (character, word ?? "")
            } else if character == " " {
                if let word { words.append(word) }
                word = nil
            } else if "|<>)".contains(character) {
                break
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }

    @Test func `every help text and page fits in 80 columns and 50 lines`() {
        var topics = commandSyntax.reference.pages.map { HelpTopic.page($0.name) } + [.command([])]
        func collect(_ command: CommandSpec, _ path: [String]) {
            for next in command.subcommands {
                topics.append(.command(path + [next.name]))
                collect(next, path + [next.name])
            }
        }
        collect(commandSyntax.root, [])
        for topic in topics {
            let lines = HelpText(syntax: commandSyntax).text(topic).split(
                separator: "\n", omittingEmptySubsequences: false)
            // These pages document the JSON of every command, every key of the settings, every error of serve, and six mail programs.
            let limit =
                [.page("formats"), .page("settings"), .page("faults"), .page("mail")].contains(topic) ? 180 : 50
            #expect(lines.count > 5 && lines.count <= limit, "\(topic): \(lines.count)")
            for line in lines {
                #expect(TerminalText.width(String(line)) <= 80, "\(topic)")
                #expect(!line.hasSuffix(" "), "\(topic)")
            }
        }
    }

    /// Returns a valid value of the option.
    private static func value(of option: OptionSpec) -> String {
        switch option.value {
        case .flag: "1"
        case .text: "text"
        case .integer(let range): "\(range.lowerBound)"
        case .seconds(let range): "\(range.lowerBound)"
        case .choice(let words): words[0]
        }
    }

    @Test(arguments: commands)
    func `only global options have a variable, which the option overrides`(
        leaf: Leaf
    ) throws {
        guard leaf.path != ["help"] else { return }
        for option in commandSyntax.options(for: leaf.chain) {
            let derived = commandSyntax.variable(named: option.name)
            guard let variable = commandSyntax.variable(of: option) else {
                #expect(option.name == "help" || leaf.chain.contains { $0.options.contains(option) }, "\(option.name)")
                // The variable does not set another option of the same name either.
                let found = try commandSyntax.parse(
                    arguments: leaf.line, environment: [derived: Self.value(of: option)])
                #expect(found.source(of: option) == nil, "\(option.name)")
                continue
            }
            #expect(variable == derived && commandSyntax.globalOptions.contains(option))
            let value = Self.value(of: option)
            let found = try commandSyntax.parse(arguments: leaf.line, environment: [variable: value])
            #expect(found.source(of: option) == .environment(variable), "\(option.name)")
            #expect(
                option.takesValue ? found.values[option.name]?.texts.last == value : found.source(of: option) != nil,
                "\(option.name)")
            let typed = leaf.line + ["--" + option.name] + (option.takesValue ? [value] : [])
            let both = try commandSyntax.parse(arguments: typed, environment: [variable: value])
            #expect(both.source(of: option) == .option, "\(option.name)")
        }
    }

    @Test(arguments: commands) func `a mistyped option suggests the closest option`(leaf: Leaf) throws {
        guard leaf.path != ["help"] else { return }
        for option in commandSyntax.options(for: leaf.chain) where option.name.count > 3 {
            // Leave out the last letter.
            let wrong = "--" + option.name.dropLast()
            guard !commandSyntax.options(for: leaf.chain).contains(where: { "--" + $0.name == wrong }) else { continue }
            do throws(UsageError) {
                _ = try commandSyntax.parse(arguments: leaf.line + [wrong], environment: [:])
                Issue.record("\(wrong) is accepted")
            } catch {
                #expect(error.message == "unknown option \(wrong)")
                #expect(error.reason == "did you mean --\(option.name)?", "\(wrong)")
            }
        }
    }

    @Test func `a mistyped command suggests the closest command`() {
        for leaf in Self.commands where leaf.path[leaf.path.count - 1].count > 2 {
            let wrong = leaf.path.dropLast() + [String(leaf.path[leaf.path.count - 1].dropLast())]
            do throws(UsageError) {
                _ = try commandSyntax.parse(arguments: Array(wrong), environment: [:])
                Issue.record("\(wrong) is accepted")
            } catch {
                #expect(error.reason?.contains("did you mean lodge") == true, "\(wrong): \(error)")
            }
        }
    }
}
