import CommandLineKit
import LodgePlatform
import OAuth2AccountStore

/// Asks the user whether a command may use an account through the agent.
///
/// It starts the program in `LODGE_ASKPASS` or `SSH_ASKPASS` of the agent's environment, as `ssh-add -c` does.
@MainActor final class UseConfirmation {
    private let program: String?
    private let environment: [String: String]
    private let client: Int64
    private var allowed: Set<Account.ID> = []

    static let variable = "LODGE_ASKPASS"
    private static let timeLimit = Duration.seconds(60)

    /// Creates a confirmation for one command.
    ///
    /// - Parameters:
    ///   - client: The process ID of the client, for the prompt.
    ///   - environment: The environment of the client, which names the desktop. It does not name the program, because the
    ///     client must not choose it.
    init(
        client: Int64, environment: [String: String],
        program: String? = ProcessInfo.processInfo.environment[UseConfirmation.variable]
    ) {
        self.client = client
        self.program = program
        self.environment = environment.merging(["SSH_ASKPASS_PROMPT": "confirm"]) { _, new in new }
    }

    /// Returns if the user allows the use of an account.
    ///
    /// - Throws: `CommandError` if the user does not allow it within a minute.
    func check(_ account: Account) async throws {
        guard !allowed.contains(account.id) else { return }
        guard let program, program.hasPrefix("/") else {
            throw CommandError(
                .failed, "the use of \(account.label) needs your permission",
                reason: "the agent has no program that asks for it",
                hint: "set \(Self.variable) or SSH_ASKPASS to the path of such a program and start the agent again")
        }
        let caller = Self.caller(of: client).map { " for \($0.visible)" } ?? ""
        let question = "Allow the use of the account \(account.label.visible) (\(account.type.visible))\(caller)?"
        guard try await asks(program, question) else {
            throw CommandError(
                .failed, "the use of \(account.label) is not allowed", reason: "you did not allow it")
        }
        allowed.insert(account.id)
    }

    private func asks(_ program: String, _ question: String) async throws -> Bool {
        let process: pid_t
        switch ChildProcess.start(
            [program, question], environment: environment, input: nil, isSilent: true, hasOwnGroup: true)
        {
        case .success(let started): process = started
        case .failure(let error):
            throw CommandError(.failed, "cannot ask for your permission", reason: "\(program): \(error.explanation)")
        }
        let end = Promise<Int32>()
        DetachedThread.run { end.finish(.success(ChildProcess.waitForExit(process))) }
        let limit = Task {
            try await Task.sleep(for: Self.timeLimit)
            kill(-process, SIGKILL)
        }
        defer { limit.cancel() }
        // A child that ends by a signal, such as after the time limit, has not said yes.
        return try await withTaskCancellationHandler {
            try await end.value() == 0
        } onCancel: {
            kill(-process, SIGKILL)
        }
    }

    /// Returns the program that started the client. It is only information: a program can hide it.
    private static func caller(of client: Int64) -> String? {
        guard client > 0, let status = try? String(contentsOfFile: "/proc/\(client)/status", encoding: .utf8),
            let line = status.split(separator: "\n").first(where: { $0.hasPrefix("PPid:") }),
            let parent = line.split(separator: "\t").last.flatMap({ Int($0) }), parent > 0
        else { return nil }
        return try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(parent)/exe")
    }
}
