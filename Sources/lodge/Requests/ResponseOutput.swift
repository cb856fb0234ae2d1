import CommandLineKit
import Platform
import HTTPExchange

/// Shows an answer as it comes, or keeps its content in a file.
@MainActor
struct ResponseOutput {
    private let console: Console
    private let line: TransferProgress
    private let includesHead: Bool

    init(_ console: Console, line: TransferProgress, includesHead: Bool) {
        self.console = console
        self.line = line
        self.includesHead = includesHead
    }

    func writeHead(_ answer: HTTPStreamedResponse) throws {
        guard includesHead else { return }
        line.clear()
        try console.writeLine("HTTP \(answer.status)")
        for field in answer.fields { try console.writeLine(TerminalText.visible("\(field.name): \(field.value)")) }
        try console.writeLine()
        try console.flush()
    }

    /// Writes the content to standard output: as it is into a pipe or a file, and safe to look at on a terminal.
    func write(_ answer: HTTPStreamedResponse) async throws {
        guard console.terminal.outputIsTerminal else {
            // Each piece goes on as it comes: whoever reads the pipe may be waiting for the next event of a stream.
            for try await chunk in answer.body {
                try console.write(bytes: Array(chunk))
                try console.flush()
            }
            return
        }
        var text = ResponseText()
        for try await chunk in answer.body {
            line.end()
            guard let lines = text.take(chunk) else {
                // In the place of the answer, so it is said even with --quiet.
                console.instruct(
                    "The content is not text (\(answer.fields["Content-Type"] ?? "of an unknown type")); --output FILE keeps it."
                )
                return
            }
            for line in lines { try console.writeLine(line) }
            try console.flush()
        }
        line.end()
        if let rest = text.rest() { try console.writeLine(rest) }
        try console.flush()
    }

    /// Says what was saved where.
    func note(_ download: HTTPDownload, at path: String) {
        let before = download.resumed > 0 ? ", \(TransferProgress.size(download.resumed)) of it from before" : ""
        console.note("Wrote \(TransferProgress.size(download.size)) to \(path)\(before).")
    }
}

/// Text of a service on its way to a terminal, a line at a time: what could steer the terminal is made visible.
struct ResponseText {
    private var bytes: [UInt8] = []
    /// A line that has no end is shown in pieces of this many bytes.
    private static let maximumLine = 64 * 1024

    /// The lines that are complete with these bytes; nil when they are no text.
    mutating func take(_ chunk: Data) -> [String]? {
        bytes += chunk
        var lines: [String] = []
        while let end = bytes.firstIndex(of: 0x0A) ?? (bytes.count > Self.maximumLine ? Self.maximumLine : nil) {
            var line = bytes[..<end]
            let isBroken = bytes[end] != 0x0A
            // A piece ends where a character ends.
            while isBroken, let last = line.last, last & 0xC0 == 0x80, line.count > Self.maximumLine - 4 {
                line.removeLast()
            }
            let next = isBroken ? line.endIndex : end + 1
            if line.last == 0x0D { line.removeLast() }
            guard let text = String(validating: line, as: UTF8.self), !text.utf8.contains(0) else { return nil }
            lines.append(Self.shown(text))
            bytes.removeFirst(next)
        }
        return bytes.contains(0) ? nil : lines
    }

    /// What came after the last line's end.
    func rest() -> String? { bytes.isEmpty ? nil : Self.shown(String(decoding: bytes, as: UTF8.self)) }

    /// A tabulator stays: it is how text is laid out.
    private static func shown(_ line: String) -> String {
        line.split(separator: "\t", omittingEmptySubsequences: false).map { TerminalText.visible(String($0)) }
            .joined(separator: "\t")
    }
}
