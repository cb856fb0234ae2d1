import AgentProtocol
import CommandLineKit
import LodgeAgent
import OAuth2AccountStore
import LodgePlatform
import Dispatch

@main enum Lodge {
    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        // Before anything else: with an agent, the process needs neither threads nor libraries.
        let launch = Launch.current
        if arguments.first == AgentProcess.command { _exit(AgentProcess.run(arguments)) }
        let delegation =
            launch?.delegation ?? ProcessIdentity.programPath.map { Delegation(arguments, program: $0) } ?? .none
        Task { @MainActor in
            // Tokens are in memory.
            ProcessLimits.protectMemory()
            // A file size limit must make the write fail, not end the program.
            signal(SIGXFSZ, SIG_IGN)
            let environment = ProcessInfo.processInfo.environment
            // The library that connects to a TPM would write its own messages to standard error. Programs that lodge starts get the
            // environment without this variable.
            setenv("TSS2_LOG", "all+NONE", 0)
            if arguments.first == AgentWorkerName.command { await AgentWorker.run(store: arguments.dropFirst().first) }
            await run(arguments, environment, delegation)
        }
        dispatchMain()
    }

    /// Runs the command line of this process and ends the process.
    @MainActor private static func run(
        _ arguments: [String], _ environment: [String: String], _ delegation: Delegation
    ) async -> Never {
        let console = Console.process(Program.name, environment: environment)
        var world = CommandEnvironment(console: console, environment: environment)
        world.delegation = delegation
        if delegation == .none { world.startAgent = { AgentStart.start(arguments, environment) } }
        let work = Task { @MainActor [world] in await run(arguments, world) }
        let interruption = Interruption(stores: world.stores, program: world.program) {
            _exit($0)
        } cancel: {
            work.cancel()
        }
        let sources = EndingSignals.handle(interruption.receive)
        let status = await work.value
        withExtendedLifetime(sources) {}
        // All output is written and all tokens are saved. A normal exit would spend time on freeing the libraries'
        // memory.
        _exit(world.program.exitStatus ?? (status == .interrupted ? interruption.status : status.rawValue))
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
                if let error = CommandError(world.delegation) { throw error }
                let context = CommandContext(command: command, invocation: invocation, world: world)
                status = try await run(command, context)
                // The output does not wait for a refresh in progress.
                try console.flush()
                report(await endRefreshes(world), console)
                if let start = world.startAgent, context.startsAgentAutomatically { start() }
            }
            try console.flush()
            return status
        } catch {
            let ended = await endRefreshes(world)
            try? console.endPaging()
            if ended.saved > 0 { console.note("The provider's response arrived, and the new tokens are saved.") }
            // The error of the save itself names the file.
            if !isStorageError(error) { report(ended, console) }
            return finish(error, world, invocation)
        }
    }

    /// Runs a command until it ends or `--timeout` expires, including waits for locks and the database.
    @MainActor private static func run(_ command: Command, _ context: CommandContext) async throws -> ExitStatus {
        guard let deadline = context.deadline else { return try await command(context) }
        let result = Promise<ExitStatus>()
        let work = Task { @MainActor in
            do {
                result.finish(.success(try await command(context)))
            } catch {
                result.finish(.failure(CommandError(lockTimeout: error, deadline) ?? error))
            }
        }
        let timer = Task {
            // Requests and locks have the same limit, and their errors name the server or the process.
            try await Task.sleep(until: deadline + .milliseconds(100))
            result.finish(.failure(DeadlineTransport.tooLate))
            work.cancel()
        }
        defer { timer.cancel() }
        // Wait for an interrupted command, so that it can clean up.
        return try await withTaskCancellationHandler {
            try await Task { try await result.value() }.value
        } onCancel: {
            work.cancel()
        }
    }

    /// Reports tokens that could not be saved in the store, unless another process has done so since. `--quiet` does not silence it.
    @MainActor private static func report(_ ended: EndedRefreshes, _ console: Console) {
        guard let path = ended.rescueFiles.first(where: { FileManager.default.fileExists(atPath: $0) }) else { return }
        console.instruct(
            "lodge could not save the new tokens in the store. They are in \(path), and the next command "
                + (ended.isStorageShared
                    ? "on this machine saves them. Run it before another machine uses the account."
                    : "saves them: you are still signed in."))
    }

    private static func isStorageError(_ error: any Error) -> Bool {
        if case .storage? = (error as? AccountStoreError)?.kind { true } else { false }
    }

    /// Waits until the tokens of the sent requests are saved. Prints the reason after one second.
    @MainActor private static func endRefreshes(_ world: CommandEnvironment) async -> EndedRefreshes {
        let notice = Task { @MainActor in
            try await Task.sleep(for: .seconds(1))
            world.console.instruct("Waiting for the provider's response, so that your sign-in is not lost.")
        }
        defer { notice.cancel() }
        return await world.stores.endRefreshes()
    }

    /// Runs the hidden commands of the completion scripts and the installation.
    @MainActor private static func runTool(_ arguments: [String], _ world: CommandEnvironment) async -> ExitStatus? {
        switch arguments.first {
        case CompletionScript.request: try? await CompletionCommand(world).complete(Array(arguments.dropFirst()))
        case "__manual", "__reference":
            guard let folder = arguments.dropFirst().first else { return .usage }
            let isManual = arguments.first == "__manual"
            do {
                let pages =
                    isManual
                    ? ManualPage.all(commandSyntax, date: documentDate(arguments.dropFirst(2).first))
                    : ReferencePage.all(commandSyntax) + PresetPage.all
                for page in pages {
                    try page.text.write(toFile: folder + "/" + page.name, atomically: false, encoding: .utf8)
                }
            } catch {
                world.console.report(
                    CommandError(.failed, "cannot write the \(isManual ? "manual" : "reference")", reason: folder))
                return .failed
            }
        default: return nil
        }
        _ = await world.stores.endRefreshes()
        do throws(OutputError) { try world.console.flush() } catch { return error.commandError?.status ?? .done }
        return .done
    }

    /// Returns the date of the manual pages: the time of the sources in seconds since 1970, as for packages, otherwise today.
    private static func documentDate(_ time: String?) -> String {
        let seconds = time.flatMap { Double($0) }
        return String((seconds.map(Date.init(timeIntervalSince1970:)) ?? Date.now).rfc3339.prefix(10))
    }

    /// Reports why a command failed and returns its status.
    @MainActor
    private static func finish(_ error: any Error, _ world: CommandEnvironment, _ invocation: Invocation) -> ExitStatus
    {
        let console = world.console
        if let error = error as? OutputError {
            // The reader of a pipe closed it. That is not an error.
            guard let failure = error.commandError else { return .done }
            console.report(failure)
            return failure.status
        }
        // Show the output before the error.
        try? console.flush()
        let isRun = invocation.action == .run
        let failure = CommandError(
            reporting: error, type: isRun ? invocation[GlobalOptions.type] ?? world.stores.usedType : nil,
            remedyText: isRun ? invocation.remedyText : RemedyText())
        console.report(failure)
        return failure.status
    }
}
