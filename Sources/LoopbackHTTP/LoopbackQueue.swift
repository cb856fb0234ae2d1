import LodgePlatform

/// The queue of responses and close requests for the listener's thread.
final class LoopbackQueue: Sendable {
    struct Delivery {
        let connection: UInt64
        let request: Int
        let response: LoopbackResponse
    }

    private struct State {
        var deliveries: [Delivery] = []
        var isClosing = false
        var portIsFree = false
        var isFinished = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = ConditionVariable(State())
    /// Two ends of a socket pair: a byte in one end wakes the thread, which waits for the other. Sockets and not a
    /// pipe, because a pipe without a reader raises SIGPIPE.
    private let wakeSender: Int32
    let wakeReceiver: Int32

    init() throws(LoopbackError) {
        guard let pair = StreamSocket.pair() else {
            throw .system(operation: "opening a socket pair", reason: systemMessage())
        }
        (wakeSender, wakeReceiver) = pair
    }

    deinit {
        FileDescriptor.close(wakeSender)
        FileDescriptor.close(wakeReceiver)
    }

    func deliver(_ delivery: Delivery) {
        let first = state.withLock { state in
            guard !state.isFinished else { return false }
            state.deliveries.append(delivery)
            return state.deliveries.count == 1
        }
        if first { wake() }
    }

    /// Closes the listener; returns as soon as its thread has released the port.
    func close() {
        let first = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
        if first { wake() }
        state.wait(until: \.portIsFree) { _ in }
    }

    func finished() async {
        await withCheckedContinuation { continuation in
            let over = state.withLock { state in
                if !state.isFinished { state.waiting.append(continuation) }
                return state.isFinished
            }
            if over { continuation.resume() }
        }
    }

    private func wake() { StreamSocket.transmit(wakeSender, [1]) }

    // MARK: Methods for the thread

    func take() -> (deliveries: [Delivery], isClosing: Bool) {
        state.withLock { state in
            defer { state.deliveries = [] }
            return (state.deliveries, state.isClosing)
        }
    }

    func portIsFree() { state.withLock { $0.portIsFree = true } }

    func finish() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isClosing = true
            state.portIsFree = true
            state.isFinished = true
            state.deliveries = []
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
