import AgentProtocol

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Compares commands that use the agent with curl and Python, and measures the agent itself.
@MainActor
enum AgentBenchmark {
    private static let rounds = 60
    private static let warmUp = 5

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let curl = try Program.find("curl", in: environment)
        let binary = try CommandBinary.find(environment: environment)
        let search = try await SearchScene(environment: environment)
        defer { search.close() }
        let curlSearch = try { () throws in
            _ = try search.command(binary)
            return try search.curl(curl)
        }()
        let agent = try RunningAgent(binary, search.environment)
        defer { agent.stop() }
        // Two runs of each: the first can start a worker.
        let token = try search.token(binary)
        let command = try search.command(binary)
        for program in [token, command] { _ = try program.run() }

        let curlVersion = Program(path: curl, arguments: ["--version"], environment: environment)
        try await compare("token with agent", token, curlVersion, "curl --version", goal: .atMost(0.5), show)
        try await compare("search with agent", command, curlSearch, "curl", goal: .atMost(1), show)
        if let python = Python.find(environment: environment) {
            try await compare(
                "search with agent compared with msal", command, try search.python(python), "Python",
                goal: .atMost(1.0 / 30), rounds: 20, show)
        } else {
            say("The comparison with Python is skipped: msal and requests are missing; make bench installs them.")
        }
        try await exchange(agent, token, show)
        try await slowLink(binary, curl, environment, show)
        try await memory(agent, token, show)
    }

    /// Compares a search with curl on a connection whose bytes need 25 ms in each direction, with TLS 1.3.
    private static func slowLink(
        _ binary: CommandBinary, _ curl: String, _ environment: [String: String],
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let search = try await SearchScene(environment: environment, delay: .milliseconds(25))
        defer { search.close() }
        _ = try search.command(binary)
        let peer = try search.curl(curl)
        let agent = try RunningAgent(binary, search.environment)
        defer { agent.stop() }
        let command = try search.command(binary)
        try await compare(
            "search with agent, 50 ms round trip and TLS 1.3 through a relay", command, peer, "curl",
            goal: .atMost(1.0 / 3), rounds: 20, show)
    }

    /// Measures the memory with a worker that rests, and without a worker.
    private static func memory(
        _ agent: RunningAgent, _ token: Program, _ show: @MainActor (Figure) -> Void
    ) async throws {
        // The worker returns memory after 5 s.
        try await Task.sleep(for: .seconds(6))
        if let ours = agent.memory("VmRSS"),
            let worker = agent.workers.compactMap({ RunningAgent.memory("VmRSS", of: $0) }).max()
        {
            show(figure("agent and worker VmRSS", "MB", Double(ours + worker) / 1000, .oursAtMost(30)))
        }
        try await agent.rest()
        if let ours = agent.memory("VmRSS") { show(figure("agent VmRSS", "MB", Double(ours) / 1000, .oursAtMost(4))) }
        if let ours = agent.memory("RssAnon") { show(figure("agent RssAnon", "MB", Double(ours) / 1000, .none)) }
    }

    /// Returns a figure without a peer.
    private static func figure(_ name: String, _ unit: String, _ value: Double, _ goal: Goal) -> Figure {
        let samples = Samples([value])
        return Figure(name: name, unit: unit, ours: samples, peerName: "itself", peer: samples, goal: goal)
    }

    /// Counts how often an agent that rests wakes up in ten minutes.
    static func runIdle(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let binary = try CommandBinary.find(environment: environment)
        let search = try await SearchScene(environment: environment)
        defer { search.close() }
        let agent = try RunningAgent(binary, search.environment)
        defer { agent.stop() }
        let token = try search.token(binary)
        for _ in 0..<3 { _ = try token.run() }
        try await agent.rest()
        // The limit of the last connection expires in this time.
        try await Task.sleep(for: .seconds(70))
        let before = agent.wakeUps
        try await Task.sleep(for: .seconds(600))
        show(figure("agent wake-ups in 10 minutes", "times", Double(agent.wakeUps - before), .oursAtMost(0)))
    }

    /// Measures one token over a new connection, compared with an echo of the same number of bytes.
    private static func exchange(
        _ agent: RunningAgent, _ token: Program, _ show: @MainActor (Figure) -> Void
    ) async throws {
        let request = try agent.request(of: token)
        let echo = try EchoServer(byteCount: TokenAnswer.standardToken.utf8.count)
        defer { echo.stop() }
        let runs = try await inTurns(
            rounds: 2000, warmUp: 50, ours: { try agent.exchange(request) }, peer: { try echo.exchange() })
        show(
            Figure(
                name: "token over the socket", unit: "µs", ours: Samples(runs.ours.map { $0 * 1e6 }),
                peerName: "echo", peer: Samples(runs.peer.map { $0 * 1e6 }), goal: .oursAtMost(100)))
    }

    private static func compare(
        _ name: String, _ ours: Program, _ peer: Program, _ peerName: String, goal: Goal, rounds: Int = rounds,
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let runs = try await inTurns(rounds: rounds, warmUp: warmUp, ours: { try ours.run() }, peer: { try peer.run() })
        show(
            Figure(
                name: name, unit: "ms", ours: Samples(runs.ours.map { $0.wall * 1000 }), peerName: peerName,
                peer: Samples(runs.peer.map { $0.wall * 1000 }), goal: goal))
    }
}
