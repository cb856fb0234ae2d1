import LodgePlatform
import HTTPExchange

/// The authentication of a client at the token endpoint.
///
/// [RFC 6749 section 2.3](https://www.rfc-editor.org/rfc/rfc6749#section-2.3)
package enum ClientAuthentication: Sendable, Equatable {
    /// A public client: only its identifier, in the body.
    case none
    /// HTTP Basic with form-encoded identifier and secret (RFC 6749 section 2.3.1).
    case secretBasic(Secret)
    /// HTTP Basic with unencoded identifier and secret, for servers that do not decode them.
    case secretBasicRaw(Secret)
    /// Identifier and secret in the body.
    case secretPost(Secret)
    /// A JWT signed with the secret, new for every request (OpenID Connect Core 1.0 section 9). See ``Client/prepared(for:audience:now:random:)``.
    case secretJWT(Secret)
    /// A JWT signed with the client's private key, new for every request. See ``Client/prepared(for:audience:now:random:)``.
    case privateKeyJWT(SigningKey)
    /// The certificate of the TLS connection; the form contains the client identifier (RFC 8705 section 2).
    case tlsCertificate
    /// A JWT that the caller supplies for each request: see ``assertion(_:)``.
    case suppliedAssertion
    /// A JWT that was signed for this one request (RFC 7523 section 2.2).
    case assertion(Secret)
}

extension ClientAuthentication {
    /// The value of `client_assertion_type`.
    static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    /// Creates the method with this registered name. A client without a secret is public, even with the name of HTTP
    /// Basic or the form.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the name is unknown, or the method lacks its secret or key.
    package init(method: String, secret: Secret? = nil, key: SigningKey? = nil) throws(OAuth2Error) {
        switch (method, secret, key) {
        case ("none", _, _), ("client_secret_basic", nil, _), ("client_secret_post", nil, _): self = .none
        case ("client_secret_basic", let secret?, _): self = .secretBasic(secret)
        case ("client_secret_post", let secret?, _): self = .secretPost(secret)
        case ("client_secret_jwt", let secret?, _): self = .secretJWT(secret)
        case ("private_key_jwt", _, let key?): self = .privateKeyJWT(key)
        case ("tls_client_auth", _, _), ("self_signed_tls_client_auth", _, _): self = .tlsCertificate
        case ("client_secret_jwt", _, _): throw .configuration("client_secret_jwt needs a client secret")
        case ("private_key_jwt", _, _): throw .configuration("private_key_jwt needs the client's private key")
        default:
            throw .configuration(
                "the client authentication method \(quoted(method)) is unknown; expected none, "
                    + "client_secret_basic, client_secret_post, client_secret_jwt, private_key_jwt, tls_client_auth or "
                    + "self_signed_tls_client_auth")
        }
    }

    /// Whether the client authenticates.
    var isConfidential: Bool { self != .none }

    /// Whether the form contains the client identifier.
    var namesClientInForm: Bool {
        switch self {
        case .secretBasic, .secretBasicRaw: false
        default: true
        }
    }

    /// Returns the method for a client with a secret, from the methods that a provider announces.
    ///
    /// The default is HTTP Basic if the provider announces no methods (RFC 8414 section 2).
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if no method uses a secret.
    package static func secret(_ secret: Secret, announced methods: [String]?) throws(OAuth2Error)
        -> ClientAuthentication
    {
        guard let methods else { return .secretBasic(secret) }
        if methods.contains("client_secret_basic") { return .secretBasic(secret) }
        if methods.contains("client_secret_post") { return .secretPost(secret) }
        throw .configuration(
            "the provider does not support a client secret; it supports " + methods.joined(separator: ", "))
    }
}

/// A client that is registered with a provider.
package struct Client: Sendable, Equatable {
    /// The client identifier.
    package var id: String
    /// The authentication of the client.
    package var authentication: ClientAuthentication

    /// Creates a client, public by default.
    package init(id: String, authentication: ClientAuthentication = .none) {
        self.id = id
        self.authentication = authentication
    }
}

extension Client {
    /// The credentials of HTTP Basic in base64; `nil` for other methods.
    ///
    /// See RFC 6749 section 2.3.1.
    package var basicCredentials: Secret? {
        let text: String
        switch authentication {
        case .secretBasic(let secret):
            text = FormEncoding.encodeWithPlus(id) + ":" + FormEncoding.encodeWithPlus(secret.value)
        case .secretBasicRaw(let secret): text = "\(id):\(secret.value)"
        default: return nil
        }
        return Secret(Data(text.utf8).base64EncodedString())
    }

    /// Returns a form request to an endpoint that authenticates this client.
    ///
    /// - Parameters:
    ///   - method: GET puts the form into the query.
    ///   - namesClient: Whether the form contains the client identifier even if a header field authenticates the client.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if a client assertion is not prepared or the endpoint is not a URL.
    func request(
        _ pairs: [FormEncoding.Pair], endpoint: URL, method: HTTPMethod = .post,
        headers: [String: String] = [:], namesClient: Bool = false
    ) throws(OAuth2Error) -> HTTPRequest {
        var pairs = pairs
        var fields: HTTPFields = ["Accept": "application/json"]
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { fields[name] = value }
        if namesClient || authentication.namesClientInForm { pairs.append(("client_id", id)) }
        switch authentication {
        case .none, .tlsCertificate: break
        case .secretBasic, .secretBasicRaw: fields["Authorization"] = basicCredentials.map { "Basic " + $0.value }
        case .secretPost(let secret): pairs.append(("client_secret", secret.value))
        case .assertion(let assertion):
            pairs += [
                ("client_assertion_type", ClientAuthentication.assertionType), ("client_assertion", assertion.value),
            ]
        case .secretJWT, .privateKeyJWT, .suppliedAssertion:
            throw .configuration("the client assertion is missing; prepare the client for each request")
        }
        guard method == .get else {
            fields["Content-Type"] = "application/x-www-form-urlencoded"
            return HTTPRequest(method, endpoint, fields: fields, body: Data(FormEncoding.encode(pairs).utf8))
        }
        guard let url = endpoint.adding(pairs) else {
            throw .configuration("the token endpoint is not a valid URL")
        }
        return HTTPRequest(.get, url, fields: fields)
    }
}
