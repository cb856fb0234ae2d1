import Testing

@testable import CommandLineKit

@Suite struct HelpTests {
    private let help = HelpText(syntax: sample)

    private func lines(_ topic: HelpTopic) -> [String] {
        help.text(topic).split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    @Test func `help shows the purpose, usage, examples, arguments and options in this order`() {
        #expect(
            help.text(.command(["sign-in"])) == """
                Sign in to an account and keep it.

                Usage: lodge sign-in [OPTIONS] [TYPE]
                Alias: login

                Examples:
                  lodge sign-in graph

                Arguments:
                  [TYPE]             account type to sign in to

                Options:
                  -d, --device       sign in with a code on another device
                      --no-browser   print the address and wait
                  -s, --scope SCOPE  scope to ask for; may be repeated
                      --port PORT    port to listen on

                Global options (--output, --account, --type, …): lodge help options
                """)
    }

    @Test func `help of a group lists its commands`() {
        #expect(
            help.text(.command(["accounts"])) == """
                List and change the kept accounts.

                Usage: lodge accounts [COMMAND] [OPTIONS]

                Examples:
                  lodge accounts

                Commands:
                  list    List the accounts (the default)
                  rename  Give an account another name

                Global options (--output, --account, --type, …): lodge help options
                """)
    }

    @Test func `the help of the program groups its commands and explains its examples`() {
        var sign = CommandSpec("sign-in", aliases: ["login"], "Sign in.")
        sign.group = "Sign in"
        var search = CommandSpec("search", "Search for users.")
        search.group = "People"
        var status = CommandSpec("status", "Show accounts.")
        status.group = "Sign in"
        let program = CommandSyntax(
            root: CommandSpec(
                "lodge", "Keep accounts.",
                examples: [CommandExample("lodge sign-in", "sign in with the browser"), "lodge search ada lovelace"],
                subcommands: [sign, search, status]),
            globalOptions: [],
            reference: ProgramReference(
                pages: [HelpPage(name: "options", summary: "The options.") { _ in [] }], helpGroup: "People"))
        #expect(
            HelpText(syntax: program).text(.command([])) == """
                Keep accounts.

                Usage: lodge COMMAND [OPTIONS]

                Examples:
                  lodge sign-in   sign in with the browser
                  lodge search ada lovelace

                Sign in:
                  sign-in  Sign in (alias: login)
                  status   Show accounts

                People:
                  search   Search for users
                  help     Show help for a command or topic

                Help topics (lodge help TOPIC): options
                """)
    }

    @Test func `every help page fits 80 columns, and all except the largest fit a screen`() {
        var topics: [HelpTopic] = [.page("options"), .command([])]
        func collect(_ command: CommandSpec, _ path: [String]) {
            for next in command.subcommands {
                topics.append(.command(path + [next.name]))
                collect(next, path + [next.name])
            }
        }
        collect(sample.root, [])
        #expect(topics.count == 16)
        for topic in topics {
            let lines = lines(topic)
            #expect(lines.count > 2, "\(topic)")
            #expect(lines.allSatisfy { TerminalText.width($0) <= 80 && !$0.hasSuffix(" ") }, "\(topic)")
            #expect(lines.count <= 24 || topic == .command(["search"]), "\(topic)")
        }
    }

    @Test func `help shows a page by its name`() {
        #expect(help.text(.page("options")) == "The options.\n\nAbout options.")
        #expect(help.text(.page("bogus")).isEmpty)
    }

    @Test func `long texts wrap between words`() {
        let narrow = HelpText(syntax: sample, width: 40)
        let lines = narrow.text(.command(["search"])).split(separator: "\n").map(String.init)
        #expect(lines.contains("Several conditions must all hold; with"))
        #expect(lines.contains("  --fields LIST      properties to show:"))
        #expect(lines.contains("                     mail,manager.displayName"))
    }

    @Test func `an unknown command has no help`() { #expect(help.text(.command(["bogus"])).isEmpty) }
}
