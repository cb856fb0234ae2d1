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
