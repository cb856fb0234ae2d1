import Platform
import HTTPExchange
import StrictJSON

/// What a resource server says about itself: which providers' tokens it takes, and for which scopes.
///
/// [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)
public struct ProtectedResource: Sendable, Equatable {
    /// The identifier of the resource.
    public let resource: String
    /// The issuers of the providers whose tokens it takes. From an untrusted party: send a token nowhere on its word alone.
    public let authorizationServers: [String]
    /// Some of the scopes that it knows.
    public let scopes: [String]?
    /// All members.
    public let metadata: JSONObject

    /// The address of a resource's metadata: `/.well-known/oauth-protected-resource` between its host and its path (section 3.1).
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the resource is not an https URL.
    public static func url(for resource: String, allowsLoopbackHTTP: Bool = false) throws(OAuth2Error) -> URL {
        _ = try EndpointURL.check(resource, name: "the resource", allowsLoopbackHTTP: allowsLoopbackHTTP)
        let (origin, path) = EndpointURL.split(resource)
        let text = origin + "/.well-known/oauth-protected-resource" + (path == "/" ? "" : path)
        return try EndpointURL.check(text, name: "the resource", allowsLoopbackHTTP: allowsLoopbackHTTP)
    }

    /// Reads the response. Its `resource` must be the one that was asked about (section 3.3).
    public static func read(_ response: HTTPResponse, resource: String) throws(OAuth2Error) -> ProtectedResource {
        try EndpointResponse.checkStatus(response)
        let object = try ResponseObject(
            response, name: "the resource's metadata",
            unique: ["resource", "authorization_servers", "scopes_supported"])
        guard let found = object.text("resource"), bytesEqual(found, resource) else {
            throw .invalidResponse(
                member: "resource", reason: "the metadata belongs to another resource than \(quoted(resource))")
        }
        return ProtectedResource(
            resource: found,
            authorizationServers: object.strings("authorization_servers") ?? [],
            scopes: object.strings("scopes_supported"), metadata: object.members)
    }
}
