import CommandLineKit
import LodgeAgent
import LodgePlatform
import OAuth2AccountStore

@MainActor struct ExecCommand: CommandHandler {
    enum Input {
        static let variable = Option.text("env", "NAME", "the variable of the token (OAUTH2_ACCESS_TOKEN)")
        static let azure = Option.flag("azure", "serve tokens as the managed identity of an Azure App Service")
        static let command = Argument.words("COMMAND", "program and its arguments, after --", completion: .file)
    }

    nonisolated static let command = Command(
        "exec", "Run a program with an access token in its environment.",
        discussion: """
            The token is in OAUTH2_ACCESS_TOKEN, and its expiry (RFC 3339), if known, in OAUTH2_ACCESS_TOKEN_EXPIRY. With --env NAME \
            they are in NAME and NAME_EXPIRY. With --azure, the environment has no token: the program requests tokens from lodge on 127.0.0.1 \
            while it runs, for the hosts of the account type: lodge help cloud. The exit status is the program's; 127 if the program does \
            not exist, 126 if it cannot run.
            """,
        examples: [
            "lodge exec -- python3 report.py", "lodge exec --env GITHUB_TOKEN -- gh repo list",
            "lodge exec --azure -- python3 upload.py",
        ],
        arguments: [Input.command],
        options: [Input.variable, Input.azure, TokenOptions.refresh, TokenOptions.scope], formats: OutputFormat.ofText,
        // The limit is not for the program.
        hasDeadline: { !$0[Input.azure] }
    ) { try await ExecCommand(context: $0).exec() }

    let context: CommandContext

    /// Replaces the process with the program, which returns only on failure, or runs it as a child.
    func exec() async throws -> ExitStatus {
        let words = invocation[Input.command]
        guard let program = words.first, !program.isEmpty else {
            throw CommandError(
                .usage, "no program to run", reason: "expected a program after --", hint: "\(run: "exec") -- COMMAND")
        }
        if invocation[Input.azure] { return try await execWithIdentity(words) }
        let variable = invocation[Input.variable] ?? DelegatedExec.tokenVariable
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
        environment[variable + DelegatedExec.expirySuffix] = token.expiry.map(\.rfc3339)
        try console.flush()
        // Otherwise the new process would drop an early refresh in progress.
        _ = await store.endRefreshes()
        throw Self.failure(program, context.world.replaceProcess(words, environment))
    }

    /// Runs the program with a managed identity endpoint, which closes when the program ends.
    private func execWithIdentity(_ words: [String]) async throws -> ExitStatus {
        let others: [any DeclaredOption] = [Input.variable, TokenOptions.refresh, TokenOptions.scope]
        if let option = others.first(where: { invocation.source(of: $0) != nil }) {
            throw invocation.conflict(Input.azure, option, reason: "the program requests its tokens itself")
        }
        var dependencies = context.dependencies()
        // The program has the terminal.
        dependencies.report = nil
        // Another process can change the account while the program runs. A missing store stays missing.
        let store = try await context.store(
            dependencies: dependencies,
            watchesOtherProcesses: try await !context.storage(sleep: dependencies.sleep).isMissing())
        let account = try await context.account(store)
        try CommandContext.checkIsPassable(account)
        let endpoint = try AzureIdentityEndpoint(context, store, account)
        let listener = try endpoint.listen()
        defer { listener.close() }
        try console.flush()
        try Task.checkCancellation()
        let world = context.world
        switch await world.runProgram(words, endpoint.environment(listener), world.program) {
        case .success(let status): world.program.exitStatus = status
        case .failure(let error): throw Self.failure(words[0], error.code)
        }
        return .done
    }

    private static func failure(_ program: String, _ code: Int32) -> CommandError {
        CommandError(
            code == ENOENT ? .programMissing : .programUnusable, "cannot run \(UsageError.quoted(program))",
            reason: systemMessage(code), hint: code == ENOENT ? "check that its folder is in PATH" : nil)
    }
}
