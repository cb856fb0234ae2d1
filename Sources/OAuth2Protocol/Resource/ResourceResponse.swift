import Platform
import HTTPExchange

/// What to do with a response of a resource server.
///
/// [RFC 6750 section 3.1](https://www.rfc-editor.org/rfc/rfc6750#section-3.1),
/// [RFC 9470](https://www.rfc-editor.org/rfc/rfc9470), [RFC 9449 section 9](https://www.rfc-editor.org/rfc/rfc9449#section-9)
package enum ResourceResponse: Sendable, Equatable {
    /// It is for the caller as it stands.
    case deliver
    /// Refresh the access token and send the request again, once.
    case refreshAndRetry
    /// Send the request again, once, with this nonce in a new proof.
    case retryWithNonce(String)
    /// The access token lacks this scope, if the server names it. The client never widens a scope without a request.
    case needsScope(Scope?)
    /// The user has to sign in again: with one of these authentication context classes, not longer ago than so many
    /// seconds, or for the claims in the error.
    case needsSignIn(ProviderError, contextClasses: [String], maximumAge: Int?)
    /// The server rejects the access token permanently, for this reason if it gives one.
    case rejected(ProviderError?)

    /// Decides.
    ///
    /// - Parameters:
    ///   - tokenType: the type of the token that was sent, in lower case.
    ///   - hasRefreshToken: whether the token can be refreshed.
    ///   - isRetry: whether the request was sent before; then there is no other retry.
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
        // The older word of drafts and of servers that never left them.
        case .invalidToken?, .expiredToken?, nil:
            guard response.status == 401 else { return .deliver }
            // Challenges of other schemes alone mean that the server does not accept this type of token: no downgrade.
            let isAccepted = challenges.isEmpty || !ours.isEmpty
            return hasRefreshToken && !isRetry && isAccepted ? .refreshAndRetry : .rejected(error)
        default: return response.status == 401 ? .rejected(error) : .deliver
        }
    }
}

/// Putting an access token on a request.
package enum ResourceRequest {
    /// Returns the request with the token in its `Authorization` field, and nowhere else.
    ///
    /// [RFC 6750 section 2.1](https://www.rfc-editor.org/rfc/rfc6750#section-2.1)
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the address is not https. Plain http is for loopback only, and only when
    ///   allowed.
    package static func authorized(
        _ request: HTTPRequest, accessToken: Secret, allowsLoopbackHTTP: Bool = false
    ) throws(OAuth2Error) -> HTTPRequest {
        let isAllowed =
            request.url.scheme?.lowercased() == "https"
            || (request.url.scheme?.lowercased() == "http" && allowsLoopbackHTTP && request.url.isLoopback)
        guard isAllowed else {
            throw .configuration(
                "an access token goes only to https addresses, not to \(request.url.addressWithoutQuery)")
        }
        var request = request
        request.fields["Authorization"] = "Bearer " + accessToken.value
        return request
    }
}
