import CommandLineKit
import LodgePlatform
import OAuth2AccountStore

@MainActor struct ExecCommand: CommandHandler {
    enum Input {
        static let variable = Option.text("env", "NAME", "the variable of the token (OAUTH2_ACCESS_TOKEN)")
        static let command = Argument.words("COMMAND", "program and its arguments, after --", completion: .file)
    }

    nonisolated static let command = Command(
        "exec", "Run a program with an access token in its environment.",
        discussion: """
            The token is in OAUTH2_ACCESS_TOKEN, and its expiry (RFC 3339), if known, in OAUTH2_ACCESS_TOKEN_EXPIRY. With --env NAME \
            they are in NAME and NAME_EXPIRY. The exit status is the program's; 127 if the program does not exist, 126 if it cannot run.
            """, examples: ["lodge exec -- python3 report.py", "lodge exec --env GITHUB_TOKEN -- gh repo list"],
        arguments: [Input.command], options: [Input.variable, TokenOptions.refresh, TokenOptions.scope],
        formats: OutputFormat.ofText
    ) { try await ExecCommand(context: $0).exec() }

    let context: CommandContext

    static let tokenVariable = "OAUTH2_ACCESS_TOKEN"
    static let expirySuffix = "_EXPIRY"

    /// Replaces the process with the program. Returns only on failure.
    func exec() async throws -> ExitStatus {
        let words = invocation[Input.command]
        guard let program = words.first, !program.isEmpty else {
            throw CommandError(
                .usage, "no program to run", reason: "expected a program after --", hint: "\(run: "exec") -- COMMAND")
        }
        let variable = invocation[Input.variable] ?? Self.tokenVariable
        guard variable.wholeMatch(of: /[A-Za-z_][A-Za-z0-9_]*/) != nil else {
            throw CommandError(
                .usage, "wrong value of --env",
                reason: "expected letters, digits and underscores, found \(UsageError.quoted(variable))",
                hint: "--env GITHUB_TOKEN")
        }
        let store = try await context.store()
        let token = try await context.freshToken(store, of: try await context.account(store))
        var environment = context.world.environment
        environment[variable] = token.secret.value
        environment[variable + Self.expirySuffix] = token.expiry.map(\.rfc3339)
        try console.flush()
        // Otherwise the new process would drop an early refresh in progress.
        _ = await store.endRefreshes()
        let failure = context.world.replaceProcess(words, environment)
        let reason = String(cString: strerror(failure))
        throw CommandError(
            failure == ENOENT ? .programMissing : .programUnusable, "cannot run \(UsageError.quoted(program))",
            reason: reason, hint: failure == ENOENT ? "check that its folder is in PATH" : nil)
    }
}
