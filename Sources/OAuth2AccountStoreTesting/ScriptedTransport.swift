import LodgePlatform
import HTTPExchange
import Synchronization

/// A network whose responses a test defines, and which records the requests.
public final class ScriptedTransport: HTTPTransport {
    /// Returns the response to a request.
    public typealias Handler = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private struct State {
        var handlers: [String: Handler] = [:]
        var other: Handler?
        var requests: [HTTPRequest] = []
    }
    private let state = Mutex(State())

    /// Creates a network without responses.
    public init() {}

    /// Defines the response to a method and a path.
    ///
    /// - Parameters:
    ///   - path: A path on any host (`/me`), or a URL without query (`https://api.example/me`), which has precedence.
    ///   - handler: Returns the response.
    public func respond(to method: HTTPMethod, at path: String, _ handler: @escaping Handler) {
        state.withLock { $0.handlers["\(method) \(path)"] = handler }
    }

    /// Defines successive responses to a method and a path. The last one repeats.
    public func respond(to method: HTTPMethod, at path: String, with responses: HTTPResponse...) {
        let left = Mutex(responses)
        respond(to: method, at: path) { request in
            let response = left.withLock { $0.count > 1 ? $0.removeFirst() : $0.first }
            guard let response else { throw Self.noResponse(request) }
            return response
        }
    }

    /// Defines the response to all other requests.
    public func respondToOtherRequests(_ handler: @escaping Handler) { state.withLock { $0.other = handler } }

    /// All requests in order, with their secrets: for comparisons, not for logs.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// Returns the requests of this method at this path.
    public func requests(_ method: HTTPMethod, _ path: String) -> [HTTPRequest] {
        requests.filter { $0.method == method && $0.url.path(percentEncoded: true) == path }
    }

    /// Responds according to the script.
    ///
    /// - Throws: `HTTPTransportError` of the kind `cannotConnect`, which names the request, if the script has no
    ///   response; errors of the handler; `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let handler = state.withLock { state in
            state.requests.append(request)
            return state.handlers["\(request.method) \(request.url.addressWithoutQuery)"]
                ?? state.handlers["\(request.method) \(request.url.path(percentEncoded: true))"] ?? state.other
        }
        guard let handler else { throw Self.noResponse(request) }
        var response = try await handler(request)
        response.url = response.url ?? request.url
        return response
    }

    private static func noResponse(_ request: HTTPRequest) -> HTTPTransportError {
        HTTPTransportError(
            .cannotConnect, host: request.url.host() ?? "",
            reason: "The script has no response to \(request); add one with respond(to:at:with:).")
    }
}
