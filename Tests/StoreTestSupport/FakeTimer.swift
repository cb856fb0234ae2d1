import Foundation
import OAuth2AccountStore
import LodgePlatform
import TestSupport
import Synchronization

/// A timer whose time only a test advances. Short waits, such as those between attempts to save, advance it themselves.
package final class FakeTimer: Sendable {
    private struct State {
        var now = Duration.zero
        var last = 0
        var waiting: [Int: (end: Duration, promise: Promise<Void>)] = [:]
    }
    private let state = Mutex(State())
    /// The longest wait that advances the time.
    private let automaticLimit: Duration

    package init(automaticLimit: Duration = .seconds(2)) { self.automaticLimit = automaticLimit }

    /// The elapsed time in seconds.
    package var uptime: Double { state.withLock { $0.now / .seconds(1) } }

    /// The number of waiting tasks.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    package func sleep(_ duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > automaticLimit else { return advance(duration) }
        let promise = Promise<Void>()
        let number = state.withLock { state in
            state.last += 1
            state.waiting[state.last] = (state.now + duration, promise)
            return state.last
        }
        defer { state.withLock { $0.waiting[number] = nil } }
        try await promise.value()
    }

    package func advance(_ duration: Duration) {
        let over = state.withLock { state in
            state.now += duration
            return state.waiting.values.filter { $0.end <= state.now }.map(\.promise)
        }
        for promise in over { promise.finish(.success(())) }
    }
}

extension Dependencies {
    /// Replaces the time of waits for the provider, so that no wait ends because the machine is slow.
    ///
    /// The limit of waits for a lock, which storages measure themselves, is ten minutes, multiplied by ``TestTime/factor``.
    package mutating func useTestTime(_ timer: FakeTimer = FakeTimer()) {
        uptime = { .seconds(timer.uptime) }
        self.timer = { try await timer.sleep($0) }
        refreshTimeout = .seconds(TestTime.seconds(600))
    }
}
