import Platform
import HTTPExchange
import Synchronization

/// Stands before a transport and keeps what goes by, without secrets, until a test writes it to a file.
///
/// Masked are the header fields, parameters and members of JSON that hold tokens, codes, passwords, keys and cookies. What else is
/// private, such as the names of people in an answer, stays: look at a recording before you give it away.
public final class RecordingTransport: HTTPTransport {
    private let inner: any HTTPTransport
    private let state: Mutex<Recording>

    /// Records what this transport sends and brings.
    public init(_ inner: any HTTPTransport) {
        self.inner = inner
        state = Mutex(Recording())
    }

    /// What was recorded so far.
    public var recording: Recording { state.withLock { $0 } }

    /// Sends the request and keeps the exchange. A request that has no answer is not kept.
    ///
    /// - Throws: what the transport throws.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let response = try await inner.send(request)
        let exchange = Recording.Exchange(request, response)
        state.withLock { $0.exchanges.append(exchange) }
        return response
    }
}

/// Answers from a recording: each request takes the first exchange of the same method, address and content that was not used yet.
public final class ReplayingTransport: HTTPTransport {
    private let left: Mutex<[Recording.Exchange]>

    /// A network that is this recording.
    public init(_ recording: Recording) { left = Mutex(recording.exchanges) }

    /// The exchanges that nobody asked for yet.
    public var unused: [Recording.Exchange] { left.withLock { $0 } }

    /// Answers from the recording. Header fields need not be the same, and secrets cannot be.
    ///
    /// - Throws: `HTTPTransportError` of the kind `cannotConnect` when the recording has no such exchange left, with the one that would be next.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let question = Recording.Question(request)
        let (found, next) = left.withLock { left -> (Recording.Exchange?, Recording.Exchange?) in
            guard let index = left.firstIndex(where: { Recording.Question($0) == question }) else {
                return (nil, left.first)
            }
            return (left.remove(at: index), nil)
        }
        guard let found else {
            let next = next.map { "the next one is \($0.method) \($0.address)" } ?? "all of it was asked for"
            throw HTTPTransportError(
                .cannotConnect, host: request.url.host() ?? "",
                reason: "The recording has no answer to \(request) with this content left; \(next).")
        }
        return HTTPResponse(status: found.status, fields: found.fields, body: found.body, url: request.url)
    }
}
