import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// What the listener's thread and everyone else say to each other: answers and the wish to close.
final class LoopbackMailbox: Sendable {
    struct Delivery {
        let connection: UInt64
        let request: Int
        let response: LoopbackResponse
    }

    private struct State {
        var deliveries: [Delivery] = []
        var isClosing = false
        var isFinished = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    /// Two ends of a socket pair: a byte in one end wakes the thread, which waits for the other. Sockets and not a pipe,
    /// because a pipe without a reader raises SIGPIPE.
    private let wakeSender: Int32
    let wakeReceiver: Int32
    private let released = LoopbackLatch()

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

    /// Asks the thread to close, and returns once it has let go of the port: the first thing it does when it wakes.
    func close() {
        let first = state.withLock { state in
            defer { state.isClosing = true }
            return !state.isClosing
        }
        if first { wake() }
        released.wait()
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

    // MARK: What the thread calls

    func take() -> (deliveries: [Delivery], isClosing: Bool) {
        state.withLock { state in
            defer { state.deliveries = [] }
            return (state.deliveries, state.isClosing)
        }
    }

    func portIsFree() { released.open() }

    func finish() {
        let waiting = state.withLock { state in
            defer { state.waiting = [] }
            state.isClosing = true
            state.isFinished = true
            state.deliveries = []
            return state.waiting
        }
        released.open()
        for continuation in waiting { continuation.resume() }
    }
}

/// A door that opens once.
///
/// Sendable: the memory behind the pointers is set up in `init`, only touched through pthread calls that hold the mutex,
/// and freed when nobody refers to the latch any more.
private final class LoopbackLatch: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpen = false

    init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    func open() {
        pthread_mutex_lock(mutex)
        isOpen = true
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }

    func wait() {
        pthread_mutex_lock(mutex)
        while !isOpen { pthread_cond_wait(condition, mutex) }
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
            throw .system(operation: "starting a thread", reason: LoopbackSocket.words(for: status))
        }
    }

    private static func run(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
        pthread_detach(pthread_self())
        // Signals belong to the program's own threads.
        var everySignal = sigset_t()
        sigfillset(&everySignal)
        pthread_sigmask(SIG_BLOCK, &everySignal, nil)
        Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
        return nil
    }
}
