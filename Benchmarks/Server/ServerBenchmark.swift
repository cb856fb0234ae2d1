import OAuth2AccountStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Measures a server with 200 users: their sign-ins, the refreshes of a thousand requests, and a fresh token in memory.
@MainActor
enum ServerBenchmark {
    private static let users = 200
    private static let requests = 1000
    /// The commits of a sign-in: the check before it, and the account.
    private static let commitsPerSignIn = 2
    private static let rounds = 5

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let scene = try ServerScene(folder: folder)
        defer { scene.close() }
        try await signIns(scene, folder, environment, show)
        let store = try await scene.open("store")
        let ids = try await scene.signIn(users, to: store)
        try await refreshes(scene, store, ids, folder, environment, show)
        try await fresh(store, ids, environment, show)
    }

    private static func signIns(
        _ scene: ServerScene, _ folder: TemporaryFolder, _ environment: [String: String],
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let commits = Python.script(
            "commits.py", ["\(folder.path)/peer.sqlite", "\(users * commitsPerSignIn)"], environment,
            interpreter: try Program.find("python3", in: environment))
        var number = 0
        let times = try await inTurns(
            rounds: rounds, warmUp: 1,
            ours: {
                number += 1
                let store = try await scene.open("store-\(number)")
                let begin = Seconds.elapsed
                let ids = try await scene.signIn(users, to: store)
                let seconds = Seconds.elapsed - begin
                guard Set(ids).count == users else {
                    throw BenchmarkError("\(Set(ids).count) accounts for \(users) users")
                }
                return seconds
            }, peer: { try Self.number(in: try commits.output()) })
        show(
            Figure(
                name: "\(users) users sign in at the same time", unit: "s", ours: Samples(times.ours),
                peerName: "\(users * commitsPerSignIn) commits of Python's sqlite3", peer: Samples(times.peer),
                goal: .oursAtMost(4)))
    }

    private static func refreshes(
        _ scene: ServerScene, _ store: AccountStore, _ ids: [Account.ID], _ folder: TemporaryFolder,
        _ environment: [String: String], _ show: @MainActor (Figure) -> Void
    ) async throws {
        try folder.write(
            String(repeating: "url = \"\(scene.tokenEndpoint)\"\noutput = \"/dev/null\"\n", count: users),
            to: "refresh.conf")
        let curl = Program(
            path: try Program.find("curl", in: environment),
            arguments: [
                "--disable", "--silent", "--no-progress-meter", "--fail", "--parallel", "--parallel-max",
                "\(AccountStore.maximumRefreshesInFlight)", "--data", "grant_type=refresh_token&refresh_token=r",
                "--config", "\(folder.path)/refresh.conf",
            ], environment: environment)
        var counts: [Double] = []
        let times = try await inTurns(
            rounds: rounds, warmUp: 1,
            ours: {
                scene.letTokensExpire()
                _ = scene.takeRefreshes()
                let begin = Seconds.elapsed
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<requests {
                        group.addTask { _ = try await store.accessToken(for: ids[number % ids.count]) }
                    }
                    try await group.waitForAll()
                }
                let seconds = Seconds.elapsed - begin
                counts.append(Double(scene.takeRefreshes()))
                return seconds
            }, peer: { try curl.run().wall })
        // All rounds, because one more refresh in any of them is a failure.
        show(
            Figure(
                name: "\(requests) requests for \(users) expired accounts, refreshes", unit: "refreshes", digits: 0,
                ours: Samples(counts), peerName: "accounts", peer: Samples(counts.map { _ in Double(users) }),
                goal: .oursExactly(Double(users))))
        show(
            Figure(
                name: "\(requests) requests for \(users) expired accounts, until all have tokens", unit: "ms",
                digits: 0, ours: Samples(times.ours.map { $0 * 1e3 }),
                peerName: "\(users) requests of curl --parallel", peer: Samples(times.peer.map { $0 * 1e3 }),
                goal: .none))
    }

    private static func fresh(
        _ store: AccountStore, _ ids: [Account.ID], _ environment: [String: String],
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        guard let python = Python.find(environment: environment) else {
            throw BenchmarkError("no Python with msal and requests; make bench installs them")
        }
        let msal = python.script("silent.py", ["\(ids.count)"], environment)
        let times = try await inTurns(
            rounds: rounds, warmUp: 1,
            ours: {
                // Off the main actor, so that the calls do not switch threads.
                try await Task.detached {
                    let calls = 100_000
                    let begin = Seconds.elapsed
                    for number in 0..<calls { _ = try await store.accessToken(for: ids[number % ids.count]) }
                    return (Seconds.elapsed - begin) / Double(calls) * 1e9
                }.value
            }, peer: { try Self.number(in: try msal.output()) * 1e9 })
        show(
            Figure(
                name: "fresh token in memory, \(ids.count) accounts alternately", unit: "ns per call", digits: 0,
                ours: Samples(times.ours), peerName: "msal acquire_token_silent", peer: Samples(times.peer),
                goal: .oursAtMost(1000)))
    }

    /// Returns the number that a peer printed: seconds.
    private static func number(in output: String) throws(BenchmarkError) -> Double {
        guard let seconds = Double(output.split(whereSeparator: \.isWhitespace).first ?? "") else {
            throw BenchmarkError("the peer printed \(output.debugDescription), expected seconds")
        }
        return seconds
    }
}
