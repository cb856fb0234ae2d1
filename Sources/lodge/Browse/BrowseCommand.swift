import CommandLineKit
import TerminalBrowser
import OAuth2AccountStore

@MainActor struct BrowseCommand: CommandHandler {
    enum Input {
        static let text = Argument.words("TEXT", "what to search for first", optional: true)
        static let offline = Option.flag("offline", "search the copy that sync keeps")
    }

    nonisolated static let command = Command(
        "browse", "Look people up while you type, in the whole terminal.",
        discussion: """
            The line on top is what is searched for, the line at the bottom names the keys, and ? shows the others. Without an account it offers \
            to sign in. Where lodge sync was done, the copy on this machine answers first, and alone with --offline.
            """, examples: ["lodge browse", "lodge browse ada lo", "lodge browse --offline"], arguments: [Input.text],
        options: [Input.offline], formats: OutputFormat.ofText, timeoutUse: .request
    ) { try await BrowseCommand(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        let inbox = EventQueue()
        let given = context.world.browseTerminal
        // Before anything is opened: nothing works without one.
        if given == nil, !console.terminal.inputIsTerminal || !console.terminal.outputIsTerminal {
            throw CommandError.notTerminal(console.terminal)
        }
        // The screen is one's own from here on: nobody else writes on it.
        let verbosity = console.options.verbosity
        console.options.verbosity = .quiet
        defer { console.options.verbosity = verbosity }

        let accounts = try await BrowseAccounts(context, inbox)
        let terminal: any BrowseTerminal
        if let given {
            terminal = try await given(inbox)
        } else {
            do {
                terminal = try await CursesTerminal.open(
                    into: inbox, environment: context.world.environment, usesColor: console.usesColor)
            } catch let error as TerminalError {
                throw CommandError(error)
            }
        }
        let model = BrowseModel(
            text: invocation[Input.text].joined(separator: " "), types: accounts.types,
            showsPictures: terminal.showsPictures, isOffline: invocation[Input.offline],
            incompleteNote: "Not complete: lodge sync goes on with it.")
        let session = BrowseSession(model, terminal, inbox, context, accounts)
        do {
            try await session.run()
        } catch {
            await terminal.close()
            throw error
        }
        await terminal.close()
        return .done
    }
}
