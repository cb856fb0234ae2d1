import Platform
import Synchronization

/// How fast many questions may be asked, in resource units of the service.
///
/// The service takes 3,500 units in ten seconds from one program in a small tenant. What it would refuse is better not sent: a refusal
/// counts too, and holds up everybody who uses the program.
public final class RateLimiter: Sendable {
    private struct State {
        var units: Double
        var last: Date?
    }

    private let burst: Double
    private let rate: Double
    private let state: Mutex<State>

    /// A pace.
    ///
    /// - Parameters:
    ///   - unitsPerTenSeconds: what is never exceeded in any ten seconds; 3,500 is right for the smallest tenants.
    ///   - burst: how many units may go at once, after a rest. What is left of the ten seconds' units is spread evenly.
    public init(unitsPerTenSeconds: Int = 3500, burst: Int = 500) {
        let units = Double(max(unitsPerTenSeconds, 10))
        self.burst = min(Double(max(burst, 1)), units / 2)
        rate = (units - self.burst) / 10
        state = Mutex(State(units: self.burst))
    }

    /// Takes units, and says how long to wait before they are used. Who comes later waits longer.
    func take(_ units: Int, now: Date) -> Duration {
        state.withLock { state in
            // A clock that was set back gives nothing.
            let elapsed = max(0, state.last.map { now.timeIntervalSince($0) } ?? 0)
            state.last = now
            state.units = min(burst, state.units + elapsed * rate) - Double(units)
            return state.units >= 0 ? .zero : .milliseconds(Int64((-state.units / rate * 1000).rounded(.up)))
        }
    }
}
