import Foundation
public import HTTPExchange

/// Sends requests with `URLSession`.
///
/// For programs on Apple platforms, whose network settings it uses, and for tests with `URLProtocol`. It stores no
/// cookies, cached responses or passwords, and sends plain HTTP only to loopback. It follows redirects only as the
/// request allows, and never sends the token to another origin. Requests and responses must be in memory: for files and
/// streams use `CurlTransport`.
public final class URLSessionTransport: HTTPTransport {
    private let session: URLSession
    private let exchanges = SessionExchanges()

    /// Creates a transport with sessions of this configuration. The default is an ephemeral one.
    ///
    /// Cookies, cache and passwords are disabled in both cases.
    public init(configuration: URLSessionConfiguration? = nil) {
        let configuration = configuration ?? .ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// Sends the request and returns the complete response with any status.
    ///
    /// The timeout of the request limits the whole exchange, including redirects. Without a timeout, the exchange
    /// continues while bytes arrive, for at most `HTTPRequest.maximumDuration`. `URLSession` does not support pinned
    /// keys and a CA file for a request; such a request fails.
    ///
    /// - Throws: `HTTPTransportError` if there is no response; `CancellationError` if the task is cancelled.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.trust == .system else {
            throw HTTPTransportError(
                .tls, host: request.url.host() ?? "",
                reason: "URLSessionTransport does not support pinned keys and CA files. Use CurlTransport.")
        }
        // Without a timeout, the session's idle timeout applies. This limit stops a server that keeps sending single
        // bytes.
        let limit = request.ownTimeout ?? HTTPRequest.maximumDuration
        let deadline = ContinuousClock.now.advanced(by: min(max(limit, .zero), .seconds(1_000_000_000)))
        var current = request
        var followed = 0
        while true {
            try Task.checkCancellation()
            _ = try Self.origin(of: current.url)
            var response = try await exchange(current, until: deadline)
            response.url = response.url ?? current.url
            guard case .follow(let limit) = request.redirects,
                let next = try current.redirected(by: response, origin: Self.origin(of:))
            else { return response }
            followed += 1
            guard followed <= limit else {
                throw HTTPTransportError(
                    .redirectRefused, host: current.url.host() ?? "", reason: "More than \(max(0, limit)) redirects.")
            }
            current = next
        }
    }

    /// Returns the scheme, host and port of a URL as Foundation parses them, because it opens the connection.
    private static func origin(of url: URL) throws(HTTPTransportError) -> String {
        func refused(_ kind: HTTPTransportError.Kind, _ reason: String) -> HTTPTransportError {
            HTTPTransportError(kind, host: url.shownHost, reason: reason)
        }
        guard let origin = url.origin, let host = url.host(percentEncoded: false), !host.isEmpty,
            host.utf8.allSatisfy({ $0 < 0x80 }),
            origin.hasPrefix("https://") || origin.hasPrefix("http://")
        else { throw refused(.invalidRequest, "The URL is not a complete http or https URL.") }
        guard url.user == nil, url.password == nil else {
            throw refused(
                .invalidRequest, "The URL contains a user name or password; send them in an Authorization field.")
        }
        guard origin.hasPrefix("https://") || url.isLoopback else {
            throw refused(.plainHTTPRefused, "Plain http is refused for any host but this machine; use https.")
        }
        return origin
    }

    private func exchange(
        _ request: HTTPRequest, until deadline: ContinuousClock.Instant
    ) async throws -> HTTPResponse {
        let task = session.dataTask(with: try URLRequest(request))
        // The timeout of a URLRequest is an idle timeout: each byte restarts it.
        let watch = Task { [exchanges] in
            try await Task.sleep(until: deadline, clock: .continuous)
            exchanges.expire(task.taskIdentifier)
            exchanges.cancel(task)
        }
        defer { watch.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.begin(task.taskIdentifier, limit: request.maximumResponseSize, request.url, continuation)
                task.resume()
            }
        } onCancel: {
            exchanges.cancel(task)
        }
    }
}
