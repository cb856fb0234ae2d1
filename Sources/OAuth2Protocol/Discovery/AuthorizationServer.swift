import LodgePlatform
import HTTPExchange
import StrictJSON

/// A provider: its endpoints and capabilities.
///
/// [RFC 8414 section 2](https://www.rfc-editor.org/rfc/rfc8414#section-2), OpenID Connect Discovery 1.0 section 3
package struct AuthorizationServer: Sendable, Equatable {
    /// The issuer identifier, or `nil` for a provider without one.
    package var issuer: String?
    /// The endpoint where the user signs in.
    package var authorizationEndpoint: URL?
    /// The endpoint that issues tokens.
    package var tokenEndpoint: URL?
    /// The URL of the provider's signing keys.
    package var jwksURI: URL?
    /// The endpoint with the user's claims.
    package var userinfoEndpoint: URL?
    /// The endpoint that revokes tokens (RFC 7009).
    package var revocationEndpoint: URL?
    /// The endpoint that ends the browser session (RP-Initiated Logout).
    package var endSessionEndpoint: URL?
    /// The endpoint that starts the device grant (RFC 8628).
    package var deviceAuthorizationEndpoint: URL?
    /// The endpoint that starts a sign-in on the user's own device (CIBA 1.0).
    package var backchannelAuthenticationEndpoint: URL?
    /// The endpoint that inspects tokens (RFC 7662).
    package var introspectionEndpoint: URL?
    /// The endpoint that registers clients (RFC 7591).
    package var registrationEndpoint: URL?
    /// The endpoint for pushed authorization requests (RFC 9126).
    package var pushedAuthorizationRequestEndpoint: URL?
    /// Whether every redirect contains the issuer (RFC 9207).
    package var sendsIssuerInRedirect = false
    /// The signature algorithms of its ID tokens; RS256 if the metadata lists none. Never `none` or an HS algorithm: HS
    /// is for clients that registered for it and have a secret.
    package var idTokenSigningAlgorithms: [String] = ["RS256"]
    /// The supported code challenge methods; `nil` if the metadata lists none. The provider can support PKCE anyway.
    package var codeChallengeMethods: [String]?
    /// Whether the URL of a client's metadata document can be its client identifier (OAuth Client ID Metadata Document section 5).
    package var acceptsClientMetadataDocuments = false
    /// Whether authorization requests must be pushed (RFC 9126 section 5).
    package var requiresPushedAuthorizationRequests = false
    /// The supported grants; `nil` if the metadata lists none.
    package var grantTypes: [String]?
    /// Some of its scope tokens; `nil` if the metadata lists none.
    package var scopes: [String]?
    /// The supported methods of client authentication; `nil` if the metadata lists none.
    package var tokenEndpointAuthenticationMethods: [String]?
    /// The supported algorithms of DPoP proofs; `nil` if it does not support DPoP (RFC 9449 section 5.1).
    package var dpopSigningAlgorithms: [String]?
    /// The endpoints for clients that connect with a certificate, by their names in the metadata (RFC 8705 section 5).
    package var mutualTLSAliases: [String: URL] = [:]
    /// The separator of the scopes in a request. A space, unless the provider deviates from RFC 6749 section 3.3.
    package var scopeSeparator = " "
    /// The unusable members of the metadata document, with the reason for each.
    package var unusable: [String: String] = [:]

    /// Creates a provider without endpoints.
    package init(issuer: String? = nil) { self.issuer = issuer }

    /// The endpoints, by their names in the metadata document.
    package static let endpointNames: [(name: String, path: WritableKeyPath<AuthorizationServer, URL?> & Sendable)] = [
        ("authorization_endpoint", \.authorizationEndpoint), ("token_endpoint", \.tokenEndpoint),
        ("jwks_uri", \.jwksURI),
        ("userinfo_endpoint", \.userinfoEndpoint), ("revocation_endpoint", \.revocationEndpoint),
        ("end_session_endpoint", \.endSessionEndpoint),
        ("device_authorization_endpoint", \.deviceAuthorizationEndpoint),
        ("backchannel_authentication_endpoint", \.backchannelAuthenticationEndpoint),
        ("introspection_endpoint", \.introspectionEndpoint), ("registration_endpoint", \.registrationEndpoint),
        ("pushed_authorization_request_endpoint", \.pushedAuthorizationRequestEndpoint),
    ]

    /// Returns the endpoint with this name in the metadata document.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if it is missing or cannot be used.
    func endpoint(_ name: String, missing: String) throws(OAuth2Error) -> URL {
        guard let url = endpoint(name) else { throw .configuration(unusable[name] ?? missing) }
        return url
    }

    /// Returns the parameter `scope`.
    func text(of scope: Scope) -> String { scope.tokens.joined(separator: scopeSeparator) }

    /// Returns the endpoint with this name in the metadata document, or `nil` if it is missing or cannot be used.
    package func endpoint(_ name: String) -> URL? {
        Self.endpointNames.first { $0.name == name }.flatMap { self[keyPath: $0.path] }
    }

    /// Creates a provider from a metadata document with a checked issuer. Invalid optional members are listed in
    /// ``unusable``.
    ///
    /// - Throws: ``OAuth2Error/invalidResponse(member:reason:)`` if a known member is a duplicate.
    init(metadata: JSONObject, issuer: String, allowsLoopbackHTTP: Bool) throws(OAuth2Error) {
        self.issuer = issuer
        let known = Self.endpointNames.map(\.name) + Self.listNames.map(\.name)
        try ResponseObject.check(metadata, unique: Set(known))
        func url(_ value: JSONValue, _ name: String, prefix: String = "") -> URL? {
            do throws(OAuth2Error) {
                return try EndpointURL.check(
                    value.string ?? "", name: name, allowsLoopbackHTTP: allowsLoopbackHTTP)
            } catch {
                unusable[prefix + name] = error.description
                return nil
            }
        }
        for (name, path) in Self.endpointNames {
            guard let value = metadata[name], !value.isNull else { continue }
            self[keyPath: path] = url(value, name)
        }
        for (name, path) in Self.listNames { self[keyPath: path] = strings(name, metadata) }
        _ = strings("response_types_supported", metadata)
        if let algorithms = strings("id_token_signing_alg_values_supported", metadata) {
            idTokenSigningAlgorithms = algorithms.filter { $0.lowercased() != "none" && !$0.hasPrefix("HS") }
        }
        if let aliases = metadata["mtls_endpoint_aliases"]?.object {
            for (name, _) in Self.endpointNames {
                guard let value = aliases[name], value.string != nil else { continue }
                mutualTLSAliases[name] = url(value, name, prefix: "mtls_endpoint_aliases.")
            }
        }
        sendsIssuerInRedirect = metadata["authorization_response_iss_parameter_supported"]?.bool ?? false
        acceptsClientMetadataDocuments = metadata["client_id_metadata_document_supported"]?.bool ?? false
        requiresPushedAuthorizationRequests = metadata["require_pushed_authorization_requests"]?.bool ?? false
    }

    private static let listNames: [(name: String, path: WritableKeyPath<AuthorizationServer, [String]?> & Sendable)] = [
        ("token_endpoint_auth_methods_supported", \.tokenEndpointAuthenticationMethods),
        ("code_challenge_methods_supported", \.codeChallengeMethods), ("grant_types_supported", \.grantTypes),
        ("scopes_supported", \.scopes), ("dpop_signing_alg_values_supported", \.dpopSigningAlgorithms),
    ]

    /// Returns the strings of a member; a single string instead of an array is invalid.
    private mutating func strings(_ name: String, _ metadata: JSONObject) -> [String]? {
        guard let value = metadata[name], !value.isNull else { return nil }
        guard let elements = value.array else {
            unusable[name] = "\(name) is \(value.kind); expected an array of strings"
            return nil
        }
        return elements.compactMap(\.string)
    }
}
