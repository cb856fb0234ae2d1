import Synchronization

/// What happened and was not handled yet: keys, answers, times. Everybody may post; one reads, everything at once.
///
/// Answers are as many as were asked for. Keys are as many as somebody types or pastes: who posts them stops while it ``isFull``.
package final class EventQueue: Sendable {
    private struct State {
        var events: [BrowseEvent] = []
        var waiter: CheckedContinuation<Void, Never>?
        var isEnded = false
    }

    private let state = Mutex(State())
    /// How many events may wait before the keyboard has to.
    private static let capacity = 4096

    package init() {}

    var isFull: Bool { state.withLock { $0.events.count >= Self.capacity } }
    var isEnded: Bool { state.withLock { $0.isEnded } }

    package func post(_ event: BrowseEvent) { post([event]) }

    package func post(_ events: [BrowseEvent]) {
        guard !events.isEmpty else { return }
        let waiter = state.withLock { state in
            state.events += events
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// No more is wanted: whoever waits is told.
    package func end() {
        let waiter = state.withLock { state in
            state.isEnded = true
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Everything that was posted since the last time, waiting for the first; nil after the end, or when the task is cancelled. Only one
    /// may wait.
    package func next() async -> [BrowseEvent]? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.isEnded || !state.events.isEmpty { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        } onCancel: {
            end()
        }
        return state.withLock { state in
            guard !state.isEnded else { return nil }
            defer { state.events = [] }
            return state.events
        }
    }
}
