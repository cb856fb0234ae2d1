import HTTPExchange
import Synchronization

/// Says that a request's task was cancelled.
final class CancellationFlag: Sendable {
    private let flag = Atomic<Bool>(false)
    /// Whether it was.
    var isSet: Bool { flag.load(ordering: .acquiring) }
    /// Says so.
    func set() { flag.store(true, ordering: .releasing) }
}

/// A request on its way to the worker, and where its answer goes.
struct PendingRequest: Sendable {
    /// Where an answer goes.
    enum Delivery: Sendable {
        /// All of it at the end.
        case whole(CheckedContinuation<HTTPResponse, any Error>)
        /// Piece by piece.
        case streamed(BodyChannel)
    }

    let plan: CurlRequest
    /// When the answer must be complete.
    let deadline: ContinuousClock.Instant
    /// The time that was given, for the error's words.
    let timeout: Duration
    let mark: CancellationFlag
    let meter: ProgressMeter?
    let delivery: Delivery

    /// Scheme, host and port.
    var origin: String { plan.address.origin }

    /// Where the content goes when it is streamed.
    var channel: BodyChannel? { if case .streamed(let channel) = delivery { channel } else { nil } }

    /// Hands the result over. Called once.
    func finish(_ result: Result<HTTPResponse, any Error>) {
        switch delivery {
        case .whole(let continuation): continuation.resume(with: result)
        case .streamed(let channel): channel.end(result)
        }
    }

    /// Ends with a failure.
    func fail(_ kind: HTTPTransportError.Kind, _ reason: String) {
        finish(.failure(HTTPTransportError(kind, host: plan.shownHost, reason: reason)))
    }

    /// A time limit for people: what is left of one in other hands may have nine places.
    private func words(for limit: Duration) -> String {
        let seconds = limit / .seconds(1)
        guard seconds >= 0.095 else { return "\(Int((seconds * 1000).rounded(.up))) ms" }
        let tenths = (seconds * 10).rounded()
        guard tenths.truncatingRemainder(dividingBy: 10) == 0 else { return "\(tenths / 10) seconds" }
        return tenths == 10 ? "1 second" : "\(Int64(tenths / 10)) seconds"
    }

    /// Ends with `timedOut`.
    func timeOut() { fail(.timedOut, "The answer was not complete within \(words(for: timeout)).") }
}

/// The time for a request and all its redirects.
struct TimeLimit: Sendable {
    private let deadline: ContinuousClock.Instant
    private let timeout: Duration

    /// Begins now.
    init(_ request: HTTPRequest, isStreamed: Bool) {
        let isEndless = request.ownTimeout == nil && (isStreamed || request.content.map { !$0.isInMemory } ?? false)
        timeout = isEndless ? .seconds(1_000_000_000) : request.timeout
        deadline = .now.advanced(by: min(max(timeout, .zero), .seconds(1_000_000_000)))
    }

    func submission(
        _ plan: CurlRequest, _ mark: CancellationFlag, _ meter: ProgressMeter?, _ delivery: PendingRequest.Delivery
    ) -> PendingRequest {
        PendingRequest(plan: plan, deadline: deadline, timeout: timeout, mark: mark, meter: meter, delivery: delivery)
    }
}
