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

/// Python with `msal` and `requests`, the usual alternative.
struct Python {
    /// The path of the interpreter.
    let path: String

    /// Returns the interpreter in `BENCHMARK_PYTHON`, in the environment of `make bench`, or in `PATH`, or `nil` if it
    /// lacks the packages.
    @MainActor
    static func find(environment: [String: String]) -> Python? {
        let places = [
            environment["BENCHMARK_PYTHON"], Self.packageRoot + "/.build/python/bin/python",
            try? Program.find("python3", in: environment),
        ]
        guard let path = places.compactMap({ $0 }).first(where: { access($0, X_OK) == 0 }) else { return nil }
        let asking = Program(path: path, arguments: ["-c", "import msal, requests"], environment: environment)
        guard (try? asking.run()) != nil else { return nil }
        return Python(path: path)
    }

    /// Returns a script of the folder `Peers`.
    func script(_ name: String, _ arguments: [String], _ environment: [String: String]) -> Program {
        Self.script(name, arguments, environment, interpreter: path)
    }

    /// Returns a script of the folder `Peers` that any Python runs, because it uses no package.
    static func script(
        _ name: String, _ arguments: [String], _ environment: [String: String], interpreter: String
    ) -> Program {
        Program(
            path: interpreter, arguments: [packageRoot + "/Benchmarks/Peers/" + name] + arguments,
            environment: environment)
    }

    private static var packageRoot: String {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .path
    }
}
