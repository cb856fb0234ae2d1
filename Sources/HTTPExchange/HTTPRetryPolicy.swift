import Synchronization

/// The conditions for retries of a request. Without a policy, each request is sent once.
public struct HTTPRetryPolicy: Sendable, Equatable {
    /// The maximum number of retries of one request, 0 to 10.
    public var maximumRetries: Int {
        didSet { maximumRetries = Self.bounded(maximumRetries) }
    }
    /// The methods that allow a retry. Other requests may have had their effect despite the error.
    public var methods: Set<HTTPMethod>
    /// The statuses that allow a retry.
    public var statuses: Set<Int>
    /// The errors without a response that allow a retry.
    package var failures: Set<HTTPTransportError.Kind>
    /// The delay before the first retry, doubled for each subsequent one.
    ///
    /// A delay requested by the server takes precedence.
    public var firstDelay: Duration
    /// The maximum delay. If the server requests more, its response is returned immediately.
    public var maximumDelay: Duration
    /// The maximum total of all delays for one request.
    public var totalDelay: Duration

    /// The idempotent methods, [RFC 9110 section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2).
    public static let idempotentMethods: Set<HTTPMethod> = [
        .get, .head, .put, .delete, HTTPMethod(rawValue: "OPTIONS"), HTTPMethod(rawValue: "TRACE"),
    ]
    /// A policy without retries.
    public static let never = HTTPRetryPolicy(maximumRetries: 0)

    /// Creates a policy.
    ///
    /// By default, it retries idempotent requests up to three times within a minute if the server is busy or
    /// unreachable.
    public init(
        maximumRetries: Int = 3, methods: Set<HTTPMethod> = idempotentMethods, statuses: Set<Int> = [429, 503, 504],
        failures: Set<HTTPTransportError.Kind> = [.cannotConnect, .connectionLost],
        firstDelay: Duration = .seconds(1), maximumDelay: Duration = .seconds(30), totalDelay: Duration = .seconds(60)
    ) {
        self.maximumRetries = Self.bounded(maximumRetries)
        self.methods = methods
        self.statuses = statuses
        self.failures = failures
        self.firstDelay = firstDelay
        self.maximumDelay = maximumDelay
        self.totalDelay = totalDelay
    }

    /// Sends the request and retries it according to the policy.
    ///
    /// - Parameters:
    ///   - sleep: Waits; throws if the task is cancelled.
    ///   - random: Returns a number from 0 to 1, which spreads the retries of many clients over time.
    ///   - attempt: Sends the request once. The number is 0 for the first attempt.
    /// - Returns: The first response that needs no retry, or the last one.
    /// - Throws: The error of the last attempt.
    package func run(
        _ request: HTTPRequest,
        sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        random: @Sendable () -> Double = { Double.random(in: 0...1) },
        attempt: (Int) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        let budget = RetryBudget(totalDelay)
        var retry = 0
        while true {
            let result: Result<HTTPResponse, any Error>
            let delay: Duration?
            do {
                let response = try await attempt(retry)
                result = .success(response)
                delay =
                    statuses.contains(response.status)
                    ? self.delay(before: retry, requested: response.retryAfter(), random: random()) : nil
            } catch let error as HTTPTransportError {
                result = .failure(error)
                delay = failures.contains(error.kind) ? self.delay(before: retry, random: random()) : nil
            }
            guard let delay, methods.contains(request.method), request.content?.isReplayable ?? true,
                allows(retry, after: delay, budget)
            else { return try result.get() }
            try await sleep(delay)
            retry += 1
        }
    }

    /// Returns the delay before a retry.
    ///
    /// - Parameters:
    ///   - retry: The number of the retry, 0 for the first.
    ///   - requested: The delay that the server requests. It replaces the policy's own.
    ///   - random: A number from 0 to 1, which spreads the retries of many clients over time.
    package func delay(before retry: Int, requested: Duration? = nil, random: Double) -> Duration {
        if let requested { return requested }
        let spread = 0.75 + 0.5 * (random.isFinite ? min(max(random, 0), 1) : 0.5)
        return min(firstDelay * Double(1 << min(max(retry, 0), 10)) * spread, maximumDelay)
    }

    /// Returns whether this retry, 0 for the first, is allowed after this delay, and deducts the delay from the budget.
    package func allows(_ retry: Int, after delay: Duration, _ budget: RetryBudget) -> Bool {
        retry < maximumRetries && delay <= maximumDelay && budget.take(delay)
    }

    private static func bounded(_ retries: Int) -> Int { min(max(retries, 0), 10) }
}

/// The remaining time for retry delays. Several requests, even concurrent ones, can share one budget.
public final class RetryBudget: Sendable {
    private let total: Duration
    private let remaining: Mutex<Duration>

    /// Creates a budget with this total time.
    public init(_ total: Duration) {
        self.total = total
        remaining = Mutex(total)
    }

    /// Restores the budget after progress, for an operation without a total time limit.
    package func reset() { remaining.withLock { $0 = total } }

    /// Deducts a delay and returns whether the budget covered it.
    package func take(_ delay: Duration) -> Bool {
        remaining.withLock { remaining in
            guard delay <= remaining else { return false }
            remaining -= delay
            return true
        }
    }
}

extension HTTPTransport {
    /// Sends the request and retries it according to the policy.
    ///
    /// - Throws: The error of the last attempt.
    public func send(_ request: HTTPRequest, retrying policy: HTTPRetryPolicy) async throws -> HTTPResponse {
        try await policy.run(request) { _ in try await send(request) }
    }
}
