import Platform
import HTTPExchange
import JOSE

/// The address that ends the browser's session at the provider.
///
/// OpenID Connect RP-Initiated Logout 1.0 section 2
package enum EndSessionRequest {
    /// The address, or `nil` if the provider offers none. It carries the ID token: personal, so show it to nobody else.
    ///
    /// - Parameter returnURI: where the browser comes back to; it must be registered as a post-logout redirect URI.
    package static func url(
        server: AuthorizationServer, client: Client, idToken: Secret?, returnURI: RedirectURI? = nil,
        state: String? = nil
    ) -> URL? {
        guard let endpoint = server.endSessionEndpoint else { return nil }
        var pairs: [FormEncoding.Pair] = []
        if let idToken { pairs.append(("id_token_hint", idToken.value)) }
        if let returnURI { pairs.append(("post_logout_redirect_uri", returnURI.text)) }
        if let state { pairs.append(("state", state)) }
        pairs.append(("client_id", client.id))
        return endpoint.adding(pairs)
    }

    /// Whether a received address says that this sign-out came to its end. Any other address changes nothing.
    package static func isResponse(_ address: String, returnURI: RedirectURI, state: String) -> Bool {
        guard returnURI.matches(address), let response = try? AuthorizationResponse(redirect: address),
            let received = response.state
        else { return false }
        return equalInConstantTime(Array(received.utf8), Array(state.utf8))
    }
}
