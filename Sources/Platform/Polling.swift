/// Calls `attempt` until it returns a value, sleeping between the calls for 1 to 50 milliseconds. Returns `nil` after the time limit.
///
/// - Throws: `CancellationError` if the task is cancelled; the errors of `attempt` and `sleep`.
package func poll<Value>(
    timeout: Duration, sleep: @Sendable (Duration) async throws -> Void,
    isolation: isolated (any Actor)? = #isolation, _ attempt: () throws -> Value?
) async throws -> Value? {
    var waited = Duration.zero
    var delay = Duration.milliseconds(1)
    while true {
        try Task.checkCancellation()
        if let value = try attempt() { return value }
        guard waited < timeout else { return nil }
        try await sleep(delay)
        waited += delay
        delay = min(delay * 2, .milliseconds(50))
    }
}
