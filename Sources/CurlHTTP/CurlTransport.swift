import LodgePlatform
import HTTPExchange
internal import CLodgeCurl

/// Sends requests with libcurl.
///
/// One transport is enough for a program: it reuses connections, including HTTP/2. It has one thread, which starts with
/// the first request and ends with the transport, and a second one once a response is streamed. At most 64 requests run
/// concurrently, 8 of them to one origin (scheme, host and port) unless `requestsPerOrigin` is set. Other requests wait
/// in a queue within their own timeout.
///
/// It stores no cookies or responses, reads no `.netrc`, ignores authentication challenges, sends no `Referer`,
/// requires TLS 1.2 and a valid certificate, and sends plain HTTP only to loopback. It uses `https_proxy`,
/// `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, except for loopback.
///
/// A request with a method that is not idempotent (POST, PATCH) is written to a connection only once. If a reused
/// connection turns out to be closed, libcurl resends an idempotent request on a new one. Any other request fails with
/// `connectionLost`, because the server may have handled it ([RFC 9110 section
/// 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)).
public final class CurlTransport: HTTPTransport {
    private let userAgent: String
    private let thread: CurlThread
    /// The thread for streamed responses, which use HTTP/1.1 while others use HTTP/2.
    ///
    /// libcurl 7.88 with both kinds of connections in one handle sends requests over the wrong kind.
    let streams: CurlThread

    /// Creates a transport without connections.
    ///
    /// - Parameters:
    ///   - userAgent: The `User-Agent` of requests without one; empty to omit it. Pass the name of your program: some
    ///     servers reject requests without it.
    ///   - caFile: A PEM file of certificate authorities to trust in addition to the system's. It is read at the first
    ///     request; if it is unreadable or not PEM, requests fail with `invalidRequest`.
    ///   - clientCertificate: The certificate for https servers that request one. If it cannot be used, requests fail
    ///     with `invalidRequest`.
    ///   - requestsPerOrigin: The maximum number of concurrent requests to one origin, at least 1. With HTTP/1.1 each
    ///     has its own connection. The settings of an account type have precedence.
    public convenience init(
        userAgent: String = "CurlTransport/1.0", caFile: String? = nil, clientCertificate: ClientCertificate? = nil,
        requestsPerOrigin: Int = 8
    ) {
        self.init(
            userAgent: userAgent, caFile: caFile, clientCertificate: clientCertificate,
            requestsPerOrigin: requestsPerOrigin, system: nil)
    }

    /// Creates a transport.
    ///
    /// - Parameter system: The system's certificates; `nil`: the certificates that libcurl reports.
    init(
        userAgent: String, caFile: String?, clientCertificate: ClientCertificate? = nil, requestsPerOrigin: Int = 8,
        system: SystemCertificates?
    ) {
        self.userAgent = userAgent
        thread = CurlThread(
            caFile: caFile, clientCertificate: clientCertificate, system: system, isStreaming: false,
            requestsPerOrigin: requestsPerOrigin)
        streams = CurlThread(
            caFile: caFile, clientCertificate: clientCertificate, system: system, isStreaming: true,
            requestsPerOrigin: requestsPerOrigin)
    }

    /// Returns the scheme, host and port of a URL as libcurl parses them.
    ///
    /// - Throws: ``HTTPTransportError`` if the transport does not send to this URL.
    package static func origin(of url: URL) throws(HTTPTransportError) -> String { try RequestAddress(url).origin }

    deinit {
        thread.stop()
        streams.stop()
    }

    /// Starts the thread and initializes libcurl, which takes a few milliseconds.
    ///
    /// Returns immediately and opens no connection.
    ///
    /// This is optional: the first request does the same. A short-lived program calls it before reading its settings,
    /// to save time.
    public func prepare() { thread.prepare() }

    /// Sends the request and returns the complete response with any status.
    ///
    /// - Throws: `HTTPTransportError` if there is no response; `HTTPFileError` if the content cannot be read;
    ///   `CancellationError` immediately if the task is cancelled, which closes the connection (with HTTP/2 the
    ///   stream).
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let time = TimeLimit(request, isStreamed: false)
        var (response, url) = try await follow(request) { current in
            let plan = try CurlRequest(current, userAgent: userAgent)
            let mark = CancellationFlag()
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { continuation in
                    thread.submit(time.submission(plan, mark, nil, .whole(continuation)))
                }
            } onCancel: {
                thread.cancel(mark)
            }
        } redirect: { response, current in
            try current.redirected(by: response, origin: Self.origin(of:))
        }
        response.url = url
        return response
    }

    /// Sends the request and returns the response when its header fields are complete.
    ///
    /// The content arrives while it is read.
    ///
    /// Streams have a separate limit of 64 concurrent ones, and at least 32 for one origin, so slow readers do not delay
    /// ``send(_:)``. Each stream has its own HTTP/1.1 connection.
    ///
    /// - Throws: The errors of ``send(_:)``. Reading the content throws the same errors.
    public func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        let time = TimeLimit(request, isStreamed: true)
        let meter = progress.map { ProgressMeter($0) }
        do {
            let (answer, url) = try await follow(request) { current in
                let plan = try CurlRequest(current, userAgent: userAgent, isStreamed: true)
                return try await open(plan, time, meter)
            } redirect: { answer, current in
                guard let next = try current.redirected(by: answer.head, origin: Self.origin(of:)) else { return nil }
                await answer.body.drain()
                return next
            }
            if let meter { answer.channel.end(meter) }
            return HTTPStreamedResponse(
                status: answer.head.status, fields: answer.head.fields, body: HTTPResponseBody(source: answer.body),
                url: url)
        } catch {
            meter?.end()
            throw error
        }
    }

    private struct Streamed {
        let head: HTTPResponse
        let channel: BodyChannel
        let body: CurlBody
    }

    private func open(_ plan: CurlRequest, _ time: TimeLimit, _ meter: ProgressMeter?) async throws -> Streamed {
        let mark = CancellationFlag()
        let channel = BodyChannel()
        let head = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                channel.awaitHead(continuation)
                streams.submit(time.submission(plan, mark, meter, .streamed(channel)))
            }
        } onCancel: {
            streams.cancel(mark)
        }
        return Streamed(head: head, channel: channel, body: CurlBody(channel, mark, of: self))
    }

    /// Performs the exchange and follows redirects. Returns the last response and its URL.
    private func follow<Answer>(
        _ request: HTTPRequest, exchange: (HTTPRequest) async throws -> Answer,
        redirect: (Answer, HTTPRequest) async throws -> HTTPRequest?
    ) async throws -> (Answer, URL) {
        try Task.checkCancellation()
        var current = request
        var followed = 0
        while true {
            let answer = try await exchange(current)
            guard case .follow(let limit) = request.redirects, let next = try await redirect(answer, current) else {
                return (answer, current.url)
            }
            followed += 1
            guard followed <= limit else {
                throw HTTPTransportError(
                    .redirectRefused, host: current.url.shownHost, reason: "More than \(max(0, limit)) redirects.")
            }
            guard next.content?.isReplayable ?? true else {
                throw HTTPTransportError(
                    .redirectRefused, host: current.url.shownHost,
                    reason: "The redirect asks for the content again, and it can be read only once; send it to"
                        + " \(next.url.shownHost) in one piece, or from a file.")
            }
            current = next
        }
    }
}
