import CommandLineKit
import LodgePlatform
import HTTPExchange

/// The output of a response.
@MainActor struct ResponseOutput {
    let console: Console
    let line: TransferProgress
    let includesHead: Bool

    func writeHead(_ response: HTTPStreamedResponse) throws {
        guard includesHead else { return }
        line.clear()
        try console.writeLine("HTTP \(response.status)")
        for field in response.fields { try console.writeLine("\(field.name): \(field.value)".visible) }
        try console.writeLine()
        try console.flush()
    }

    /// Writes the content to standard output: unchanged to a pipe or a file, escaped to a terminal.
    func write(_ response: HTTPStreamedResponse) async throws {
        guard console.terminal.outputIsTerminal else {
            // Flush each chunk: the reader of the pipe may wait for the next event of a stream.
            for try await chunk in response.body {
                try console.write(bytes: Array(chunk))
                try console.flush()
            }
            return
        }
        var text = TerminalText.Lines()
        for try await chunk in response.body {
            line.end()
            guard let lines = text.take(chunk) else {
                // Printed even with --quiet, because it replaces the content.
                console.instruct(
                    "The content is not text (\(response.fields["Content-Type"] ?? "of an unknown type")); --output FILE saves it."
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

    func note(_ download: HTTPDownload, at path: String) {
        let before = download.resumed > 0 ? ", \(TransferProgress.size(download.resumed)) of it earlier" : ""
        console.note("Wrote \(TransferProgress.size(download.size)) to \(path)\(before).")
    }
}
