import Foundation
public import HTTPTransport

#if canImport(FoundationNetworking)
    public import FoundationNetworking
#endif

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
    /// - Throws: `HTTPTransportError` when no answer came; `CancellationError` when the task is cancelled.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var current = request
        var followed = 0
        while true {
            try Task.checkCancellation()
            guard current.url.scheme?.lowercased() == "https" || current.url.isLoopback else {
                throw HTTPTransportError(
                    .plainHTTPRefused, host: current.url.host() ?? "",
                    reason: "Plain http is refused for any host but this machine; use https.")
            }
            var response = try await exchange(current)
            response.url = response.url ?? current.url
            guard case .follow(let limit) = request.redirects, let next = try current.redirected(by: response) else {
                return response
            }
            followed += 1
            guard followed <= limit else {
                throw HTTPTransportError(
                    .redirectRefused, host: current.url.host() ?? "", reason: "More than \(max(0, limit)) redirects.")
            }
            current = next
        }
    }

    private func exchange(_ request: HTTPRequest) async throws -> HTTPResponse {
        let task = session.dataTask(with: try URLRequest(request))
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                exchanges.begin(task.taskIdentifier, limit: request.maximumResponseSize, request.url, continuation)
                task.resume()
            }
        } onCancel: {
            task.cancel()
        }
    }
}
