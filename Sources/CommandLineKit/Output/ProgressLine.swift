/// The progress of a long command: one line on standard error after 200 ms, updated at most ten times a second.
///
/// It shows a rate and, if known, the total.
@MainActor package final class ProgressLine {
    /// The delay before the progress line appears.
    package static let patience = Duration.milliseconds(200)
    private static let interval = Duration.milliseconds(100)

    private let console: Console
    private let now: () -> ContinuousClock.Instant
    private let start: ContinuousClock.Instant
    private var shown: ContinuousClock.Instant?

    package init(_ console: Console, now: @escaping () -> ContinuousClock.Instant = { .now }) {
        self.console = console
        self.now = now
        start = now()
    }

    /// Shows `done` of `total`: `120 of 400 users, 30%, 60 a second`. `noun` is plural.
    package func show(_ done: Int, of total: Int? = nil, _ noun: String) {
        show { seconds in
            let rate = ", \(Int(min(Double(done) / seconds, 1e15))) a second"
            guard let total, total > 0 else { return "\(done) \(noun)\(rate)" }
            return "\(done) of \(total) \(noun), \(min(100, Int(100 * Double(done) / Double(total))))%\(rate)"
        }
    }

    /// Shows the line for the number of seconds since the start.
    package func show(_ text: (_ seconds: Double) -> String) {
        let time = now()
        guard console.showsProgress, time - start >= Self.patience else { return }
        if let shown, time - shown < Self.interval { return }
        shown = time
        let elapsed = (time - start).components
        console.showProgress(text(Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18))
    }

    package func clear() { console.hideProgress() }
}
