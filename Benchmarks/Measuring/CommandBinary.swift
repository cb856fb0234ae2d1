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

/// The `lodge` that is measured.
struct CommandBinary {
    let path: String
    /// How it was built, in words.
    let kind: String

    /// Its bytes on the disk.
    var size: Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// The one named by `BENCHMARK_LODGE`, else the one that is released, built for the purpose; where that cannot be built,
    /// the one beside this program.
    @MainActor
    static func find(environment: [String: String]) throws(BenchmarkError) -> CommandBinary {
        if let path = environment["BENCHMARK_LODGE"], !path.isEmpty {
            return CommandBinary(path: path, kind: "named by BENCHMARK_LODGE")
        }
        do throws(BenchmarkError) {
            return try built(environment)
        } catch {
            say("The released form is not measured: \(error)")
        }
        let beside = Self.directoryOfThisProgram + "/lodge"
        guard access(beside, X_OK) == 0 else {
            throw BenchmarkError("there is no \(beside); run swift build -c release --product lodge first")
        }
        return CommandBinary(path: beside, kind: "beside this program")
    }

    /// Builds what is released: with Swift's libraries in it, and without symbols.
    ///
    /// A folder of its own, because SwiftPM builds everything in a folder in one way.
    @MainActor
    private static func built(_ environment: [String: String]) throws(BenchmarkError) -> CommandBinary {
        var arguments = [
            "build", "-c", "release", "--product", "lodge", "--package-path", packageRoot,
            "--scratch-path", packageRoot + "/.build/released",
        ]
        #if os(Linux)
            arguments += ["--static-swift-stdlib", "--disable-local-rpath", "-Xlinker", "-s"]
        #endif
        say("swift \(arguments.joined(separator: " "))")
        let swift = Program(
            path: try Program.find("swift", in: environment), arguments: arguments, environment: environment)
        _ = try swift.run()
        return CommandBinary(path: packageRoot + "/.build/released/release/lodge", kind: "built as it is released")
    }

    private static var packageRoot: String {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .path
    }

    private static var directoryOfThisProgram: String {
        let program = CommandLine.arguments.first ?? ""
        return program.contains("/") ? String(program[..<(program.lastIndex(of: "/") ?? program.startIndex)]) : "."
    }
}
