import Testing

@testable import CommandLineKit
@testable import lodge

@Suite struct CompletionTests {
    private func words(_ line: String...) -> [String] {
        guard
            case .words(let candidates) = Completion(
                after: Array(line.dropLast()), of: line.last ?? "", in: commandSyntax
            ).source
        else { return [] }
        return candidates.map(\.word)
    }

    private func kind(_ line: String...) -> CompletionKind? {
        guard
            case .kind(let kind) = Completion(after: Array(line.dropLast()), of: line.last ?? "", in: commandSyntax)
                .source
        else { return nil }
        return kind
    }

    @Test func `the first word completes to commands, the next word to subcommands`() {
        #expect(words("").contains("search") && words("").contains("completion"))
        #expect(words("accounts", "") == commandSyntax.root.subcommand("accounts")?.subcommands.map(\.name))
        #expect(words("--output", "json", "-o", "table", "accounts", "").contains("use"))
    }

    @Test func `options of the command and global options are completed, except those already typed`() {
        let options = words("search", "--surname", "x", "--")
        #expect(options.contains("--given-name") && options.contains("--output") && !options.contains("--surname"))
        #expect(words("sign-in", "--scope", "a", "--").contains("--scope"))
        #expect(!words("accounts", "--").contains("--given-name"))
    }

    @Test func `an option's value is completed in every spelling of the option`() {
        #expect(kind("search", "--output", "") == .format)
        #expect(kind("search", "-o", "") == .format)
        #expect(Completion(after: ["search"], of: "--output=j", in: commandSyntax).prefix == "--output=")
        #expect(kind("search", "--output=j") == .format)
        #expect(
            kind("--settings", "") == .file && kind("--store", "") == .folder && kind("me", "--account", "") == .account
        )
        #expect(kind("search", "--no-such=", "") != .file)
    }

    @Test func `a file name is completed only after the @ that starts it`() {
        func begun(_ line: String...) -> String? {
            let current = line.last ?? ""
            return Completion(after: ["request"] + line.dropLast(), of: current, in: commandSyntax)
                .beginningOfFile(in: current)
        }
        #expect(begun("--data", "@a@b") == "@" && begun("--json=@a") == "--json=@")
        #expect(begun("--part", "file=@ph") == "file=@" && begun("--part=a=@") == "--part=a=@")
        #expect(begun("--data", "text") == nil && begun("--part", "@a") == nil && begun("--part", "a=b=@c") == nil)
        #expect(kind("request", "--data", "@") == .content && kind("request", "--output", "") == .file)
    }

    @Test func `arguments are completed by position, even after -- and options`() {
        #expect(kind("sign-in", "") == .type)
        #expect(kind("accounts", "use", "--output", "json", "") == .account)
        #expect(kind("accounts", "use", "ada", "") == CompletionKind.none)
        #expect(kind("exec", "--", "ls", "-") == .file)
        #expect(kind("search", "--", "--out") == CompletionKind.none)
    }

    @Test func `help completes to the commands that it explains`() {
        #expect(words("help", "").contains("options") && words("help", "").contains("search"))
        #expect(words("help", "accounts", "").contains("use"))
        #expect(words("help", "no-such", "").isEmpty)
    }
}
