import StrictJSON

/// Measures the listing of all users of a large directory as lines of JSON.
@MainActor
enum DirectoryBenchmark {
    private static let rounds = 9
    private static let people = 100_000
    private static let manyPeople = 1_000_000

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let curl = try Program.find("curl", in: environment)
        let python = try Program.find("python3", in: environment)
        let binary = try CommandBinary.find(environment: environment)
        let scene = try await DirectoryScene(environment: environment)
        defer { scene.close() }
        try await parsing(scene, python, show)
        try await listing(scene, binary, python, curl, show)
        try memory(scene, binary, python, show)
    }

    /// Measures the validation of pages and the output of one line per user, without a network.
    private static func parsing(
        _ scene: DirectoryScene, _ python: String, _ show: @MainActor (Figure) -> Void
    ) async throws {
        let page = Array("{\"value\":[".utf8) + Array(DirectoryScene.people) + Array("]}".utf8)
        let peer = scene.pythonParsing(python, people: people)
        let runs = try await inTurns(
            rounds: rounds,
            ours: { () throws -> Double in
                let start = Seconds.elapsed
                var written = 0
                for _ in 0..<DirectoryScene.pages(people) { written += try lines(of: page) }
                guard written > DirectoryScene.people.count else { throw BenchmarkError("the output is empty") }
                return Seconds.elapsed - start
            },
            peer: { () throws -> Double in
                guard let seconds = Double(try peer.output().split(separator: "\n").last ?? "") else {
                    throw BenchmarkError("python3 did not print the seconds of its loop")
                }
                return seconds
            })
        show(
            Figure(
                name: "directory parse and write 100,000", unit: "ms", ours: Samples(runs.ours.map { $0 * 1000 }),
                peerName: "Python's json", peer: Samples(runs.peer.map { $0 * 1000 }), goal: .atMost(0.2)))
    }

    /// Writes a page as `search --output jsonl` does, and returns the number of bytes.
    private static func lines(of page: [UInt8]) throws -> Int {
        var output: [UInt8] = []
        output.reserveCapacity(64 * 1024)
        var written = 0
        for element in try JSONListText(parsing: page, list: "value")?.elements ?? [] {
            guard let bytes = element.plainBytes else { throw BenchmarkError("a user cannot be copied unchanged") }
            output += bytes
            output.append(0x0A)
            guard output.count >= 32 * 1024 else { continue }
            written += output.count
            output.removeAll(keepingCapacity: true)
        }
        return written + output.count
    }

    /// Measures complete processes that fetch and write.
    private static func listing(
        _ scene: DirectoryScene, _ binary: CommandBinary, _ python: String, _ curl: String,
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let ours = scene.command(binary, people: people)
        let expected = DirectoryScene.pages(people) * DirectoryScene.peopleOfPage
        let found = try ours.output().utf8.count { $0 == 0x0A }
        guard found == expected else {
            throw BenchmarkError("lodge search listed \(found) users, expected \(expected)")
        }
        for (name, peer, goal) in [
            ("python3 with requests", scene.python(python, people: people), Goal.atMost(0.5)),
            ("curl, which only fetches", scene.curl(curl, people: people), .none),
        ] {
            let runs = try await inTurns(
                rounds: rounds, warmUp: 1, ours: { try ours.run() }, peer: { try peer.run() })
            func figure(_ suffix: String, _ goal: Goal, _ value: (Program.Run) -> Double) -> Figure {
                Figure(
                    name: "directory list 100,000 \(suffix)", unit: "ms",
                    ours: Samples(runs.ours.map { value($0) * 1000 }), peerName: name,
                    peer: Samples(runs.peer.map { value($0) * 1000 }), goal: goal)
            }
            show(figure("wall", goal) { $0.wall })
            show(figure("processor", .none) { $0.processor })
        }
    }

    private static func memory(
        _ scene: DirectoryScene, _ binary: CommandBinary, _ python: String, _ show: @MainActor (Figure) -> Void
    ) throws {
        let ours = try scene.command(binary, people: manyPeople).peakMemory()
        let few = try scene.command(binary, people: people).peakMemory()
        guard let ours, let few, let peer = try scene.python(python, people: manyPeople).peakMemory() else { return }
        show(
            Figure(
                name: "directory list 1,000,000 memory", unit: "MB", ours: Samples([Double(ours) / 1e6]),
                peerName: "python3 with requests", peer: Samples([Double(peer) / 1e6]), goal: .none))
        show(
            Figure(
                name: "directory list 1,000,000 memory", unit: "MB", ours: Samples([Double(ours) / 1e6]),
                peerName: "100,000 users", peer: Samples([Double(few) / 1e6]), goal: .atMost(1.5)))
    }
}
