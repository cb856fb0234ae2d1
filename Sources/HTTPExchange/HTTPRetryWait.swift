/// A wait before a request is sent again.
public struct HTTPRetryWait: Sendable, Equatable {
    /// The name or the host of the service.
    public var service: String
    /// The length of the wait.
    public var delay: Duration
    /// Whether the service requested this delay. Otherwise it is the delay of the policy.
    public var isRequested: Bool
    /// The number of the attempt after the wait: 2 or more.
    public var attempt: Int
    /// The maximum number of attempts.
    public var maximumAttempts: Int
    /// The status of the response that caused the wait; `nil` without a response.
    public var status: Int?

    /// Creates a wait.
    public init(
        service: String, delay: Duration, isRequested: Bool, attempt: Int, maximumAttempts: Int, status: Int? = nil
    ) {
        self.service = service
        self.delay = delay
        self.isRequested = isRequested
        self.attempt = attempt
        self.maximumAttempts = maximumAttempts
        self.status = status
    }

    /// Creates the wait before a retry of a policy, 0 for the first.
    package init(
        for service: String, _ retry: Int, of policy: HTTPRetryPolicy, delay: Duration, isRequested: Bool,
        status: Int? = nil
    ) {
        self.init(
            service: service, delay: delay, isRequested: isRequested, attempt: retry + 2,
            maximumAttempts: policy.maximumRetries + 1, status: status)
    }
}
