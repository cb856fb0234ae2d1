import Platform
import HTTPExchange
internal import CCurl
import Synchronization

/// The way into a worker's thread, which begins with the first request.
///
/// The thread waits in `curl_multi_poll` and is woken by `curl_multi_wakeup`, the one function of libcurl that any thread
/// may call.
final class CurlThread: Sendable {
    private struct State {
        var submitted: [PendingRequest] = []
        var cancelled: [CancellationFlag] = []
        /// Transfers that can go on: there is room for what comes, or something to send.
        var ready: [CancellationFlag] = []
        var multi: WakeableMulti?
        var isStarted = false
        var isStopped = false
        /// Whether a wake-up is on its way, so that a second is not needed.
        var isAwakened = false
    }

    private let state = Mutex(State())
    private let caFile: String?
    private let clientCertificate: ClientCertificate?
    private let system: SystemCertificates?

    private let isStreaming: Bool

    /// - Parameter isStreaming: Whether its requests are those whose answers are streamed, and no others.
    init(caFile: String?, clientCertificate: ClientCertificate?, system: SystemCertificates?, isStreaming: Bool) {
        self.isStreaming = isStreaming
        self.caFile = caFile
        self.clientCertificate = clientCertificate
        self.system = system
    }

    /// Gives the worker a request. Its continuation is always resumed.
    func submit(_ submission: PendingRequest) {
        state.withLock { state in
            state.submitted.append(submission)
            wake(&state)
        }
        prepare()
    }

    /// Starts the thread if it has not begun.
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
            // A request that the worker has not seen yet is found by its mark.
            guard state.isStarted else { return }
            state.cancelled.append(mark)
            wake(&state)
        }
    }

    /// Resumes a paused transfer, or one whose content now goes to a file.
    func resume(_ mark: CancellationFlag) {
        state.withLock { state in
            guard state.isStarted else { return }
            state.ready.append(mark)
            wake(&state)
        }
    }

    /// Ends the thread. No request may be running or follow.
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
        failAll("No thread could be started (error \(code)); the system is out of resources.")
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
        // Here and not where the request came from: OpenSSL's setting up takes milliseconds.
        guard CurlLibrary.isReady else {
            return failAll(
                ccurl_is_available() == 0
                    ? "libcurl is not on this machine; install the package libcurl4." : "libcurl could not be set up.")
        }
        guard let multi = ShutdownLatch.pass({ curl_multi_init() }) else {
            return failAll("There is no memory left for a connection.")
        }
        state.withLock { $0.multi = WakeableMulti(handle: multi) }
        let worker = ShutdownLatch.pass {
            CurlWorker(
                multi: multi, caFile: caFile, clientCertificate: clientCertificate,
                system: system ?? SystemCertificates(),
                isStreaming: isStreaming
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
            // Outside the gate: waiting touches nothing that an exit handler frees.
            _ = curl_multi_poll(multi, nil, 0, timeout, nil)
        }
        state.withLock { $0.multi = nil }
        ShutdownLatch.pass {
            worker.close()
            _ = curl_multi_cleanup(multi)
        }
    }
}

/// A multi handle as other threads see it: something to wake.
///
/// Unchecked because it holds a pointer. `curl_multi_wakeup` may be called from any thread while the handle lives; it is
/// called under the lock under which the handle is taken away before it is freed.
private struct WakeableMulti: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer

    func wakeUp() { _ = curl_multi_wakeup(handle) }
}
