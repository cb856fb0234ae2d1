import HTTPExchange
import LodgePlatform
import Synchronization

/// A limit on the rate of requests, in resource units of the service, that adapts to the service's reports.
///
/// Without a fixed limit, requests are sent immediately until the service reports that most of the quota is used
/// (`x-ms-throttle-limit-percentage`) or rejects a request (429). The limiter then spreads requests so that they use
/// nine tenths of the quota, and raises the rate again when the reports end. Rejected requests count toward the quota
/// and delay all users of the program.
package final class RateLimiter: Sendable {
    /// A rate with an end time.
    private struct Phase {
        var rate: Double
        var end: Date
    }

    private struct State {
        /// Units per second; `nil` without a limit.
        var rate: Double?
        var units: Double
        var last: Date?
        /// The rate until the current window of the quota ends, because most of it is used.
        var restOfWindow: Phase?
        /// The end of the delay that the service requires.
        var resumption: Date?
        /// The units used in each tenth of a second of the last window.
        var used: [(time: Date, units: Int)] = []
        var lastReport: Date?
        var lastIncrease: Date?
    }

    /// The length of the service's window, in seconds.
    private static let window = 10.0
    /// The part of the quota that requests use.
    private static let target = 0.9
    /// The minimum rate. A short burst says little about the quota, and the smallest quota is 350 units per second.
    private static let minimumRate = 20.0

    private let fixedRate: Double?
    private let burst: Double
    private let state: Mutex<State>

    /// Creates a limit.
    ///
    /// - Parameters:
    ///   - unitsPerTenSeconds: The maximum in any ten seconds. The default, `nil`, has no limit until the service
    ///     reports one.
    ///   - burst: The units available together after a pause. The other units are spread evenly over the ten seconds.
    package init(unitsPerTenSeconds: Int? = nil, burst: Int = 500) {
        let units = unitsPerTenSeconds.map { Double(max($0, 10)) }
        self.burst = min(Double(max(burst, 1)), (units ?? .infinity) / 2)
        fixedRate = units.map { [burst = self.burst] in ($0 - burst) / Self.window }
        state = Mutex(State(rate: fixedRate, units: self.burst))
    }

    /// Takes units and returns the delay before they are available. Later callers wait longer.
    func take(_ units: Int, now: Date) -> Duration {
        state.withLock { state in
            advance(&state, to: now)
            var delay = 0.0
            if let rate = state.rate {
                state.units -= Double(units)
                if state.units < 0 { delay = Self.time(for: -state.units, rate, state.restOfWindow, now) }
            }
            if let resumption = state.resumption { delay = max(delay, resumption.timeIntervalSince(now)) }
            // A fixed limit needs no measurement.
            if fixedRate == nil { Self.count(units, at: now.addingTimeInterval(delay), &state) }
            return delay > 0 ? .milliseconds(Int64((delay * 1000).rounded(.up))) : .zero
        }
    }

    /// Adapts the rate to a response.
    func note(_ response: HTTPResponse, now: Date) {
        let isRejected = response.status == 429
        let usedPart = response.fields["x-ms-throttle-limit-percentage"].flatMap(Double.init).flatMap { part in
            part.isFinite && part >= 0.5 && part <= 100 ? part : nil
        }
        guard fixedRate == nil, isRejected || usedPart != nil else { return }
        state.withLock { state in
            advance(&state, to: now)
            // The other responses of the same moment report the same.
            guard state.resumption == nil else { return }
            let used = Double(state.used.filter { $0.time <= now }.reduce(0) { $0 + $1.units })
            if used > 0 { adapt(&state, used: used, part: max(usedPart ?? 1, isRejected ? 1 : 0), now) }
            if isRejected, let delay = response.retryAfter(now: now), delay > .zero, delay <= .seconds(180) {
                state.resumption = now.addingTimeInterval(delay / .seconds(1))
                (state.restOfWindow, state.used, state.units) = (nil, [], 0)
            }
        }
    }

    /// Sets the rate from the units used in the last window and their part of the quota.
    private func adapt(_ state: inout State, used: Double, part: Double, _ now: Date) {
        state.lastReport = now
        let limit = max(used * Self.target / part, Self.minimumRate * Self.window)
        let rate = limit / Self.window
        if let present = state.rate, rate > present {
            // Other programs may have used the quota, so the estimate rises slowly.
            guard now.timeIntervalSince(state.lastIncrease ?? .distantPast) >= Self.window else { return }
            state.lastIncrease = now
            state.rate = min(rate, present * 1.1)
            return
        }
        let isFirst = state.rate == nil
        (state.rate, state.lastIncrease) = (rate, now)
        guard isFirst || used > limit, let first = state.used.first?.time else { return }
        let left = Self.window - now.timeIntervalSince(first)
        guard left > 0 else { return }
        state.restOfWindow = Phase(
            rate: max((limit - used) / left, Self.minimumRate), end: now.addingTimeInterval(left))
        state.units = min(state.units, 0)
    }

    /// Adds the units for the time since the last call.
    private func advance(_ state: inout State, to now: Date) {
        // A clock that was set back adds no units.
        let start = state.last ?? now
        state.last = now
        if let resumption = state.resumption, now >= resumption { state.resumption = nil }
        state.used.removeAll { now.timeIntervalSince($0.time) >= Self.window }
        guard let rate = state.rate, now > start else { return }
        var gained = now.timeIntervalSince(start) * rate
        if let phase = state.restOfWindow {
            let inPhase = max(0, min(now, phase.end).timeIntervalSince(start))
            gained -= inPhase * (rate - phase.rate)
            if now >= phase.end { state.restOfWindow = nil }
        }
        let burst = fixedRate == nil ? min(burst, max(rate / 2, 20)) : burst
        state.units = min(burst, state.units + gained)
        if fixedRate == nil, let last = state.lastReport, now.timeIntervalSince(last) >= Self.window {
            (state.lastReport, state.rate) = (now, rate * 1.5)
        }
    }

    /// Returns the number of seconds until a number of units is available.
    private static func time(for units: Double, _ rate: Double, _ phase: Phase?, _ now: Date) -> Double {
        guard let phase, phase.end > now else { return units / rate }
        let left = phase.end.timeIntervalSince(now)
        let inPhase = phase.rate * left
        return units <= inPhase ? units / phase.rate : left + (units - inPhase) / rate
    }

    private static func count(_ units: Int, at time: Date, _ state: inout State) {
        if let last = state.used.indices.last, abs(time.timeIntervalSince(state.used[last].time)) < 0.1 {
            state.used[last].units += units
        } else {
            state.used.append((time, units))
        }
    }
}
