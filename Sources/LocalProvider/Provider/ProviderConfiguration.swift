import LodgePlatform
import JOSE

/// The settings of a ``LoopbackProvider``.
public struct ProviderConfiguration: Sendable {
    /// The number of users in the directory. The first 14 are always the same, the others depend on ``seed``.
    public var userCount = 300
    /// The seed of the sample users. The same seed creates the same users.
    public var seed: UInt64 = 1
    /// The port on 127.0.0.1 and ::1, or 0 for a free one.
    public var port: UInt16 = 0
    /// Whether the provider uses HTTPS, with a certificate of ``LoopbackProvider/certificateAuthority``.
    ///
    /// Requires OpenSSL's libssl.
    public var usesTLS = false
    /// Whether the provider approves each request immediately, without a page.
    ///
    /// The user is the login hint's, or the first user of the directory.
    public var approvesRequests = false
    /// The lifetime of an access token in whole seconds.
    public var accessTokenLifetime: Duration = .seconds(3600)
    /// The lifetime of a refreshed access token in whole seconds, or `nil` for ``accessTokenLifetime``.
    public var refreshedAccessTokenLifetime: Duration?
    /// Whether each refresh rotates the refresh token.
    ///
    /// Reuse of an old token revokes the grant (RFC 9700 section 4.14.2).
    public var rotatesRefreshTokens = true
    /// The minimum interval between two token requests of a device in whole seconds.
    package var devicePollingInterval: Duration = .seconds(5)
    /// Whether User.ReadBasic.All returns only names and addresses of other users, as in the real service.
    package var withholdsNonBasicProperties = false
    /// The resource units that an application may use in ten seconds, or `nil` for no limit.
    ///
    /// Above it, the directory responds with 429.
    package var quota: Int?
    /// A handler called with each request after its response, on any thread. It must not block.
    package var onRequest: (@Sendable (LoggedRequest) -> Void)?
    /// The initial injected errors.
    public var injectedErrors = InjectedErrors()
    /// The clients. The first one is the public client of ``LoopbackProvider/clientID``.
    public var clients = [Self.publicClient, Self.confidentialClient]
    /// The scopes that the provider offers in addition to the scopes of the directory, such as the scopes of your API.
    public var additionalScopes: [String] = []
    /// The platform that issues tokens to applications without a secret.
    package var platform = PlatformConfiguration()
    /// The RSA key that signs ID tokens. If `nil`, one is created at the first sign-in, which takes about 0.1 s.
    package var signingKey: JWK?
    /// Returns the current time.
    public var now: @Sendable () -> Date = { Date() }
    /// Returns random bytes.
    package var randomBytes: @Sendable (Int) throws -> [UInt8] = { try SecureRandom.bytes($0) }

    var refreshedLifetime: Int? {
        refreshedAccessTokenLifetime.map { Int(clamping: max(1, $0.components.seconds)) }
    }

    /// Creates the default settings: 300 users, a free port, tokens that expire after an hour.
    public init() {}

    /// The identifier of the only tenant, for paths as in Microsoft Entra.
    public static let tenantID = "3c5b1ac6-0b8e-4d6a-9d5f-6c6f64676500"

    /// The public client `lodge`, with redirects to loopback.
    public static let publicClient = LocalClient(id: "lodge", name: "Lodge")

    /// The confidential client `lodge-confidential`. Its secret is `not-a-secret` and public.
    public static let confidentialClient = LocalClient(
        id: "lodge-confidential", name: "Lodge (confidential)", secret: "not-a-secret")
}
