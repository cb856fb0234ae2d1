import LodgePlatform
import LoopbackHTTP
@_exported public import enum LoopbackHTTP.LoopbackError

/// A small OAuth 2.0 and OpenID Connect provider with a Microsoft Graph directory, only on this machine.
///
/// For demonstrations, examples and tests: sign-in with authorization code and PKCE, rotating refresh tokens, signed ID
/// tokens, revocation, sign-out, and a directory of sample users with Graph's responses. It stores and protects
/// nothing: every program on this machine can sign in as any user.
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
    /// The certificate authority of this provider in PEM, or `nil` without TLS.
    ///
    /// Its private key does not exist any more.
    public let certificateAuthority: String?

    /// Creates a provider: opens the port and starts to respond.
    ///
    /// The first sign-in creates the signing key in the background.
    ///
    /// - Throws: `LoopbackError` if the port cannot be opened or TLS is not possible.
    public init(configuration: Configuration = .init()) async throws {
        let certificate =
            configuration.usesTLS
            ? try LoopbackCertificate(now: configuration.now(), randomBytes: configuration.randomBytes) : nil
        let tls = try certificate.map {
            try LoopbackTLS(certificate: $0.certificate, privateKey: $0.privateKey)
        }
        let router = Router(
            provider: ProviderState(configuration), scheme: tls == nil ? "http://" : "https://")
        listener = try LoopbackListener(host: "localhost", port: configuration.port, tls: tls, limits: .server) {
            await router.response(to: $0)
        }
        core = router.provider
        certificateAuthority = certificate?.authority
    }

    /// The port on 127.0.0.1 and ::1.
    public var port: UInt16 { listener.port }

    /// The issuer, for discovery: `http://127.0.0.1:PORT`, and with TLS `https://localhost:PORT`.
    ///
    /// A client that uses another of the names `127.0.0.1`, `localhost` and `[::1]` gets an issuer with that name.
    public var issuer: URL { Self.url(origin) }

    /// The authority for clients of Microsoft Entra, such as MSAL: the issuer and ``ProviderConfiguration/tenantID``.
    public var tenantAuthority: URL { Self.url("\(origin)/\(ProviderConfiguration.tenantID)") }

    /// The base URL of the Graph directory: the issuer with a trailing slash. The version follows it.
    public var graphBase: URL { Self.url("\(origin)/") }

    /// The base URL of the SCIM directory.
    public var scimBase: URL { Self.url(origin + SCIMEndpoint.path) }

    private var origin: String {
        certificateAuthority == nil ? "http://127.0.0.1:\(port)" : "https://localhost:\(port)"
    }

    /// The identifier of the public client.
    public var clientID: String { core.configuration.clients.first?.id ?? "" }

    /// The users of the directory, computed on each access: a large directory needs time and memory.
    public var users: [StoredUser] { core.contents.all }

    /// Returns the user at a position of the directory. The first one is the default of the sign-in page.
    public func user(at position: Int) -> StoredUser? {
        let contents = core.contents
        return (0..<contents.count).contains(position) ? contents[position] : nil
    }

    /// The number of users in the directory.
    public var userCount: Int { core.contents.count }

    /// Closes the provider. The port is free on return. A second call has no effect.
    public func close() { listener.close() }

    /// Closes the provider and waits at most a second until the last response is sent.
    package func shutDown() async { await listener.shutDown() }

    /// Returns the latest requests, oldest first, at most 10,000.
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
    package var requestCounts: [String: Int] { core.state.withLock { $0.log.kinds } }

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
