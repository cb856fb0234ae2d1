internal import CCurl

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends requests with libcurl.
///
/// One transport is enough for a program: it keeps connections open and uses them again, HTTP/2 included. It has one
/// thread, which begins with the first request and ends with the transport. At most 64 requests run at once, 8 to one
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

    /// A transport without connections.
    ///
    /// - Parameters:
    ///   - userAgent: The `User-Agent` of requests that have none; empty for none at all.
    ///   - caFile: A PEM file of certificate authorities that are trusted in addition to the system's. It is read at
    ///     the first request; where it cannot be read or is not PEM, requests end with `invalidRequest`.
    ///   - clientCertificate: By what this machine proves who it is to https servers that ask. Where it cannot be used,
    ///     requests to servers end with `invalidRequest`.
    public convenience init(
        userAgent: String = "directory", caFile: String? = nil, clientCertificate: ClientCertificate? = nil
    ) {
        self.init(
            userAgent: userAgent, caFile: caFile, clientCertificate: clientCertificate, system: SystemCertificates())
    }

    init(
        userAgent: String, caFile: String?, clientCertificate: ClientCertificate? = nil, system: SystemCertificates
    ) {
        self.userAgent = userAgent
        thread = CurlThread(caFile: caFile, clientCertificate: clientCertificate, system: system)
    }

    deinit { thread.stop() }

    /// Loads libcurl on a thread of its own, which takes a few milliseconds, and returns at once.
    ///
    /// Never needed: the first request does the same. A short-lived program that will send one calls it first of all, so that this
    /// happens while the program begins. Makes no connection.
    public static func loadLibrary() {
        _ = ccurl_start_thread(
            { _ in
                _ = ExitGate.pass { CurlLibrary.isReady }
                return nil
            }, nil)
    }

    /// Starts the transport's thread and sets libcurl up, which takes a few milliseconds, and returns at once.
    ///
    /// Never needed: the first request does the same. A short-lived program calls it early, so that this happens while
    /// the program reads its settings. Makes no connection.
    public func prepare() { thread.prepare() }

    /// Sends the request and gives the whole answer, whatever its status.
    ///
    /// - Throws: ``HTTPTransportError`` when no answer came; `CancellationError` at once when the task is cancelled, and
    ///   then the connection is closed (with HTTP/2 the stream).
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let deadline = ContinuousClock.now.advanced(by: min(max(request.timeout, .zero), .seconds(1_000_000_000)))
        var current = request
        var followed = 0
        while true {
            let plan = try RequestPlan(current, userAgent: userAgent)
            var response = try await exchange(plan, deadline: deadline, timeout: request.timeout)
            response.url = current.url
            guard case .follow(let limit) = request.redirects, let next = try current.redirected(by: response) else {
                return response
            }
            followed += 1
            guard followed <= limit else {
                throw HTTPTransportError(
                    .redirectRefused, host: plan.shownHost, reason: "More than \(max(0, limit)) redirects.")
            }
            current = next
        }
    }

    private func exchange(
        _ plan: RequestPlan, deadline: ContinuousClock.Instant, timeout: Duration
    ) async throws -> HTTPResponse {
        let mark = CancellationMark()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                thread.submit(
                    Submission(plan: plan, deadline: deadline, timeout: timeout, mark: mark, continuation: continuation)
                )
            }
        } onCancel: {
            thread.cancel(mark)
        }
    }
}
