import Platform
import HTTPExchange
import LocalProvider
import OAuth2AccountStore
import StrictJSON

/// A provider with a directory on this machine, a store in memory, and an account that is signed in.
///
/// ```swift
/// let scene = try await SignedInFixture()
/// ```
///
/// The provider lives in this process on a port of its own, which is free again when the scene is gone. Any number of scenes
/// stand side by side.
public final class SignedInFixture: Sendable {
    /// The provider. Its `graphBase` is the address of the directory, `v1.0` below it.
    public let provider: LoopbackProvider
    /// The store, with one account type, ``typeName``.
    public let store: AccountStore
    /// The account.
    public let account: Account
    /// The clock of the store and of the provider.
    public let clock: TestClock

    /// The name of the account type.
    public static let typeName = "local"

    /// Starts a provider and signs a person in.
    ///
    /// - Parameters:
    ///   - person: the user principal name of an invented person; nil: `ada@contoso.example`.
    ///   - configuration: how the provider is set up. Its clock is replaced by `clock`.
    ///   - transport: what sends requests; nil: `CurlTransport`. One of yours can count them, or spoil them.
    ///   - clock: the time, for store and provider.
    /// - Throws: `LoopbackError` when no port is free; `AccountStoreError` and `ApprovalError` when the sign-in fails.
    public init(
        as person: String? = nil, configuration: LoopbackProvider.Configuration = .init(),
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
            let transport = transport ?? CurlTransport()
            let store = try await InMemoryStore.open(
                settings: try Settings(bytes: settings.serialized(), source: "the scene"),
                dependencies: .testing(transport: transport, clock: clock))
            let prepared = try await store.prepareSignIn(to: Self.typeName)
            // Nobody listens at the redirect's address: the provider's answer is handed over here.
            let redirect = try await Approval(as: person).redirect(approving: prepared.url, transport: CurlTransport())
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
