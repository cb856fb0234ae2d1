import Platform
import HTTPExchange
internal import CCurl

/// Sends requests with libcurl.
///
/// One transport is enough for a program: it keeps connections open and uses them again, HTTP/2 included. It has one
/// thread, which begins with the first request and ends with the transport, and another once an answer is streamed. At most 64 requests run at once, 8 to one
/// origin; further ones wait their turn within their own timeout.
///
/// What it does not do: keep cookies or answers, read `.netrc`, answer authentication challenges, send `Referer`, speak
/// TLS below 1.2, leave a certificate unchecked, or send plain http to another machine. The variables `https_proxy`,
/// `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` are honoured, but never for this machine itself.
///
/// A request whose method is not idempotent (POST, PATCH) is written to a connection once. When a kept connection turns
/// out to be closed, libcurl sends an idempotent request again on a new one; any other ends with `connectionLost`, since
/// the server may have acted on it ([RFC 9110 section 9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)).
public final class CurlTransport: HTTPTransport {
    private let userAgent: String
    private let thread: CurlThread
    /// For answers that are streamed. They use HTTP/1.1 and the others HTTP/2, and a libcurl as of 2023 (7.88) that has connections of both
    /// sends requests of the one over those of the other.
    let streams: CurlThread

    /// A transport without connections.
    ///
    /// - Parameters:
    ///   - userAgent: The `User-Agent` of requests without one; empty for none. Pass the name of your program: some servers
    ///     refuse requests without a name.
    ///   - caFile: A PEM file of certificate authorities that are trusted in addition to the system's. It is read at
    ///     the first request; where it cannot be read or is not PEM, requests end with `invalidRequest`.
    ///   - clientCertificate: By what this machine proves who it is to https servers that ask. Where it cannot be used,
    ///     requests to servers end with `invalidRequest`.
    public convenience init(
        userAgent: String = "CurlTransport/1.0", caFile: String? = nil, clientCertificate: ClientCertificate? = nil
    ) {
        self.init(
            userAgent: userAgent, caFile: caFile, clientCertificate: clientCertificate, system: nil)
    }

    /// - Parameter system: The system's certificates; nil: where libcurl says, which is asked when it is loaded.
    init(
        userAgent: String, caFile: String?, clientCertificate: ClientCertificate? = nil, system: SystemCertificates?
    ) {
        self.userAgent = userAgent
        thread = CurlThread(
            caFile: caFile, clientCertificate: clientCertificate, system: system, isStreaming: false)
        streams = CurlThread(
            caFile: caFile, clientCertificate: clientCertificate, system: system, isStreaming: true)
    }

    /// Returns the scheme, host and port of a URL as libcurl reads them.
    ///
    /// - Throws: ``HTTPTransportError`` if the transport does not send to this URL.
    package static func origin(of url: URL) throws(HTTPTransportError) -> String { try RequestAddress(url).origin }

    deinit {
        thread.stop()
        streams.stop()
    }

    /// Starts the transport's thread and sets libcurl up, which takes a few milliseconds, and returns at once.
    ///
    /// Never needed: the first request does the same. A short-lived program calls it early, so that this happens while
    /// the program reads its settings. Makes no connection.
    public func prepare() { thread.prepare() }

    /// Sends the request and gives the whole answer, whatever its status.
    ///
    /// - Throws: `HTTPTransportError` when no answer came; `HTTPFileError` for content that cannot be read; `CancellationError` at once
    ///   when the task is cancelled, and then the connection is closed (with HTTP/2 the stream).
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

    /// Sends the request and gives the answer as soon as its fields are there; the content comes while it is read.
    ///
    /// Streams have places of their own, 64 at once and 32 to one origin: those that are read slowly do not hold ``send(_:)`` up. Each has
    /// a connection for itself, with HTTP/1.1.
    ///
    /// - Throws: What ``send(_:)`` throws. Reading the content throws the same.
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

    /// Makes the exchange, and those to which its redirects lead. Gives the last answer and where it came from.
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
