/// A type that sends HTTP requests.
///
/// `CurlTransport` sends them over the network; tests use their own implementations.
public protocol HTTPTransport: Sendable {
    /// Sends the request and returns the complete response with any status.
    ///
    /// - Throws: ``HTTPTransportError`` if there is no response; `CancellationError` if the task is cancelled.
    func send(_ request: HTTPRequest) async throws -> HTTPResponse

    /// Sends the request and returns the response when its header fields are complete.
    ///
    /// The content arrives while it is read.
    ///
    /// The default implementation calls ``send(_:)``, so the content is complete and limited in size. A transport that
    /// wraps another should forward this call, so that the content is not stored in memory.
    ///
    /// - Parameter progress: A handler for progress reports until the content ends.
    /// - Throws: ``HTTPTransportError`` if there is no response; ``HTTPFileError`` if the content cannot be read;
    ///   `CancellationError`.
    func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse
}

extension HTTPTransport {
    /// Returns the response of ``send(_:)``.
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

    /// Sends the request and returns the response when its header fields are complete.
    ///
    /// The content arrives while it is read.
    ///
    /// - Throws: ``HTTPTransportError`` if there is no response; ``HTTPFileError`` if the content cannot be read;
    ///   `CancellationError`.
    public func stream(_ request: HTTPRequest) async throws -> HTTPStreamedResponse {
        try await stream(request, progress: nil)
    }

    /// Sends the request with progress reports and returns the complete response.
    ///
    /// The request's `maximumResponseSize` limits its size.
    ///
    /// - Throws: The errors of ``stream(_:progress:)`` and of reading the content.
    public func send(
        _ request: HTTPRequest, progress: @escaping HTTPProgress.Handler
    ) async throws -> HTTPResponse {
        try await stream(request, progress: progress).whole(limit: max(0, request.maximumResponseSize))
    }
}
