import HTTPExchange
import ProviderSettings

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

extension AccountType {
    /// Returns the transport, limited to the pinned keys of the settings if there are any.
    func pinning(_ transport: any HTTPTransport) -> any HTTPTransport {
        pinnedKeys.isEmpty ? transport : KeyPinningTransport(inner: transport, pins: pinnedKeys)
    }
}
