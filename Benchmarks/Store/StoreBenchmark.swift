import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import Synchronization

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

/// Compares a store of 100,000 accounts with a bare SQLite file with rows of the same size.
@MainActor
enum StoreBenchmark {
    private static let rounds = 21
    /// The variable that selects the work of the processes whose memory is measured.
    private static let memoryVariable = "BENCHMARK_STORE_MEMORY"

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        if let work = environment[memoryVariable], let folder = environment["BENCHMARK_STORE"] {
            return try await useMemory(work, folder)
        }
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        var scene = StoreScene(folder: folder.path)
        try await scene.fill()
        say("Measured: \(StoreScene.accounts) accounts, records of \(scene.recordSize) bytes, in \(folder.path)")
        try await opening(scene, show)
        try await fresh(scene, show)
        try await saving(scene, show)
        try await memory(scene, environment, show)
        try await storm(scene, show)
    }

    private static func some(_ scene: StoreScene) throws -> Account.ID {
        guard let id = scene.ids.randomElement() else { throw BenchmarkError("there are no accounts") }
        return id
    }

    private static func milliseconds(_ body: () async throws -> Void) async throws -> Double {
        let begin = Seconds.elapsed
        try await body()
        return (Seconds.elapsed - begin) * 1e3
    }

    private static func opening(_ scene: StoreScene, _ show: @MainActor (Figure) -> Void) async throws {
        func measure(
            _ name: String, goal: Goal, _ ours: (AccountStore) async throws -> Void
        ) async throws {
            let times = try await inTurns(
                rounds: rounds,
                ours: { try await milliseconds { try await ours(try await scene.open()) } },
                peer: {
                    let id = try some(scene).rawValue
                    return try await milliseconds {
                        try BareSQLite(path: scene.bare).run("SELECT record FROM records WHERE id = ?", .text(id))
                    }
                })
            show(
                Figure(
                    name: name, unit: "ms", ours: Samples(times.ours), peerName: "bare SQLite, open and one row",
                    peer: Samples(times.peer), goal: goal))
        }
        try await measure("open and first token of any account", goal: .oursAtMost(10)) { store in
            _ = try await store.accessToken(for: try some(scene))
        }
        try await measure("open and first token of the current account", goal: .oursAtMost(10)) { store in
            guard let account = try await store.currentAccount(ofType: "graph") else {
                throw BenchmarkError("there is no current account")
            }
            _ = try await store.accessToken(for: account.id)
        }
    }

    private actor Bare {
        private var count = 0
        func call() -> Int {
            count &+= 1
            return count
        }
    }

    private static func fresh(_ scene: StoreScene, _ show: @MainActor (Figure) -> Void) async throws {
        let store = try await scene.open()
        let ids = (0..<100).map { scene.ids[$0 * 997] }
        for id in ids { _ = try await store.accessToken(for: id) }
        let bare = Bare()
        let times = try await inTurns(
            rounds: rounds,
            ours: { try await nanoseconds(20_000) { _ = try await store.accessToken(for: ids[$0 % ids.count]) } },
            peer: { try await nanoseconds(20_000) { _ in _ = await bare.call() } })
        show(
            Figure(
                name: "fresh token in memory, 100 accounts alternately", unit: "ns per call", digits: 0,
                ours: Samples(times.ours), peerName: "empty actor call", peer: Samples(times.peer),
                goal: .oursAtMost(2000)))
    }

    /// Returns the nanoseconds per call. Runs off the main actor, so that the calls do not switch threads.
    private nonisolated static func nanoseconds(
        _ calls: Int, _ body: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> Double {
        try await Task.detached {
            let begin = Seconds.elapsed
            for number in 0..<calls { try await body(number) }
            return (Seconds.elapsed - begin) / Double(calls) * 1e9
        }.value
    }

    private static func saving(_ scene: StoreScene, _ show: @MainActor (Figure) -> Void) async throws {
        let store = try await scene.open()
        let peer = try BareSQLite(path: scene.bare)
        let changes = 20
        var number = 0
        let times = try await inTurns(
            rounds: rounds,
            ours: {
                let id = try some(scene)
                return try await milliseconds {
                    for _ in 0..<changes {
                        number += 1
                        try await store.setUserData(number, for: id)
                    }
                } / Double(changes)
            },
            peer: {
                let id = try some(scene).rawValue
                let records = (0..<changes).map { _ in (0..<scene.recordSize).map { _ in UInt8.random(in: 0...255) } }
                return try await milliseconds {
                    for bytes in records {
                        try peer.execute("BEGIN IMMEDIATE")
                        try peer.run("UPDATE records SET record = ? WHERE id = ?", .blob(bytes), .text(id))
                        try peer.execute("COMMIT")
                    }
                } / Double(changes)
            })
        show(
            Figure(
                name: "a durable save", unit: "ms", digits: 3, ours: Samples(times.ours),
                peerName: "bare SQLite transaction", peer: Samples(times.peer), goal: .atMost(2)))
    }

    // MARK: Memory

    private static func memory(
        _ scene: StoreScene, _ environment: [String: String], _ show: @MainActor (Figure) -> Void
    ) async throws {
        func megabytes(_ work: String) throws -> Double {
            var environment = environment
            environment[memoryVariable] = work
            environment["BENCHMARK_STORE"] = scene.folder
            let program = Program(path: try thisProgram(), arguments: ["store"], environment: environment)
            guard let bytes = try program.peakMemory() else { return .nan }
            return Double(bytes) / 1e6
        }
        #if os(Linux)
            var ours: [Double] = []
            var peer: [Double] = []
            for _ in 0..<3 {
                ours.append(try megabytes("ours"))
                peer.append(try megabytes("peer"))
            }
            show(
                Figure(
                    name: "peak memory, 100 of the accounts used", unit: "MB", digits: 1, ours: Samples(ours),
                    peerName: "bare SQLite, 100 rows", peer: Samples(peer), goal: .oursAtMost(50)))
        #endif
    }

    /// Returns the path of this program. `/proc/self/exe` itself would name another program in another process.
    private static func thisProgram() throws -> String {
        guard let path = realpath("/proc/self/exe", nil) else { throw BenchmarkError("this program has no path") }
        defer { free(path) }
        return String(cString: path)
    }

    private static func useMemory(_ work: String, _ folder: String) async throws {
        let scene = StoreScene(folder: folder)
        let storage = SQLiteStorage(directory: scene.directory)
        var ids: [String] = []
        var last: Int64 = 0
        for _ in 0..<100 {
            guard let record = try await storage.records(ofType: nil, after: last, limit: 1).first else { break }
            ids.append(record.id)
            last = record.position + 900
        }
        if work == "ours" {
            let store = try await scene.open()
            for id in ids { _ = try await store.accessToken(for: Account.ID(rawValue: id)) }
        } else {
            let bare = try BareSQLite(path: scene.bare)
            for id in ids { try bare.run("SELECT record FROM records WHERE id = ?", .text(id)) }
        }
    }

    // MARK: Storm

    private static func storm(_ scene: StoreScene, _ show: @MainActor (Figure) -> Void) async throws {
        let count = 10_000
        let store = try await scene.open()
        let ids = Array(scene.ids.prefix(count))
        scene.provider.letTokensExpire()
        let ours = try await milliseconds {
            let tokens = try await withThrowingTaskGroup(of: String.self, returning: Set<String>.self) { group in
                for id in ids { group.addTask { try await store.accessToken(for: id).secret.value } }
                var tokens: Set<String> = []
                for try await token in group { tokens.insert(token) }
                return tokens
            }
            guard tokens.count == count else {
                throw BenchmarkError("\(tokens.count) of \(count) accounts have a unique token")
            }
        }
        let bare = try BareSQLite(path: scene.bare)
        let bytes = [UInt8](repeating: 7, count: scene.recordSize)
        let peer = try await milliseconds {
            for id in ids {
                try bare.execute("BEGIN IMMEDIATE")
                try bare.run("UPDATE records SET record = ? WHERE id = ?", .blob(bytes), .text(id.rawValue))
                try bare.execute("COMMIT")
            }
        }
        show(
            Figure(
                name: "\(count) accounts expire together, until all have tokens", unit: "ms each", digits: 3,
                ours: Samples([ours / Double(count)]), peerName: "bare SQLite transaction",
                peer: Samples([peer / Double(count)]), goal: .none))
        show(
            Figure(
                name: "\(count) accounts expire together, concurrent requests", unit: "requests", digits: 0,
                ours: Samples([Double(scene.provider.mostRunning.load(ordering: .relaxed))]), peerName: "limit",
                peer: Samples([Double(AccountStore.maximumRefreshesInFlight)]), goal: .atMost(1)))
    }
}
