import Platform
import HTTPExchange
import Synchronization

/// A network that answers as a test says, and keeps what it was asked.
public final class ScriptedTransport: HTTPTransport {
    /// Makes the answer to a request.
    public typealias Answer = @Sendable (HTTPRequest) async throws -> HTTPResponse

    private struct State {
        var answers: [String: Answer] = [:]
        var other: Answer?
        var requests: [HTTPRequest] = []
    }
    private let state = Mutex(State())

    /// A network where nothing answers yet.
    public init() {}

    /// Answers this method at this place.
    ///
    /// - Parameter place: a path, on any host (`/me`), or a whole address without its query (`https://api.example/me`), which goes before
    ///   a path.
    public func answer(_ method: HTTPMethod, _ place: String, _ answer: @escaping Answer) {
        state.withLock { $0.answers["\(method) \(place)"] = answer }
    }

    /// Answers this method at this place with these, one after the other; the last one again and again.
    public func answer(_ method: HTTPMethod, _ place: String, with answers: HTTPResponse...) {
        let left = Mutex(answers)
        answer(method, place) { request in
            let answer = left.withLock { $0.count > 1 ? $0.removeFirst() : $0.first }
            guard let answer else { throw Self.unanswered(request) }
            return answer
        }
    }

    /// Answers everything else.
    public func answerEverythingElse(_ answer: @escaping Answer) { state.withLock { $0.other = answer } }

    /// Every request so far, in the order in which it came, with its secrets: for comparisons, not for logs.
    public var requests: [HTTPRequest] { state.withLock { $0.requests } }

    /// The requests of this method at this path.
    public func requests(_ method: HTTPMethod, _ path: String) -> [HTTPRequest] {
        requests.filter { $0.method == method && $0.url.path(percentEncoded: true) == path }
    }

    /// Answers as the script says.
    ///
    /// - Throws: `HTTPTransportError` of the kind `cannotConnect`, which names the request, when nothing is scripted for it; what the answer
    ///   throws; `CancellationError`.
    public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        try Task.checkCancellation()
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answers["\(request.method) \(request.url.addressWithoutQuery)"]
                ?? state.answers["\(request.method) \(request.url.path(percentEncoded: true))"] ?? state.other
        }
        guard let answer else { throw Self.unanswered(request) }
        var response = try await answer(request)
        response.url = response.url ?? request.url
        return response
    }

    private static func unanswered(_ request: HTTPRequest) -> HTTPTransportError {
        HTTPTransportError(
            .cannotConnect, host: request.url.host() ?? "",
            reason: "No answer is scripted for \(request); add one with answer(_:_:with:).")
    }
}
