import DirectorySearch
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The offline copy of a directory with a million users: the first sync, search as you type, changes, and a complete
/// process.
///
/// `BENCHMARK_PEOPLE` reduces the number of users.
@MainActor
enum OfflineBenchmark {
    private static let rounds = 7

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let people = environment["BENCHMARK_PEOPLE"].flatMap { Int($0) } ?? 1_000_000
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let directory = StoreLocation(folder.path + "/store")
        let account = try await signIn(folder, directory)
        let service = InventedDirectory(people: people)
        let client = try service.client()
        let sync = DirectorySync(
            of: GraphDirectory(client: client), account: account.id, in: directory)

        let begin = Seconds.elapsed
        let first = try await sync.run()
        let spent = Seconds.elapsed - begin
        guard first.users == people, let summary = try await sync.index.summary() else {
            throw BenchmarkError("the sync saved \(first.users) users, expected \(people)")
        }
        say(
            "Measured: \(people) users, \(summary.size / 1_000_000) MB, first sync \(decimal(spent, 1)) s, "
                + "\(Int(Double(people) / spent)) users per second")
        let offline = OfflineDirectory(account: account.id, in: directory)
        try await typing(offline, people, show)
        try await process(folder, environment, show)
        // Last, because it renames users.
        try await changing(sync, offline, service, show)
    }

    /// Adds an account to a store like the command's.
    private static func signIn(_ folder: TemporaryFolder, _ directory: StoreLocation) async throws -> Account {
        try folder.write(SearchScene.settings(port: 9), to: "settings.json")
        let store = try await AccountStore(
            settings: try Settings(contentsOf: URL(filePath: folder.path + "/settings.json")),
            storage: SQLiteStorage(directory: directory), custody: KeyFile(directory: directory),
            watchesOtherProcesses: false)
        return try await store.add(
            try TokenResponse.read(TokenAnswer.response(accessToken: TokenAnswer.standardToken)), toType: "graph")
    }

    /// Searches for every prefix of the names of many users.
    private static func typing(
        _ offline: OfflineDirectory, _ people: Int, _ show: @MainActor (Figure) -> Void
    ) async throws {
        func percentile(_ times: [Double]) -> Double {
            times.sorted()[min(times.count - 1, times.count * 99 / 100)]
        }
        var round = 0
        let times = try await inTurns(
            rounds: rounds, warmUp: 1,
            ours: {
                round += 1
                var times: [Double] = []
                var spent: [Double] = []
                for number in 0..<40 {
                    let name = InventedDirectory.name((number * 7919 + round * 104_729) % people)
                    for text in ["\(name.given) \(name.surname)", name.surname, "\(name.surname) \(name.given)"] {
                        for length in 1...text.count {
                            let (begin, used) = (Seconds.elapsed, processor)
                            _ = try await offline.users(typed: String(text.prefix(length)), limit: 20)
                            times.append((Seconds.elapsed - begin) * 1e3)
                            spent.append((processor - used) * 1e3)
                        }
                    }
                }
                return (wall: percentile(times), processor: percentile(spent))
            },
            peer: {
                var times: [Double] = []
                var spent: [Double] = []
                for number in 0..<1000 {
                    let (begin, used) = (Seconds.elapsed, processor)
                    _ = try await offline.user(InventedDirectory.id((number * 7919 + round) % people))
                    times.append((Seconds.elapsed - begin) * 1e3)
                    spent.append((processor - used) * 1e3)
                }
                return (wall: percentile(times), processor: percentile(spent))
            })
        func figure(_ name: String, _ goal: Goal, _ value: ((wall: Double, processor: Double)) -> Double) -> Figure {
            Figure(
                name: "offline: search as you type, 99th percentile, \(name)", unit: "ms",
                ours: Samples(times.ours.map(value)), peerName: "one user by identifier",
                peer: Samples(times.peer.map(value)), goal: goal)
        }
        show(figure("wall", .oursAtMost(5)) { $0.wall })
        show(figure("processor", .none) { $0.processor })
    }

    /// The processor time of this process in seconds, which excludes other programs.
    private static var processor: Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static func changing(
        _ sync: DirectorySync, _ offline: OfflineDirectory, _ service: InventedDirectory,
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let times = try await inTurns(
            rounds: rounds, warmUp: 1,
            ours: {
                service.change(1000)
                let (begin, used) = (Seconds.elapsed, processor)
                let progress = try await sync.step()
                guard progress.phase == .current else { throw BenchmarkError("the changes did not fit in one page") }
                return (wall: (Seconds.elapsed - begin) * 1e3, processor: (processor - used) * 1e3)
            },
            peer: {
                let (begin, used) = (Seconds.elapsed, processor)
                for number in 0..<1000 { _ = try await offline.user(InventedDirectory.id(number)) }
                return (wall: (Seconds.elapsed - begin) * 1e3, processor: (processor - used) * 1e3)
            })
        func figure(_ name: String, _ goal: Goal, _ value: ((wall: Double, processor: Double)) -> Double) -> Figure {
            Figure(
                name: "offline: 1,000 changes read and applied, \(name)", unit: "ms", digits: 1,
                ours: Samples(times.ours.map(value)), peerName: "1,000 users read by identifier",
                peer: Samples(times.peer.map(value)), goal: goal)
        }
        show(figure("wall", .oursAtMost(100)) { $0.wall })
        show(figure("processor", .none) { $0.processor })
    }

    private static func process(
        _ folder: TemporaryFolder, _ environment: [String: String], _ show: @MainActor (Figure) -> Void
    ) async throws {
        let binary = try CommandBinary.find(environment: environment)
        var environment = environment
        environment["LODGE_STORE"] = nil
        environment["HOME"] = folder.path
        environment["XDG_RUNTIME_DIR"] = folder.path
        environment["LODGE_AGENT_SOCK"] = nil
        let name = InventedDirectory.name(1)
        let ours = Program(
            path: binary.path,
            arguments: [
                "search", "--output", "mutt", "--offline", "--settings", folder.path + "/settings.json", "--store",
                folder.path + "/store",
                name.given, name.surname,
            ],
            environment: environment)
        guard try ours.output().contains("@contoso.example") else {
            throw BenchmarkError("lodge search --output mutt does not find the user")
        }
        let curl = try Program.find("curl", in: environment)
        let peer = Program(path: curl, arguments: ["--version"], environment: environment)
        let runs = try await inTurns(rounds: 40, warmUp: 5, ours: { try ours.run() }, peer: { try peer.run() })
        func figure(_ name: String, _ goal: Goal, _ value: (Program.Run) -> Double) -> Figure {
            Figure(
                name: "offline: query, whole process, \(name)", unit: "ms", ours: Samples(runs.ours.map(value)),
                peerName: "curl --version", peer: Samples(runs.peer.map(value)), goal: goal)
        }
        show(figure("wall", .oursAtMost(10)) { $0.wall * 1e3 })
        show(figure("processor", .none) { $0.processor * 1e3 })
        let agent = try RunningAgent(binary, environment)
        defer { agent.stop() }
        _ = try ours.run()
        let served = try await inTurns(rounds: 40, warmUp: 5, ours: { try ours.run() }, peer: { try peer.run() })
        show(
            Figure(
                name: "offline: query with agent, whole process", unit: "ms",
                ours: Samples(served.ours.map { $0.wall * 1e3 }),
                peerName: "curl --version", peer: Samples(served.peer.map { $0.wall * 1e3 }), goal: .oursAtMost(5)))
    }
}
