import Platform
import HTTPExchange
import StrictJSON

/// The HTTP method of a token request. GET is legacy: it puts secrets into URLs, and exists because NXOAuth2's settings had it.
public enum TokenRequestMethod: String, Sendable, Equatable, Codable {
    /// A form in the body.
    case post = "POST"
    /// The same parameters in the query.
    case get = "GET"
}

/// A request to the token endpoint, and to the endpoints that authenticate the client the same way.
///
/// [RFC 6749 sections 2.3 and 3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)
package struct TokenRequest: Sendable {
    package typealias Method = TokenRequestMethod

    /// The request to send. A 3xx response is not followed.
    package let request: HTTPRequest

    /// Creates the request.
    ///
    /// - Parameters:
    ///   - parameters: additional parameters of the provider; protocol parameters are rejected.
    ///   - headers: additional header fields of the provider.
    ///   - resources: the services that the tokens are for: absolute addresses without fragment (RFC 8707).
    ///   - authorizationDetails: what is requested in addition to a scope: objects with a `type` (RFC 9396).
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
        // The provider may rotate the refresh token. Without the response, the client has no valid one.
        request.needsResponse = true
        self.request = request
    }
}
