import HTTPExchange

/// Sends only to servers that have one of these public keys. They replace the pins of a request.
struct KeyPinningTransport: HTTPTransport {
    let inner: any HTTPTransport
    let pins: Set<PublicKeyPin>

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await inner.send(pinned(request)) }

    func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        try await inner.stream(pinned(request), progress: progress)
    }

    private func pinned(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        request.trust.pinnedKeys = pins
        return request
    }
}
