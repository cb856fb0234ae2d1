internal import CCurl

/// Drives every transfer of one transport. Lives on its own thread only.
final class CurlWorker {
    /// The most transfers at once.
    static let maximumTransfers = 64
    /// The most transfers at once with one scheme, host and port, and so the most connections to it over HTTP/1.1.
    static let maximumTransfersPerOrigin = 8
    private static let maximumIdleHandles = 8
    private static let maximumKeptConnections = 16

    private let multi: UnsafeMutableRawPointer
    private let certificates: UnsafeMutableBufferPointer<UInt8>?
    private let certificateFailure: HTTPTransportError?
    private var running: [UnsafeMutableRawPointer: CurlTransfer] = [:]
    private var runningPerOrigin: [String: Int] = [:]
    private var waiting: [Submission] = []
    private var idleHandles: [UnsafeMutableRawPointer] = []
    private var earliestDeadline: ContinuousClock.Instant?

    init(multi: UnsafeMutableRawPointer, caFile: String?) {
        self.multi = multi
        _ = ccurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, Self.maximumKeptConnections)
        _ = ccurl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        var joined: UnsafeMutableBufferPointer<UInt8>?
        var failure: HTTPTransportError?
        if let caFile {
            do throws(HTTPTransportError) {
                let bytes = try TrustedCertificates(addingFile: caFile).bytes
                let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
                _ = copy.initialize(from: bytes)
                joined = copy
            } catch {
                failure = error
            }
        }
        certificates = joined
        certificateFailure = failure
    }

    /// Ends what still runs. The multi handle stays and is the caller's to free, after this.
    func close() {
        let left = running.values.map(\.submission) + waiting
        for transfer in running.values { detach(transfer, keepingHandle: false) }
        waiting = []
        for handle in idleHandles { curl_easy_cleanup(handle) }
        idleHandles = []
        for submission in left {
            submission.finish(
                .failure(
                    HTTPTransportError(
                        .other, host: submission.plan.shownHost, reason: "The transport was closed before the answer."))
            )
        }
    }

    deinit { certificates?.deallocate() }

    /// Takes new requests and cancellations.
    func accept(_ submissions: [Submission], cancelled: [CancellationMark]) {
        for submission in submissions {
            if submission.mark.isSet {
                submission.finish(.failure(CancellationError()))
            } else if let certificateFailure, submission.plan.address.scheme == "https" {
                var failure = certificateFailure
                failure.host = submission.plan.shownHost
                submission.finish(.failure(failure))
            } else {
                earliestDeadline = min(earliestDeadline ?? submission.deadline, submission.deadline)
                waiting.append(submission)
            }
        }
        if !cancelled.isEmpty { dropCancelled() }
        startWaiting()
    }

    /// Does what can be done now without waiting.
    func perform() {
        var count: Int32 = 0
        _ = curl_multi_perform(multi, &count)
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let transfer = running[handle]
            else { continue }
            let result = transfer.result(message.pointee.data.result)
            detach(transfer, keepingHandle: true)
            transfer.submission.finish(result)
        }
        expire()
        startWaiting()
    }

    /// The time until the next deadline in milliseconds: what to wait at most. libcurl knows its own timers.
    var patience: Int32 {
        guard let earliestDeadline else { return 3_600_000 }
        let (seconds, attoseconds) = ContinuousClock.now.duration(to: earliestDeadline).components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        return seconds >= 3600 ? 3_600_000 : Int32(seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1)
    }

    // MARK: - Starting

    private func startWaiting() {
        guard !waiting.isEmpty, running.count < Self.maximumTransfers else { return }
        var kept: [Submission] = []
        for (index, submission) in waiting.enumerated() {
            if running.count >= Self.maximumTransfers {
                kept.append(contentsOf: waiting[index...])
                break
            }
            if runningPerOrigin[submission.origin, default: 0] < Self.maximumTransfersPerOrigin {
                start(submission)
            } else {
                kept.append(submission)
            }
        }
        waiting = kept
    }

    private func start(_ submission: Submission) {
        func fail(_ reason: String) {
            submission.finish(
                .failure(HTTPTransportError(.other, host: submission.plan.shownHost, reason: reason)))
        }
        guard let handle = idleHandles.popLast() ?? curl_easy_init() else {
            return fail("There is no memory left for the request.")
        }
        let transfer = CurlTransfer(submission, on: handle, certificates: certificates)
        if let failure = transfer.failedOption {
            let result = transfer.result(failure)
            curl_easy_cleanup(handle)
            return submission.finish(result)
        }
        guard curl_multi_add_handle(multi, handle) == CURLM_OK else {
            curl_easy_cleanup(handle)
            return fail("libcurl does not take the request.")
        }
        running[handle] = transfer
        runningPerOrigin[submission.origin, default: 0] += 1
    }

    // MARK: - Ending

    /// Takes the transfer's handle out of libcurl. A transfer that still runs is stopped and its connection closed.
    private func detach(_ transfer: CurlTransfer, keepingHandle: Bool) {
        let handle = transfer.handle
        _ = curl_multi_remove_handle(multi, handle)
        running[handle] = nil
        let origin = transfer.submission.origin
        let count = runningPerOrigin[origin, default: 1] - 1
        runningPerOrigin[origin] = count > 0 ? count : nil
        // A reset forgets every option, and with it what points into the transfer; it keeps the TLS sessions.
        if keepingHandle, idleHandles.count < Self.maximumIdleHandles {
            curl_easy_reset(handle)
            idleHandles.append(handle)
        } else {
            curl_easy_cleanup(handle)
        }
    }

    private func end(_ result: Result<HTTPResponse, any Error>, where ends: (Submission) -> Bool) {
        for transfer in running.values where ends(transfer.submission) {
            detach(transfer, keepingHandle: true)
            transfer.submission.finish(result)
        }
        guard waiting.contains(where: ends) else { return }
        let ended = waiting.filter(ends)
        waiting.removeAll(where: ends)
        for submission in ended { submission.finish(result) }
    }

    private func dropCancelled() {
        end(.failure(CancellationError())) { $0.mark.isSet }
    }

    private func expire() {
        guard let earliest = earliestDeadline else { return }
        let now = ContinuousClock.now
        guard earliest <= now else { return }
        for transfer in running.values where transfer.submission.deadline <= now {
            detach(transfer, keepingHandle: true)
            transfer.submission.timeOut()
        }
        let late = waiting.filter { $0.deadline <= now }
        waiting.removeAll { $0.deadline <= now }
        for submission in late { submission.timeOut() }
        earliestDeadline = (running.values.map(\.submission.deadline) + waiting.map(\.deadline)).min()
    }
}
