import Foundation
import Testing

/// The time limits of tests. The environment variable `TEST_TIME_FACTOR` multiplies them on a slow or busy machine.
package enum TestTime {
    /// The value of `TEST_TIME_FACTOR`, or 1 if it is not set.
    package static let factor =
        ProcessInfo.processInfo.environment["TEST_TIME_FACTOR"].flatMap(Double.init).map { max($0, 1) } ?? 1

    /// Returns a limit in seconds, multiplied by ``factor``, for an action that takes far less on an idle machine.
    package static func seconds(_ seconds: Double = 120) -> Double { seconds * factor }
}

extension TimeLimitTrait.Duration {
    /// Returns a limit in minutes, multiplied by ``TestTime/factor``.
    package static func scaled(minutes: Double) -> Self { .minutes(Int((minutes * TestTime.factor).rounded(.up))) }
}

/// A condition did not become true within its time limit.
package struct TimeLimitExceeded: Error {}

/// Waits until a condition holds that another task or process establishes.
///
/// - Throws: ``TimeLimitExceeded`` if it does not hold after two minutes, multiplied by ``TestTime/factor``.
package func until(
    isolation: isolated (any Actor)? = #isolation, _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(TestTime.seconds())
    while try await !condition() {
        guard ContinuousClock.now < end else { throw TimeLimitExceeded() }
        try await Task.sleep(for: .milliseconds(1))
    }
}

extension Process {
    /// Kills the process if it still runs after the given number of seconds, multiplied by ``TestTime/factor``, so that
    /// a wait for its end or its output is limited. Call it after `run()`.
    package func limit(seconds: Double = 120) {
        DispatchQueue.global().asyncAfter(deadline: .now() + TestTime.seconds(seconds)) { [weak self] in
            if let self, self.isRunning { kill(self.processIdentifier, SIGKILL) }
        }
    }
}

extension DispatchSemaphore {
    /// Waits for a signal for at most a minute, multiplied by ``TestTime/factor``.
    package func waitLimited() { _ = wait(timeout: .now() + TestTime.seconds(60)) }
}
