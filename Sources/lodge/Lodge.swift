import CommandLineKit
import Platform
import Dispatch

@main enum Lodge {
    @MainActor static func main() async {
        let environment = ProcessInfo.processInfo.environment
        let console = Console.process(Program.name, environment: environment)
        // A limit on the size of files is an error that a write reports, not a reason to die.
        signal(SIGXFSZ, SIG_IGN)
        // Tokens are in memory.
        ProcessLimits.forbidCoreFiles()
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

    @MainActor static func run(_ arguments: [String], _ world: CommandEnvironment) async -> ExitStatus {
        let console = world.console
        if let status = await runTool(arguments, world) { return status }
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
            case .version: try console.writeLine("\(Program.name) \(Program.version)")
            case .help(let topic): try console.writeLine(HelpText(syntax: commandSyntax).text(topic))
            case .run:
                console.options = ConsoleOptions(invocation)
                guard let command = Command.at(invocation.path, in: Command.all) else {
                    throw CommandError(.usage, "no command", hint: "lodge help")
                }
                status = try await command(CommandContext(command: command, invocation: invocation, world: world))
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

    /// Runs the hidden commands of the completion scripts and the installation.
    @MainActor private static func runTool(_ arguments: [String], _ world: CommandEnvironment) async -> ExitStatus? {
        switch arguments.first {
        case CompletionScript.request: try? await CompletionCommand(world).complete(Array(arguments.dropFirst()))
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
            reporting: error, type: isRun ? invocation[GlobalOptions.type] : nil,
            remedyText: isRun ? invocation.remedyText : RemedyText())
        console.report(failure)
        return failure.status
    }
}
