import HTTPExchange
import ProviderSettings

/// Sends requests with the limits of an account type: the pinned public keys of servers, and the number of concurrent
/// requests. They replace the limits of a request.
struct AccountTypeTransport: HTTPTransport {
    let inner: any HTTPTransport
    let pins: Set<PublicKeyPin>
    let requestsPerOrigin: Int?

    func send(_ request: HTTPRequest) async throws -> HTTPResponse { try await inner.send(limited(request)) }

    func stream(_ request: HTTPRequest, progress: HTTPProgress.Handler?) async throws -> HTTPStreamedResponse {
        try await inner.stream(limited(request), progress: progress)
    }

    private func limited(_ request: HTTPRequest) -> HTTPRequest {
        var request = request
        if !pins.isEmpty { request.trust.pinnedKeys = pins }
        if let requestsPerOrigin { request.requestsPerOrigin = requestsPerOrigin }
        return request
    }
}

extension AccountType {
    /// Returns the transport with the limits of the settings, if there are any.
    func limiting(_ transport: any HTTPTransport) -> any HTTPTransport {
        guard !pinnedKeys.isEmpty || requestsPerOrigin != nil else { return transport }
        return AccountTypeTransport(inner: transport, pins: pinnedKeys, requestsPerOrigin: requestsPerOrigin)
    }
}
