/// When a request is sent again by itself. Nothing is, unless a policy is given.
public struct HTTPRetryPolicy: Sendable, Equatable {
    /// How often one request is sent again, 0 to 10.
    public var maximumRetries: Int {
        didSet { maximumRetries = Self.bounded(maximumRetries) }
    }
    /// The methods whose requests may be sent again. Others may have had their effect, whatever came back.
    public var methods: Set<HTTPMethod>
    /// The statuses after which another attempt may do better.
    public var statuses: Set<Int>
    /// The failures without an answer after which another attempt may do better.
    public var failures: Set<HTTPTransportError.Kind>
    /// The wait before the first retry when the server names none; doubled each time.
    public var firstDelay: Duration
    /// The longest single wait. If the server asks for more, its answer is given at once.
    public var maximumDelay: Duration
    /// The longest time that all waits for one request may take together.
    public var totalDelay: Duration

    /// Idempotent methods, [RFC 9110 section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2).
    public static let idempotentMethods: Set<HTTPMethod> = [
        .get, .head, .put, .delete, HTTPMethod(rawValue: "OPTIONS"), HTTPMethod(rawValue: "TRACE"),
    ]
    /// No request is sent again.
    public static let never = HTTPRetryPolicy(maximumRetries: 0)

    /// A policy; without arguments up to three retries of idempotent requests within a minute, where the server is busy or out of reach.
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

    /// Sends the request, and sends it again as the policy says.
    ///
    /// - Parameters:
    ///   - sleep: Waits; throws when the task is cancelled.
    ///   - random: Gives a number from 0 to 1, so that many programs turned away at once do not return at once.
    ///   - attempt: Sends the request once. The number is 0 for the first time.
    /// - Returns: The first answer that is not retried, or the last.
    /// - Throws: What the last attempt threw.
    public func run(
        _ request: HTTPRequest,
        sleep: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        random: @Sendable () -> Double = { Double.random(in: 0...1) },
        attempt: (Int) async throws -> HTTPResponse
    ) async throws -> HTTPResponse {
        var waited = Duration.zero
        var retry = 0
        while true {
            let wait: Duration?
            let result: Result<HTTPResponse, any Error>
            do {
                let answer = try await attempt(retry)
                result = .success(answer)
                wait = delay(
                    before: retry, of: request, waited: waited, asked: answer.retryAfter(), random: random(),
                    statuses.contains(answer.status))
            } catch let failure as HTTPTransportError {
                result = .failure(failure)
                wait = delay(
                    before: retry, of: request, waited: waited, asked: nil, random: random(),
                    failures.contains(failure.kind))
            }
            guard let wait else { return try result.get() }
            try await sleep(wait)
            waited += wait
            retry += 1
        }
    }

    /// The wait before this retry, 0 for the first; nil where there is none.
    func delay(
        before retry: Int, of request: HTTPRequest, waited: Duration, asked: Duration?, random: Double, _ mayHelp: Bool
    ) -> Duration? {
        guard mayHelp, retry < maximumRetries, methods.contains(request.method),
            request.content?.isReplayable ?? true
        else { return nil }
        let spread = 0.75 + 0.5 * (random.isFinite ? min(max(random, 0), 1) : 0.5)
        let wait = asked ?? min(firstDelay * Double(1 << retry) * spread, maximumDelay)
        return wait <= maximumDelay && waited + wait <= totalDelay ? wait : nil
    }

    private static func bounded(_ retries: Int) -> Int { min(max(retries, 0), 10) }
}

extension HTTPTransport {
    /// Sends the request, and sends it again as the policy says.
    ///
    /// - Throws: What the last attempt threw.
    public func send(_ request: HTTPRequest, retrying policy: HTTPRetryPolicy) async throws -> HTTPResponse {
        try await policy.run(request) { _ in try await send(request) }
    }
}
