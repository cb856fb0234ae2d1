import CommandLineKit
import Platform
import OAuth2AccountStore

@MainActor struct ExecCommand: CommandHandler {
    enum Input {
        static let command = Argument.words("COMMAND", "program and its arguments, after --", completion: .file)
    }

    nonisolated static let command = Command(
        "exec", "Run a program with a fresh access token in its environment.",
        discussion: """
            The token is in OAUTH2_ACCESS_TOKEN, the time at which it expires (RFC 3339, where known) in OAUTH2_ACCESS_TOKEN_EXPIRY. \
            The program takes the place of this one, so its exit status is the one that is seen; 127 where there is no such program, 126 \
            where it cannot be run.
            """, examples: ["lodge exec -- python3 report.py"], arguments: [Input.command],
        options: [TokenOptions.refresh, TokenOptions.scope], formats: OutputFormat.ofText
    ) { try await ExecCommand(context: $0).exec() }

    let context: CommandContext

    static let tokenVariable = "OAUTH2_ACCESS_TOKEN"
    static let expiryVariable = "OAUTH2_ACCESS_TOKEN_EXPIRY"

    /// Becomes the program. Comes back only with an error.
    func exec() async throws -> ExitStatus {
        let words = invocation[Input.command]
        guard let program = words.first, !program.isEmpty else {
            throw CommandError(
                .usage, "no program to run", reason: "expected one after --", hint: "\(run: "exec") -- COMMAND")
        }
        let store = try await context.store()
        let token = try await context.freshToken(store, of: try await context.account(store))
        var environment = context.world.environment
        environment[Self.tokenVariable] = token.secret.value
        environment[Self.expiryVariable] = token.expiry.map(\.rfc3339)
        try console.flush()
        // An early refresh can be in progress, which would end with this program.
        _ = await store.endRefreshes()
        let failure = context.world.replaceProcess(words, environment)
        let reason = String(cString: strerror(failure))
        throw CommandError(
            failure == ENOENT ? .programMissing : .programUnusable, "cannot run \(UsageError.quoted(program))",
            reason: reason, hint: failure == ENOENT ? "see that it is in PATH" : nil)
    }
}
