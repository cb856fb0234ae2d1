import LodgePlatform
import HTTPExchange
internal import CLodgeCurl
import Synchronization

/// Access to a worker's thread, which starts with the first request.
///
/// The thread waits in `curl_multi_poll`. `curl_multi_wakeup`, the only function of libcurl that any thread may call,
/// wakes it.
final class CurlThread: Sendable {
    private struct State {
        var submitted: [PendingRequest] = []
        var cancelled: [CancellationFlag] = []
        /// Transfers that can resume: their reader has space, or there is content to send.
        var ready: [CancellationFlag] = []
        var multi: WakeableMulti?
        var isStarted = false
        var isStopped = false
        /// Whether a wakeup is pending, so that a second one is unnecessary.
        var isAwakened = false
    }

    private let state = Mutex(State())
    private let caFile: String?
    private let clientCertificate: ClientCertificate?
    private let system: SystemCertificates?

    private let isStreaming: Bool
    private let requestsPerOrigin: Int

    /// Creates access to a thread.
    ///
    /// - Parameter isStreaming: Whether the thread handles only requests with streamed responses.
    init(
        caFile: String?, clientCertificate: ClientCertificate?, system: SystemCertificates?, isStreaming: Bool,
        requestsPerOrigin: Int
    ) {
        self.isStreaming = isStreaming
        self.requestsPerOrigin = requestsPerOrigin
        self.caFile = caFile
        self.clientCertificate = clientCertificate
        self.system = system
    }

    /// Submits a request. Its continuation always resumes.
    func submit(_ submission: PendingRequest) {
        state.withLock { state in
            state.submitted.append(submission)
            wake(&state)
        }
        prepare()
    }

    /// Starts the thread if necessary.
    func prepare() {
        let mustStart = state.withLock { state in
            defer { state.isStarted = true }
            return !state.isStarted
        }
        if mustStart { start() }
    }

    /// Cancels a request.
    func cancel(_ mark: CancellationFlag) {
        mark.set()
        state.withLock { state in
            // The mark identifies a request that the worker has not taken yet.
            guard state.isStarted else { return }
            state.cancelled.append(mark)
            wake(&state)
        }
    }

    /// Resumes a paused transfer, or a transfer whose content now goes to a file.
    func resume(_ mark: CancellationFlag) {
        state.withLock { state in
            guard state.isStarted else { return }
            state.ready.append(mark)
            wake(&state)
        }
    }

    /// Stops the thread. Call it only if all requests have finished and no request follows.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            wake(&state)
        }
    }

    private func wake(_ state: inout State) {
        guard let multi = state.multi, !state.isAwakened else { return }
        state.isAwakened = true
        multi.wakeUp()
    }

    private func start() {
        let code = DetachedThread.start { [self] in run() }
        guard code != 0 else { return }
        failAll("Cannot start a thread (error \(code)); the system is out of resources.")
    }

    private func failAll(_ reason: String) {
        let left = state.withLock { state in
            state.isStarted = false
            defer { state.submitted = [] }
            return state.submitted
        }
        for submission in left { submission.fail(.other, reason) }
    }

    // MARK: - On the thread

    private func run() {
        // On this thread, because initializing OpenSSL takes milliseconds.
        guard CurlLibrary.isReady else {
            return failAll(
                ccurl_is_available() == 0
                    ? "libcurl is not installed; install the package libcurl4." : "Cannot initialize libcurl.")
        }
        guard let multi = ShutdownLatch.pass({ curl_multi_init() }) else {
            return failAll("Not enough memory for a connection.")
        }
        state.withLock { $0.multi = WakeableMulti(handle: multi) }
        let worker = ShutdownLatch.pass {
            CurlWorker(
                multi: multi, caFile: caFile, clientCertificate: clientCertificate,
                system: system ?? SystemCertificates(),
                isStreaming: isStreaming, requestsPerOrigin: requestsPerOrigin
            ) { [self] in resume($0) }
        }
        while true {
            let (submitted, cancelled, ready, isStopped) = state.withLock { state in
                defer {
                    state.submitted.removeAll(keepingCapacity: true)
                    state.cancelled.removeAll(keepingCapacity: true)
                    state.ready.removeAll(keepingCapacity: true)
                    state.isAwakened = false
                }
                return (state.submitted, state.cancelled, state.ready, state.isStopped)
            }
            if isStopped && submitted.isEmpty { break }
            let timeout = ShutdownLatch.pass {
                worker.accept(submitted, cancelled: cancelled)
                worker.resume(ready)
                worker.perform()
                return worker.timeout
            }
            // Outside the latch: polling does not access memory that an exit handler frees.
            _ = curl_multi_poll(multi, nil, 0, timeout, nil)
        }
        state.withLock { $0.multi = nil }
        ShutdownLatch.pass {
            worker.close()
            _ = curl_multi_cleanup(multi)
        }
    }
}

/// A multi handle for other threads, which may only wake it.
///
/// Unchecked because it holds a pointer. `curl_multi_wakeup` may be called from any thread while the handle lives. The
/// lock for the call also protects the removal of the handle before it is freed.
private struct WakeableMulti: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer

    func wakeUp() { _ = curl_multi_wakeup(handle) }
}
