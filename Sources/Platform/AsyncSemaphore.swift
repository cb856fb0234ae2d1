import Synchronization

/// Lets so many tasks through at a time, in the order in which they came.
///
/// A waiting task holds no thread. Who was let through has to leave: ``enter()`` is followed by `defer { gate.leave() }`.
package final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        /// Those who wait, the first one at ``next``.
        var waiting: [CheckedContinuation<Void, Never>?] = []
        var next = 0

        mutating func takeNext() -> CheckedContinuation<Void, Never>? {
            guard next < waiting.count else {
                free += 1
                return nil
            }
            let continuation = waiting[next]
            waiting[next] = nil
            next += 1
            // What was let through is dropped by the half, so that each costs the same.
            if next * 2 > waiting.count {
                waiting.removeFirst(next)
                next = 0
            }
            return continuation
        }
    }
    private let state: Mutex<State>

    package init(limit: Int) { state = Mutex(State(free: max(limit, 1))) }

    /// Waits for a place.
    package func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    /// How many wait.
    package var waitingCount: Int { state.withLock { $0.waiting.count - $0.next } }

    /// Gives the place to the one who has waited longest.
    package func leave() { state.withLock { $0.takeNext() }?.resume() }
}
