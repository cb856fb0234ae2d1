import CommandLineKit
import HTTPExchange

/// How far a transfer is, in one line on a terminal, after 200 ms.
@MainActor
final class TransferProgress {
    private let console: Console
    private let isShown: Bool
    private let mixesWithAnswer: Bool
    private let begun = ContinuousClock.now
    private var hasText = false
    private var hasEnded = false

    /// - Parameter isForFile: whether the content of the answer goes to a file and not to standard output.
    init(_ console: Console, isForFile: Bool) {
        self.console = console
        isShown = console.terminal.errorIsTerminal && console.options.verbosity >= .normal
        mixesWithAnswer = console.terminal.outputIsTerminal && !isForFile
    }

    /// Shows it, unless the answer is being written to the same terminal.
    func show(_ progress: HTTPProgress) {
        guard isShown, !hasEnded, !(mixesWithAnswer && progress.received > 0) else { return }
        guard let text = Self.text(progress, after: ContinuousClock.now - begun) else { return }
        console.showProgress(text)
        hasText = true
    }

    func clear() {
        if hasText { console.showProgress(nil) }
        hasText = false
    }

    /// Takes the line away for good.
    func end() {
        clear()
        hasEnded = true
    }

    /// The line: what moved, of how much, how fast. Nil in the first 200 ms.
    ///
    /// - Parameter elapsed: the time since the beginning.
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

    /// A number of bytes for people: `1.4 MB`.
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
