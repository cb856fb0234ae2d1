import Synchronization

/// How far a transfer is.
public struct HTTPProgress: Sendable, Equatable {
    /// The bytes of the request's content that were sent.
    public var sent: Int64
    /// The bytes to send; nil where nobody knows, or there are none.
    public var totalToSend: Int64?
    /// The bytes of the answer's content that came, as they came: before decompression. A resumed download counts what was there.
    public var received: Int64
    /// The bytes to receive; nil where the server did not say, or there are none.
    public var totalToReceive: Int64?
    /// Whether this is the last report: the transfer is complete, failed or was cancelled.
    public var hasEnded: Bool

    /// Progress with these numbers.
    public init(
        sent: Int64 = 0, totalToSend: Int64? = nil, received: Int64 = 0, totalToReceive: Int64? = nil,
        hasEnded: Bool = false
    ) {
        self.sent = sent
        self.totalToSend = totalToSend
        self.received = received
        self.totalToReceive = totalToReceive
        self.hasEnded = hasEnded
    }

    /// Told of progress, about 20 times a second at most and once at the end, in order. It is called on the transport's thread: it must
    /// return at once and must not wait for a request.
    public typealias Handler = @Sendable (HTTPProgress) -> Void
}

/// The progress of one transfer as an asynchronous sequence: an alternative to a callback.
///
/// ```swift
/// let updates = HTTPProgressUpdates()
/// async let saved = transport.download(request, to: file, progress: updates.report)
/// for await progress in updates { bar.show(progress) }
/// print(try await saved)
/// ```
///
/// It keeps the newest report only, so that a slow reader misses steps but never the last one, with which it ends. One updates value is
/// for one transfer and one reader.
public struct HTTPProgressUpdates: AsyncSequence, Sendable {
    private let stream: AsyncStream<HTTPProgress>
    private let continuation: AsyncStream<HTTPProgress>.Continuation

    /// Updates of a transfer that did not begin yet.
    public init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// What to give to the transfer.
    public var report: HTTPProgress.Handler {
        { [continuation] progress in
            continuation.yield(progress)
            if progress.hasEnded { continuation.finish() }
        }
    }

    /// Goes through the reports.
    public func makeAsyncIterator() -> AsyncStream<HTTPProgress>.Iterator { stream.makeAsyncIterator() }
}

/// Thins out what libcurl tells, and sees to the one last report.
package final class ProgressMeter: Sendable {
    private struct State {
        var latest = HTTPProgress()
        var reported: ContinuousClock.Instant?
        var hasEnded = false
    }

    private static let pause = Duration.milliseconds(50)
    private let state = Mutex(State())
    private let handler: HTTPProgress.Handler

    package init(_ handler: @escaping HTTPProgress.Handler) { self.handler = handler }

    /// Notes where the transfer is, and tells it when the last report is long enough ago.
    package func update(_ progress: HTTPProgress) {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            guard !state.hasEnded, state.latest != progress || state.reported == nil else { return false }
            state.latest = progress
            if let reported = state.reported, now - reported < Self.pause { return false }
            state.reported = now
            return true
        }
        if isDue { handler(progress) }
    }

    /// Makes the last report. Only the first call does.
    package func end() {
        let last: HTTPProgress? = state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            state.latest.hasEnded = true
            return state.latest
        }
        if let last { handler(last) }
    }
}
