import LodgePlatform
import HTTPExchange

/// The action after a response of a resource server.
///
/// [RFC 6750 section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1),
/// [RFC 9470](https://www.rfc-editor.org/rfc/rfc9470), [RFC 9449 section 9](https://www.rfc-editor.org/rfc/rfc9449#section-9)
package enum ResourceResponse: Sendable, Equatable {
    /// Return the response to the caller unchanged.
    case deliver
    /// Refresh the access token and send the request again, once.
    case refreshAndRetry
    /// Send the request again, once, with this nonce in a new proof.
    case retryWithNonce(String)
    /// The access token lacks a scope: this one, if the server names it. The client never requests more scope on its
    /// own.
    case needsScope(Scope?)
    /// The user has to sign in again: with one of these authentication context classes, within this maximum age in
    /// seconds, or for the claims in the error.
    case needsSignIn(ProviderError, contextClasses: [String], maximumAge: Int?)
    /// The server rejects the access token permanently, with this error if it sends one.
    case rejected(ProviderError?)

    /// Returns the action for a response.
    ///
    /// - Parameters:
    ///   - tokenType: The type of the token in the request, in lower case.
    ///   - hasRefreshToken: Whether the token can be refreshed.
    ///   - isRetry: Whether the request is a retry; then there is no second retry.
    package static func decide(
        _ response: HTTPResponse, tokenType: String = "bearer", hasRefreshToken: Bool, isRetry: Bool
    ) -> ResourceResponse {
        guard response.status == 401 || response.status == 403 else { return .deliver }
        let challenges = AuthenticationChallenge.challenges(in: response.fields)
        let ours = challenges.filter { $0.scheme == tokenType }
        let error = ours.lazy.compactMap { $0.error(status: response.status) }.first
        switch error?.code {
        case .insufficientUserAuthentication?, .insufficientClaims?:
            guard let error else { return .deliver }
            let challenge = ours.first { $0.parameters["error"] == error.code.rawValue }
            let classes = challenge?.parameters["acr_values"]?.split(separator: " ").map(String.init) ?? []
            return .needsSignIn(
                error, contextClasses: classes, maximumAge: challenge?.parameters["max_age"].flatMap(Int.init))
        case .insufficientScope?:
            let scope = ours.lazy.compactMap { $0.parameters["scope"] }.first
            return .needsScope(scope.map(Scope.init(parsing:)))
        case .useDPoPNonce?:
            guard !isRetry, let nonce = response.fields["DPoP-Nonce"] else { return .rejected(error) }
            return .retryWithNonce(nonce)
        // Drafts of the specification used expired_token, and some servers still send it.
        case .invalidToken?, .expiredToken?, nil:
            guard response.status == 401 else { return .deliver }
            // If all challenges have other schemes, the server does not accept this type of token: no downgrade.
            let isAccepted = challenges.isEmpty || !ours.isEmpty
            return hasRefreshToken && !isRetry && isAccepted ? .refreshAndRetry : .rejected(error)
        default: return response.status == 401 ? .rejected(error) : .deliver
        }
    }
}

/// Adds an access token to a request.
package enum ResourceRequest {
    /// Returns the request with the token in its `Authorization` field, and nowhere else.
    ///
    /// [RFC 6750 section 2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1)
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the URL is not https. Plain HTTP requires loopback, and
    ///   `allowsLoopbackHTTP`.
    package static func authorized(
        _ request: HTTPRequest, accessToken: Secret, allowsLoopbackHTTP: Bool = false
    ) throws(OAuth2Error) -> HTTPRequest {
        let isAllowed =
            request.url.scheme?.lowercased() == "https"
            || (request.url.scheme?.lowercased() == "http" && allowsLoopbackHTTP && request.url.isLoopback)
        guard isAllowed else {
            throw .configuration(
                "access tokens are sent only to https URLs, not to \(request.url.addressWithoutQuery)")
        }
        var request = request
        request.fields["Authorization"] = "Bearer " + accessToken.value
        return request
    }
}
