import CommandLineKit
import DirectorySearch
import OAuth2AccountStore
import TerminalBrowser

@MainActor struct BrowseCommand: CommandHandler {
    enum Input {
        static let text = Argument.words("TEXT", "text to search for first", optional: true)
        static let fields = Option.text(
            "fields", "A,B", "fields to print of the chosen users (mail)", completion: .field)
        static let offline = Option.flag("offline", "search the offline copy of lodge sync")
    }

    nonisolated static let command = Command(
        "browse", "Search the directory interactively.",
        discussion: """
            Results appear while you type. The last line shows the most important keys; ? shows all keys. Without an account, lodge offers \
            to sign in. If lodge sync has made an offline copy, its results appear first. If standard output is not a terminal, browse is a \
            picker: Enter prints the mail address of the selected user, or of all users marked with space, one per line. Without a \
            choice, it ends with status 130.
            """,
        examples: [
            "lodge browse", "lodge browse ada lo", "mutt -- $(lodge browse ada)",
            "lodge browse --fields id,displayName | cut -f 1",
        ], arguments: [Input.text], options: [Input.fields, Input.offline], formats: OutputFormat.ofUsers,
        json: .array(
            of: [:], note: "The picker writes the chosen users: the properties of Graph, or the fields of --fields"),
        timeoutUse: .request
    ) { try await BrowseCommand(context: $0).run() }

    let context: CommandContext

    private static let defaultFields = ["mail"]

    private var isPicker: Bool { context.world.browseTerminal == nil && !console.terminal.outputIsTerminal }

    func run() async throws -> ExitStatus {
        let fields = try context.fields(Input.fields)
        // Report a wrong field before opening the terminal.
        if let fields { _ = try UserQuery.everyone(select: fields).plan() }
        if !isPicker {
            let picked: [any DeclaredOption] = [Input.fields, GlobalOptions.standard.output]
            if let option = picked.first(where: { invocation.source(of: $0) == .option }) {
                throw CommandError(
                    .usage, "--\(option.spec.name) is only for the picker", reason: "standard output is a terminal",
                    hint: "to print the chosen users, run: \(run: "browse") | cat")
            }
        }
        // Checked first, because nothing works without a terminal.
        let redirection = try terminalRedirection()
        let session: BrowseSession<BrowseModel>
        do {
            session = try await runSession(fields)
        } catch {
            redirection?.restore()
            throw error
        }
        redirection?.restore()
        guard isPicker else { return .done }
        guard !session.chosen.isEmpty else { return .interrupted }
        try write(try await session.chosen(with: fields ?? Self.defaultFields), fields)
        return .done
    }

    /// Opens the terminal of the session, unless the standard streams are a terminal.
    private func terminalRedirection() throws(CommandError) -> ControllingTerminal? {
        guard context.world.browseTerminal == nil, isPicker || !console.terminal.inputIsTerminal else { return nil }
        do {
            return try context.world.takeControllingTerminal()
        } catch {
            throw CommandError(error)
        }
    }

    private func runSession(_ fields: [String]?) async throws -> BrowseSession<BrowseModel> {
        let inbox = EventQueue()
        // Messages would damage the screen.
        let verbosity = console.options.verbosity
        console.options.verbosity = .quiet
        defer { console.options.verbosity = verbosity }

        let accounts = try await BrowseAccounts(context, inbox)
        let terminal = try await openTerminal(inbox)
        let model = BrowseModel(
            text: invocation[Input.text].joined(separator: " "), types: accounts.types,
            showsPictures: terminal.showsPictures, isOffline: invocation[Input.offline],
            incompleteNote: "Not complete: lodge sync continues.",
            picker: isPicker ? BrowsePicker(requiresMail: fields == nil && format == .table) : nil)
        let session = BrowseSession(model, terminal, inbox, context, accounts)
        do {
            try await session.run()
        } catch {
            await terminal.close()
            throw error
        }
        await terminal.close()
        return session
    }

    private func openTerminal(_ inbox: EventQueue) async throws -> any BrowseTerminal {
        if let given = context.world.browseTerminal { return try await given(inbox) }
        do {
            return try await CursesTerminal.open(
                into: inbox, environment: context.world.environment, usesColor: console.screenUsesColor)
        } catch let error as TerminalError {
            throw CommandError(error)
        }
    }

    /// Prints the chosen users for another program: one per line, without headings in a table.
    private func write(_ users: [User], _ fields: [String]?) throws {
        let fields = fields ?? (format == .table ? Self.defaultFields : nil)
        guard format == .table, let fields else {
            let shown = fields ?? UserQuery.defaultProperties
            let writer = format.list(UserRecord.columns(shown, format), console)
            for user in users { try writer.write(UserRecord(user: user, fields: shown)) }
            return try writer.finish()
        }
        for user in users {
            try console.writeLine(fields.map { UserFields.text(of: $0, in: user).visible }.joined(separator: "\t"))
        }
    }
}
