import LodgePlatform
import HTTPExchange

/// The request for a provider's metadata, from its issuer or its authority, and the reader of the response.
///
/// OpenID Connect Discovery 1.0 section 4, [RFC 8414 section 3](https://www.rfc-editor.org/rfc/rfc8414#section-3)
package struct Discovery: Sendable, Equatable {
    /// The location of a metadata document, relative to the issuer.
    package enum Placement: Sendable, Equatable {
        /// `/.well-known/openid-configuration` appended to the issuer.
        case openID
        /// `/.well-known/oauth-authorization-server` inserted between host and path.
        case oauth
        /// `/.well-known/openid-configuration` inserted between host and path.
        case openIDInserted
        /// `/.well-known/oauth-authorization-server` appended to the issuer. No specification has this location;
        /// django-oauth-toolkit uses it for an issuer with a path.
        case oauthAppended
    }

    /// The accepted values of `issuer` in the document.
    enum Expectation: Sendable, Equatable {
        /// Exactly this string, compared byte by byte.
        case exactly(String)
        /// A Microsoft authority: an issuer on one of these hosts or their subdomains; it can contain `{tenantid}`
        /// instead of the tenant.
        case authority(hosts: [String], EntraTenants)
    }

    /// The URL of the metadata document.
    package let url: URL
    let expectation: Expectation
    let allowsLoopbackHTTP: Bool

    /// Creates the discovery of an issuer.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the issuer is not an https URL, or has a query or a fragment.
    package init(
        issuer: String, placement: Placement = .openID, allowsLoopbackHTTP: Bool = false
    ) throws(OAuth2Error) {
        let base = try Self.base(issuer, name: "the issuer", allowsLoopbackHTTP: allowsLoopbackHTTP)
        let text: String
        switch placement {
        case .openID: text = base.origin + base.path + "/.well-known/openid-configuration"
        case .oauth: text = base.origin + "/.well-known/oauth-authorization-server" + base.path
        case .openIDInserted: text = base.origin + "/.well-known/openid-configuration" + base.path
        case .oauthAppended: text = base.origin + base.path + "/.well-known/oauth-authorization-server"
        }
        url = try EndpointURL.check(text, name: "the issuer", allowsLoopbackHTTP: allowsLoopbackHTTP)
        expectation = .exactly(issuer)
        self.allowsLoopbackHTTP = allowsLoopbackHTTP
    }

    /// Creates the discovery of a Microsoft Entra authority, such as `https://login.microsoftonline.com/common`.
    ///
    /// The issuer of Entra's shared tenants contains `{tenantid}`. The issuer of B2C and External ID contains the
    /// tenant's identifier instead of its name. So the issuer must be on the authority's host or in `knownAuthorities`,
    /// and must not belong to another tenant. Only `/common`, `/organizations` and `/consumers` can have the template.
    package init(
        authority: String, knownAuthorities: [String] = [], allowsLoopbackHTTP: Bool = false
    ) throws(OAuth2Error) {
        let base = try Self.base(authority, name: "the authority", allowsLoopbackHTTP: allowsLoopbackHTTP)
        let version = base.path.hasSuffix("/v2.0") || Self.isADFS(authority) ? "" : "/v2.0"
        url = try EndpointURL.check(
            base.origin + base.path + version + "/.well-known/openid-configuration", name: "the authority",
            allowsLoopbackHTTP: allowsLoopbackHTTP)
        let host = url.host(percentEncoded: false)?.lowercased() ?? ""
        // External ID: the issuer of contoso.ciamlogin.com is <tenant identifier>.ciamlogin.com.
        let shared = host.hasSuffix(".ciamlogin.com") ? ["ciamlogin.com"] : []
        expectation = .authority(
            hosts: [host] + shared + knownAuthorities.map { $0.lowercased() }, EntraTenants(authority: authority))
        self.allowsLoopbackHTTP = allowsLoopbackHTTP
    }

    /// Returns whether an authority is an AD FS server, such as `https://adfs.example/adfs`.
    package static func isADFS(_ authority: String) -> Bool {
        let path = EndpointURL.split(authority).path.lowercased()
        return path == "/adfs" || path.hasPrefix("/adfs/")
    }

    private static func base(
        _ text: String, name: String, allowsLoopbackHTTP: Bool
    ) throws(OAuth2Error) -> (origin: String, path: String) {
        _ = try EndpointURL.check(text, name: name, allowsLoopbackHTTP: allowsLoopbackHTTP)
        guard !text.contains("?") else {
            throw .configuration("\(name) is \(quoted(text)); expected no query")
        }
        var (origin, path) = EndpointURL.split(text)
        if path.hasSuffix("/") { path.removeLast() }
        return (origin, path)
    }

    /// The request for the document.
    package var request: HTTPRequest {
        HTTPRequest(.get, url, fields: ["Accept": "application/json"])
    }

    /// Reads the response.
    ///
    /// - Throws: ``OAuth2Error`` if the status is not 200, the body is not a JSON object, or its issuer is a different
    ///   one.
    package func read(_ response: HTTPResponse) throws(OAuth2Error) -> AuthorizationServer {
        try EndpointResponse.checkStatus(response)
        let metadata = try ResponseObject(response, name: "the metadata at \(url)").members
        guard !metadata.duplicatedNames.contains("issuer"), let issuer = metadata["issuer"]?.string, !issuer.isEmpty
        else {
            throw .invalidResponse(member: "issuer", reason: "the metadata at \(url) does not have an issuer")
        }
        guard accepts(issuer) else {
            throw .invalidResponse(
                member: "issuer",
                reason: "the metadata at \(url) belongs to the issuer \(quoted(issuer)), not to \(expected)")
        }
        return try AuthorizationServer(metadata: metadata, issuer: issuer, allowsLoopbackHTTP: allowsLoopbackHTTP)
    }

    private var expected: String {
        switch expectation {
        case .exactly(let issuer): quoted(issuer)
        case .authority(let hosts, .one(let tenant)):
            "the tenant \(tenant) on a host of " + hosts.joined(separator: ", ")
        case .authority(let hosts, _): "a tenant of the authority on a host of " + hosts.joined(separator: ", ")
        }
    }

    private func accepts(_ issuer: String) -> Bool {
        switch expectation {
        case .exactly(let expected): return bytesEqual(issuer, expected)
        case .authority(let hosts, let tenants):
            let filled = issuer.replacing("{tenantid}", with: "tenantid")
            guard
                let url = try? EndpointURL.check(filled, name: "issuer", allowsLoopbackHTTP: allowsLoopbackHTTP),
                let host = url.host(percentEncoded: false)?.lowercased()
            else { return false }
            return hosts.contains { host == $0 || host.hasSuffix("." + $0) } && tenants.allows(issuer: issuer)
        }
    }
}
