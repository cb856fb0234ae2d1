/// The delays between retries: each is twice the previous one, up to a maximum.
package struct Backoff {
    private let delays: ClosedRange<Duration>
    private var nextDelay: Duration

    package init(_ delays: ClosedRange<Duration>) {
        self.delays = delays
        nextDelay = delays.lowerBound
    }

    /// Returns the delay before the next attempt.
    package mutating func next() -> Duration {
        defer { nextDelay = min(nextDelay * 2, delays.upperBound) }
        return nextDelay
    }

    /// Resets the delay to the minimum.
    package mutating func reset() { nextDelay = delays.lowerBound }
}

/// Calls `attempt` until it returns a value, sleeping 1 to 50 milliseconds between calls.
///
/// Returns `nil` after the time limit.
///
/// - Throws: `CancellationError` if the task is cancelled; the errors of `attempt` and `sleep`.
package func poll<Value>(
    timeout: Duration, sleep: @Sendable (Duration) async throws -> Void,
    isolation: isolated (any Actor)? = #isolation, _ attempt: () throws -> Value?
) async throws -> Value? {
    var waited = Duration.zero
    var backoff = Backoff(.milliseconds(1) ... .milliseconds(50))
    while true {
        try Task.checkCancellation()
        if let value = try attempt() { return value }
        guard waited < timeout else { return nil }
        let delay = backoff.next()
        try await sleep(delay)
        waited += delay
    }
}
