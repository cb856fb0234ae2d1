import LodgePlatform
import HTTPExchange
import StrictJSON

/// The metadata of a resource server: the providers whose tokens it accepts, and its scopes.
///
/// [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728)
package struct ProtectedResource: Sendable, Equatable {
    /// The identifier of the resource.
    package let resource: String
    /// The issuers of the providers whose tokens it accepts. The resource is untrusted: confirm an issuer before you
    /// send a token to it.
    package let authorizationServers: [String]
    /// Some of its scopes.
    package let scopes: [String]?
    /// All members.
    package let metadata: JSONObject

    /// Returns the URL of a resource's metadata: `/.well-known/oauth-protected-resource` between its host and its path
    /// (section 3.1).
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the resource is not an https URL.
    package static func url(for resource: String, allowsLoopbackHTTP: Bool = false) throws(OAuth2Error) -> URL {
        _ = try EndpointURL.check(resource, name: "the resource", allowsLoopbackHTTP: allowsLoopbackHTTP)
        let (origin, path) = EndpointURL.split(resource)
        let text = origin + "/.well-known/oauth-protected-resource" + (path == "/" ? "" : path)
        return try EndpointURL.check(text, name: "the resource", allowsLoopbackHTTP: allowsLoopbackHTTP)
    }

    /// Returns the URLs where the metadata of a resource can be, in order: with its path inserted (section 3.1), and at
    /// the root of its origin, for servers with one resource.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the resource is not an https URL.
    package static func urls(for resource: String, allowsLoopbackHTTP: Bool) throws(OAuth2Error) -> [URL] {
        let own = try url(for: resource, allowsLoopbackHTTP: allowsLoopbackHTTP)
        let root = try url(for: EndpointURL.split(resource).origin, allowsLoopbackHTTP: allowsLoopbackHTTP)
        return own == root ? [own] : [own, root]
    }

    /// Reads the response. Its `resource` must be the requested resource (section 3.3).
    package static func read(_ response: HTTPResponse, resource: String) throws(OAuth2Error) -> ProtectedResource {
        try read(response, about: resource) { bytesEqual($0, resource) }
    }

    /// Reads the response for a URL. For many servers, `resource` is the origin or a parent of the URL, although
    /// section 3.3 requires the URL itself.
    package static func read(_ response: HTTPResponse, covering url: String) throws(OAuth2Error) -> ProtectedResource {
        try read(response, about: url) { covers($0, url) }
    }

    private static func read(
        _ response: HTTPResponse, about resource: String, accepts: (String) -> Bool
    ) throws(OAuth2Error) -> ProtectedResource {
        try EndpointResponse.checkStatus(response)
        let object = try ResponseObject(
            response, name: "the resource's metadata",
            unique: ["resource", "authorization_servers", "scopes_supported"])
        guard let found = object.text("resource") else {
            throw .invalidResponse(member: "resource", reason: "the metadata of \(shown(resource)) lacks the resource")
        }
        guard accepts(found) else {
            throw .invalidResponse(
                member: "resource",
                reason: "the metadata belongs to the resource \(shown(found)), not to \(shown(resource))")
        }
        return ProtectedResource(
            resource: found,
            authorizationServers: object.strings("authorization_servers") ?? [],
            scopes: object.strings("scopes_supported"), metadata: object.members)
    }

    /// Returns a URL for an error, without its query, which can contain a secret.
    private static func shown(_ url: String) -> String { quoted(String(url.prefix { $0 != "?" && $0 != "#" })) }

    /// Returns whether a resource is a URL itself, or a parent of it on the same origin. It ignores a slash at the end
    /// of the resource.
    package static func covers(_ resource: String, _ url: String) -> Bool {
        if bytesEqual(resource, url) { return true }
        guard let own = try? EndpointURL.check(resource, name: "resource", allowsLoopbackHTTP: true),
            let other = try? EndpointURL.check(url, name: "url", allowsLoopbackHTTP: true), own.hasOrigin(of: other)
        else { return false }
        // A resource with a query has no children, and a server resolves dot segments.
        var parent = Substring(EndpointURL.split(resource).path)
        let path = EndpointURL.split(url).path.prefix { $0 != "?" }
        guard !parent.contains("?"), !hasDotSegments(parent), !hasDotSegments(path) else { return false }
        if parent.hasSuffix("/") { parent.removeLast() }
        return path == parent || path.hasPrefix(parent + "/")
    }

    /// Returns whether a path has the segment `.` or `..`, percent-encoded or not.
    package static func hasDotSegments(_ path: some StringProtocol) -> Bool {
        path.split(separator: "/").contains {
            [".", ".."].contains($0.lowercased().replacing("%2e", with: "."))
        }
    }
}
