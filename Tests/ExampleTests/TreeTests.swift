import Foundation
import Testing

/// Tests the text of the repository's files.
@Suite struct TreeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
    /// Folders with third-party text, or with files that are not text.
    private static let skipped: Set = ["Vectors", "Databases", "peers"]

    /// The number of lines with the program's words that the other modules may have. Lower it when you remove some.
    private static let allowedProgramWords = 0

    private struct Line: CustomStringConvertible {
        let file: String
        let number: Int
        let text: String
        var description: String { "\(file):\(number): \(text)" }
    }

    /// Returns the lines below a folder, or of a file, that contain a string.
    private func lines(of path: String, with needles: [String]) throws -> [Line] {
        let location = Self.root.appending(path: path)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: location.path, isDirectory: &isFolder) else { return [] }
        guard isFolder.boolValue else {
            guard let text = try? String(contentsOf: location, encoding: .utf8) else { return [] }
            guard needles.contains(where: { Self.contains(text, $0) }) else { return [] }
            return text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
                .map { Line(file: path, number: $0.offset + 1, text: String($0.element)) }
                .filter { line in needles.contains { Self.contains(line.text, $0) } }
        }
        return try FileManager.default.contentsOfDirectory(atPath: location.path).sorted()
            .filter { !Self.skipped.contains($0) }
            .flatMap { try lines(of: path + "/" + $0, with: needles) }
    }

    private static func contains(_ text: String, _ needle: String) -> Bool {
        text.withCString { strstr($0, needle) != nil }
    }

    @Test func `no file contains the old name of the program`() throws {
        let old = "directory"
        // Commands that follow the old name only in a command line. Not "directory search", "sync" or "query".
        let commands = [
            "sign-in", "sign-out", "login", "logout", "accounts", "token", "header", "exec", "credential",
            "lookup", "browse", "providers", "config", "doctor", "serve", "demo", "completion", "__",
        ]
        let needles =
            commands.map { "\(old) \($0)" }
            + ["`\(old) ", "$ \(old) ", "run: \(old) ", "\"\(old): ", "product \(old)", "#compdef \(old)"]
            + ["config", "share", "release", "bin"].map { "\($0)/\(old)" }
            + ["lodge git-credential", "\(old)_complete", "\(old)_accounts", "\(old)_$", old.uppercased() + "_"]
        let own = Self.root.appending(path: "Tests/ExampleTests/TreeTests.swift")
        try #require(FileManager.default.fileExists(atPath: own.path))
        let hits = try [
            ".ci", "Benchmarks", "Examples", "Settings", "Sources", "Tests", "Makefile", "Package.swift", "README.md",
            "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
        ].flatMap { try lines(of: $0, with: needles) }.filter { !own.path.hasSuffix($0.file) }
        #expect(hits.isEmpty, "\(hits.map(\.description).joined(separator: "\n"))")
    }

    @Test func `only the program names its commands, options and variables`() throws {
        let modules = try FileManager.default.contentsOfDirectory(atPath: Self.root.path + "/Sources").sorted()
        #expect(modules.contains("lodge"))
        var hits: [Line] = []
        // LodgeAgent and the launcher are parts of the program. LocalProvider has pages and a client with its name.
        for module in modules where !["lodge", "LodgeAgent", "lodge-launcher", "LocalProvider"].contains(module) {
            // CommandLineKit parses the options of any program.
            let needles = ["LODGE_", "lodge"] + (module == "CommandLineKit" ? [] : ["--"])
            hits += try lines(of: "Sources/\(module)", with: needles).filter {
                $0.file.hasSuffix(".swift") && !$0.text.drop { $0 == " " }.hasPrefix("//")
                    && $0.text.contains(/LODGE_|(^|[^-a-zA-Z._])lodge\b|(^|[ "'`(])--[a-z]/)
            }
        }
        #expect(hits.count <= Self.allowedProgramWords, "\(hits.map(\.description).joined(separator: "\n"))")
    }
}
