import HTTPExchange
import OAuth2AccountStore

extension HTTPRequest {
    /// Limits a request to `--timeout`. A request whose response must not be lost keeps at least its own limits.
    mutating func limitTime(to limit: Duration) {
        if !needsResponse || limit > timeout { timeout = limit }
        if let idle = idleTimeout { idleTimeout = max(idle, limit) }
        connectTimeout = min(limit, connectTimeout)
    }
}

/// A transport that limits the requests of a sign-in to `--timeout`.
///
/// The limit is for the user, and it allows actions until its end. Therefore each request has the whole time, and
/// requests that exchange a code or register a client have their own limits.
struct SignInTransport: HTTPTransport {
    let inner: any HTTPTransport
    let limit: Duration

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await inner.send(limited(request)) }

    func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        try await inner.stream(limited(request), progress: progress)
    }

    private func limited(_ request: HTTPRequest) -> HTTPRequest {
        guard request.method == .get else { return request }
        var request = request
        request.limitTime(to: limit)
        return request
    }
}

/// A transport that limits requests to the deadline of the command.
struct DeadlineTransport: HTTPTransport {
    let inner: any HTTPTransport
    let deadline: ContinuousClock.Instant

    /// The error of a delay or a request that would end after the deadline.
    static let tooLate = HTTPTransportError(.timedOut, host: "", reason: "the time of --timeout is over")

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await inner.send(limited(request)) }

    /// Streams the response, so that memory does not grow.
    func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        try await inner.stream(limited(request), progress: progress)
    }

    private func limited(_ request: HTTPRequest) throws -> HTTPRequest {
        var request = request
        let left = deadline - ContinuousClock.now
        guard left > .zero else { throw Self.tooLate }
        request.limitTime(to: left)
        return request
    }
}
