import HTTPExchange
internal import CLodgeCurl

/// Runs all transfers of one transport. Used only on its own thread.
final class CurlWorker {
    /// The maximum number of concurrent transfers, unless more are allowed to one origin.
    static let maximumTransfers = 64
    /// The minimum limit of streamed responses per origin. It is higher, because a slow reader must not delay others.
    static let streamsPerOrigin = 32
    private static let maximumIdleHandles = 8
    private static let maximumKeptConnections = 16
    private static let maximumAuthorities = 16

    private let multi: UnsafeMutableRawPointer
    private let caFile: String?
    private let system: SystemCertificates
    /// The trusted certificates by path of the added file. Each file is read once.
    private var certificates: [String?: Result<TrustedCertificates, HTTPTransportError>] = [:]
    private let clientCertificate: ClientCertificate?
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var runningPerOrigin: [String: Int] = [:]
    private let isStreaming: Bool
    /// The maximum number of concurrent transfers with one scheme, host and port, and so of connections to it over HTTP/1.1.
    private let requestsPerOrigin: Int
    private var waiting = RequestQueue()
    private var idleHandles: [UnsafeMutableRawPointer] = []
    private var earliestDeadline: ContinuousClock.Instant?
    private var earliestSilence: ContinuousClock.Instant?
    private let wake: @Sendable (CancellationFlag) -> Void

    /// Creates a worker.
    ///
    /// - Parameters:
    ///   - isStreaming: Whether it handles streamed responses.
    ///   - requestsPerOrigin: The limit for requests without their own.
    ///   - wake: Passes the mark to ``resume(_:)``, from any thread.
    init(
        multi: UnsafeMutableRawPointer, caFile: String?, clientCertificate: ClientCertificate?,
        system: SystemCertificates, isStreaming: Bool, requestsPerOrigin: Int,
        wake: @escaping @Sendable (CancellationFlag) -> Void
    ) {
        self.multi = multi
        self.caFile = caFile
        self.system = system
        self.isStreaming = isStreaming
        self.requestsPerOrigin = max(1, requestsPerOrigin)
        self.wake = wake
        self.clientCertificate = clientCertificate
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.maximumKeptConnections)
        _ = ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    }

    /// Ends all transfers. The caller then frees the multi handle.
    func close() {
        let left = running.values.map(\.submission) + waiting.remove { _ in true }
        for transfer in running.values { detach(transfer, keepingHandle: false) }
        for handle in idleHandles { curl_easy_cleanup(handle) }
        idleHandles = []
        for submission in left {
            submission.fail(.other, "The transport was closed before the response.")
        }
    }

    /// Accepts new requests and cancellations.
    func accept(_ submissions: [PendingRequest], cancelled: [CancellationFlag]) {
        for submission in submissions {
            if submission.mark.isSet {
                submission.finish(.failure(CancellationError()))
            } else {
                earliestDeadline = min(earliestDeadline ?? submission.startDeadline, submission.startDeadline)
                waiting.append(submission)
            }
        }
        if !cancelled.isEmpty { dropCancelled() }
        startWaiting()
    }

    /// Resumes transfers that waited for a reader or for content to send.
    func resume(_ ready: [CancellationFlag]) {
        guard !ready.isEmpty else { return }
        let ready = Set(ready.map(ObjectIdentifier.init))
        for transfer in running.values where ready.contains(ObjectIdentifier(transfer.submission.mark)) {
            guard !transfer.resume() else { continue }
            let result = transfer.result(CURLE_WRITE_ERROR)
            detach(transfer, keepingHandle: true)
            transfer.submission.finish(result)
        }
    }

    /// Performs all work that is possible without waiting.
    func perform() {
        var count: Int32 = 0
        _ = curl_multi_perform(multi, &count)
        if isStreaming { for transfer in running.values { transfer.flush() } }
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let transfer = running[handle]
            else { continue }
            let code = message.pointee.data.result
            let result = transfer.result(code)
            detach(transfer, keepingHandle: true)
            if code == CURLE_PEER_FAILED_VERIFICATION, transfer.extent == .folder {
                start(transfer.submission, trusting: .everything)
            } else {
                transfer.submission.finish(result)
            }
        }
        expire()
        startWaiting()
    }

    /// The time until the next deadline in milliseconds, which limits the wait. libcurl adds its own timers.
    var timeout: Int32 {
        guard let earliest = [earliestDeadline, earliestSilence].compactMap({ $0 }).min() else { return 3_600_000 }
        let (seconds, attoseconds) = ContinuousClock.now.duration(to: earliest).components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return seconds >= 3600 ? 3_600_000 : Int32(seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }

    // MARK: - Starting

    private func startWaiting() {
        while let submission = waiting.next(where: mayStart) { start(submission) }
    }

    private func mayStart(_ submission: PendingRequest) -> Bool {
        var limit = submission.plan.requestsPerOrigin.map { max(1, $0) } ?? requestsPerOrigin
        if isStreaming { limit = max(limit, Self.streamsPerOrigin) }
        return running.count < max(Self.maximumTransfers, limit)
            && runningPerOrigin[submission.origin, default: 0] < limit
    }

    private func start(_ submission: PendingRequest, trusting extent: TrustedCertificates.Extent? = nil) {
        let trusted: TrustedCertificates
        switch certificates(addingFile: submission.plan.trust.caFile ?? caFile) {
        case .success(let certificates): trusted = certificates
        case .failure(let failure): return submission.fail(failure.kind, failure.reason)
        }
        if extent == .everything { trusted.widen() }
        guard let handle = idleHandles.popLast() ?? curl_easy_init() else {
            return submission.fail(.other, "Not enough memory for the request.")
        }
        let transfer: CurlTransfer
        do {
            transfer = try CurlTransfer(
                submission, on: handle, certificates: trusted, trusted.extent, clientCertificate: clientCertificate,
                resume: wake)
        } catch {
            curl_easy_cleanup(handle)
            return submission.finish(.failure(error))
        }
        if let failure = transfer.failedOption {
            let result = transfer.result(failure)
            curl_easy_cleanup(handle)
            return submission.finish(result)
        }
        guard curl_multi_add_handle(multi, handle) == CURLM_OK else {
            curl_easy_cleanup(handle)
            return submission.fail(.other, "libcurl rejected the request.")
        }
        running[handle] = transfer
        runningPerOrigin[submission.origin, default: 0] += 1
    }

    private func certificates(addingFile path: String?) -> Result<TrustedCertificates, HTTPTransportError> {
        if let known = certificates[path] { return known }
        if certificates.count >= Self.maximumAuthorities { certificates = [:] }
        let read = Result { () throws(HTTPTransportError) in try TrustedCertificates(addingFile: path, to: system) }
        certificates[path] = read
        return read
    }

    // MARK: - Ending

    /// Removes the transfer's handle from libcurl. A running transfer is stopped and its connection closed.
    private func detach(_ transfer: CurlTransfer, keepingHandle: Bool) {
        let handle = transfer.handle
        _ = curl_multi_remove_handle(multi, handle)
        running[handle] = nil
        let origin = transfer.submission.origin
        let count = runningPerOrigin[origin, default: 1] - 1
        runningPerOrigin[origin] = count > 0 ? count : nil
        // A reset clears every option, including pointers into the transfer, and preserves the TLS sessions.
        if keepingHandle, idleHandles.count < Self.maximumIdleHandles {
            curl_easy_reset(handle)
            idleHandles.append(handle)
        } else {
            curl_easy_cleanup(handle)
        }
    }

    private func dropCancelled() {
        endRunning(where: \.mark.isSet) { $0.finish(.failure(CancellationError())) }
        waiting.remove(where: \.mark.isSet).forEach { $0.finish(.failure(CancellationError())) }
    }

    private func expire() {
        let now = ContinuousClock.now
        if let earliest = earliestDeadline, earliest <= now {
            endRunning(where: { $0.deadline <= now }) { $0.timeOut() }
            waiting.remove { $0.startDeadline <= now }.forEach { $0.timeOutInQueue() }
            earliestDeadline = [running.values.map(\.submission.deadline).min(), waiting.earliestDeadline]
                .compactMap { $0 }.min()
        }
        earliestSilence = nil
        for transfer in running.values {
            guard let silence = transfer.silenceDeadline else { continue }
            if silence <= now {
                detach(transfer, keepingHandle: true)
                transfer.silent()
            } else {
                earliestSilence = min(earliestSilence ?? silence, silence)
            }
        }
    }

    private func endRunning(where isEnding: (PendingRequest) -> Bool, _ finish: (PendingRequest) -> Void) {
        for transfer in running.values where isEnding(transfer.submission) {
            detach(transfer, keepingHandle: true)
            finish(transfer.submission)
        }
    }
}
