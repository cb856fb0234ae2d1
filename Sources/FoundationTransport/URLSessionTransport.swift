import Foundation
public import HTTPExchange

/// Sends requests with `URLSession`.
///
/// For programs on Apple's systems, whose network settings it follows, and for tests with `URLProtocol`. It keeps no cookies, no cache and no
/// passwords, sends nothing by plain http to another machine, and takes a redirect only as the request allows, never with the token
/// to another origin. Content must be in memory, and answers are: for files and streams take `CurlTransport`.
public final class URLSessionTransport: HTTPTransport {
    private let session: URLSession
    private let exchanges = SessionExchanges()

    /// A transport with sessions of this configuration; nil: an ephemeral one. Cookies, cache and passwords are switched off in either.
    public init(configuration: URLSessionConfiguration? = nil) {
        let configuration = configuration ?? .ephemeral
        configuration.httpCookieStorage = nil
        configuration.httpShouldSetCookies = false
        configuration.urlCache = nil
        configuration.urlCredentialStorage = nil
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    /// Sends the request and gives the whole answer, whatever its status.
    ///
    /// The timeout of the request limits the whole exchange, redirects included. Without a timeout, the exchange may take as long as
    /// bytes arrive, at most `HTTPRequest.maximumDuration`. Pinned keys and a CA file of the request's own are not what
    /// `URLSession` can keep to here; such a request is refused.
    ///
    /// - Throws: `HTTPTransportError` when no answer came; `CancellationError` when the task is cancelled.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard request.trust == .system else {
            throw HTTPTransportError(
                .tls, host: request.url.host() ?? "",
                reason: "URLSessionTransport does not support pinned keys and CA files. Use CurlTransport.")
        }
        // Without a timeout the session's limit of silence applies, and this one to a server that sends a byte now and then.
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

    /// Returns the scheme, host and port of a URL as Foundation reads them, which makes the connection.
    private static func origin(of url: URL) throws(HTTPTransportError) -> String {
        func refused(_ kind: HTTPTransportError.Kind, _ reason: String) -> HTTPTransportError {
            HTTPTransportError(kind, host: url.shownHost, reason: reason)
        }
        guard let origin = url.origin, let host = url.host(percentEncoded: false), !host.isEmpty,
            host.utf8.allSatisfy({ $0 < 0x80 }),
            origin.hasPrefix("https://") || origin.hasPrefix("http://")
        else { throw refused(.invalidRequest, "The address is not a complete http or https address.") }
        guard url.user == nil, url.password == nil else {
            throw refused(
                .invalidRequest, "The address holds a user name or password; send them in an Authorization field.")
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
        // The limit of a URLRequest is one of silence: it begins anew with each byte.
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
