import LodgePlatform
import HTTPExchange
import StrictJSON

/// Registers a client with a provider.
///
/// [RFC 7591 section 3.1](https://www.rfc-editor.org/rfc/rfc7591#section-3.1)
package struct ClientRegistrationRequest: Sendable {
    /// The request to send.
    package let request: HTTPRequest

    /// Creates the request for a native application: public, with the authorization code grant and refresh tokens.
    ///
    /// - Parameters:
    ///   - metadata: Members that are added or replace the default ones.
    ///   - initialAccessToken: The token that permits a registration, if the provider requires one.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider does not support registration.
    package init(
        server: AuthorizationServer, redirectURIs: [RedirectURI], name: String? = nil, metadata: JSONObject = [:],
        initialAccessToken: Secret? = nil
    ) throws(OAuth2Error) {
        let endpoint = try server.endpoint(
            "registration_endpoint", missing: "the provider does not offer client registration")
        var members: JSONObject = [
            "redirect_uris": .array(redirectURIs.map { .string($0.text) }), "application_type": "native",
            "token_endpoint_auth_method": "none", "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        ]
        if let name { members["client_name"] = .string(name) }
        for member in metadata.members { members[member.name] = member.value }
        var fields: HTTPFields = ["Content-Type": "application/json", "Accept": "application/json"]
        if let initialAccessToken { fields["Authorization"] = "Bearer " + initialAccessToken.value }
        request = HTTPRequest(.post, endpoint, fields: fields, body: Data(JSONValue.object(members).serialized()))
    }
}

/// A client as the provider registered it. The provider's values replace the requested ones.
///
/// [RFC 7591 section 3.2.1](https://www.rfc-editor.org/rfc/rfc7591#section-3.2.1)
package struct ClientRegistration: Sendable, Equatable {
    /// The client identifier. Valid only at this provider.
    package let clientID: String
    /// The client secret, if the provider issued one.
    package let clientSecret: Secret?
    /// The expiry of the secret in seconds since 1970; 0 if it never expires, `nil` if unknown.
    package let clientSecretExpiresAt: Double?
    /// The registered redirect URIs; `nil` if the response does not contain them.
    package let redirectURIs: [String]?
    /// The authentication method of the client. If `nil`, a client with a secret uses HTTP Basic.
    package let authenticationMethod: String?
    /// The URL that reads, changes and deletes the registration (RFC 7592).
    package let managementURL: URL?
    /// The token for requests to ``managementURL``.
    package let managementToken: Secret?
    /// The other members.
    package let metadata: JSONObject

    private static let secretMembers: Set<String> = ["client_secret", "registration_access_token"]

    /// Returns whether there is a secret that is valid at this time.
    package func isSecretUsable(now: Double) -> Bool {
        guard clientSecret != nil else { return false }
        guard let expiry = clientSecretExpiresAt else { return true }
        return expiry == 0 || now < expiry
    }

    /// Returns the client for requests.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the method is not supported, or the secret has expired.
    package func client(now: Double, key: SigningKey? = nil) throws(OAuth2Error) -> Client {
        if clientSecret != nil, !isSecretUsable(now: now) {
            throw .configuration("the client secret of this registration has expired; register again")
        }
        let method = authenticationMethod ?? (clientSecret == nil ? "none" : "client_secret_basic")
        return Client(
            id: clientID, authentication: try ClientAuthentication(method: method, secret: clientSecret, key: key))
    }

    /// Reads the response. Its status is 201 in the specification; some providers send 200.
    package static func read(
        _ response: HTTPResponse, allowsLoopbackHTTP: Bool = false
    ) throws(OAuth2Error) -> ClientRegistration {
        guard response.status == 201 || response.status == 200 else { throw EndpointResponse.failure(response) }
        let object = try ResponseObject(
            response,
            unique: secretMembers.union([
                "client_id", "redirect_uris", "client_secret_expires_at", "registration_client_uri",
            ]))
        let id = try object.requiredText("client_id")
        let secret = object.text("client_secret").map(Secret.init)
        // Required, but the client exists now: if the response were rejected, the client could not be deleted.
        let expiry = object["client_secret_expires_at"]?.number?.double
        let token = try object.token("registration_access_token")
        let url = object.url("registration_client_uri", allowsLoopbackHTTP: allowsLoopbackHTTP)
        guard (token == nil) == (url == nil) else {
            let names = ["registration_access_token", "registration_client_uri"]
            let (missing, present) = token == nil ? (names[0], names[1]) : (names[1], names[0])
            throw ResponseObject.error(missing, "is missing or invalid, but \(present) is present")
        }
        return ClientRegistration(
            clientID: id, clientSecret: secret, clientSecretExpiresAt: expiry,
            redirectURIs: object.strings("redirect_uris"),
            authenticationMethod: object.text("token_endpoint_auth_method"), managementURL: url, managementToken: token,
            metadata: JSONObject(object.members.members.filter { !secretMembers.contains($0.name) }))
    }
}

extension ClientRegistration: Redacted {
    /// The client identifier; no secrets, and no members that could contain secrets.
    package var description: String { "the client \(quoted(clientID))" }
}
