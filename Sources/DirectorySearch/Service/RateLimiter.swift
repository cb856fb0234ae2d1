import Platform
import Synchronization

/// A limit on the rate of requests, in resource units of the service.
///
/// The service accepts 3,500 units in ten seconds from one program in a small tenant. Rejected requests count too and delay all
/// users of the program.
public final class RateLimiter: Sendable {
    private struct State {
        var units: Double
        var last: Date?
    }

    private let burst: Double
    private let rate: Double
    private let state: Mutex<State>

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - unitsPerTenSeconds: The maximum in any ten seconds. The default is 3,500, for the smallest tenants.
    ///   - burst: The units that may be used at once after a pause. The rest of the ten seconds' units is spread evenly.
    public init(unitsPerTenSeconds: Int = 3500, burst: Int = 500) {
        let units = Double(max(unitsPerTenSeconds, 10))
        self.burst = min(Double(max(burst, 1)), units / 2)
        rate = (units - self.burst) / 10
        state = Mutex(State(units: self.burst))
    }

    /// Takes units and returns the delay before they may be used. Later callers wait longer.
    func take(_ units: Int, now: Date) -> Duration {
        state.withLock { state in
            // A clock that was set back adds no units.
            let elapsed = max(0, state.last.map { now.timeIntervalSince($0) } ?? 0)
            state.last = now
            state.units = min(burst, state.units + elapsed * rate) - Double(units)
            return state.units >= 0 ? .zero : .milliseconds(Int64((-state.units / rate * 1000).rounded(.up)))
        }
    }
}
