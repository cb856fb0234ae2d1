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

/// A group of measurements.
struct Benchmark: Sendable {
    /// The name on the command line.
    let name: String
    /// Whether it runs only if its name is given, because it takes minutes.
    var isLong = false
    /// Runs the measurements, and passes each figure to `show` immediately.
    let run: @MainActor @Sendable (_ show: @MainActor (Figure) -> Void) async throws -> Void
}

/// `swift run -c release benchmarks [NAME…]`: compares lodge and its libraries with similar programs.
@main
@MainActor
enum Benchmarks {
    static let all = [
        Benchmark(name: "browse", run: BrowseBenchmark.run),
        Benchmark(name: "offline", run: OfflineBenchmark.run),
        Benchmark(name: "command", run: CommandBenchmark.run),
        Benchmark(name: "agent", run: AgentBenchmark.run),
        Benchmark(name: "agent-idle", isLong: true, run: AgentBenchmark.runIdle),
        Benchmark(name: "callers", run: AccessTokenScene.run),
        Benchmark(name: "jose", run: JOSEBenchmark.run),
        Benchmark(name: "store", run: StoreBenchmark.run),
        Benchmark(name: "server", run: ServerBenchmark.run),
        Benchmark(name: "directory", run: DirectoryBenchmark.run),
        Benchmark(name: "requests", run: RequestsBenchmark.run),
    ]

    static func main() async {
        let wanted = Array(CommandLine.arguments.dropFirst())
        let known = all.map(\.name).joined(separator: ", ")
        if let unknown = wanted.first(where: { name in !all.contains { $0.name == name } }) {
            say(
                "error: no benchmark \(unknown.debugDescription)\nhint: expected \(known); without a name, all run but agent-idle"
            )
            exit(2)
        }
        #if DEBUG
            say("error: measurements of a debug build are meaningless\nhint: swift run -c release benchmarks")
            exit(2)
        #else
            await measure(wanted.isEmpty ? all.filter { !$0.isLong } : all.filter { wanted.contains($0.name) })
        #endif
    }

    private static func measure(_ benchmarks: [Benchmark]) async {
        var status: Int32 = 0
        for benchmark in benchmarks {
            do {
                try await benchmark.run {
                    print($0.line)
                    // An interrupted run keeps the measurements until then.
                    fflush(nil)
                }
            } catch {
                say("error: \(benchmark.name): \(error)")
                status = 1
            }
        }
        fflush(nil)
        exit(status)
    }
}

/// Prints a message on standard error.
func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = write(2, bytes, bytes.count)
}
