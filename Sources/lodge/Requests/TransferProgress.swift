import CommandLineKit
import HTTPExchange

/// The progress of a transfer, in one line on a terminal, after 200 ms.
@MainActor final class TransferProgress {
    private let line: ProgressLine
    private let mixesWithContent: Bool
    private var hasEnded = false

    /// Creates the progress line.
    ///
    /// - Parameter isForFile: whether the content of the response is written to a file instead of standard output.
    init(_ console: Console, isForFile: Bool) {
        line = ProgressLine(console)
        mixesWithContent = console.terminal.outputIsTerminal && !isForFile
    }

    /// Shows the progress, unless the terminal shows the content.
    func show(_ progress: HTTPProgress) {
        guard !hasEnded, !progress.hasEnded, !(mixesWithContent && progress.received > 0) else { return }
        line.show { seconds in Self.text(progress, after: .seconds(seconds)) ?? "" }
    }

    func clear() { line.clear() }

    func end() {
        clear()
        hasEnded = true
    }

    /// Returns the line with the amount, the total and the rate, or `nil` in the first 200 ms.
    nonisolated static func text(_ progress: HTTPProgress, after elapsed: Duration) -> String? {
        guard elapsed > .milliseconds(200), !progress.hasEnded else { return nil }
        let isSending = progress.received == 0 && progress.sent > 0
        let (done, total) =
            isSending ? (progress.sent, progress.totalToSend) : (progress.received, progress.totalToReceive)
        let rate = "\(size(Int64(Double(done) / max(elapsed / .seconds(1), 0.001))))/s"
        let word = isSending ? "sent" : "received"
        guard let total, total > 0 else { return "\(size(done)) \(word), \(rate)" }
        let share = min(1, Double(done) / Double(total))
        let full = Int(share * 20)
        let bar = String(repeating: "#", count: full) + String(repeating: "-", count: 20 - full)
        return "[\(bar)] \(Int(share * 100)) % of \(size(total)) \(word), \(rate)"
    }

    /// Returns a readable size: `1.4 MB`.
    nonisolated static func size(_ bytes: Int64) -> String {
        var value = Double(max(0, bytes))
        var unit = "B"
        for next in ["kB", "MB", "GB", "TB"] where value >= 1000 {
            value /= 1000
            unit = next
        }
        guard unit != "B" else { return "\(max(0, bytes)) B" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10) \(unit)"
    }
}
