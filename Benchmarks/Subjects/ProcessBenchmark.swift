/// Whole processes beside curl, and the store's answers to a thousand callers.
@MainActor
enum ProcessBenchmark {
    private static let rounds = 60
    private static let warmUp = 5

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let curl = try Program.find("curl", in: environment)
        let binary = try CommandBinary.find(environment: environment)
        say("Measured: \(binary.path) (\(binary.kind), \(binary.size) bytes) beside \(curl)")
        try await version(binary, curl, environment, show)
        let search = try await SearchScene(environment: environment)
        defer { search.close() }
        try await compare("search", try search.command(binary), try search.curl(curl), goal: .atMost(2), show)
        try await AccessTokenScene.run(show)
    }

    private static func version(
        _ binary: CommandBinary, _ curl: String, _ environment: [String: String], _ show: @MainActor (Figure) -> Void
    ) async throws {
        let ours = Program(path: binary.path, arguments: ["--version"], environment: environment)
        let peer = Program(path: curl, arguments: ["--version"], environment: environment)
        try await compare("version", ours, peer, goal: .atMost(2), show)
    }

    /// Wall time, processor time and memory of two programs.
    private static func compare(
        _ name: String, _ ours: Program, _ peer: Program, goal: Goal, _ show: @MainActor (Figure) -> Void
    ) async throws {
        let runs = try await inTurns(rounds: rounds, warmUp: warmUp, ours: { try ours.run() }, peer: { try peer.run() })
        func figure(_ suffix: String, _ unit: String, _ goal: Goal, _ value: (Program.Run) -> Double) -> Figure {
            Figure(
                name: "\(name) \(suffix)", unit: unit, ours: Samples(runs.ours.map(value)), peerName: "curl",
                peer: Samples(runs.peer.map(value)), goal: goal)
        }
        show(figure("wall", "ms", goal) { $0.wall * 1000 })
        show(figure("processor", "ms", .none) { $0.processor * 1000 })
        let memory = try (ours.peakMemory(), peer.peakMemory())
        guard let mine = memory.0, let theirs = memory.1 else { return }
        show(
            Figure(
                name: "\(name) memory", unit: "MB", ours: Samples([Double(mine) / 1e6]), peerName: "curl",
                peer: Samples([Double(theirs) / 1e6]), goal: .none))
    }
}
