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

/// The measured `lodge` binary.
struct CommandBinary {
    let path: String
    /// A description of how it was built.
    let kind: String

    /// The size of the file in bytes.
    var size: Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Returns the binary in `BENCHMARK_LODGE`, otherwise a new build of the released form, or if that fails, the
    /// binary next to this program.
    @MainActor
    static func find(environment: [String: String]) throws(BenchmarkError) -> CommandBinary {
        if let path = environment["BENCHMARK_LODGE"], !path.isEmpty {
            return CommandBinary(path: path, kind: "named by BENCHMARK_LODGE")
        }
        do throws(BenchmarkError) {
            return try built(environment)
        } catch {
            say("Cannot measure the released form: \(error)")
        }
        let beside = Self.directoryOfThisProgram + "/lodge"
        guard access(beside, X_OK) == 0 else {
            throw BenchmarkError("\(beside) does not exist; run swift build -c release --product lodge first")
        }
        return CommandBinary(path: beside, kind: "next to this program")
    }

    /// Builds the released form: statically linked with Swift's libraries, and without symbols.
    ///
    /// Uses a separate scratch folder, because SwiftPM builds everything in one folder with the same options.
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
        return CommandBinary(path: packageRoot + "/.build/released/release/lodge", kind: "built like a release")
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
