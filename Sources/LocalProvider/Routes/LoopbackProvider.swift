public import Platform
import LoopbackHTTP
@_exported public import enum LoopbackHTTP.LoopbackError

/// A small OAuth 2.0 and OpenID Connect provider with a Microsoft Graph directory, on this machine only.
///
/// It is for demonstrations, examples and tests: sign-in with authorization code and PKCE, refresh tokens that rotate,
/// signed ID tokens, revocation, sign-out, and a directory of sample users that responds as Graph does. It stores
/// nothing and protects nothing: every program on this machine can sign in as any user.
///
/// ```swift
/// let provider = try await LoopbackProvider()
/// print(provider.issuer, provider.graphBase, provider.clientID)
/// ```
public final class LoopbackProvider: Sendable {
    /// The settings of a provider.
    public typealias Configuration = ProviderConfiguration

    let core: ProviderState
    private let listener: LoopbackListener

    /// Opens the port and starts to respond. The first sign-in creates the signing key in the background.
    ///
    /// - Throws: `LoopbackError` if the port cannot be opened.
    public init(configuration: Configuration = .init()) async throws {
        let router = Router(provider: ProviderState(configuration))
        let listener = try LoopbackListener(port: configuration.port, limits: .server) {
            await router.response(to: $0)
        }
        core = router.provider
        core.setPort(listener.port)
        self.listener = listener
    }

    /// The port on 127.0.0.1.
    public var port: UInt16 { listener.port }

    /// The issuer, for discovery: `http://127.0.0.1:PORT`.
    public var issuer: URL { Self.url("http://127.0.0.1:\(port)") }

    /// The base of the Graph directory: `http://127.0.0.1:PORT/`. The version follows it.
    public var graphBase: URL { Self.url("http://127.0.0.1:\(port)/") }

    /// The identifier of the public client.
    public var clientID: String { core.configuration.clients.first?.id ?? "" }

    /// The users of the directory, computed at each call: a large directory needs time and memory.
    public var users: [StoredUser] { core.contents.all }

    /// The number of users in the directory.
    public var userCount: Int { core.contents.count }

    /// Ends the provider. The port is free when this returns; calling it again does nothing.
    public func close() { listener.close() }

    /// Ends the provider and waits at most a second until it has sent the last response.
    public func shutDown() async { await listener.shutDown() }

    /// Returns the last requests, oldest first, at most 10,000.
    public func log() -> [LoggedRequest] { core.state.withLock { $0.log.entries } }

    /// Returns the number of token requests with this grant type since the start; `nil` counts all.
    public func tokenRequestCount(grantType: String? = nil) -> Int {
        core.state.withLock { state in
            guard let grantType else { return state.log.tokenRequests.values.reduce(0, +) }
            return state.log.tokenRequests[grantType] ?? 0
        }
    }

    /// Returns the number of requests of this kind since the start; `nil` counts all. See ``LoggedRequest/kind``.
    public func requestCount(_ kind: String? = nil) -> Int {
        core.state.withLock { state in
            guard let kind else { return state.log.total }
            return state.log.kinds[kind] ?? 0
        }
    }

    /// The number of requests of each kind since the start.
    public var requestCounts: [String: Int] { core.state.withLock { $0.log.kinds } }

    /// Expires all access tokens. Refresh tokens stay valid.
    public func expireAccessTokens() { core.state.withLock { $0.grants.accessTokens.updateAll { $0.expiresAt = 0 } } }

    /// Revokes all grants with their refresh tokens, access tokens and codes.
    public func revokeGrants() { core.state.withLock { $0.grants.endAll() } }

    /// Replaces the injected errors.
    public func setInjectedErrors(_ injectedErrors: InjectedErrors) {
        core.state.withLock { $0.injectedErrors = injectedErrors }
    }

    /// The injected errors with their remaining numbers of requests.
    public var injectedErrors: InjectedErrors { core.state.withLock { $0.injectedErrors } }

    private static func url(_ text: String) -> URL { URL(string: text) ?? URL(filePath: "/") }
}
