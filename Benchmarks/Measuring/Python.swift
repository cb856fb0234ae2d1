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

/// What people use instead: Python with `msal` and `requests`.
struct Python {
    /// The interpreter that has these packages.
    let path: String

    /// The one named by `BENCHMARK_PYTHON`, else the one that `make bench` sets up, else `python3`; nil where it lacks the packages.
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

    /// A script of the folder `Peers`.
    func script(_ name: String, _ arguments: [String], _ environment: [String: String]) -> Program {
        Program(
            path: path, arguments: [Self.packageRoot + "/Benchmarks/Peers/" + name] + arguments,
            environment: environment)
    }

    private static var packageRoot: String {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .path
    }
}
