import LodgePlatform
import HTTPExchange
import JOSE
import OAuth2Protocol
import Synchronization

/// A cache of the metadata and the keys of providers. Concurrent callers share one request.
actor ProviderCache {
    /// The time for which metadata is cached, in seconds.
    private static let serverLifetime = 3600.0

    private let dependencies: Dependencies
    private struct TransportKey: Hashable {
        let caFile: String?
        let certificate: ClientCertificate?
    }
    private let transports = Mutex<[TransportKey: any HTTPTransport]>([:])
    private var servers: [String: (type: AccountType, metadata: ProviderDiscovery.Metadata, fetched: Date)] = [:]
    private var fetching: [String: Promise<AuthorizationServer>] = [:]
    private var keys: [URL: JWKSCache] = [:]
    private var fetchingKeys: [URL: Promise<JWKSet>] = [:]
    /// The time of the last request for keys, in seconds since 1970.
    private var lastKeyRequest = 0.0
    nonisolated let hints = ServerHints()

    init(dependencies: Dependencies) { self.dependencies = dependencies }

    /// The transport for requests without an account.
    nonisolated var plainTransport: any HTTPTransport { transport(caFile: nil, certificate: nil) }

    /// Returns the transport for a type, with the certificate authorities of its settings.
    nonisolated func transport(for type: AccountType) -> any HTTPTransport {
        type.limiting(transport(caFile: type.caFile, certificate: type.clientCertificate))
    }

    private nonisolated func transport(caFile: String?, certificate: ClientCertificate?) -> any HTTPTransport {
        transports.withLock { transports in
            let key = TransportKey(caFile: caFile, certificate: certificate)
            if let transport = transports[key] { return transport }
            let transport =
                certificate.map { dependencies.certifiedTransport(caFile, $0) } ?? dependencies.transport(caFile)
            transports[key] = transport
            return transport
        }
    }

    /// Returns the provider of a type if it is cached, otherwise `nil`.
    func knownServer(for type: AccountType) -> AuthorizationServer? {
        servers[Self.name(of: type)].flatMap { $0.type == type ? $0.metadata.server : nil }
    }

    /// Returns the cache key of a type. Each policy has its own authority, and so its own key.
    private static func name(of type: AccountType) -> String {
        type.name + (type.policy.map { "\u{0}" + $0 } ?? "")
    }

    func server(for type: AccountType) async throws -> AuthorizationServer {
        // The source of the tokens needs no discovery, and has no other endpoint.
        if type.grant.usesTokenSource { return AuthorizationServer() }
        let name = Self.name(of: type)
        if let known = servers[name], known.type == type,
            (0..<Self.serverLifetime).contains(dependencies.now().timeIntervalSince(known.fetched))
        {
            return known.metadata.server
        }
        if let running = fetching[name] { return try await running.value() }
        let result = Promise<AuthorizationServer>()
        fetching[name] = result
        // Unstructured, so that the cancellation of the caller that started the request does not cancel it for the
        // others.
        Task {
            do {
                let metadata = try await discovery(type).read()
                servers[name] = (type, metadata, dependencies.now())
                fetching[name] = nil
                result.finish(.success(metadata.server))
            } catch {
                fetching[name] = nil
                result.finish(.failure(error))
            }
        }
        return try await result.value()
    }

    /// Returns the provider of a type. If the endpoint is missing, searches the provider's other metadata document for
    /// it.
    func server(for type: AccountType, offering endpoint: String) async throws -> AuthorizationServer {
        let server = try await server(for: type)
        let name = Self.name(of: type)
        guard server.endpoint(endpoint) == nil, var known = servers[name], known.type == type else { return server }
        try await discovery(type).complete(&known.metadata)
        // Another caller can have read newer metadata, or the metadata for other settings.
        if let present = servers[name], present.type == type, present.fetched == known.fetched { servers[name] = known }
        return known.metadata.server
    }

    private nonisolated func discovery(_ type: AccountType) -> ProviderDiscovery {
        ProviderDiscovery(type) { [self] in try await send($0, type) }
    }

    private nonisolated func send(_ request: HTTPRequest, _ type: AccountType) async throws -> HTTPResponse {
        let response = try await transport(for: type).send(request)
        try response.checkIsFromServer(of: request.url)
        hints.note(response, from: request.url, now: dependencies.now())
        return response.resolvingRetryAfter(now: dependencies.now())
    }

    /// Returns the provider's keys. After an unknown key it requests them again, unless it has just done so.
    func keys(of server: AuthorizationServer, type: AccountType, afterUnknownKey: Bool = false) async throws -> JWKSet {
        let request = try JWKSRequest(server: server).request
        let now = dependencies.now().timeIntervalSince1970
        // If the clock was set back, old keys would look new.
        if now < lastKeyRequest { keys.removeAll() }
        lastKeyRequest = now
        let cache = keys[request.url] ?? JWKSCache()
        if let known = cache.keys, afterUnknownKey ? !cache.mayFetch(now: now) : !cache.isStale(now: now) {
            return known
        }
        if let running = fetchingKeys[request.url] { return try await running.value() }
        let result = Promise<JWKSet>()
        fetchingKeys[request.url] = result
        // Unstructured, so that the cancellation of the caller that started the request does not cancel it for the
        // others.
        Task {
            keys[request.url, default: JWKSCache()].fetchBegan(now: now)
            do {
                let set = try JWKSRequest.read(try await send(request, type))
                keys[request.url, default: JWKSCache()].store(set, now: dependencies.now().timeIntervalSince1970)
                fetchingKeys[request.url] = nil
                result.finish(.success(set))
            } catch {
                fetchingKeys[request.url] = nil
                result.finish(.failure(error))
            }
        }
        return try await result.value()
    }
}
