/// One connection, known only to the listener's thread.
final class LoopbackConnection {
    /// The state of the connection.
    enum Phase {
        /// Waiting for a request or the rest of one.
        case reading
        /// The handler runs.
        case handling(Task<Void, Never>, isHead: Bool, keepsConnection: Bool)
        /// A response is being sent.
        case writing(LoopbackResponseWriter)
        /// An injected error without a response.
        case stalled
        /// Everything is sent, including the end of the stream. Input is discarded, because closing a socket with
        /// unread bytes would make the system discard the response (RFC 9112 section 9.6).
        case lingering
    }

    let id: UInt64
    let descriptor: Int32
    /// The encryption; `nil` without TLS.
    var tls: TLSSession?
    private(set) var phase = Phase.reading
    /// The start of the phase.
    private(set) var since: ContinuousClock.Instant
    /// The end of the phase.
    var deadline: ContinuousClock.Instant?
    /// Received bytes that belong to no request yet.
    var input: [UInt8] = []
    var reader: LoopbackRequestReader
    /// Whether the client closed its side.
    var inputHasEnded = false
    /// The number of requests that were passed to the handler.
    var requests = 0
    /// The number of bytes that were discarded while lingering.
    var discarded = 0

    init(id: UInt64, descriptor: Int32, reader: LoopbackRequestReader, now: ContinuousClock.Instant) {
        self.id = id
        self.descriptor = descriptor
        self.reader = reader
        since = now
    }

    func enter(_ phase: Phase, now: ContinuousClock.Instant, for duration: Duration?) {
        self.phase = phase
        since = now
        deadline = duration.map { now.advanced(by: $0) }
    }

    /// Updates the progress of the response without restarting the phase.
    func update(_ writer: LoopbackResponseWriter) { phase = .writing(writer) }

    /// Whether the connection may be closed for a new one.
    var isIdle: Bool {
        switch phase {
        case .reading, .stalled, .lingering: true
        case .handling, .writing: false
        }
    }

    /// Whether to read received bytes.
    var acceptsInput: Bool {
        guard !inputHasEnded else { return false }
        switch phase {
        case .reading, .stalled, .lingering: return true
        // Read a little, to detect the end of the connection.
        case .handling: return input.count < 16 << 10
        case .writing: return false
        }
    }

    /// Whether encrypted bytes wait to be sent.
    var hasEncryptedOutput: Bool { tls.map { !$0.output.isEmpty } ?? false }

    /// Whether to send bytes as soon as there is room.
    var acceptsOutput: Bool {
        if hasEncryptedOutput { return true }
        if case .writing(let writer) = phase { return !writer.isDripping }
        return false
    }
}
