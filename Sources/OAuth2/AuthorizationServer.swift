import HTTPTransport
import StrictJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A provider: where its endpoints are and what it can do.
///
/// [RFC 8414 section 2](https://www.rfc-editor.org/rfc/rfc8414#section-2), OpenID Connect Discovery 1.0 section 3
public struct AuthorizationServer: Sendable, Equatable {
    /// The issuer identifier, or nil for a provider that has none.
    public var issuer: String?
    /// Where the person signs in.
    public var authorizationEndpoint: URL?
    /// Where tokens are issued.
    public var tokenEndpoint: URL?
    /// Where the provider's signing keys are.
    public var jwksURI: URL?
    /// Where the person's claims are.
    public var userinfoEndpoint: URL?
    /// Where tokens are revoked (RFC 7009).
    public var revocationEndpoint: URL?
    /// Where the browser session is ended (RP-Initiated Logout).
    public var endSessionEndpoint: URL?
    /// Where the device grant begins (RFC 8628).
    public var deviceAuthorizationEndpoint: URL?
    /// Where tokens are looked up (RFC 7662).
    public var introspectionEndpoint: URL?
    /// Where clients are registered (RFC 7591).
    public var registrationEndpoint: URL?
    /// Where authorization requests are pushed (RFC 9126).
    public var pushedAuthorizationRequestEndpoint: URL?
    /// Whether every redirect carries the issuer (RFC 9207).
    public var sendsIssuerInRedirect = false
    /// The signature algorithms of its ID tokens; RS256 when it does not say.
    public var idTokenSigningAlgorithms: [String] = ["RS256"]
    /// How clients may authenticate; nil when it does not say.
    public var tokenEndpointAuthenticationMethods: [String]?
    /// The members of the metadata document that cannot be used, and why.
    public var unusable: [String: String] = [:]

    /// A provider of which nothing is known yet.
    public init(issuer: String? = nil) { self.issuer = issuer }

    /// The endpoints, by the name that the metadata document gives them.
    public static let endpointNames: [(name: String, path: WritableKeyPath<AuthorizationServer, URL?> & Sendable)] = [
        ("authorization_endpoint", \.authorizationEndpoint), ("token_endpoint", \.tokenEndpoint),
        ("jwks_uri", \.jwksURI),
        ("userinfo_endpoint", \.userinfoEndpoint), ("revocation_endpoint", \.revocationEndpoint),
        ("end_session_endpoint", \.endSessionEndpoint),
        ("device_authorization_endpoint", \.deviceAuthorizationEndpoint),
        ("introspection_endpoint", \.introspectionEndpoint), ("registration_endpoint", \.registrationEndpoint),
        ("pushed_authorization_request_endpoint", \.pushedAuthorizationRequestEndpoint),
    ]

    /// Reads a metadata document whose issuer has been checked. A bad optional member does not spoil the rest: it is
    /// listed in ``unusable``.
    ///
    /// - Throws: ``OAuth2Error/invalidResponse(member:reason:)`` when a known member stands twice.
    init(metadata: JSONObject, issuer: String, allowsLoopbackHTTP: Bool) throws(OAuth2Error) {
        self.issuer = issuer
        let repeated = Set(metadata.duplicatedNames)
        for (name, path) in Self.endpointNames {
            if repeated.contains(name) {
                throw .invalidResponse(member: name, reason: "the metadata has \(name) twice")
            }
            guard let value = metadata[name], !value.isNull else { continue }
            do throws(OAuth2Error) {
                self[keyPath: path] = try EndpointURL.check(
                    value.string ?? "", name: name, allowsLoopbackHTTP: allowsLoopbackHTTP)
            } catch {
                unusable[name] = error.description
            }
        }
        sendsIssuerInRedirect = metadata["authorization_response_iss_parameter_supported"]?.bool ?? false
        if let algorithms = Self.strings(metadata["id_token_signing_alg_values_supported"]) {
            idTokenSigningAlgorithms = algorithms.filter { $0.lowercased() != "none" }
        }
        tokenEndpointAuthenticationMethods = Self.strings(metadata["token_endpoint_auth_methods_supported"])
    }

    private static func strings(_ value: JSONValue?) -> [String]? {
        guard let elements = value?.array else { return nil }
        return elements.compactMap(\.string)
    }
}

/// The rule for every address that secrets are sent to.
public enum EndpointURL {
    /// Checks an address: absolute, https, with a host, without user, password, fragment and white space. Plain http is for
    /// loopback only, and only when allowed.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` with the name and what was expected.
    public static func check(_ text: String, name: String, allowsLoopbackHTTP: Bool) throws(OAuth2Error) -> URL {
        func refused(_ expected: String) -> OAuth2Error {
            .configuration("\(name) is \(text.isEmpty ? "empty" : text.debugDescription); expected \(expected)")
        }
        guard let url = URL(string: text, encodingInvalidCharacters: false), let scheme = url.scheme?.lowercased(),
            let host = url.host(percentEncoded: true), !host.isEmpty
        else { throw refused("an absolute https address") }
        guard url.user == nil, url.password == nil else { throw refused("an address without user and password") }
        guard !text.contains("#") else { throw refused("an address without a fragment") }
        switch scheme {
        case "https": return url
        case "http" where url.isLoopback:
            guard allowsLoopbackHTTP else { throw refused("https; plain http on this machine is not allowed here") }
            return url
        case "http": throw refused("https; plain http is only for this machine")
        default: throw refused("an https address")
        }
    }
}
