import Platform

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
        (wakeSender, wakeReceiver) = try LoopbackSocket.pair()
    }

    deinit {
        LoopbackSocket.close(wakeSender)
        LoopbackSocket.close(wakeReceiver)
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
        state.wait(until: \.portIsFree)
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

    private func wake() { LoopbackSocket.send(wakeSender, [1]) }

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

/// A value behind a lock, and a way to wait for a condition.
///
/// Sendable: the value is accessed only with the mutex locked. `Mutex` of the standard library has no condition
/// to wait for.
private final class ConditionVariable<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: Value) {
        self.value = value
        mutex.initialize(to: pthread_mutex_t())
        changed.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    func withLock<Result>(_ change: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(changed)
            pthread_mutex_unlock(mutex)
        }
        return change(&value)
    }

    func wait(until isWanted: (Value) -> Bool) {
        pthread_mutex_lock(mutex)
        while !isWanted(value) { pthread_cond_wait(changed, mutex) }
        pthread_mutex_unlock(mutex)
    }
}

/// Starts a thread.
enum LoopbackThread {
    private final class Start {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }

    static func start(_ body: @escaping @Sendable () -> Void) throws(LoopbackError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        // Musl's default of 128 KiB is small for Swift.
        pthread_attr_setstacksize(&attributes, 512 << 10)
        let start = Unmanaged.passRetained(Start(body))
        #if canImport(Darwin)
            var thread: pthread_t?
            let status = pthread_create(&thread, &attributes, { LoopbackThread.run($0) }, start.toOpaque())
        #elseif canImport(Musl)
            var thread: pthread_t?
            let status = pthread_create(
                &thread, &attributes, { argument in argument.flatMap { LoopbackThread.run($0) } }, start.toOpaque())
        #else
            var thread = pthread_t()
            let status = pthread_create(
                &thread, &attributes, { argument in argument.flatMap { LoopbackThread.run($0) } }, start.toOpaque())
        #endif
        guard status == 0 else {
            start.release()
            throw .system(operation: "starting a thread", reason: LoopbackSocket.message(for: status))
        }
    }

    private static func run(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        pthread_detach(pthread_self())
        // The program's own threads handle signals.
        var everySignal = sigset_t()
        sigfillset(&everySignal)
        pthread_sigmask(SIG_BLOCK, &everySignal, nil)
        Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        return nil
    }
}
