import Synchronization

/// The queue of unhandled events: keys, results and ticks.
///
/// Any thread can post; one task reads all waiting events together.
///
/// Each request has one result. The keyboard stops posting keys while the queue ``isFull``.
package final class EventQueue: Sendable {
    private struct State {
        var events: [BrowseEvent] = []
        var waiter: CheckedContinuation<Void, Never>?
        var isEnded = false
    }

    private let state = Mutex(State())
    /// The number of waiting events at which the keyboard pauses.
    private static let capacity = 4096

    package init() {}

    var isFull: Bool { state.withLock { $0.events.count >= Self.capacity } }
    var isEnded: Bool { state.withLock { $0.isEnded } }

    package func post(_ event: BrowseEvent) { post([event]) }

    package func post(_ events: [BrowseEvent]) { if !events.isEmpty { update { $0.events += events } } }

    /// Closes the queue and wakes the reader.
    package func end() { update { $0.isEnded = true } }

    private func update(_ change: (inout State) -> Void) {
        let waiter = state.withLock { state in
            change(&state)
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Returns the events since the last call, waiting for the first one.
    ///
    /// Returns `nil` after the end or if the task is cancelled.
    ///
    /// Only one task can wait.
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
