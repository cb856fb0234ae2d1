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
        var text = TerminalText.Lines()
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
