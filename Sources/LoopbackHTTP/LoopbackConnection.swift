/// One connection, known only to the listener's thread.
final class LoopbackConnection {
    /// What the connection is doing.
    enum Phase {
        /// Waiting for a request or for the rest of one.
        case reading
        /// The handler is at work.
        case handling(Task<Void, Never>, isHead: Bool, keepsConnection: Bool)
        /// An answer is being sent.
        case writing(LoopbackResponseWriter)
        /// A fault: no answer ever.
        case stalled
        /// Everything is sent and the other side was told; what still arrives is thrown away, because closing with
        /// unread bytes would make the system destroy the answer on its way (RFC 9112 section 9.6).
        case lingering
    }

    let id: UInt64
    let descriptor: Int32
    private(set) var phase = Phase.reading
    /// When the phase began.
    private(set) var since: ContinuousClock.Instant
    /// When the phase must be over.
    var deadline: ContinuousClock.Instant?
    /// What arrived and no request has taken.
    var input: [UInt8] = []
    var reader: LoopbackRequestReader
    /// The other side sends nothing more.
    var inputHasEnded = false
    /// How many requests were passed to the handler; the number of the present one.
    var requests = 0
    /// How many bytes were thrown away while lingering.
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

    /// Notes how far the answer is sent, without beginning the phase anew.
    func update(_ answer: LoopbackResponseWriter) { phase = .writing(answer) }

    /// Whether the connection may make room for a new one: it does no work.
    var isIdle: Bool {
        switch phase {
        case .reading, .stalled, .lingering: true
        case .handling, .writing: false
        }
    }

    /// Whether bytes that arrive are read now.
    var wantsInput: Bool {
        guard !inputHasEnded else { return false }
        switch phase {
        case .reading, .stalled, .lingering: return true
        // A little, so that the end of the connection is noticed.
        case .handling: return input.count < 16 << 10
        case .writing: return false
        }
    }

    /// Whether an answer can go on when there is room.
    var wantsOutput: Bool {
        if case .writing(let answer) = phase { return !answer.isDripping }
        return false
    }
}
