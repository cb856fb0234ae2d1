import HTTPExchange
import Synchronization

/// A flag that marks a request as cancelled and identifies it.
final class CancellationFlag: Sendable {
    private let flag = Atomic<Bool>(false)
    var isSet: Bool { flag.load(ordering: .acquiring) }
    func set() { flag.store(true, ordering: .releasing) }
}

/// A request for the worker, and the receiver of its response.
struct PendingRequest: Sendable {
    enum Delivery: Sendable {
        /// Delivers the complete response at the end.
        case whole(CheckedContinuation<HTTPResponse, any Error>)
        /// Delivers the content as it arrives.
        case streamed(BodyChannel)
    }

    let plan: CurlRequest
    /// The time at which the response must be complete.
    let deadline: ContinuousClock.Instant
    /// The timeout, for the error message.
    let timeout: Duration
    /// The maximum time from the submission to the first byte in either direction. `nil`: the timeout.
    let startTimeout: Duration?
    let submitted = ContinuousClock.now
    let mark: CancellationFlag
    let meter: ProgressMeter?
    let delivery: Delivery

    var origin: String { plan.address.origin }

    /// The time at which a queued request fails.
    var startDeadline: ContinuousClock.Instant {
        startTimeout.map { min(deadline, submitted.advanced(by: min($0, .seconds(1_000_000_000)))) } ?? deadline
    }

    /// The channel of a streamed response.
    var channel: BodyChannel? { if case .streamed(let channel) = delivery { channel } else { nil } }

    /// Delivers the result. Call it once.
    func finish(_ result: Result<HTTPResponse, any Error>) {
        switch delivery {
        case .whole(let continuation): continuation.resume(with: result)
        case .streamed(let channel): channel.end(result)
        }
    }

    func fail(_ kind: HTTPTransportError.Kind, _ reason: String) {
        finish(.failure(HTTPTransportError(kind, host: plan.shownHost, reason: reason)))
    }

    /// Returns a time limit for messages, rounded: a remaining time can have nine decimal places.
    func text(of limit: Duration) -> String {
        let seconds = limit / .seconds(1)
        guard seconds >= 0.095 else { return "\(Int((seconds * 1000).rounded(.up))) ms" }
        let tenths = (seconds * 10).rounded()
        guard tenths.truncatingRemainder(dividingBy: 10) == 0 else { return "\(tenths / 10) seconds" }
        return tenths == 10 ? "1 second" : "\(Int64(tenths / 10)) seconds"
    }

    func timeOut() { fail(.timedOut, "The response was not complete within \(text(of: timeout)).") }

    /// Fails because the request did not leave the queue in time.
    func timeOutInQueue() {
        fail(.timedOut, "The request was not sent within \(text(of: min(startTimeout ?? timeout, timeout))).")
    }
}

/// The time for a request and all its redirects.
struct TimeLimit: Sendable {
    private let deadline: ContinuousClock.Instant
    private let timeout: Duration
    private let startTimeout: Duration?

    init(_ request: HTTPRequest, isStreamed: Bool) {
        let isEndless = isStreamed || request.content.map { !$0.isInMemory } ?? false
        timeout = request.ownTimeout ?? (isEndless ? .seconds(1_000_000_000) : HTTPRequest.maximumDuration)
        startTimeout = request.ownTimeout == nil && !isEndless ? request.idleTimeout ?? request.timeout : nil
        deadline = .now.advanced(by: min(max(timeout, .zero), .seconds(1_000_000_000)))
    }

    func submission(
        _ plan: CurlRequest, _ mark: CancellationFlag, _ meter: ProgressMeter?, _ delivery: PendingRequest.Delivery
    ) -> PendingRequest {
        PendingRequest(
            plan: plan, deadline: deadline, timeout: timeout, startTimeout: startTimeout, mark: mark, meter: meter,
            delivery: delivery)
    }
}
