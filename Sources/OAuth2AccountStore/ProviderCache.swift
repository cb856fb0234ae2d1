import HTTPTransport
import JOSE
import OAuth2
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What is known of the providers: endpoints by discovery, keys by their address; each asked for once and kept for a while.
actor ProviderCache {
    /// How long endpoints are believed, in seconds.
    private static let serverLifetime = 3600.0
    /// How long keys are believed, in seconds.
    private static let keysLifetime = 3600.0
    /// The least time between two fetches of the same keys because of an unknown key, in seconds.
    private static let keysCoolDown = 60.0

    private let surroundings: Surroundings
    private let transports = Mutex<[String: any HTTPTransport]>([:])
    private var servers: [String: (type: AccountType, server: AuthorizationServer, fetched: Date)] = [:]
    private var fetching: [String: SharedResult<AuthorizationServer>] = [:]
    private var keys: [URL: (set: JWKSet, fetched: Date)] = [:]

    init(surroundings: Surroundings) { self.surroundings = surroundings }

    /// The transport for a type, with its own certificate authorities where it has some.
    nonisolated func transport(for type: AccountType) -> any HTTPTransport {
        transports.withLock { transports in
            let key = type.caFile ?? ""
            if let transport = transports[key] { return transport }
            let transport = surroundings.transport(type.caFile)
            transports[key] = transport
            return transport
        }
    }

    /// The provider of a type.
    func server(for type: AccountType) async throws -> AuthorizationServer {
        if let known = servers[type.name], known.type == type,
            (0..<Self.serverLifetime).contains(surroundings.now().timeIntervalSince(known.fetched))
        {
            return known.server
        }
        if let running = fetching[type.name] { return try await running.value() }
        let result = SharedResult<AuthorizationServer>()
        fetching[type.name] = result
        Task {
            do {
                let server = try await discover(type)
                servers[type.name] = (type, server, surroundings.now())
                fetching[type.name] = nil
                result.finish(.success(server))
            } catch {
                fetching[type.name] = nil
                result.finish(.failure(error))
            }
        }
        return try await result.value()
    }

    private func discover(_ type: AccountType) async throws -> AuthorizationServer {
        var server = AuthorizationServer()
        switch type.provider {
        case .endpoints: break
        case .authority(let authority):
            server = try await fetch(
                Discovery(
                    authority: authority, knownAuthorities: type.knownAuthorities, allowsLoopbackHTTP: true), type)
        case .issuer(let issuer):
            do {
                server = try await fetch(Discovery(issuer: issuer, allowsLoopbackHTTP: true), type)
            } catch OAuth2Error.http(let status, _) where status == 404 {
                // A provider of plain OAuth 2 has its metadata at the other well-known address (RFC 8414 section 5).
                server = try await fetch(Discovery(issuer: issuer, placement: .oauth, allowsLoopbackHTTP: true), type)
            }
        }
        for (name, path) in AuthorizationServer.endpointNames {
            if let url = type.endpoints[name] { server[keyPath: path] = url }
        }
        return server
    }

    private func fetch(_ discovery: Discovery, _ type: AccountType) async throws -> AuthorizationServer {
        try discovery.read(try await transport(for: type).send(discovery.request))
    }

    /// The provider's keys. `afterUnknownKey`: fetched anew, unless that was done a moment ago.
    func keys(of server: AuthorizationServer, type: AccountType, afterUnknownKey: Bool = false) async throws -> JWKSet {
        let request = try JWKSRequest(server: server).request
        if let known = keys[request.url] {
            let age = surroundings.now().timeIntervalSince(known.fetched)
            // A negative age is a clock that was set back.
            if age >= 0, age < (afterUnknownKey ? Self.keysCoolDown : Self.keysLifetime) { return known.set }
        }
        let set = try JWKSRequest.read(try await transport(for: type).send(request))
        keys[request.url] = (set, surroundings.now())
        return set
    }
}
