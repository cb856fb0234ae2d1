import HTTPExchange
import OAuth2Protocol
import LodgePlatform

/// Reads the metadata documents of a type's provider.
///
/// OAuth 2 and OpenID Connect have different well-known URLs, and some servers insert the latter between host and path
/// (RFC 8414 sections 3 and 5). A provider can have both documents with different contents: django-oauth-toolkit lists
/// revocation, introspection and registration only in the document of RFC 8414.
package struct ProviderDiscovery: Sendable {
    private let type: AccountType
    private let send: @Sendable (HTTPRequest) async throws -> HTTPResponse

    /// The metadata of a provider. The endpoints of the settings replace the endpoints of the metadata.
    package struct Metadata: Sendable {
        /// The provider.
        package var server: AuthorizationServer
        /// The URL of its document, or `nil` if the settings specify the endpoints.
        package let url: URL?
        /// The time of the provider's response, from its `Date` header field.
        package let date: Date?
        /// The possible locations of the provider's other document. Empty after it was read.
        fileprivate var others: [Discovery] = []
    }

    package init(_ type: AccountType, send: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse) {
        self.type = type
        self.send = send
    }

    /// Reads the first document that the provider has.
    ///
    /// - Throws: `OAuth2Error`; the errors of the transport.
    package func read() async throws -> Metadata {
        switch type.provider {
        case .endpoints, .staticToken:
            var server = AuthorizationServer()
            server.issuer = type.expectedIssuer
            return Metadata(server: configured(server), url: nil, date: nil)
        case .authority(let authority):
            return try await fetch(
                Discovery(authority: authority, knownAuthorities: type.knownAuthorities, allowsLoopbackHTTP: true))
        case .issuer(let issuer): return try await read(issuer)
        }
    }

    private func read(_ issuer: String) async throws -> Metadata {
        // A resource can name any server. Only a server on this machine may have endpoints with plain HTTP.
        let allowsLoopbackHTTP = type.resources.isEmpty || URL(string: issuer)?.isLoopback == true
        func discovery(_ placement: Discovery.Placement) throws -> Discovery {
            try Discovery(issuer: issuer, placement: placement, allowsLoopbackHTTP: allowsLoopbackHTTP)
        }
        var first: (any Error)?
        var tried: Set<URL> = []
        for placement in placements {
            let document = try discovery(placement)
            // If the issuer has no path, two of the URLs are the same.
            guard tried.insert(document.url).inserted else { continue }
            do {
                var metadata = try await fetch(document)
                let others: [Discovery.Placement] =
                    switch placement {
                    case .openID, .openIDInserted: [.oauth, .oauthAppended]
                    case .oauth, .oauthAppended: [.openID]
                    }
                metadata.others = try others.map(discovery).filter { tried.insert($0.url).inserted }
                return metadata
            } catch OAuth2Error.http(let status, let retryAfter) where Self.saysMissing(status) {
                first = first ?? OAuth2Error.http(status: status, retryAfter: retryAfter)
            } catch let error as HTTPTransportError where error.kind == .intercepted && !type.resources.isEmpty {
                // Some servers return a web page for every unknown path.
                first = first ?? error
            }
        }
        throw first ?? CancellationError()
    }

    /// Returns whether a status means that a document does not exist. Some servers return a 4xx other than 404 for
    /// every unknown path.
    static func saysMissing(_ status: Int) -> Bool { (400..<500).contains(status) && status != 408 && status != 429 }

    /// The well-known URLs, in the order of the attempts.
    ///
    /// For a resource (RFC 8707), the order follows the Model Context Protocol, which starts with the document of OAuth
    /// 2. For ID tokens, the document of OpenID Connect is first, because only that document must have the keys and the
    /// algorithms.
    private var placements: [Discovery.Placement] {
        let first: [Discovery.Placement] =
            type.resources.isEmpty || type.scope.contains("openid")
            ? [.openID, .oauth, .openIDInserted] : [.oauth, .openIDInserted, .openID]
        return first + [.oauthAppended]
    }

    private func fetch(_ discovery: Discovery) async throws -> Metadata {
        let response = try await send(discovery.request)
        return Metadata(
            server: configured(try discovery.read(response)), url: discovery.url,
            date: response.fields["Date"].flatMap { HTTPDate.parse($0) })
    }

    /// Adds the endpoints that only the provider's other document lists. Without another document of the same issuer,
    /// the metadata is unchanged.
    package func complete(_ metadata: inout Metadata) async throws {
        let others = metadata.others
        metadata.others = []
        for discovery in others {
            guard let other = try await readOther(discovery) else { continue }
            for (name, path) in AuthorizationServer.endpointNames
            where metadata.server[keyPath: path] == nil && metadata.server.unusable[name] == nil {
                metadata.server[keyPath: path] = other[keyPath: path]
            }
            for (name, url) in other.mutualTLSAliases where metadata.server.mutualTLSAliases[name] == nil {
                metadata.server.mutualTLSAliases[name] = url
            }
            metadata.server = configured(metadata.server)
            return
        }
    }

    /// Returns the provider from another document, or `nil` if the document is missing or belongs to another issuer.
    private func readOther(_ discovery: Discovery) async throws -> AuthorizationServer? {
        do {
            return try discovery.read(try await send(discovery.request))
        } catch let error as OAuth2Error where !error.isTransient {
            return nil
        } catch let error as HTTPTransportError where error.kind == .intercepted {
            // Some servers return a web page for every unknown path.
            return nil
        }
    }

    /// Returns the provider with the endpoints of the settings instead of the discovered ones.
    private func configured(_ found: AuthorizationServer) -> AuthorizationServer {
        var server = found
        if type.clientCertificate != nil {
            // Servers often accept client certificates only at other URLs (RFC 8705 section 5).
            for (name, path) in AuthorizationServer.endpointNames {
                if let url = server.mutualTLSAliases[name] { server[keyPath: path] = url }
            }
        }
        server.scopeSeparator = type.scopeSeparator.rawValue
        for (name, path) in AuthorizationServer.endpointNames {
            guard let url = type.endpoints[name] else { continue }
            server[keyPath: path] = url
            server.unusable[name] = nil
        }
        return server
    }
}
