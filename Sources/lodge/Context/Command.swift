import CommandLineKit

/// A command of the program: declares its arguments and options, documents it and runs it.
///
/// To add a command, declare its value next to its code, and add it to `Command.all`:
///
///     @MainActor
///     struct GreetCommand {
///         enum Input {
///             static let name = Argument.required("NAME", "the name to greet")
///             static let times = Option.integer("times", "N", "how often (1)", in: 1...9)
///         }
///
///         nonisolated static let command = Command(
///             "greet", "Print a greeting.", examples: ["lodge greet ada"],
///             arguments: [Input.name], options: [Input.times], formats: OutputFormat.ofSentences
///         ) { context in
///             for _ in 0..<(context.invocation[Input.times] ?? 1) {
///                 try context.console.writeLine("Hello, \(context.invocation[Input.name])")
///             }
///             return .done
///         }
///     }
struct Command: Sendable {
    typealias Run = @MainActor @Sendable (CommandContext) async throws -> ExitStatus

    /// The operation that `--timeout` limits.
    enum TimeoutUse {
        /// The whole command, including retries.
        case command
        /// Each request and the wait for the key. The command itself runs as long as the user wants.
        case request
        /// Only the sign-in.
        case signIn
    }

    /// The declaration for parsing and help.
    let spec: CommandSpec
    let timeoutUse: TimeoutUse
    /// Whether `--timeout` ends a command line, if ``timeoutUse`` is the whole command.
    let hasDeadline: @Sendable (Invocation) -> Bool
    /// Whether the built-in presets suffice without a settings file, because the command uses accounts in the store.
    private(set) var needsNoSettings: Bool
    private let run: Run?
    private let subcommands: [Command]

    init(
        _ name: String, aliases: [String] = [], _ summary: String, discussion: String = "",
        examples: [CommandExample] = [],
        arguments: [any DeclaredArgument] = [], options: [any DeclaredOption] = [],
        formats: [OutputFormat] = OutputFormat.ofThings, json: JSONShape? = nil, timeoutUse: TimeoutUse = .command,
        hasDeadline: @escaping @Sendable (Invocation) -> Bool = { _ in true }, needsNoSettings: Bool = false,
        run: @escaping Run
    ) {
        spec = CommandSpec(
            name, aliases: aliases, summary, discussion: discussion, examples: examples,
            arguments: arguments.map { $0.spec }, options: options.map { $0.spec }, formats: formats,
            json: json)
        self.timeoutUse = timeoutUse
        self.hasDeadline = hasDeadline
        self.needsNoSettings = needsNoSettings
        self.run = run
        subcommands = []
    }

    init(
        _ name: String, _ summary: String, discussion: String = "", examples: [CommandExample] = [],
        subcommands: [Command],
        defaultSubcommand: String? = nil, needsNoSettings: Bool = false
    ) {
        spec = CommandSpec(
            name, summary, discussion: discussion, examples: examples, subcommands: subcommands.map(\.spec),
            defaultSubcommand: defaultSubcommand)
        timeoutUse = .command
        hasDeadline = { _ in true }
        self.needsNoSettings = needsNoSettings
        run = nil
        self.subcommands = subcommands.map { subcommand in
            var subcommand = subcommand
            subcommand.needsNoSettings = needsNoSettings
            return subcommand
        }
    }

    /// Returns the command with this path of names, or `nil` if it does not exist.
    static func at(_ path: some Collection<String>, in commands: [Command]) -> Command? {
        guard let name = path.first, let command = commands.first(where: { $0.spec.name == name }) else { return nil }
        return path.count == 1 ? command : at(path.dropFirst(), in: command.subcommands)
    }

    /// Runs the command if it supports the output format.
    ///
    /// A command that prints only sentences accepts any format from the environment, which applies to the other
    /// commands.
    @MainActor func callAsFunction(_ context: CommandContext) async throws -> ExitStatus {
        guard let run else { throw CommandError(.usage, "no command", hint: "lodge help") }
        try checkFormat(context.invocation)
        return try await run(context)
    }

    private func checkFormat(_ invocation: Invocation) throws(CommandError) {
        let output = GlobalOptions.standard.output
        let format = OutputFormat(invocation)
        // An option of the command with this name does not select a format.
        let hasFormats = !spec.options.contains { $0.name == output.spec.name }
        if invocation.source(of: GlobalOptions.standard.csvRaw) == .option {
            guard hasFormats, spec.formats.contains(.csv) else {
                throw CommandError(
                    .usage, "\(invocation.path.joined(separator: " ")) has no option --csv-raw",
                    reason: "it does not write CSV", hint: "lodge help formats")
            }
            guard format == .csv else {
                throw CommandError(
                    .usage, "--csv-raw changes CSV only", reason: "the format is \(format.rawValue)",
                    hint: "add --output csv")
            }
        }
        guard hasFormats else { return }
        let isTyped = invocation.source(of: output) == .option
        guard !spec.formats.contains(format), isTyped || spec.formats.contains(.csv) else { return }
        let name = invocation.path.joined(separator: " ")
        if spec.formats == OutputFormat.ofText {
            throw CommandError(
                .usage, "\(name) has no format \(format.rawValue)", reason: "it prints only text",
                hint: "lodge help formats")
        }
        if format == .vCard {
            throw CommandError(
                .usage, "\(name) has no format vcard", reason: "vCards are for users",
                hint: "lodge search ada --output vcard")
        }
        throw CommandError(
            .usage, "\(name) has no format \(format.rawValue)",
            reason: "it has \(OptionSpec.list(spec.formats.map(\.rawValue)))", hint: "lodge help formats")
    }
}
