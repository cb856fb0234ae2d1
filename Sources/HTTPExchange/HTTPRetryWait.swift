/// A delay before a retry.
package struct HTTPRetryWait: Sendable, Equatable {
    /// The name or host of the service.
    package var service: String
    /// The length of the delay.
    package var delay: Duration
    /// Whether the service requested this delay. Otherwise it is from the policy.
    package var isRequested: Bool
    /// The number of the next attempt: 2 or more.
    package var attempt: Int
    /// The maximum number of attempts.
    package var maximumAttempts: Int
    /// The status of the response that caused the delay, or `nil` without a response.
    package var status: Int?

    /// Creates a delay.
    package init(
        service: String, delay: Duration, isRequested: Bool, attempt: Int, maximumAttempts: Int, status: Int? = nil
    ) {
        self.service = service
        self.delay = delay
        self.isRequested = isRequested
        self.attempt = attempt
        self.maximumAttempts = maximumAttempts
        self.status = status
    }

    /// Creates the delay before a retry of a policy, 0 for the first.
    package init(
        for service: String, _ retry: Int, of policy: HTTPRetryPolicy, delay: Duration, isRequested: Bool,
        status: Int? = nil
    ) {
        self.init(
            service: service, delay: delay, isRequested: isRequested, attempt: retry + 2,
            maximumAttempts: policy.maximumRetries + 1, status: status)
    }
}
