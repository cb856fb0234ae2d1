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

/// A group of figures.
struct Benchmark: Sendable {
    /// The name on the command line.
    let name: String
    /// Measures, and hands over each figure as soon as it is there.
    let run: @MainActor @Sendable (_ show: @MainActor (Figure) -> Void) async throws -> Void
}

/// `swift run -c release benchmarks [NAME…]`: figures beside those of programs that do the same.
@main
@MainActor
enum Benchmarks {
    static let all = [
        Benchmark(name: "browse", run: BrowseBenchmark.run),
        Benchmark(name: "offline", run: OfflineBenchmark.run),
        Benchmark(name: "command", run: CommandBenchmark.run),
        Benchmark(name: "callers", run: AccessTokenScene.run),
        Benchmark(name: "jose", run: JOSEBenchmark.run),
        Benchmark(name: "store", run: StoreBenchmark.run),
        Benchmark(name: "directory", run: DirectoryBenchmark.run),
        Benchmark(name: "requests", run: RequestsBenchmark.run),
    ]

    static func main() async {
        let wanted = Array(CommandLine.arguments.dropFirst())
        let known = all.map(\.name).joined(separator: ", ")
        if let unknown = wanted.first(where: { name in !all.contains { $0.name == name } }) {
            say(
                "error: no benchmark \(unknown.debugDescription)\nhint: there are \(known); without a name all of them run"
            )
            exit(2)
        }
        #if DEBUG
            say("error: figures of a debug build say nothing\nhint: swift run -c release benchmarks")
            exit(2)
        #else
            await measure(wanted.isEmpty ? all : all.filter { wanted.contains($0.name) })
        #endif
    }

    private static func measure(_ benchmarks: [Benchmark]) async {
        var status: Int32 = 0
        for benchmark in benchmarks {
            do {
                try await benchmark.run {
                    print($0.line)
                    // A run that is ended early leaves what it measured.
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

/// Says something that is no figure, on standard error.
func say(_ text: String) {
    let bytes = Array((text + "\n").utf8)
    _ = write(2, bytes, bytes.count)
}
