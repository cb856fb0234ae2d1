import LodgePlatform
import HTTPExchange
internal import CLodgeCurl

/// One exchange on one libcurl handle. Used only on the worker's thread.
final class CurlTransfer {
    let submission: PendingRequest
    let handle: UnsafeMutableRawPointer
    private(set) var head = ResponseHead()
    /// The content of a response that is not streamed.
    private(set) var body = Data()
    /// Whether the content exceeded the request's limit.
    private(set) var isTooLarge = false
    /// Whether libcurl tried to resend a request that must not be sent twice.
    private(set) var wasStoppedBeforeResending = false
    /// The error of reading the request's content or of writing the response to its file.
    private(set) var fileFailure: (any Error)?

    /// The request's content if it is small and in memory: libcurl gets it in one piece.
    let bytes: UnsafeMutableBufferPointer<UInt8>
    /// The reader of any other content.
    let reader: ContentReader?
    var fieldList: UnsafeMutablePointer<curl_slist>?
    private var requestsWritten = 0
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    /// The file for the content of a streamed response, once its reader requested one.
    private var file: OpenFile?
    private var receivesNothing = false
    private var sendsNothing = false
    /// The time of the last transferred byte, or of the start of the request.
    ///
    /// Before the start, it is the time of submission if the time to the start is limited, otherwise `nil`.
    private var lastActivity: ContinuousClock.Instant?
    /// The number of sent bytes of content in one piece.
    private var sentBytes: Int64 = 0

    /// The extent of the certificates to search.
    let extent: TrustedCertificates.Extent
    /// Retained, because libcurl does not copy them.
    let certificates: TrustedCertificates
    /// The error of an option that libcurl rejected. Then the transfer must not start.
    private(set) var failedOption: CURLcode?

    private static let maximumBytesInOnePiece: Int64 = 1 << 20

    /// Creates a transfer and configures its handle. The transfer must outlive the handle's use of it.
    ///
    /// - Parameter resume: Called from any thread after content to send becomes available.
    init(
        _ submission: PendingRequest, on handle: UnsafeMutableRawPointer, certificates: TrustedCertificates,
        _ extent: TrustedCertificates.Extent, clientCertificate: ClientCertificate?,
        resume: @escaping @Sendable (CancellationFlag) -> Void
    ) throws(HTTPFileError) {
        self.extent = extent
        self.certificates = certificates
        self.submission = submission
        self.handle = handle
        let content = submission.plan.content
        let inMemory = content.flatMap { $0.isInMemory ? $0.data : nil }
        if let content, inMemory.map({ $0.count > Self.maximumBytesInOnePiece }) ?? true {
            reader = try ContentReader(content) { [mark = submission.mark] in resume(mark) }
            bytes = .allocate(capacity: 0)
        } else {
            reader = nil
            bytes = .allocate(capacity: inMemory?.count ?? 0)
            _ = bytes.initialize(from: inMemory ?? Data())
        }
        if submission.startTimeout != nil { lastActivity = submission.submitted }
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        failedOption = setOptions(clientCertificate)
    }

    deinit {
        curl_slist_free_all(fieldList)
        // Form bodies contain secrets, so overwrite the memory before freeing it.
        bytes.update(repeating: 0)
        bytes.deallocate()
        errorText.deallocate()
    }

    /// The error message from libcurl.
    var errorWords: String { String(cString: errorText) }

    /// The buffer for libcurl's error message.
    var errorBuffer: UnsafeMutablePointer<CChar> { errorText }

    // MARK: - Callbacks of libcurl

    /// Accepts content. Returns the number of accepted bytes, or a code that pauses or ends the transfer.
    func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        lastActivity = .now
        if let file { return write(bytes, to: file) ? bytes.count : 0 }
        if let channel = submission.channel {
            if channel.put(bytes) { return bytes.count }
            receivesNothing = true
            return ccurl_pause_writing
        }
        guard bytes.count <= submission.plan.maximumResponseSize - body.count else {
            isTooLarge = true
            return 0
        }
        if body.isEmpty, let length = head.fields["Content-Length"].flatMap({ Int($0) }), length > bytes.count {
            body.reserveCapacity(min(length, submission.plan.maximumResponseSize, 1 << 20))
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    /// Accepts a header line. Returning `false` ends the transfer.
    func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        lastActivity = .now
        let wasComplete = head.isComplete
        guard head.read(line) else { return false }
        if !wasComplete, head.isComplete, head.status <= 599 {
            submission.channel?.begin(HTTPResponse(status: head.status, fields: head.fields))
        }
        return true
    }

    /// Fills the buffer with the request's content.
    ///
    /// Returns the number of bytes, or a code that pauses or ends the transfer.
    func give(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        lastActivity = .now
        switch reader?.read(into: buffer) ?? .end {
        case .bytes(let count): return count
        case .end: return 0
        case .nothing:
            sendsNothing = true
            return ccurl_pause_reading
        case .failed:
            fileFailure = reader?.failure
            return ccurl_abort_reading
        }
    }

    /// Moves back in the request's content if the server did not read all of it.
    func rewind(to offset: Int64) -> Bool { reader?.seek(to: offset) ?? false }

    func reportProgress(toReceive: Int64, received: Int64, toSend: Int64, sent: Int64) {
        if sent > sentBytes {
            sentBytes = sent
            lastActivity = .now
        }
        submission.meter?.update(
            HTTPProgress(
                sent: sent, totalToSend: toSend > 0 ? toSend : nil, received: received,
                totalToReceive: toReceive > 0 ? toReceive : nil))
    }

    /// Returns whether libcurl may write the request.
    func mayWriteRequest() -> Bool {
        lastActivity = .now
        requestsWritten += 1
        guard requestsWritten > 1, !submission.plan.isIdempotent else { return true }
        wasStoppedBeforeResending = true
        return false
    }

    // MARK: - Pausing

    /// Resumes a transfer that waited for its reader or for content to send. Returning `false` ends the transfer.
    func resume() -> Bool {
        if let (file, waiting) = submission.channel?.takeFile() {
            self.file = file
            guard waiting.withUnsafeBytes({ write($0, to: file) }) else { return false }
        }
        guard sendsNothing || receivesNothing else { return true }
        if receivesNothing, file != nil || submission.channel?.hasRoom ?? true { receivesNothing = false }
        // Clear this in every case: without new content, libcurl only calls the read function once in vain.
        sendsNothing = false
        lastActivity = .now
        _ = curl_easy_pause(handle, receivesNothing ? CURLPAUSE_RECV : CURLPAUSE_CONT)
        return true
    }

    /// Delivers received content to a waiting reader, which may free space.
    func flush() {
        guard let channel = submission.channel else { return }
        channel.flush()
        if receivesNothing, channel.hasRoom { _ = resume() }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, to file: OpenFile) -> Bool {
        do {
            try file.write(bytes)
            return true
        } catch {
            fileFailure = error
            return false
        }
    }

    // MARK: - Time

    /// Records activity, for a libcurl that does not report the start of the request.
    func noteActivity() { lastActivity = .now }

    /// The time at which the transfer times out without activity, or `nil` if the server is not responsible for the
    /// silence.
    var silenceDeadline: ContinuousClock.Instant? {
        guard let lastActivity, !receivesNothing, !sendsNothing else { return nil }
        return silenceLimit.map { lastActivity.advanced(by: min($0, .seconds(1_000_000_000))) }
    }

    private var isAwaitingAnswer: Bool { head.status == 0 && reader?.isComplete ?? true }

    private var silenceLimit: Duration? {
        let plan = submission.plan
        return isAwaitingAnswer ? plan.firstByteTimeout ?? plan.idleTimeout : plan.idleTimeout
    }

    /// Fails with a timeout, because the server was silent for too long.
    func silent() {
        let limit = submission.text(of: silenceLimit ?? .zero)
        submission.fail(
            .timedOut,
            isAwaitingAnswer
                ? "No response within \(limit) after the request." : "No byte was sent or received for \(limit).")
    }
}
