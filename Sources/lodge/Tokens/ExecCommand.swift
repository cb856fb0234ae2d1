import CommandLineKit
import Platform
import OAuth2AccountStore

/// `exec` and `header`
@MainActor
struct ExecCommand {
    private let context: CommandContext

    static let tokenVariable = "OAUTH2_ACCESS_TOKEN"
    static let expiryVariable = "OAUTH2_ACCESS_TOKEN_EXPIRY"

    init(_ context: CommandContext) { self.context = context }

    func header() async throws -> ExitStatus {
        let store = try await context.store(try context.settings())
        let token = try await context.freshToken(store, of: try await context.account(store))
        try context.console.writeLine("Authorization: " + token.authorization)
        return .done
    }

    /// Becomes the program. Comes back only with an error.
    func exec() async throws -> ExitStatus {
        let words = context.invocation.arguments("COMMAND")
        guard let program = words.first, !program.isEmpty else {
            throw CommandError(
                .usage, "no program to run", reason: "expected one after --", hint: "\(run: "exec") -- COMMAND")
        }
        let store = try await context.store(try context.settings())
        let token = try await context.freshToken(store, of: try await context.account(store))
        var environment = context.world.environment
        environment[Self.tokenVariable] = token.secret.value
        environment[Self.expiryVariable] = token.expiry.map(TimeText.rfc3339)
        try context.console.flush()
        // What the store has begun is finished before this program is no more.
        await store.finishPendingRefreshes()
        let failure = context.world.replaceProcess(words, environment)
        let reason = String(cString: strerror(failure))
        throw CommandError(
            failure == ENOENT ? .programMissing : .programUnusable, "cannot run \(UsageError.quoted(program))",
            reason: reason, hint: failure == ENOENT ? "see that it is in PATH" : nil)
    }
}

/// The system's own way to become another program.
enum ProcessReplacement {
    /// Runs a program, found in PATH, in the place of this one. Comes back only with the error's number.
    static func replace(with words: [String], _ environment: [String: String]) -> Int32 {
        // What this program ignores, the next one is not to ignore unknowingly.
        for number in [SIGPIPE, SIGXFSZ, SIGINT, SIGTERM] { signal(number, SIG_DFL) }
        var none = sigset_t()
        sigemptyset(&none)
        sigprocmask(SIG_SETMASK, &none, nil)
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }
        var failure = ENOENT
        for path in candidates(words.first ?? "", environment) {
            execve(path, arguments, variables)
            if errno != ENOENT && errno != ENOTDIR { failure = errno }
            if failure != ENOENT && failure != EACCES { break }
        }
        return failure
    }

    /// Where a program may be: at its path, or in a folder of PATH.
    private static func candidates(_ program: String, _ environment: [String: String]) -> [String] {
        if program.contains("/") { return [program] }
        let folders = environment["PATH"] ?? "/usr/local/bin:/usr/bin:/bin"
        return folders.split(separator: ":").map { "\($0)/\(program)" }
    }
}
