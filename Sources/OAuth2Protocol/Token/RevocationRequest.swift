import LodgePlatform
import HTTPExchange

/// A request to revoke a token.
///
/// [RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)
package struct RevocationRequest: Sendable {
    /// The request to send.
    package let request: HTTPRequest

    /// The type of the token, as a hint to the provider.
    package enum Hint: String, Sendable {
        /// An access token.
        case accessToken = "access_token"
        /// A refresh token.
        case refreshToken = "refresh_token"
    }

    /// Creates the request, or returns `nil` if the provider does not support revocation.
    ///
    /// - Parameter bearer: An access token, for providers that require one from public clients.
    package init?(
        _ token: Secret, hint: Hint, server: AuthorizationServer, client: Client, bearer: Secret? = nil
    ) throws(OAuth2Error) {
        guard let endpoint = server.revocationEndpoint else { return nil }
        var request = try client.request(
            [("token", token.value), ("token_type_hint", hint.rawValue)], endpoint: endpoint)
        if let bearer, request.fields["Authorization"] == nil {
            request.fields["Authorization"] = "Bearer " + bearer.value
        }
        self.request = request
    }

    /// Reads the response. It throws an error unless the provider confirms the revocation.
    package static func read(_ response: HTTPResponse) throws(OAuth2Error) {
        guard !(200...299).contains(response.status) else { return }
        throw EndpointResponse.failure(response)
    }
}
