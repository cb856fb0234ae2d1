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

/// `browse` in a terminal: the time from a key to the screen with 10,000 users in the list, the cost while idle, and
/// the number of requests for each pause in typing. Compared with `less` and as many lines.
@MainActor
enum BrowseBenchmark {
    private static let people = 10_000
    /// A query has room for fewer than 250 letters.
    private static let keys = 200
    private static let rest = 5.0

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let binary = try CommandBinary.find(environment: environment)
        let scene = try await BrowseScene(people: people, environment: environment)
        defer { scene.close() }
        let ours = try PseudoTerminal(scene.browse(binary))
        defer { ours.close() }
        let peer = try PseudoTerminal(scene.less(try Program.find("less", in: environment)))
        defer { peer.close() }
        ours.type("inventor")
        try ours.wait(for: "1 of 10,000")
        try peer.wait(for: "Inventor")
        ours.type("\u{1B}[B")
        for terminal in [ours, peer] { terminal.read(for: 1) }

        let moved = try measure(ours, peer) { _ in "j" }
        show(figure("key j to screen, median", "ms", moved, .oursAtMost(16)) { $0.median })
        show(figure("key j to screen, 99th percentile", "ms", moved, .oursAtMost(16)) { percentile($0.values) })
        ours.type("/")
        for terminal in [ours, peer] { terminal.read(for: 0.5) }
        let typed = try measure(ours, peer) { "abcdefghijklmnopqrstuvwxyz".dropFirst($0 % 26).prefix(1) }
        show(figure("letter to screen, median", "ms", typed, .oursAtMost(16)) { $0.median })
        show(figure("letter to screen, 99th percentile", "ms", typed, .oursAtMost(16)) { percentile($0.values) })

        try idle(ours, peer, show)
        try requests(ours, scene, show)
    }

    private static func measure(
        _ ours: PseudoTerminal, _ peer: PseudoTerminal, _ key: (Int) -> Substring
    ) throws -> (ours: Samples, peer: Samples) {
        var samples: (ours: Samples, peer: Samples) = (Samples(), Samples())
        for number in 0..<keys {
            // Faster than the search delay, so browse sends no request. For less, a line down is equivalent to a
            // letter.
            samples.ours.values.append(try ours.time(of: String(key(number))) * 1000)
            samples.peer.values.append(try peer.time(of: "j") * 1000)
        }
        return samples
    }

    private static func figure(
        _ name: String, _ unit: String, _ samples: (ours: Samples, peer: Samples), _ goal: Goal,
        _ value: (Samples) -> Double
    ) -> Figure {
        Figure(
            name: "browse: \(name)", unit: unit, ours: Samples([value(samples.ours)]), peerName: "less",
            peer: Samples([value(samples.peer)]), goal: goal)
    }

    private static func percentile(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return sorted.isEmpty ? .nan : sorted[min(sorted.count - 1, sorted.count * 99 / 100)]
    }

    /// Measures the processor time while no key is pressed. Dispatch checks its threads once a second, which takes 40
    /// microseconds.
    private static func idle(_ ours: PseudoTerminal, _ peer: PseudoTerminal, _ show: @MainActor (Figure) -> Void) throws
    {
        for terminal in [ours, peer] { terminal.read(for: 2) }
        guard let before = ours.processor, let peerBefore = peer.processor else { return }
        ours.read(for: rest)
        guard let after = ours.processor, let peerAfter = peer.processor else { return }
        show(
            Figure(
                name: "browse: processor time in \(Int(rest)) s without a key", unit: "ms",
                ours: Samples([(after - before) * 1000]), peerName: "less",
                peer: Samples([(peerAfter - peerBefore) * 1000]), goal: .oursAtMost(1)))
    }

    /// Types words without pauses inside: one request for each word.
    private static func requests(
        _ ours: PseudoTerminal, _ scene: BrowseScene, _ show: @MainActor (Figure) -> Void
    ) throws {
        let words = ["ada", "lovelace", "grace", "hopper", "turing", "noether", "curie", "hypatia"]
        let before = scene.searches
        for word in words {
            ours.type("\u{15}")
            for letter in word {
                ours.type(String(letter))
                ours.read(for: 0.03)
            }
            ours.read(for: 1)
        }
        show(
            Figure(
                name: "browse: requests for \(words.count) typed words", unit: "", digits: 0,
                ours: Samples([Double(scene.searches - before)]), peerName: "pauses",
                peer: Samples([Double(words.count)]), goal: .atMost(1)))
    }
}

/// A directory on loopback that returns 10,000 users immediately for any request, and an account for it.
@MainActor
final class BrowseScene {
    private let folder: TemporaryFolder
    private let listener: LoopbackListener
    private let count: RequestCount
    private var environment: [String: String]

    /// The number of requested user lists.
    var searches: Int { count.value }

    init(people: Int, environment: [String: String]) async throws {
        folder = try TemporaryFolder()
        let count = RequestCount()
        self.count = count
        let body = Data(Self.list(people).utf8)
        listener = try LoopbackListener { request in
            let isList = request.path.hasSuffix("/users")
            if isList { count.add() }
            return LoopbackResponse(
                status: isList ? 200 : 404, fields: ["Content-Type": "application/json"],
                body: isList ? body : Data("{}".utf8))
        }
        var environment = environment
        environment["LODGE_STORE"] = nil
        environment["HOME"] = folder.path
        environment["TERM"] = "xterm-256color"
        environment["LC_ALL"] = "C.UTF-8"
        self.environment = environment
        try folder.write(SearchScene.settings(port: listener.port), to: "settings.json")
        try folder.write(Self.lines(people), to: "people.txt")
        let directory = StoreLocation(folder.path + "/store")
        let store = try await AccountStore(
            settings: try Settings(contentsOf: URL(filePath: folder.path + "/settings.json")),
            storage: SQLiteStorage(directory: directory), custody: KeyFile(directory: directory),
            watchesOtherProcesses: false)
        _ = try await store.add(
            try TokenResponse.read(TokenAnswer.response(accessToken: TokenAnswer.standardToken)), toType: "graph")
    }

    func close() {
        listener.close()
        folder.remove()
    }

    func browse(_ binary: CommandBinary) -> Program {
        Program(
            path: binary.path,
            arguments: ["browse", "--settings", folder.path + "/settings.json", "--store", folder.path + "/store"],
            environment: environment)
    }

    func less(_ path: String) -> Program {
        Program(path: path, arguments: [folder.path + "/people.txt"], environment: environment)
    }

    private static func list(_ people: Int) -> String {
        let all = (0..<people).map { number in
            #"{"id":"\#(number)","displayName":"Inventor \#(number)","givenName":"Inventor","surname":"\#(number)","#
                + #""mail":"inventor\#(number)@contoso.example","userPrincipalName":"inventor\#(number)@contoso.example","#
                + #""jobTitle":"Engineer","department":"Research","businessPhones":["+1 425 555 0100"]}"#
        }
        return #"{"value":["# + all.joined(separator: ",") + "]}"
    }

    private static func lines(_ people: Int) -> String {
        (0..<people).map { "Inventor \($0)  inventor\($0)@contoso.example  Engineer" }.joined(separator: "\n") + "\n"
    }
}

/// A thread-safe counter.
private final class RequestCount: Sendable {
    private let number = Mutex(0)

    var value: Int { number.withLock { $0 } }
    func add() { number.withLock { $0 += 1 } }
}
