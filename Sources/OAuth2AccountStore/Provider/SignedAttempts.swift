import HTTPExchange
import OAuth2Protocol
import LodgePlatform

/// The attempts of a request with a proof or an assertion. A request is repeated once with the server's nonce (RFC 9449
/// sections 8 and 9), and once with the server's time if it was dated by a wrong clock.
struct SignedAttempts {
    let hints: ServerHints
    private var hasNonce = false
    private var hasCorrectedClock = false

    init(hints: ServerHints) { self.hints = hints }

    /// Sends a request until another attempt cannot help.
    ///
    /// - Parameters:
    ///   - url: The URL of the request.
    ///   - isClockError: Returns whether the server can have rejected the request because of its time.
    ///   - attempt: Builds and sends the request, and notes the hints of the response.
    mutating func send<Response>(
        to url: URL?, isClockError: (HTTPResponse) -> Bool = { _ in true },
        attempt: () async throws -> (head: HTTPResponse, response: Response, mayRepeat: Bool)
    ) async throws -> (head: HTTPResponse, response: Response) {
        while true {
            let before = url.map(hints.offset) ?? 0
            let (head, response, mayRepeat) = try await attempt()
            guard mayRepeat else { return (head, response) }
            if !hasCorrectedClock, let url, hints.correctsClock(head, from: url, before: before), isClockError(head) {
                hasCorrectedClock = true
            } else if !hasNonce, Self.requiresNonce(head) {
                hasNonce = true
            } else {
                return (head, response)
            }
        }
    }

    /// Returns whether a token endpoint or a resource requires its nonce in the proof.
    private static func requiresNonce(_ head: HTTPResponse) -> Bool {
        if DPoP.retryNonce(after: head, isRetry: false) != nil { return true }
        let decision = ResourceResponse.decide(head, tokenType: "dpop", hasRefreshToken: false, isRetry: false)
        if case .retryWithNonce = decision { return true }
        return false
    }
}
