/// Something that sends requests.
///
/// `CurlTransport` is the real one; tests pass their own.
public protocol HTTPTransport: Sendable {
    /// Sends the request and gives the whole answer, whatever its status.
    ///
    /// - Throws: ``HTTPTransportError`` when no answer came; `CancellationError` when the task was cancelled.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse

    /// Sends the request and gives the answer as soon as its fields are there; the content comes while it is read.
    ///
    /// A transport that does not say how does it with ``send(_:)``: the content is then whole and limited in size. One that stands before
    /// another passes this on, so that nothing is kept in memory.
    ///
    /// - Parameter progress: Told how far the transfer is, until the content has ended.
    /// - Throws: ``HTTPTransportError`` when no answer came; ``HTTPFileError`` for content that cannot be read; `CancellationError`.
    func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse
}

extension HTTPTransport {
    /// The answer of ``send(_:)``.
    public func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        let meter = progress.map { ProgressMeter($0) }
        defer { meter?.end() }
        let answer = try await send(request)
        let sent = (try? request.content?.length()) ?? nil
        let received = Int64(answer.body.count)
        meter?.update(
            HTTPProgress(sent: sent ?? 0, totalToSend: sent, received: received, totalToReceive: received))
        return HTTPStreamedResponse(
            status: answer.status, fields: answer.fields, body: HTTPResponseBody(answer.body), url: answer.url)
    }

    /// Sends the request and gives the answer as soon as its fields are there; the content comes while it is read.
    ///
    /// - Throws: ``HTTPTransportError`` when no answer came; ``HTTPFileError`` for content that cannot be read; `CancellationError`.
    public func stream(_ request: HTTPRequest) async throws -> HTTPStreamedResponse {
        try await stream(request, progress: nil)
    }

    /// Sends the request, tells how far it is, and gives the whole answer, of at most the request's `maximumResponseSize`.
    ///
    /// - Throws: What ``stream(_:progress:)`` and reading the content throw.
    public func send(
        _ request: HTTPRequest, progress: @escaping HTTPProgress.Handler
    ) async throws -> HTTPResponse {
        try await stream(request, progress: progress).whole(limit: max(0, request.maximumResponseSize))
    }
}

/// Why no answer came.
public struct HTTPTransportError: Error, Sendable, Equatable {
    /// The kinds of failure.
    public enum Kind: String, Sendable {
        /// The host's name has no address.
        case cannotResolveHost
        /// Nothing accepted the connection.
        case cannotConnect
        /// The connection ended before the answer did, or the answer was not HTTP.
        case connectionLost
        /// The answer was not complete in the request's time.
        case timedOut
        /// No secure connection: the certificate is not trusted, does not match, or no protocol is shared.
        case tls
        /// The proxy could not be reached or refused.
        case proxy
        /// The answer has more bytes than the request allows.
        case responseTooLarge
        /// A plain http address that is not this machine.
        case plainHTTPRefused
        /// A redirect that the policy does not allow.
        case redirectRefused
        /// The request cannot be sent: not http(s), a field with a line break, an unreadable CA file.
        case invalidRequest
        /// Anything else.
        case other
    }

    /// What kind of failure it was.
    public var kind: Kind
    /// The host that was asked, with its port where one was named.
    public var host: String
    /// What the system said, in words. No secrets.
    public var reason: String

    /// A failure of this kind.
    public init(_ kind: Kind, host: String, reason: String) {
        self.kind = kind
        self.host = host
        self.reason = reason
    }
}

extension HTTPTransportError: CustomStringConvertible {
    /// The host and the reason.
    public var description: String { host.isEmpty ? reason : "\(host): \(reason)" }
}
