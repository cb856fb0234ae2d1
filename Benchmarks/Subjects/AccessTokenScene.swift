import HTTPExchange
import LoopbackHTTP
import OAuth2Protocol
import OAuth2AccountStore
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Measures `accessToken` with a thousand concurrent callers for an expired token, and for a fresh token.
@MainActor
enum AccessTokenScene {
    private static let callers = 1000
    private static let rounds = 15

    /// The clock and the request counter of the scene.
    private final class CommandEnvironment: Sendable {
        let requests = Atomic<Int>(0)
        private let hours = Atomic<Int>(0)

        var now: Date { Date(timeIntervalSince1970: 1_800_000_000 + 3600 * Double(hours.load(ordering: .relaxed))) }
        func letTokensExpire() { hours.add(2, ordering: .relaxed) }
        func takeRequests() -> Int { requests.exchange(0, ordering: .relaxed) }
    }

    /// The peer of a token in memory: the cost of any actor call.
    private actor Bare {
        private var count = 0
        func call() -> Int {
            count &+= 1
            return count
        }
    }

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let world = CommandEnvironment()
        let listener = try LoopbackListener { _ in
            let number = world.requests.add(1, ordering: .relaxed).newValue
            return LoopbackResponse(
                status: 200, fields: ["Content-Type": "application/json"],
                body: TokenAnswer.body(accessToken: "access-\(number)", refreshToken: "refresh-\(number)"))
        }
        defer { listener.close() }
        var dependencies = Dependencies.system
        dependencies.now = { world.now }
        let directory = StoreLocation(folder.path + "/store")
        let store = try await AccountStore(
            settings: try Settings(bytes: Array(SearchScene.settings(port: listener.port).utf8), source: "benchmark"),
            storage: SQLiteStorage(directory: directory), custody: KeyFile(directory: directory),
            dependencies: dependencies, watchesOtherProcesses: false)
        let account = try await store.add(
            try TokenResponse.read(TokenAnswer.response(accessToken: "first")), toType: "graph")
        try await expired(store, account.id, world, show)
        try await fresh(store, account.id, show)
    }

    private static func expired(
        _ store: AccountStore, _ id: Account.ID, _ world: CommandEnvironment, _ show: @MainActor (Figure) -> Void
    ) async throws {
        var requests: [Double] = []
        var single: [Double] = []
        let times = try await inTurns(
            rounds: rounds,
            ours: {
                let (time, count) = try await refresh(store, id, callers, world)
                requests.append(Double(count))
                return time
            },
            peer: {
                let (time, count) = try await refresh(store, id, 1, world)
                single.append(Double(count))
                return time
            })
        show(
            Figure(
                name: "expired token, requests of \(callers) callers", unit: "requests", digits: 0,
                ours: Samples([requests.max() ?? .nan]), peerName: "one caller", peer: Samples([single.max() ?? .nan]),
                goal: .oursExactly(1)))
        // Milliseconds for a thousand calls equal microseconds for one.
        show(
            Figure(
                name: "expired token, until \(callers) callers have it", unit: "ms",
                ours: Samples(times.ours.map { $0 * 1e3 }), peerName: "one caller",
                peer: Samples(times.peer.map { $0 * 1e3 }), goal: .none))
    }

    /// Returns the seconds until all callers have a token, and the number of requests.
    private static func refresh(
        _ store: AccountStore, _ id: Account.ID, _ callers: Int, _ world: CommandEnvironment
    ) async throws -> (seconds: Double, requests: Int) {
        world.letTokensExpire()
        _ = world.takeRequests()
        let begin = Seconds.elapsed
        let tokens = try await withThrowingTaskGroup(of: String.self, returning: Set<String>.self) { group in
            for _ in 0..<callers { group.addTask { try await store.accessToken(for: id).secret.value } }
            var tokens: Set<String> = []
            for try await token in group { tokens.insert(token) }
            return tokens
        }
        let seconds = Seconds.elapsed - begin
        guard tokens.count == 1 else {
            throw BenchmarkError("\(callers) callers received \(tokens.count) different tokens")
        }
        return (seconds, world.takeRequests())
    }

    private static func fresh(_ store: AccountStore, _ id: Account.ID, _ show: @MainActor (Figure) -> Void) async throws
    {
        let calls = 20_000
        let bare = Bare()
        let times = try await inTurns(
            rounds: rounds,
            ours: { try await nanoseconds(calls) { _ = try await store.accessToken(for: id) } },
            peer: { try await nanoseconds(calls) { _ = await bare.call() } })
        show(
            Figure(
                name: "fresh token in memory", unit: "ns per call", digits: 0, ours: Samples(times.ours),
                peerName: "empty actor call", peer: Samples(times.peer), goal: .none))
    }

    /// Returns the nanoseconds per call. Runs off the main actor, so that the calls do not switch threads.
    private nonisolated static func nanoseconds(
        _ calls: Int, _ body: @escaping @Sendable () async throws -> Void
    ) async throws -> Double {
        try await Task.detached {
            let begin = Seconds.elapsed
            for _ in 0..<calls { try await body() }
            return (Seconds.elapsed - begin) / Double(calls) * 1e9
        }.value
    }
}
