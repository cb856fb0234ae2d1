import AgentProtocol
import CLodgeAgent
import CommandLineKit
import LodgePlatform
import OAuth2AccountStore

/// `agent forward`: a socket of the agent for the tokens of one account.
@MainActor struct AgentForward: CommandHandler {
    nonisolated static let duration = Option.text("for", "TIME", "the time until the socket is closed (8h)")

    let context: CommandContext

    private static let standardDuration = Duration.seconds(8 * 3600)

    func run() async throws -> ExitStatus {
        let duration =
            try invocation[Self.duration].map { try Duration(timeText: $0, option: "--for", example: "8h") }
            ?? Self.standardDuration
        let limit = Duration.seconds(AgentLimits.listening)
        guard duration > .zero, duration <= limit else {
            throw CommandError(
                .usage, "wrong value of --for", reason: "the time must be positive and at most 30 days",
                hint: "--for 8h")
        }
        let (store, account) = try await context.storeAndAccount()
        guard let program = ProcessIdentity.programPath,
            let request = AgentClient.currentRequest(
                ["credential", "oidc-agent", "--allow", account.id.rawValue] + context.placeOptions, program)
        else {
            throw CommandError(.failed, "cannot forward tokens", reason: "the agent cannot run lodge for this process")
        }
        let until = store.dependencies.now().addingTimeInterval(duration / .seconds(1))
        let letters = try store.dependencies.randomLetters()
        let path = AgentSocket.folder(of: try context.agentSocket()) + "/forward-\(letters.prefix(8)).sock"
        // Without an agent, create no socket.
        _ = try context.askAgent(AgentRequest.line("status"))
        let socket = lodge_agent_listen(path)
        guard socket >= 0 else {
            throw CommandError(.failed, "cannot create the socket \(path)", reason: SystemError().explanation)
        }
        defer { close(socket) }
        let line = request.listenLine(path: path, until: until.timeIntervalSince1970)
        let response: AgentResponse
        do {
            response = try context.askAgent(line, [socket])
        } catch {
            unlink(path)
            throw error
        }
        guard response == .done else {
            unlink(path)
            throw CommandError(
                .failed, "the agent did not forward the tokens",
                reason: response == .notMine
                    ? "it runs another version or in another container" : "its response is unknown",
                hint: "lodge agent stop")
        }
        if format == .json {
            try console.write([
                "socket": .string(path), "until": .string(until.rfc3339), "account": .string(account.label),
                "type": .string(account.type),
            ])
            return .done
        }
        try console.writeLine(path)
        let remote = "/tmp/lodge-\(letters.suffix(8)).sock"
        console.note("The agent serves tokens of \(account.label) on this socket until \(until.rfc3339).")
        console.note("To use them on another machine: ssh -R \(remote):\(path) HOST")
        console.note("There: export OIDC_SOCK=\(remote), and then for example: oidc-token \(account.label.shellWord)")
        console.note("Warning: while ssh is connected, the administrators of HOST can get these tokens, too.")
        return .done
    }
}
