import CommandLineKit
import TerminalBrowser
import OAuth2AccountStore

/// `browse`
@MainActor
struct BrowseCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func run() async throws -> ExitStatus {
        let console = context.console
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
                    into: inbox, environment: context.world.environment, usesColour: console.usesColour)
            } catch let error as TerminalError {
                throw CommandError(error)
            }
        }
        let model = BrowseModel(
            text: context.invocation.arguments("TEXT").joined(separator: " "), types: accounts.types,
            showsPictures: terminal.showsPictures, isOffline: context.invocation.flag("offline"),
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
