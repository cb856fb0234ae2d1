import LodgePlatform
import HTTPExchange
import StrictJSON

/// The HTTP method of a token request.
///
/// Use POST. GET puts secrets into URLs; it exists only for settings of NXOAuth2Client.
public enum TokenRequestMethod: String, Sendable, Equatable, Codable {
    /// POST, with the parameters as a form in the body.
    case post = "POST"
    /// GET, with the parameters in the query of the URL.
    case get = "GET"
}

/// A request to the token endpoint.
///
/// [RFC 6749 sections 2.3 and 3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)
package struct TokenRequest: Sendable {
    package typealias Method = TokenRequestMethod

    /// The request to send. A 3xx response is not followed.
    package let request: HTTPRequest

    /// Creates the request.
    ///
    /// - Parameters:
    ///   - parameters: Additional parameters for the provider. A parameter of the protocol causes an error.
    ///   - headers: Additional header fields for the provider.
    ///   - resources: The services that the tokens are for: absolute URLs without fragment (RFC 8707).
    ///   - authorizationDetails: The authorization details, in addition to a scope: objects with a `type` (RFC 9396).
    /// - Throws: ``OAuth2Error/configuration(_:)``.
    package init(
        _ grant: Grant, server: AuthorizationServer, client: Client, method: Method = .post,
        parameters: [String: String] = [:], headers: [String: String] = [:], resources: [String] = [],
        authorizationDetails: [JSONObject] = []
    ) throws(OAuth2Error) {
        let endpoint = try server.endpoint("token_endpoint", missing: "the provider has no token endpoint")
        if case .clientCredentials = grant, !client.authentication.isConfidential {
            throw .configuration(
                "the client credentials grant is for confidential clients; this client has neither secret nor key")
        }
        var pairs = [("grant_type", grant.name)] + (try grant.pairs(for: server))
        pairs += try RequestParameters.resources(resources)
        pairs += try RequestParameters.authorizationDetails(authorizationDetails)
        pairs += try RequestParameters.extra(parameters, besides: grant.ownParameters.union(pairs.map(\.name)))
        var request = try client.request(
            pairs, endpoint: endpoint, method: method == .get ? .get : .post, headers: headers)
        // The provider may replace the refresh token and invalidate the old one. If the client stopped waiting for the
        // response, it would have no valid refresh token.
        request.needsResponse = true
        self.request = request
    }
}
