import LodgePlatform
import HTTPExchange
import Synchronization

/// A transport that records the exchanges of another one, without secrets, for a file.
///
/// It masks header fields, parameters and JSON members with tokens, codes, passwords, keys and cookies. It does not
/// mask other private data, such as names of users: check a recording before you publish it.
public final class RecordingTransport: HTTPTransport {
    private let inner: any HTTPTransport
    private let state: Mutex<Recording>

    /// Creates a transport that records this one.
    public init(_ inner: any HTTPTransport) {
        self.inner = inner
        state = Mutex(Recording())
    }

    /// The recording.
    public var recording: Recording { state.withLock { $0 } }

    /// Sends the request and records the exchange. A request without a response is not recorded.
    ///
    /// - Throws: The errors of the recorded transport.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let response = try await inner.send(request)
        let exchange = Recording.Exchange(request, response)
        state.withLock { $0.exchanges.append(exchange) }
        return response
    }
}

/// A transport that responds from a recording: each request uses the first unused exchange with its method, URL and
/// content.
public final class ReplayingTransport: HTTPTransport {
    private let left: Mutex<[Recording.Exchange]>

    /// Creates a transport for this recording.
    public init(_ recording: Recording) { left = Mutex(recording.exchanges) }

    /// The unused exchanges.
    public var unused: [Recording.Exchange] { left.withLock { $0 } }

    /// Responds from the recording. Header fields and secrets may differ.
    ///
    /// - Throws: `HTTPTransportError` of the kind `cannotConnect`, with the next exchange, if no unused exchange
    ///   matches.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let expected = Recording.Request(request)
        let (found, next) = left.withLock { left -> (Recording.Exchange?, Recording.Exchange?) in
            guard let index = left.firstIndex(where: { Recording.Request($0) == expected }) else {
                return (nil, left.first)
            }
            return (left.remove(at: index), nil)
        }
        guard let found else {
            let next = next.map { "the next one is \($0.method) \($0.address)" } ?? "no exchange is left"
            throw HTTPTransportError(
                .cannotConnect, host: request.url.host() ?? "",
                reason: "The recording has no unused response to \(request) with this content; \(next).")
        }
        return HTTPResponse(status: found.status, fields: found.fields, body: found.body, url: request.url)
    }
}
