/// Compares complete processes of `lodge` with curl and Python.
@MainActor
enum CommandBenchmark {
    private static let rounds = 60
    private static let warmUp = 5

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let curl = try Program.find("curl", in: environment)
        let binary = try CommandBinary.find(environment: environment)
        say("Measured: \(binary.path) (\(binary.kind), \(binary.size) bytes), compared with \(curl)")
        let curlVersion = Program(path: curl, arguments: ["--version"], environment: environment)
        let version = Program(path: binary.path, arguments: ["--version"], environment: environment)
        try await compare("version", version, curlVersion, "curl --version", goal: .atMost(2), show)

        let search = try await SearchScene(environment: environment)
        defer { search.close() }
        try await compare(
            "token", try search.token(binary), curlVersion, "curl --version", goal: .atMost(1.5), show)
        try await compare(
            "search", try search.command(binary), try search.curl(curl), "curl", goal: .atMost(1.5), show)
        guard let python = Python.find(environment: environment) else {
            say("The comparison with Python is skipped: msal and requests are missing; make bench installs them.")
            return
        }
        try await compare(
            "search compared with msal", try search.command(binary), try search.python(python), "Python",
            goal: .atMost(1 / 12), rounds: 20, show)
    }

    /// Measures wall time, processor time and memory of two programs.
    private static func compare(
        _ name: String, _ ours: Program, _ peer: Program, _ peerName: String, goal: Goal, rounds: Int = rounds,
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let runs = try await inTurns(rounds: rounds, warmUp: warmUp, ours: { try ours.run() }, peer: { try peer.run() })
        func figure(_ suffix: String, _ unit: String, _ goal: Goal, _ value: (Program.Run) -> Double) -> Figure {
            Figure(
                name: "\(name) \(suffix)", unit: unit, ours: Samples(runs.ours.map(value)), peerName: peerName,
                peer: Samples(runs.peer.map(value)), goal: goal)
        }
        show(figure("wall", "ms", goal) { $0.wall * 1000 })
        show(figure("processor", "ms", .none) { $0.processor * 1000 })
        let memory = try (ours.peakMemory(), peer.peakMemory())
        guard let mine = memory.0, let theirs = memory.1 else { return }
        show(
            Figure(
                name: "\(name) memory", unit: "MB", ours: Samples([Double(mine) / 1e6]), peerName: peerName,
                peer: Samples([Double(theirs) / 1e6]), goal: .none))
    }
}
