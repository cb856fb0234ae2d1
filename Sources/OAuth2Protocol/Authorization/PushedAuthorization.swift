import HTTPExchange
import JOSE
import StrictJSON

/// An authorization request whose parameters go directly to the provider and not through the browser.
///
/// [RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)
package struct PushedAuthorizationRequest: Sendable {
    /// The request to send.
    package let request: HTTPRequest
    /// The values to save until the redirect arrives.
    package let pending: PendingAuthorization

    /// Creates the request.
    ///
    /// - Parameters:
    ///   - key: The key that signs the parameters as one JWT (RFC 9101, RFC 9126 section 3), or `nil` to send them
    ///     unsigned.
    ///   - now: Seconds since 1970, for the signature.
    ///   - random: Returns the given number of unpredictable bytes.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider does not support pushed requests, or a parameter is
    ///   invalid; any error that `random` throws.
    package init(
        server: AuthorizationServer, client: Client, redirectURI: RedirectURI, scope: Scope,
        options: AuthorizationRequest.Options = .init(), signedWith key: SigningKey? = nil, now: Double = 0,
        random: (Int) throws -> [UInt8] = SecureRandom.bytes
    ) throws {
        let endpoint = try server.endpoint(
            "pushed_authorization_request_endpoint",
            missing: "the provider does not support pushed authorization requests"
        )
        pending = try PendingAuthorization(
            server: server, redirectURI: redirectURI, scope: scope, maximumAge: options.maximumAge, random: random)
        var pairs = try AuthorizationRequest.pairs(server: server, pending: pending, options: options)
        if let key {
            let object = try AuthorizationRequest.requestObject(
                pairs, signedWith: key, server: server, client: client, now: now, random: random)
            pairs = [("request", object)]
        }
        // The form must contain the client_id even if a header field authenticates the client (section 2.1).
        request = try client.request(pairs, endpoint: endpoint, namesClient: true)
    }
}

/// The reference to a pushed authorization request.
///
/// [RFC 9126 section 2.2](https://www.rfc-editor.org/rfc/rfc9126#section-2.2)
package struct PushedAuthorizationResponse: Sendable, Equatable {
    /// The `request_uri`, for one use.
    package let requestURI: String
    /// The lifetime in seconds.
    package let expiresIn: Int

    /// Reads the response. Its status is 201 in the specification; some providers send 200.
    package static func read(_ response: HTTPResponse) throws(OAuth2Error) -> PushedAuthorizationResponse {
        guard response.status == 201 || response.status == 200 else { throw EndpointResponse.failure(response) }
        let object = try ResponseObject(response, unique: ["request_uri", "expires_in"])
        return PushedAuthorizationResponse(
            requestURI: try object.requiredToken("request_uri").value, expiresIn: try object.lifetime())
    }
}
