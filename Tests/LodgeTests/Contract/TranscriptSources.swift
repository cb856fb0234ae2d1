import Foundation

/// The command lines that the tests of this folder run, as literals in the sources.
struct TranscriptSources {
    /// The literals of each call of `run` and of each list, in order.
    let lines: [[String]]

    /// The sources of all tests except the parser tests, which run no commands.
    static let all = Result { try TranscriptSources() }

    private init() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap {
            $0 as? URL
        }
        lines = try (files ?? [])
            .filter { $0.pathExtension == "swift" && !["Parsing", "Contract"].contains($0.parent) }
            .flatMap { Self.lines(in: try String(contentsOf: $0, encoding: .utf8)) }
    }

    /// Returns whether a test runs this command with this option.
    func runs(_ command: [[String]], with option: String? = nil) -> Bool {
        lines.contains { line in
            let words = line.prefix(command.count)
            guard words.count == command.count, zip(words, command).allSatisfy({ $1.contains($0) }) else {
                return false
            }
            guard let option else { return true }
            return line.contains { $0 == "--" + option || $0.hasPrefix("--" + option + "=") }
        }
    }

    /// Returns the string literals between each `run(` or `[` and its end. A list in a call is also a separate line.
    static func lines(in source: String) -> [[String]] {
        let opening: Set<UInt8> = [UInt8(ascii: "("), UInt8(ascii: "[")]
        let closing: Set<UInt8> = [UInt8(ascii: ")"), UInt8(ascii: "]")]
        let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
        var lines: [[String]] = []
        // The open brackets, each with its literals so far, or `nil` if the bracket is irrelevant.
        var open: [[String]?] = []
        var word: [UInt8] = []
        var rest = Array(source.utf8)[...]
        while let byte = rest.popFirst() {
            if byte == quote {
                var literal: [UInt8] = []
                while let next = rest.popFirst(), next != quote, next != UInt8(ascii: "\n") {
                    literal.append(next == backslash ? rest.popFirst() ?? next : next)
                }
                for location in open.indices { open[location]?.append(String(decoding: literal, as: UTF8.self)) }
            } else if opening.contains(byte) {
                open.append(byte == UInt8(ascii: "[") || word == Array("run".utf8) ? [] : nil)
            } else if closing.contains(byte), let literals = open.popLast(), let literals, !literals.isEmpty {
                lines.append(literals)
            }
            let isLetter = (0x61...0x7A).contains(byte | 0x20)
            if isLetter { word.append(byte) } else { word = [] }
        }
        return lines
    }
}

extension URL {
    /// The name of the folder of the file.
    fileprivate var parent: String { deletingLastPathComponent().lastPathComponent }
}
