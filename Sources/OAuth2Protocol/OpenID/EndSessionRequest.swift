import LodgePlatform
import HTTPExchange
import JOSE

/// The URL that ends the browser session at the provider.
///
/// OpenID Connect RP-Initiated Logout 1.0 section 2
package enum EndSessionRequest {
    /// Returns the URL, or `nil` if the provider does not support logout. It contains the ID token, which is personal
    /// data: show it only to this user.
    ///
    /// - Parameter returnURI: The URI to which the provider redirects the browser, a registered post-logout redirect
    ///   URI.
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

    /// Returns whether a received redirect is the response to this sign-out.
    package static func isResponse(_ address: String, returnURI: RedirectURI, state: String) -> Bool {
        guard returnURI.matches(address), let response = try? AuthorizationResponse(redirect: address),
            let received = response.state
        else { return false }
        return equalInConstantTime(Array(received.utf8), Array(state.utf8))
    }
}
