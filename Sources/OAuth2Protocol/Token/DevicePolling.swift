import HTTPExchange

/// The schedule of the polls of a device grant or a backchannel sign-in. It reads the responses, and the caller waits.
/// Times are seconds of a monotonic clock that includes the time when the machine sleeps.
///
/// [RFC 8628 sections 3.4 and 3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)
package struct DevicePolling: Sendable, Equatable {
    /// The result of one poll.
    package enum Event: Sendable {
        /// A response arrived.
        case response(HTTPResponse)
        /// No response arrived in time.
        case timedOut
        /// The connection failed or was interrupted.
        case connectionFailed
    }

    /// The next step.
    package enum Step: Sendable, Equatable {
        /// Poll at this time, not earlier.
        case poll(at: Double)
        /// Poll immediately, with this nonce in the proof (RFC 9449 section 8).
        case pollWithNonce(String)
        /// The user signed in.
        case tokens(TokenResponse)
        /// The user, or the provider, denied the request.
        case denied
        /// The code expired. Request a new code only if the user wants one.
        case expired
        /// The sign-in failed for another reason.
        case failed(OAuth2Error)
    }

    /// The maximum time between polls after errors, in seconds.
    static let longestBackOff: Double = 60

    /// When the codes expire.
    package let deadline: Double
    /// The current number of seconds between polls.
    package private(set) var interval: Double
    private var backOff: Double
    private let expectation: TokenResponse.Expectation
    private let quirks: TokenResponse.ResponseQuirks
    private var usedNonce = false

    /// Creates the polling for codes that arrived at this time.
    package init(
        _ authorization: DeviceAuthorization, now: Double, expecting expectation: TokenResponse.Expectation = .init(),
        quirks: TokenResponse.ResponseQuirks = .providers
    ) {
        self.init(
            lifetime: authorization.expiresIn, interval: authorization.interval, now: now, expectation, quirks)
    }

    /// Creates the polling for a backchannel sign-in that started at this time.
    package init(
        _ authentication: BackchannelAuthentication, now: Double,
        expecting expectation: TokenResponse.Expectation = .init(),
        quirks: TokenResponse.ResponseQuirks = .providers
    ) {
        self.init(
            lifetime: authentication.expiresIn, interval: authentication.interval, now: now, expectation, quirks)
    }

    private init(
        lifetime: Int, interval: Int, now: Double, _ expectation: TokenResponse.Expectation,
        _ quirks: TokenResponse.ResponseQuirks
    ) {
        deadline = now + Double(lifetime)
        self.interval = Double(interval)
        backOff = Double(interval)
        self.expectation = expectation
        self.quirks = quirks
    }

    /// Returns the first step.
    package func start(now: Double) -> Step { wait(interval, now) }

    /// Returns the step after a poll.
    ///
    /// - Parameter now: The time when the response arrived or the request failed.
    package mutating func next(_ event: Event, now: Double) -> Step {
        switch event {
        case .timedOut:
            // Section 3.5: after a timeout, poll less often until the end.
            interval = max(interval, min(interval * 2, Self.longestBackOff))
            backOff = interval
            return wait(interval, now)
        case .connectionFailed: return retry(after: nil, nil, now)
        case .response(let response): return next(response, now)
        }
    }

    private mutating func next(_ response: HTTPResponse, _ now: Double) -> Step {
        let failure: OAuth2Error
        do throws(OAuth2Error) {
            return .tokens(try TokenResponse.read(response, expecting: expectation, quirks: quirks))
        } catch {
            failure = error
        }
        guard case .provider(let error) = failure else {
            // The user may still be signing in: one error of a gateway does not end the sign-in. A response with status
            // 200 has redeemed the code.
            return failure.isTransient ? retry(after: failure.retryAfter, failure, now) : .failed(failure)
        }
        let retryAfter = (error.retryAfter ?? .zero) / .seconds(1)
        // Use the error code, not the status: providers send 200, 400, 403 and 428.
        switch error.code {
        case .authorizationPending:
            backOff = interval
            usedNonce = false
            return wait(max(interval, retryAfter), now)
        case .slowDown:
            // Add five seconds to the interval of all later polls. GitHub sends its own interval: use the larger one.
            interval = max(interval + 5, min((error.interval ?? .zero) / .seconds(1), 3600))
            backOff = interval
            return wait(max(interval, retryAfter), now)
        case .accessDenied: return .denied
        case .expiredToken: return .expired
        case .useDPoPNonce:
            guard !usedNonce, let nonce = response.fields["DPoP-Nonce"] else { return .failed(failure) }
            usedNonce = true
            return .pollWithNonce(nonce)
        default: return failure.isTransient ? retry(after: error.retryAfter, failure, now) : .failed(failure)
        }
    }

    /// Returns the next poll after an error, with a growing delay. If the code expires before this poll, the error is
    /// the reason.
    private mutating func retry(after requested: Duration?, _ failure: OAuth2Error?, _ now: Double) -> Step {
        let delay = max(backOff, (requested ?? .zero) / .seconds(1))
        backOff = max(backOff, min(backOff * 2, Self.longestBackOff))
        let step = wait(delay, now)
        if step == .expired, let failure { return .failed(failure) }
        return step
    }

    private func wait(_ seconds: Double, _ now: Double) -> Step {
        now + seconds <= deadline ? .poll(at: now + seconds) : .expired
    }
}
