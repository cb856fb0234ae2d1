import CommandLineKit
import Platform
import Dispatch

/// The program: words in, an answer and an exit status out.
@main
enum Lodge {
    /// The name of the program and of its folders.
    static let name = "lodge"
    /// The version of everything in this package.
    static let version = "0.1.0"

    @MainActor
    static func main() async {
        let environment = ProcessInfo.processInfo.environment
        let console = Console.process("lodge", environment: environment)
        // A limit on the size of files is an error that a write reports, not a reason to die.
        signal(SIGXFSZ, SIG_IGN)
        forbidCoreFiles()
        let work = Task { @MainActor in
            await run(
                Array(CommandLine.arguments.dropFirst()), CommandEnvironment(console: console, environment: environment)
            )
        }
        let interruptions = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { @Sendable in
                work.cancel()
                // Whoever insists ends it at once, unless a pager has the terminal.
                if number != SIGINT || !PagerProcess.hasTerminal.load(ordering: .relaxed) { signal(number, SIG_DFL) }
            }
            source.activate()
            return source
        }
        let status = await work.value
        for source in interruptions { source.cancel() }
        // Everything is written and saved by now. An ordinary exit would have the libraries give back, piece by piece, what the
        // system takes back at once.
        _exit(status.rawValue)
    }

    /// Tokens are in memory: a core file must not take them along.
    static func forbidCoreFiles() {
        var none = rlimit()
        #if canImport(Glibc)
            setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none)
        #else
            setrlimit(RLIMIT_CORE, &none)
        #endif
    }

    /// Runs one command line.
    @MainActor
    static func run(_ arguments: [String], _ world: CommandEnvironment) async -> ExitStatus {
        let console = world.console
        if let status = await answerTools(arguments, world) { return status }
        let invocation: Invocation
        do throws(UsageError) {
            invocation = try commandSyntax.parse(arguments: arguments, environment: world.environment)
        } catch {
            console.options.reportsJSON = commandSyntax.prefersJSON(
                arguments: arguments, environment: world.environment)
            console.report(CommandError(error))
            return .usage
        }
        var status = ExitStatus.done
        do {
            switch invocation.action {
            case .version: try console.writeLine("lodge \(version)")
            case .help(let topic): try console.writeLine(HelpText(syntax: commandSyntax).text(topic))
            case .run:
                console.options = ConsoleOptions(invocation)
                status = try await perform(invocation, world)
                await world.stores.finishPendingRefreshes()
            }
            try console.flush()
            return status
        } catch {
            await world.stores.finishPendingRefreshes()
            try? console.endPaging()
            return finish(error, console, invocation)
        }
    }

    /// What the scripts of shells and the installation ask, which nobody types.
    @MainActor
    private static func answerTools(_ arguments: [String], _ world: CommandEnvironment) async -> ExitStatus? {
        switch arguments.first {
        case CompletionScript.question:
            try? await CompletionCommand(world).answer(Array(arguments.dropFirst()))
        case "__manual", "__reference":
            guard let folder = arguments.dropFirst().first else { return .usage }
            let isManual = arguments.first == "__manual"
            do {
                for page in isManual ? ManualPage.all(commandSyntax) : ReferencePage.all(commandSyntax) {
                    try page.text.write(toFile: folder + "/" + page.name, atomically: false, encoding: .utf8)
                }
            } catch {
                world.console.report(
                    CommandError(.failed, "cannot write the \(isManual ? "manual" : "reference")", reason: folder))
                return .failed
            }
        default: return nil
        }
        await world.stores.finishPendingRefreshes()
        do throws(OutputError) { try world.console.flush() } catch { return error.commandError?.status ?? .done }
        return .done
    }

    /// Reports why a command ended early, and gives its status.
    @MainActor
    private static func finish(_ error: any Error, _ console: Console, _ invocation: Invocation) -> ExitStatus {
        if let error = error as? OutputError {
            // Who reads the answer has stopped reading: that is no error.
            guard let failure = error.commandError else { return .done }
            console.report(failure)
            return failure.status
        }
        // What was answered before the failure is shown before it.
        try? console.flush()
        let isRun = invocation.action == .run
        let failure = CommandError(
            reporting: error, type: isRun ? invocation.string("type") : nil,
            remedyText: isRun ? invocation.remedyText : RemedyText())
        console.report(failure)
        return failure.status
    }

    /// A format never changes by itself: one that the command does not have is refused, not passed over. A command that only says
    /// sentences lets one from the environment be, which is for others.
    private static func checkFormat(_ invocation: Invocation) throws(CommandError) {
        // Its --output names a file.
        guard invocation.path != ["request"] else { return }
        let format = OutputFormat(invocation)
        let formats = commandSyntax.chain(to: invocation.path)?.last?.formats ?? []
        let isTyped = invocation.source(of: "output") == .option
        guard !formats.contains(format), isTyped || formats != OutputFormat.ofSentences else { return }
        let name = invocation.path.joined(separator: " ")
        if format == .vCard {
            throw CommandError(
                .usage, "vCards are for people", reason: "\(name) shows none",
                hint: "\(run: "search") ada --output vcard")
        }
        throw CommandError(
            .usage, "\(name) has no format \(format.rawValue)",
            reason: "it has \(OptionSpec.list(formats.map(\.rawValue)))", hint: "lodge help formats")
    }

    @MainActor
    private static func perform(_ invocation: Invocation, _ world: CommandEnvironment) async throws -> ExitStatus {
        let context = CommandContext(invocation: invocation, world: world)
        try checkFormat(invocation)
        switch invocation.path {
        case ["sign-in"]: return try await SignInCommand(context).run()
        case ["sign-out"]: return try await SignOutCommand(context).run()
        case ["accounts", "list"]: return try await AccountsCommand(context).list()
        case ["accounts", "show"]: return try await AccountsCommand(context).show()
        case ["accounts", "use"]: return try await AccountsCommand(context).use()
        case ["accounts", "rename"]: return try await AccountsTransfer(context).rename()
        case ["accounts", "import"]: return try await AccountsTransfer(context).importFile()
        case ["accounts", "export"]: return try await AccountsTransfer(context).export()
        case ["accounts", "salvage"]: return try await SalvageCommand(context).run()
        case ["accounts", "remove"]: return try await AccountsCommand(context).remove()
        case ["status"]: return try await StatusCommand(context).run()
        case ["doctor"]: return try await DoctorCommand(context).run()
        case ["token"]: return try await TokenCommand(context).run()
        case ["header"]: return try await ExecCommand(context).header()
        case ["exec"]: return try await ExecCommand(context).exec()
        case ["git-credential", "get"]: return try await GitCredentialCommand(context).get()
        case ["git-credential", "store"]: return try GitCredentialCommand(context).store()
        case ["git-credential", "erase"]: return try await GitCredentialCommand(context).erase()
        case ["request"]: return try await RequestCommand(context).run()
        case ["completion"]: return try CompletionCommand(world).run(invocation)
        case ["me"]: return try await PeopleCommand(context).me()
        case ["search"]: return try await SearchCommand(context).run()
        case ["lookup"]: return try await LookupCommand(context).run()
        case ["show"]: return try await PeopleCommand(context).show()
        case ["sync"]: return try await SyncCommand(context).run()
        case ["query"]: return try await QueryCommand(context).run()
        case ["browse"]: return try await BrowseCommand(context).run()
        case ["providers", "list"]: return try ProvidersCommand(context).list()
        case ["providers", "show"]: return try ProvidersCommand(context).show()
        case ["providers", "check"]: return try await ProvidersCommand(context).check()
        case ["providers", "add"]: return try await ProviderAddition(context).run()
        case ["providers", "remove"]: return try await ProviderRemoval(context).run()
        case ["config", "list"]: return try await ConfigCommand(context).list()
        case ["config", "get"]: return try await ConfigCommand(context).get()
        case ["config", "set"]: return try await ConfigCommand(context).set()
        case ["config", "path"]: return try ConfigCommand(context).path()
        case ["serve"]: return try await ServeCommand(context).run()
        case ["demo"]: return try await DemoCommand(context).run()
        default: throw CommandError(.usage, "no command", hint: "lodge help")
        }
    }
}
