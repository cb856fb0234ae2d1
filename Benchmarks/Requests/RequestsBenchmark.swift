import CurlHTTP
import HTTPExchange

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Requests to nginx compared with `curl` and Python's `requests`: many small requests, and one large transfer in each
/// direction.
///
/// `BENCHMARK_REQUESTS` and `BENCHMARK_BYTES` reduce the number and size.
@MainActor
enum RequestsBenchmark {
    private static let inFlight = 32
    private static let token =
        "Authorization: Bearer eyJ0eXAiOiJKV1QiLCJhbGciOiJSUzI1NiJ9.eyJhdWQiOiJodHRwczovL2EuZXhhbXBsZSJ9.c2ln"

    static func run(_ show: @MainActor (Figure) -> Void) async throws {
        let environment = Environment.ofThisProcess
        let count = environment["BENCHMARK_REQUESTS"].flatMap { Int($0) } ?? 10_000
        let bytes = environment["BENCHMARK_BYTES"].flatMap { Int($0) } ?? 1 << 30
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let nginx = try Nginx(in: folder, environment: environment)
        defer { nginx.stop() }
        let curl = try Program.find("curl", in: environment)
        try await small(count, nginx, folder, curl, environment, show)
        try await large(bytes, nginx, folder, curl, environment, show)
    }

    // MARK: - Small requests

    private static func small(
        _ count: Int, _ nginx: Nginx, _ folder: TemporaryFolder, _ curl: String, _ environment: [String: String],
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let address = "\(nginx.url)/small"
        try folder.write(
            String(repeating: "url = \"\(address)\"\noutput = \"/dev/null\"\n", count: count), to: "curl.conf")
        let byCurl = Program(
            path: curl,
            arguments: [
                "--disable", "--silent", "--no-progress-meter", "--fail", "--parallel", "--parallel-max", "\(inFlight)",
                "--header", token, "--config", "\(folder.path)/curl.conf",
            ], environment: environment)
        try folder.write(script, to: "peer.py")
        let byPython = Program(
            path: try Program.find("python3", in: environment),
            arguments: ["\(folder.path)/peer.py", address, "\(count)", "\(inFlight)", token], environment: environment)
        let ours = { @MainActor () async throws -> Double in Double(count) / (try await send(count, to: address)) }
        let againstCurl = try await inTurns(
            rounds: 5, warmUp: 1, ours: ours, peer: { Double(count) / (try byCurl.run().wall) })
        show(
            figure("small requests, \(inFlight) in parallel", againstCurl, peer: "curl --parallel", .atLeast(0.7)))
        let againstPython = try await inTurns(
            rounds: 3, warmUp: 0, ours: ours, peer: { Double(count) / (try byPython.run().wall) })
        show(
            figure("small requests, \(inFlight) in parallel", againstPython, peer: "Python requests", .atLeast(5)))
    }

    private static func figure(
        _ name: String, _ rates: (ours: [Double], peer: [Double]), peer: String, _ goal: Goal
    ) -> Figure {
        Figure(
            name: name, unit: "per second", digits: 0, ours: Samples(rates.ours), peerName: peer,
            peer: Samples(rates.peer), goal: goal)
    }

    /// Sends this many requests with a new transport, and returns the duration in seconds.
    private static func send(_ count: Int, to address: String) async throws -> Double {
        guard let url = URL(string: address) else { throw BenchmarkError("\(address) is not a URL") }
        let transport = CurlTransport()
        let authorization = String(token.dropFirst("Authorization: ".count))
        let begin = Seconds.elapsed
        try await withThrowingTaskGroup(of: Void.self) { group in
            for worker in 0..<inFlight {
                let share = count / inFlight + (worker < count % inFlight ? 1 : 0)
                group.addTask {
                    for _ in 0..<share {
                        let answer = try await transport.send(
                            HTTPRequest(.get, url, fields: ["Authorization": authorization]))
                        guard answer.status == 200 else { throw BenchmarkError("nginx returned \(answer.status)") }
                    }
                }
            }
            try await group.waitForAll()
        }
        return Seconds.elapsed - begin
    }

    private static let script = """
        import sys
        from concurrent.futures import ThreadPoolExecutor
        import requests
        address, count, threads, token = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
        name, value = token.split(": ", 1)
        session = requests.Session()
        session.trust_env = False
        session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=threads))
        def one(_):
            session.get(address, headers={name: value}).raise_for_status()
        with ThreadPoolExecutor(threads) as pool:
            for _ in pool.map(one, range(count)):
                pass
        """

    // MARK: - Large transfers

    private static func large(
        _ bytes: Int, _ nginx: Nginx, _ folder: TemporaryFolder, _ curl: String, _ environment: [String: String],
        _ show: @MainActor (Figure) -> Void
    ) async throws {
        let source = "\(folder.path)/files/source"
        let location = "\(folder.path)/received"
        try fill(source, bytes)
        guard let from = URL(string: "\(nginx.url)/files/source"), let to = URL(string: "\(nginx.url)/files/target")
        else { throw BenchmarkError("invalid nginx URL") }
        let transport = CurlTransport()
        let options = ["--disable", "--silent", "--show-error", "--fail"]
        let down = try await inTurns(
            rounds: 5, warmUp: 1,
            ours: {
                let begin = Seconds.elapsed
                let saved = try await transport.download(HTTPRequest(.get, from), to: URL(filePath: location))
                guard saved.size == Int64(bytes) else {
                    throw BenchmarkError("received \(saved.size) of \(bytes) bytes")
                }
                return Seconds.elapsed - begin
            },
            peer: {
                let program = Program(
                    path: curl, arguments: options + ["--output", location, from.absoluteString],
                    environment: environment)
                return try program.run().wall
            })
        show(
            Figure(
                name: "\(bytes >> 20) MiB received into a file", unit: "s", ours: Samples(down.ours), peerName: "curl",
                peer: Samples(down.peer), goal: .atMost(1.1)))
        let up = try await inTurns(
            rounds: 5, warmUp: 1,
            ours: {
                let begin = Seconds.elapsed
                let answer = try await transport.send(HTTPRequest(.put, to, content: .file(at: URL(filePath: source))))
                guard answer.status < 300 else { throw BenchmarkError("nginx returned \(answer.status)") }
                return Seconds.elapsed - begin
            },
            peer: {
                let program = Program(
                    path: curl, arguments: options + ["--upload-file", source, to.absoluteString],
                    environment: environment)
                return try program.run().wall
            })
        show(
            Figure(
                name: "\(bytes >> 20) MiB sent from a file", unit: "s", ours: Samples(up.ours), peerName: "curl",
                peer: Samples(up.peer), goal: .atMost(1.1)))
    }

    /// Creates a file with random bytes, so that reading it is not free.
    private static func fill(_ path: String, _ bytes: Int) throws {

        let dd = Program(
            path: "/bin/sh",
            arguments: ["-c", "head -c \"$2\" /dev/urandom >\"$1\"", "sh", path, "\(bytes)"],
            environment: Environment.ofThisProcess)
        _ = try dd.run()
    }
}
