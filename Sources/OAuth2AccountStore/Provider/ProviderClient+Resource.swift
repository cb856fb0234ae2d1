import HTTPExchange
import JOSE
import OAuth2Protocol
import Platform

extension ProviderClient {
    /// Sends a request with an access token, and once more when the server wants its nonce in the proof.
    func resource(
        _ request: HTTPRequest, _ accessToken: Secret, boundTo key: SigningKey?
    ) async throws -> HTTPResponse {
        guard key != nil else { return try await send(request) }
        let response = try await send(authorized(request, accessToken, boundTo: key))
        let decision = ResourceResponse.decide(response, tokenType: "dpop", hasRefreshToken: false, isRetry: false)
        guard case .retryWithNonce = decision else { return response }
        return try await send(authorized(request, accessToken, boundTo: key))
    }

    /// A request with an access token: bound to a key with a proof, else as a Bearer token.
    func authorized(
        _ request: HTTPRequest, _ accessToken: Secret, boundTo key: SigningKey?
    ) throws -> HTTPRequest {
        guard let key else {
            return try ResourceRequest.authorized(request, accessToken: accessToken, allowsLoopbackHTTP: true)
        }
        return try DPoP.signed(
            request, key: key, accessToken: accessToken, nonce: hints.nonce(for: request.url),
            now: serverTime(of: request.url), allowsLoopbackHTTP: true, random: dependencies.random)
    }
}
