import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import StorageSuite
import StoreTestSupport
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import AccountKeys
@testable import OAuth2AccountStore
@testable import SealedStorage

/// A transport that holds the requests of a path until a gate opens.
private struct HeldTransport: HTTPTransport {
    let inner: FakeProvider
    let path: String
    let gate: Gate

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let response = try await inner.send(request)
        if request.url.path() == path { try await gate.pass() }
        return response
    }
}

@Suite(.timeLimit(.scaled(minutes: 5)))
struct ProviderCacheTests {
    private static let discovery = "/.well-known/openid-configuration"
    private let clock = FakeClock()
    private let gate = Gate()
    private let provider: FakeProvider
    private let type: AccountType

    init() throws {
        provider = try FakeProvider(clock: clock)
        type = try TestStore.type()
    }

    private func cache(holding path: String = "") -> ProviderCache {
        var dependencies = Dependencies(
            transport: HeldTransport(inner: provider, path: path, gate: gate), environment: [:])
        dependencies.now = { [clock] in clock.now }
        return ProviderCache(dependencies: dependencies)
    }

    /// Starts callers at the same time, and lets the held request finish when all of them wait for it.
    private func together<Value: Sendable>(
        _ cache: ProviderCache, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> [Value] {
        let started = Log<Void>()
        let callers = (0..<8).map { _ in
            Task {
                started.append(())
                return try await body()
            }
        }
        try await gate.arrival()
        try await until { started.all.count == callers.count }
        // Requests to the actor run in turn: after these all callers have reached it.
        for _ in 0..<100 { _ = await cache.knownServer(for: type) }
        gate.open()
        var values: [Value] = []
        for caller in callers { values.append(try await caller.value) }
        return values
    }

    @Test func `callers at the same time share one discovery`() async throws {
        let cache = cache(holding: Self.discovery)
        let servers = try await together(cache) { [type] in try await cache.server(for: type) }
        #expect(servers.allSatisfy { $0.issuer == provider.issuer })
        #expect(provider.count(Self.discovery) == 1)
    }

    @Test func `callers at the same time share one request for keys`() async throws {
        let cache = cache(holding: "/jwks")
        let server = try await cache.server(for: type)
        let sets = try await together(cache) { [type] in try await cache.keys(of: server, type: type) }
        #expect(sets.allSatisfy { !$0.keys.isEmpty })
        #expect(provider.count("/jwks") == 1)
    }

    @Test func `endpoints are cached for an hour`() async throws {
        let cache = cache()
        for seconds in [0.0, 3599, 1] {
            clock.advance(seconds)
            _ = try await cache.server(for: type)
        }
        #expect(provider.count(Self.discovery) == 2)
    }

    @Test func `a type with other settings is discovered again`() async throws {
        let cache = cache()
        _ = try await cache.server(for: type)
        var changed = type
        changed.endpoints.token = URL(string: "https://op.example.com/other")
        #expect(await cache.knownServer(for: changed) == nil)
        #expect(try await cache.server(for: changed).tokenEndpoint?.path() == "/other")
        #expect(provider.count(Self.discovery) == 2)
    }

    @Test func `a failed discovery is not cached`() async throws {
        let cache = cache()
        var missing = type
        missing.provider = .issuer("https://op.example.com/missing")
        for _ in 0..<2 {
            let server = try? await cache.server(for: missing)
            #expect(server == nil)
        }
        // Each of the four locations twice.
        #expect(provider.requests.count == 8)
        #expect(try await cache.server(for: type).issuer == provider.issuer)
    }

    @Test func `an unknown key ID requests the keys again, but only once within a short time`() async throws {
        let cache = cache()
        let server = try await cache.server(for: type)
        _ = try await cache.keys(of: server, type: type)
        _ = try await cache.keys(of: server, type: type)
        #expect(provider.count("/jwks") == 1)
        clock.advance(600)
        for _ in 0..<3 { _ = try await cache.keys(of: server, type: type, afterUnknownKey: true) }
        #expect(provider.count("/jwks") == 2)
    }
}
