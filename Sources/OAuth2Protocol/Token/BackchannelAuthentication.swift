import HTTPExchange
import LodgePlatform

/// The request that starts a sign-in without a browser: the user confirms it on their own device (CIBA, poll mode).
///
/// [OpenID Connect Client-Initiated Backchannel Authentication 1.0 section 7.1](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html)
package struct BackchannelAuthenticationRequest: Sendable {
    /// The hint that identifies the user.
    package enum Hint: Sendable, Equatable {
        /// A name that the provider knows, such as a mail address: `login_hint`.
        case login(String)
        /// A token of the provider that identifies the user: `login_hint_token`.
        case loginToken(Secret)
        /// An earlier ID token of the user: `id_token_hint`.
        case idToken(Secret)
    }

    /// The request to send.
    package let request: HTTPRequest

    /// Creates the request.
    ///
    /// - Parameters:
    ///   - hint: The user.
    ///   - scope: The scope, with `openid`.
    ///   - bindingMessage: A message that both devices show, so that the user can verify that they show the same
    ///     sign-in.
    ///   - parameters: The additional parameters of the provider.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider does not support the grant, `openid` is missing, or
    ///   a scope token or an additional parameter is invalid.
    package init(
        server: AuthorizationServer, client: Client, hint: Hint, scope: Scope, bindingMessage: String? = nil,
        parameters: [String: String] = [:], headers: [String: String] = [:]
    ) throws(OAuth2Error) {
        let endpoint = try server.endpoint(
            "backchannel_authentication_endpoint",
            missing: "the provider does not offer sign-in on the user's own device (CIBA)")
        guard scope.contains("openid") else { throw .configuration("a backchannel sign-in needs the scope openid") }
        try scope.check()
        var pairs: [FormEncoding.Pair] = [("scope", server.text(of: scope))]
        switch hint {
        case .login(let name): pairs.append(("login_hint", name))
        case .loginToken(let token): pairs.append(("login_hint_token", token.value))
        case .idToken(let token): pairs.append(("id_token_hint", token.value))
        }
        if let bindingMessage { pairs.append(("binding_message", bindingMessage)) }
        let names = Set(pairs.map(\.name) + ["login_hint", "login_hint_token", "id_token_hint"])
        pairs += try RequestParameters.extra(parameters, besides: names)
        request = try client.request(pairs, endpoint: endpoint, headers: headers)
    }
}

/// The values for polling the result of a backchannel sign-in, with ``DevicePolling``.
///
/// OpenID Connect Client-Initiated Backchannel Authentication 1.0 section 7.3
package struct BackchannelAuthentication: Sendable, Equatable {
    /// The secret that the client polls with: the grant ``TokenRequest/Grant/backchannel(_:)``.
    package let requestID: Secret
    /// The lifetime of the request in seconds.
    package let expiresIn: Int
    /// The seconds between polls, at least one.
    package let interval: Int

    /// Reads the response.
    ///
    /// - Throws: ``OAuth2Error``
    package static func read(_ response: HTTPResponse) throws(OAuth2Error) -> BackchannelAuthentication {
        guard response.status == 200 else { throw EndpointResponse.failure(response) }
        let object = try ResponseObject(response, unique: ["auth_req_id", "expires_in", "interval"])
        if let error = EndpointResponse.providerError(object.members, response) { throw .provider(error) }
        return BackchannelAuthentication(
            requestID: try object.requiredToken("auth_req_id"), expiresIn: try object.lifetime(),
            interval: object.members.pollingInterval)
    }
}

extension BackchannelAuthentication: Redacted {
    /// The lifetime; no secret.
    package var description: String { "a backchannel sign-in for \(expiresIn) s" }
}
