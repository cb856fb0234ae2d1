import Synchronization

/// The progress of a transfer.
public struct HTTPProgress: Sendable, Equatable {
    /// The number of content bytes sent.
    public var sent: Int64
    /// The number of content bytes to send, or `nil` if the number is unknown or the request has no content.
    public var totalToSend: Int64?
    /// The number of content bytes received, before decompression.
    ///
    /// In a resumed download, this and ``totalToReceive`` include the bytes that earlier attempts received.
    public var received: Int64
    /// The number of content bytes to receive, or `nil` if the number is unknown or the response has no content.
    public var totalToReceive: Int64?
    /// Whether this is the last report, after completion, failure or cancellation.
    public var hasEnded: Bool

    /// Creates a report with these numbers.
    package init(
        sent: Int64 = 0, totalToSend: Int64? = nil, received: Int64 = 0, totalToReceive: Int64? = nil,
        hasEnded: Bool = false
    ) {
        self.sent = sent
        self.totalToSend = totalToSend
        self.received = received
        self.totalToReceive = totalToReceive
        self.hasEnded = hasEnded
    }

    /// A function that receives the progress reports of a transfer in order.
    ///
    /// The transport calls it at most about 20 times a second during the transfer, and once at the end.
    ///
    /// It runs on the transport's thread: it must return immediately and must not wait for a request.
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
/// It stores only the latest report: a slow reader misses intermediate reports, but never the last one, which ends the
/// sequence. Use one value for one transfer and one reader.
public struct HTTPProgressUpdates: AsyncSequence, Sendable {
    private let stream: AsyncStream<HTTPProgress>
    private let continuation: AsyncStream<HTTPProgress>.Continuation

    /// Creates updates for a new transfer.
    public init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// The handler to pass to the transfer.
    public var report: HTTPProgress.Handler {
        { [continuation] progress in
            continuation.yield(progress)
            if progress.hasEnded { continuation.finish() }
        }
    }

    /// Returns an iterator over the reports.
    public func makeAsyncIterator() -> AsyncStream<HTTPProgress>.Iterator { stream.makeAsyncIterator() }
}

/// Limits the rate of a transfer's progress reports, and sends the last report only once.
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

    /// Records the progress, and reports it if enough time has passed since the last report.
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

    /// Sends the last report. Only the first call has an effect.
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
