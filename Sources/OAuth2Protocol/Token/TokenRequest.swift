import Platform
import HTTPExchange
import StrictJSON

/// A request to the token endpoint, and to the endpoints that authenticate the client the same way.
///
/// [RFC 6749 sections 2.3 and 3.2](https://www.rfc-editor.org/rfc/rfc6749#section-3.2)
public struct TokenRequest: Sendable {
    /// Which method carries the request. GET is legacy: it puts secrets into addresses, and exists because NXOAuth2's
    /// settings had it.
    public enum Method: String, Sendable, Equatable, Codable {
        /// A form in the body.
        case post = "POST"
        /// The same parameters in the query.
        case get = "GET"
    }

    /// The request to send. A 3xx answer is not followed.
    public let request: HTTPRequest

    /// Builds the request.
    ///
    /// - Parameters:
    ///   - parameters: further parameters of the provider; protocol parameters are refused.
    ///   - headers: further header fields of the provider.
    ///   - resources: the services that the tokens are for: absolute addresses without fragment (RFC 8707).
    ///   - authorizationDetails: what is asked for beyond a scope: objects with a `type` (RFC 9396).
    /// - Throws: ``OAuth2Error/configuration(_:)``.
    public init(
        _ grant: Grant, server: AuthorizationServer, client: Client, method: Method = .post,
        parameters: [String: String] = [:], headers: [String: String] = [:], resources: [String] = [],
        authorizationDetails: [JSONObject] = []
    ) throws(OAuth2Error) {
        guard let endpoint = server.tokenEndpoint else {
            throw .configuration(server.unusable["token_endpoint"] ?? "the provider has no token endpoint")
        }
        if case .clientCredentials = grant, !client.authentication.isConfidential {
            throw .configuration(
                "the client credentials grant is for confidential clients; this client has neither secret nor key")
        }
        var pairs = [("grant_type", grant.name)] + (try grant.pairs())
        pairs += try RequestParameters.resources(resources)
        pairs += try RequestParameters.authorizationDetails(authorizationDetails)
        pairs += try RequestParameters.extra(parameters, besides: grant.ownParameters.union(pairs.map(\.name)))
        request = try Self.authenticated(pairs, endpoint: endpoint, client: client, method: method, headers: headers)
    }

    /// A form request in the client's name.
    static func authenticated(
        _ pairs: [FormEncoding.Pair], endpoint: URL, client: Client, method: Method = .post,
        headers: [String: String] = [:]
    ) throws(OAuth2Error) -> HTTPRequest {
        var pairs = pairs
        var fields: HTTPFields = ["Accept": "application/json"]
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { fields[name] = value }
        func basic(_ id: String, _ secret: String) {
            fields["Authorization"] = "Basic " + Data("\(id):\(secret)".utf8).base64EncodedString()
        }
        switch client.authentication {
        case .none, .tlsCertificate: pairs.append(("client_id", client.id))
        case .secretBasic(let secret):
            basic(FormEncoding.encodeWithPlus(client.id), FormEncoding.encodeWithPlus(secret.value))
        case .secretBasicRaw(let secret): basic(client.id, secret.value)
        case .secretPost(let secret): pairs += [("client_id", client.id), ("client_secret", secret.value)]
        case .assertion(let assertion):
            pairs += [
                ("client_id", client.id), ("client_assertion_type", ClientAssertion.type),
                ("client_assertion", assertion.value),
            ]
        case .secretJWT, .privateKeyJWT:
            throw .configuration("the client assertion is missing; prepare the client for each request")
        }
        let form = FormEncoding.encode(pairs)
        switch method {
        case .post:
            fields["Content-Type"] = "application/x-www-form-urlencoded"
            return HTTPRequest(.post, endpoint, fields: fields, body: Data(form.utf8))
        case .get:
            let text = endpoint.absoluteString
            let separator = text.contains("?") ? "&" : "?"
            guard let url = URL(string: text + separator + form, encodingInvalidCharacters: false) else {
                throw .configuration("the token endpoint is no valid address")
            }
            return HTTPRequest(.get, url, fields: fields)
        }
    }
}
