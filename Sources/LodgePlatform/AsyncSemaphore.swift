import Synchronization

/// A semaphore that limits the number of concurrent tasks, in order of arrival.
///
/// A waiting task blocks no thread. Each ``enter()`` requires a ``leave()``: add `defer { semaphore.leave() }`.
package final class AsyncSemaphore: Sendable {
    private struct State {
        var free: Int
        /// The waiting tasks. ``next`` is the index of the first.
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
            // Drop resumed entries once they are half of the array, which makes the amortized cost constant.
            if next * 2 > waiting.count {
                waiting.removeFirst(next)
                next = 0
            }
            return continuation
        }
    }
    private let state: Mutex<State>

    package init(limit: Int) { state = Mutex(State(free: max(limit, 1))) }

    /// Waits until a permit is available and takes it.
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

    /// The number of waiting tasks.
    package var waitingCount: Int { state.withLock { $0.waiting.count - $0.next } }

    /// Passes the permit to the task that has waited longest.
    package func leave() { state.withLock { $0.takeNext() }?.resume() }
}
