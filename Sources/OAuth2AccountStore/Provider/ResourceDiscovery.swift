import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import ProviderSettings

/// Finds the authorization servers of a resource from the metadata of the resource.
///
/// See [RFC 9728](https://www.rfc-editor.org/rfc/rfc9728).
package struct ResourceDiscovery: Sendable {
    /// The metadata of a resource for signing in. It comes from an untrusted party, so the user must confirm it.
    package struct Description: Sendable, Equatable {
        /// The requested URL.
        package let url: URL
        /// The identifier of the resource: the URL, or a parent of it.
        package let resource: String
        /// The issuers of the authorization servers whose tokens the resource accepts. At least one.
        package let authorizationServers: [String]
        /// The scope that the resource requires. Empty if it does not require a scope.
        package let scope: Scope
        /// All scope tokens that the resource supports, for the registration of a client.
        package let knownScope: Scope
        /// Whether tokens must be bound to a key (RFC 9449).
        package let requiresDPoP: Bool

        /// Whether the resource is a parent of the URL. `https://h` and `https://h/` are the same (RFC 3986 section
        /// 6.2.3).
        package var isParent: Bool {
            func withoutEmptyPath(_ text: String) -> String {
                text.hasSuffix("/") && URL(string: text)?.path(percentEncoded: true) == "/"
                    ? String(text.dropLast()) : text
            }
            return withoutEmptyPath(resource) != withoutEmptyPath(url.absoluteString)
        }
    }

    private let transport: any HTTPTransport

    package init(transport: any HTTPTransport) { self.transport = transport }

    /// Sends a request without a token to a resource, and reads its metadata. Sends no secret.
    ///
    /// - Throws: ``AccountStoreError``
    package func describe(_ address: String) async throws -> Description {
        // The query can contain a secret.
        let shown = String(address.prefix { $0 != "?" && $0 != "#" })
        return try await AccountStoreError.wrappingErrors("cannot find out how to sign in to \(shown)") {
            let url = try EndpointURL.check(address, name: "the address", allowsLoopbackHTTP: true)
            guard !ProtectedResource.hasDotSegments(url.path(percentEncoded: true)) else {
                throw OAuth2Error.configuration("the address has the segment . or ..; expected its shortest form")
            }
            let challenge = try await challenge(of: url)
            let found = try await metadata(of: address, url, challenge)
            let servers = try Self.authorizationServers(of: found, url)
            let scope =
                challenge?.parameters["scope"].map(Scope.init(parsing:)) ?? Scope(found.scopes ?? [])
            if let token = scope.firstInvalidToken {
                throw OAuth2Error.invalidResponse(
                    member: "scope", reason: "the resource names the scope \(token.debugDescription), which is invalid")
            }
            return Description(
                url: url, resource: found.resource, authorizationServers: servers, scope: scope,
                knownScope: Scope((found.scopes ?? []).filter { Scope([$0]).firstInvalidToken == nil }).union(scope),
                requiresDPoP: found.metadata["dpop_bound_access_tokens_required"]?.bool ?? false)
        }
    }

    /// The time limit for the response of the resource. Its content is not read, because it can be an endless stream.
    private static let patience = Duration.seconds(30)

    /// Returns the challenge of the resource that names its metadata. The default is its first challenge, which can
    /// name a scope.
    private func challenge(of url: URL) async throws -> AuthenticationChallenge? {
        var request = HTTPRequest(.get, url, fields: ["Accept": "application/json, */*;q=0.5"])
        request.redirects = .none
        request.firstByteTimeout = Self.patience
        let response = try await transport.stream(request, progress: nil)
        let head = HTTPResponse(status: response.status, fields: response.fields, url: response.url)
        switch head.status {
        case 401: break
        case 300..<400: throw Self.redirected(head, url)
        case 408, 429, 500...:
            throw OAuth2Error.http(
                status: head.status, retryAfter: head.retryDelay)
        // Some servers require a token only for other requests.
        default: return nil
        }
        let challenges = AuthenticationChallenge.challenges(in: head.fields)
            .filter { ["bearer", "dpop"].contains($0.scheme) }
        return challenges.first { $0.parameters["resource_metadata"] != nil } ?? challenges.first
    }

    private static func redirected(_ response: HTTPResponse, _ url: URL) -> AccountStoreError {
        let target = response.fields["Location"].flatMap { URL(string: $0, relativeTo: url)?.absoluteURL }
        var hint: Hint = "use the address of the API itself"
        // Only the user may decide to sign in to another server.
        if let target, target.hasOrigin(of: url), case let text = target.absoluteString,
            text.wholeMatch(of: /[A-Za-z0-9:\/.\[\]_~%-]+/) != nil
        {
            hint = "\(AccountRemedy.signIn(type: text))"
        }
        return AccountStoreError(
            .invalidAnswer, what: "cannot find out how to sign in to \(url.addressWithoutQuery)",
            reason: "it redirects to \(target?.addressWithoutQuery ?? "no address")", remedy: .nothing, hint: hint)
    }

    private func metadata(
        of address: String, _ url: URL, _ challenge: AuthenticationChallenge?
    ) async throws -> ProtectedResource {
        if let text = challenge?.parameters["resource_metadata"] {
            let location = try Self.metadataURL(text, of: url)
            let response = try await send(location)
            try response.checkIsFromServer(of: location)
            return try ProtectedResource.read(response, covering: address)
        }
        for location in try ProtectedResource.urls(for: address, allowsLoopbackHTTP: url.isLoopback) {
            let response = try await send(location)
            // Some servers respond to every unknown path with a web page, a redirect or a challenge.
            if response.isMarkup || (300..<400).contains(response.status)
                || ProviderDiscovery.saysMissing(response.status)
            {
                continue
            }
            return try ProtectedResource.read(response, covering: address)
        }
        throw AccountStoreError(
            .invalidAnswer, what: "cannot find out how to sign in to \(url.addressWithoutQuery)",
            reason: "it has no metadata about its authorization server (RFC 9728)", remedy: .nothing,
            hint: "ask its provider for the issuer, and add an account type for this issuer")
    }

    /// Returns the usable issuers. A resource on another machine must not name a server on this machine with plain
    /// HTTP.
    private static func authorizationServers(of found: ProtectedResource, _ url: URL) throws(OAuth2Error) -> [String] {
        var reason = "the metadata of the resource lacks an authorization server"
        let usable = found.authorizationServers.filter { issuer in
            do throws(OAuth2Error) {
                _ = try Discovery(issuer: issuer, allowsLoopbackHTTP: url.isLoopback)
                return true
            } catch {
                reason = "\(error)"
                return false
            }
        }
        guard !usable.isEmpty else { throw .invalidResponse(member: "authorization_servers", reason: reason) }
        return usable
    }

    /// Returns the URL of the metadata. It must be on the server of the resource, because the metadata selects the
    /// provider at which the user signs in.
    private static func metadataURL(_ text: String, of url: URL) throws(OAuth2Error) -> URL {
        let found: URL
        do throws(OAuth2Error) {
            found = try EndpointURL.check(text, name: "resource_metadata", allowsLoopbackHTTP: url.isLoopback)
        } catch {
            throw .invalidResponse(member: "resource_metadata", reason: "\(error)")
        }
        guard found.hasOrigin(of: url) else {
            throw .invalidResponse(
                member: "resource_metadata",
                reason: "the resource names metadata on another server, \(found.shownHost)")
        }
        return found
    }

    private func send(_ url: URL) async throws -> HTTPResponse {
        var request = HTTPRequest(.get, url, fields: ["Accept": "application/json"])
        request.redirects = .none
        return try await transport.send(request)
    }
}
