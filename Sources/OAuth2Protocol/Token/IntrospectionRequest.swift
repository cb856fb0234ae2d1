import LodgePlatform
import HTTPExchange
import StrictJSON

/// A request to the provider whether a token is valid. For resource servers, which authenticate as clients.
///
/// [RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)
package struct IntrospectionRequest: Sendable {
    /// The request to send.
    package let request: HTTPRequest

    /// Creates the request.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider does not support introspection.
    package init(
        _ token: Secret, hint: RevocationRequest.Hint? = nil, server: AuthorizationServer, client: Client
    ) throws(OAuth2Error) {
        let endpoint = try server.endpoint(
            "introspection_endpoint", missing: "the provider does not offer token introspection")
        var pairs: [FormEncoding.Pair] = [("token", token.value)]
        if let hint { pairs.append(("token_type_hint", hint.rawValue)) }
        request = try client.request(pairs, endpoint: endpoint)
    }
}

/// The result of an introspection.
///
/// [RFC 7662 section 2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)
public struct Introspection: Sendable, Equatable {
    /// Whether the token is valid.
    public let isActive: Bool
    /// Its scope.
    public let scope: Scope?
    /// Its audience.
    public let audience: [String]
    /// When it expires.
    public let expiry: Date?
    /// All members, or no members for an inactive token.
    public let members: JSONObject

    /// Reads the response. The members of an inactive token are omitted.
    ///
    /// - Parameter now: Seconds since 1970. An expired token is always inactive.
    package static func read(_ response: HTTPResponse, now: Double) throws(OAuth2Error) -> Introspection {
        guard response.status == 200 else { throw EndpointResponse.failure(response) }
        let object = try ResponseObject(response, unique: ["active", "scope", "aud", "exp", "sub", "iss"])
        guard let active = object["active"]?.bool else { throw ResponseObject.error("active", "is not true or false") }
        let expiry = object["exp"]?.number?.double
        guard active, expiry.map({ now < $0 }) ?? true else {
            return Introspection(isActive: false, scope: nil, audience: [], expiry: nil, members: [:])
        }
        return Introspection(
            isActive: true, scope: object["scope"]?.string.map(Scope.init(parsing:)),
            audience: object.strings("aud") ?? object.text("aud").map { [$0] } ?? [],
            expiry: expiry.map { Date(timeIntervalSince1970: $0) }, members: object.members)
    }
}

extension Introspection: Redacted {
    /// Whether the token is active, and its scope.
    public var description: String { isActive ? "active token, scope \(scope?.text ?? "unknown")" : "inactive token" }
}
