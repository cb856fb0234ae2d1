public import Platform
public import JOSE
import LoopbackHTTP
@_exported public import enum LoopbackHTTP.LoopbackError

/// A small OAuth 2.0 and OpenID Connect provider with a Microsoft Graph directory, on this machine only.
///
/// It is for demonstrations, examples and tests: sign-in with authorization code and PKCE, refresh tokens that rotate,
/// signed ID tokens, revocation, sign-out, and a directory of invented people that answers as Graph does. Nothing is kept
/// when it ends. It is not for the protection of anything: everybody on this machine can sign in as anybody.
///
/// ```swift
/// let provider = try await LoopbackProvider()
/// print(provider.issuer, provider.graphBase, provider.clientID)
/// ```
public final class LoopbackProvider: Sendable {
    /// How a provider is set up.
    public struct Configuration: Sendable {
        /// How many people the directory has. The first 14 are always the same, the others depend on ``seed``.
        public var people = 300
        /// What the invented people depend on. The same seed gives the same people.
        public var seed: UInt64 = 1
        /// The port on 127.0.0.1, or 0 for a free one.
        public var port: UInt16 = 0
        /// How long an access token is good, in whole seconds.
        public var accessTokenLifetime: Duration = .seconds(3600)
        /// How long an access token of a refresh is good, in whole seconds; nil: as long as any other.
        public var renewedAccessTokenLifetime: Duration?
        /// Whether each refresh gives a new refresh token and ends the old one. When an old one comes again, everything
        /// that belongs to it ends (RFC 9700 section 4.14.2).
        public var rotatesRefreshTokens = true
        /// How long a device has to wait between two questions for its tokens, in whole seconds.
        public var devicePollingInterval: Duration = .seconds(5)
        /// Whether User.ReadBasic.All lets see only names and addresses of other people, as the real service does.
        public var withholdsNonBasicProperties = false
        /// How many resource units an application may use in ten seconds before the directory answers 429, as the real
        /// service counts them; nil for no limit.
        public var quota: Int?
        /// Is told of each request after its answer is made. It is called on any thread and must not block.
        public var onRequest: (@Sendable (LoggedRequest) -> Void)?
        /// The faults to begin with.
        public var faults = InjectedErrors()
        /// The clients. The first one is the public client of ``LoopbackProvider/clientID``.
        public var clients = [Self.publicClient, Self.confidentialClient]
        /// The RSA key to sign ID tokens with; nil makes one at the first sign-in, which takes a tenth of a second or so.
        public var signingKey: JWK?
        /// Tells the time.
        public var now: @Sendable () -> Date = { Date() }
        /// Gives random bytes.
        public var randomBytes: @Sendable (Int) throws -> [UInt8] = { try SecureRandom.bytes($0) }

        var renewedLifetime: Int? {
            renewedAccessTokenLifetime.map { Int(clamping: max(1, $0.components.seconds)) }
        }

        /// The defaults: 300 people, a free port, tokens for an hour.
        public init() {}

        /// The public client `lodge`, which answers on loopback.
        public static let publicClient = RegisteredClient(id: "lodge", name: "Lodge")

        /// The confidential client `lodge-confidential`. Its secret is `not-a-secret`, for everybody to know.
        public static let confidentialClient = RegisteredClient(
            id: "lodge-confidential", name: "Lodge (confidential)", secret: "not-a-secret")
    }

    let core: ProviderState
    private let listener: LoopbackListener

    /// Opens the port and begins to answer. The signing key is made in the background at the first sign-in.
    ///
    /// - Throws: ``LoopbackError`` if the port cannot be opened.
    public init(configuration: Configuration = .init()) async throws {
        let core = ProviderState(configuration)
        let listener = try LoopbackListener(port: configuration.port, limits: .server) { await core.answer($0) }
        core.begin(port: listener.port)
        self.core = core
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

    /// The people of the directory. They are made when asked for: of a large directory this takes time and memory.
    public var people: [StoredUser] { core.contents.all }

    /// How many people the directory has.
    public var peopleCount: Int { core.contents.count }

    /// Ends the provider. The port is free when this returns; calling it again does nothing.
    public func close() { listener.close() }

    /// Ends the provider and waits until the last answer under way is written, a second at most.
    public func shutDown() async { await listener.shutDown() }

    /// The last requests, oldest first, at most 10,000.
    public func log() -> [LoggedRequest] { core.state.withLock { $0.log.entries } }

    /// How many token requests of this grant type there were since the start, or of every type.
    public func tokenRequestCount(grantType: String? = nil) -> Int {
        core.state.withLock { state in
            guard let grantType else { return state.log.tokenRequests.values.reduce(0, +) }
            return state.log.tokenRequests[grantType] ?? 0
        }
    }

    /// How many requests of this kind there were since the start, or of every kind. See ``LoggedRequest/kind``.
    public func requestCount(_ kind: String? = nil) -> Int {
        core.state.withLock { state in
            guard let kind else { return state.log.total }
            return state.log.kinds[kind] ?? 0
        }
    }

    /// How many requests of each kind there were since the start.
    public var requestCounts: [String: Int] { core.state.withLock { $0.log.kinds } }

    /// Makes every access token of now expired. Refresh tokens stay good.
    public func expireAccessTokens() { core.state.withLock { $0.grants.accessTokens.updateAll { $0.expiresAt = 0 } } }

    /// Ends every grant: no refresh token, access token or code of now is good any more.
    public func revokeGrants() { core.state.withLock { $0.grants.endAll() } }

    /// Replaces the faults.
    public func setFaults(_ faults: InjectedErrors) { core.state.withLock { $0.faults = faults } }

    /// The faults that still play, with what is left of their numbers.
    public var faults: InjectedErrors { core.state.withLock { $0.faults } }

    /// A URL of fixed text and a number, which always is one.
    private static func url(_ text: String) -> URL { URL(string: text) ?? URL(filePath: "/") }
}
