import LodgePlatform
import HTTPExchange
import LocalProvider
import OAuth2AccountStore
import StrictJSON

/// A provider with a directory on this machine, a store in memory, and an account that is signed in.
///
/// ```swift
/// let fixture = try await SignedInFixture()
/// ```
///
/// The provider runs in this process on its own port and ends with the fixture. Any number of fixtures can exist
/// simultaneously.
public final class SignedInFixture: Sendable {
    /// The provider. The URL of the directory is `v1.0` below its `graphBase`.
    public let provider: LoopbackProvider
    /// The store, with one account type, ``typeName``.
    public let store: AccountStore
    /// The account.
    public let account: Account
    /// The clock of the store and of the provider.
    public let clock: TestClock

    /// The name of the account type.
    public static let typeName = "local"

    /// Creates a provider and signs in a user.
    ///
    /// - Parameters:
    ///   - user: The user principal name of a sample user. The default is `ada@contoso.example`.
    ///   - configuration: The settings of the provider. `clock` replaces its clock.
    ///   - transport: The transport of the store. The default is the transport of the system.
    ///   - clock: The clock of store and provider.
    /// - Throws: `LoopbackError` if no port is free; `AccountStoreError` and `ApprovalError` if the sign-in fails.
    public init(
        as user: String? = nil, configuration: LoopbackProvider.Configuration = .init(),
        transport: (any HTTPTransport)? = nil, clock: TestClock = TestClock()
    ) async throws {
        var configuration = configuration
        configuration.now = { clock.now }
        let provider = try await LoopbackProvider(configuration: configuration)
        do {
            let type: JSONObject = [
                "issuer": .string(provider.issuer.absoluteString), "clientId": .string(provider.clientID),
                "redirectUri": "http://127.0.0.1:1/callback", "graphAPI": .string(provider.graphBase.absoluteString),
                "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            ]
            let settings = JSONValue.object(["types": .object(["local": .object(type)])])
            let direct = SystemTransport.make()
            let transport = transport ?? direct
            let store = try await InMemoryStore.open(
                settings: try Settings(bytes: settings.serialized(), source: "the scene"),
                dependencies: .testing(transport: transport, clock: clock))
            let prepared = try await store.prepareSignIn(to: Self.typeName)
            // No program listens at the redirect URI: pass the provider's redirect to the store directly.
            let redirect = try await Approval(as: user).redirect(approving: prepared.url, transport: direct)
            account = try await store.handleRedirect(redirect)
            self.store = store
            self.provider = provider
            self.clock = clock
        } catch {
            provider.close()
            throw error
        }
    }

    deinit { provider.close() }
}
