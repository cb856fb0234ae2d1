import AccountKeys
import HTTPExchange
import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import SealedStorage
import StrictJSON

/// A store of accounts of OAuth 2 and OpenID Connect providers. It signs users in, saves their tokens sealed, and
/// refreshes them.
///
/// `Settings` configure a store, and an `AccountStorage` contains its sealed records. Any number of stores, in any
/// number of processes, can share one storage. After it saves a change, the store sends an event to ``events()`` and,
/// unless the package is built without its trait `NotificationCenter`, posts a notification.
public actor AccountStore {
    /// The account types.
    public nonisolated let settings: Settings
    /// The environment: network, time, randomness, browser.
    public nonisolated let dependencies: Dependencies
    /// The maximum number of refreshes in progress at a time. The others wait for their turn in order, so that
    /// thousands of expired accounts overload neither the provider nor the file descriptors of the process.
    public static let maximumRefreshesInFlight = 64

    /// The maximum number of sign-ins that wait for their redirect in memory.
    public nonisolated let maximumPendingSignIns: Int

    nonisolated let repository: AccountRepository
    nonisolated let custody: any KeyCustody
    nonisolated let context: StoreContext
    nonisolated let publisher: ChangePublisher
    nonisolated let history = TokenHistory()
    nonisolated let broker: TokenBroker
    nonisolated let signIns: SignInCoordinator
    nonisolated let remover: AccountRemover

    nonisolated var storage: any AccountStorage { repository.storage }
    nonisolated var activeAccounts: ActiveAccounts { ActiveAccounts(repository: repository) }
    nonisolated var signer: RequestSigner { RequestSigner(context: context, broker: broker) }
    nonisolated var exchanger: TokenExchanger { TokenExchanger(context: context, broker: broker) }

    /// Creates the store of an application in its default location: a SQLite database in `StoreLocation(application:)`.
    /// Programs with the same application identifier share the store.
    ///
    /// - Parameters:
    ///   - settings: The account types.
    ///   - application: The identifier of the application, such as `com.example.people`. It is one component of a path.
    ///   - custody: The storage of the key. The default is the location that the store remembers; a new store has a key
    ///     file.
    ///   - dependencies: The network, the time, the randomness and the browser.
    ///   - watchesOtherProcesses: Whether the store publishes changes that other processes make. The default is `true`.
    ///   - maximumPendingSignIns: The maximum number of sign-ins that wait for their redirect in memory. The default is
    ///     1,000. Beyond it, ``prepareSignIn(to:options:redirectURI:)`` throws `tooManySignIns`; a new sign-in never
    ///     ends another one.
    /// - Throws: ``AccountStoreError``: `settings` if the identifier is not one component of a path; `storage` or `key`
    ///   if the storage or the key cannot be used. If the key of an existing store is locked or missing, the call
    ///   throws instead of creating an empty store.
    public init(
        settings: Settings, application: String, custody: (any KeyCustody)? = nil,
        dependencies: Dependencies = .system, watchesOtherProcesses: Bool = true, maximumPendingSignIns: Int = 1_000
    ) async throws {
        guard StoreLocation.isIdentifier(application) else {
            throw AccountStoreError(
                .settings, what: "cannot open the account store",
                reason: "the identifier of the application is \(application.debugDescription)", remedy: .nothing,
                hint: "use an identifier such as com.example.people, without a slash")
        }
        let location = StoreLocation(application: application, environment: dependencies.environment)
        try await self.init(
            settings: settings, storage: SQLiteStorage(directory: location), custody: custody,
            keyLocations: KeyLocations(directory: location, environment: dependencies.environment),
            dependencies: dependencies, watchesOtherProcesses: watchesOtherProcesses,
            maximumPendingSignIns: maximumPendingSignIns)
    }

    /// Creates a store in a storage of your choice.
    ///
    /// - Parameters:
    ///   - settings: The account types.
    ///   - storage: The storage of the records.
    ///   - custody: The storage of the key. The default is the location that the storage remembers, among
    ///     `keyLocations`.
    ///   - keyLocations: The possible locations of the key. The default is the folder of a `SQLiteStorage`; any other
    ///     storage requires `custody` or `keyLocations`.
    ///   - dependencies: The network, the time, the randomness and the browser.
    ///   - watchesOtherProcesses: Whether the store publishes changes that other processes make. The default is `true`.
    ///   - maximumPendingSignIns: The maximum number of sign-ins that wait for their redirect in memory. The default is
    ///     1,000. Beyond it, ``prepareSignIn(to:options:redirectURI:)`` throws `tooManySignIns`; a new sign-in never
    ///     ends another one.
    /// - Throws: ``AccountStoreError``: `storage` or `key` if the storage or the key cannot be used. If the key of an
    ///   existing store is locked or missing, the call throws instead of creating an empty store.
    public init(
        settings: Settings, storage: any AccountStorage, custody: (any KeyCustody)? = nil,
        keyLocations: KeyLocations? = nil, dependencies: Dependencies = .system, watchesOtherProcesses: Bool = true,
        maximumPendingSignIns: Int = 1_000
    ) async throws {
        self.settings = settings
        self.dependencies = dependencies
        self.maximumPendingSignIns = maximumPendingSignIns
        do {
            let opened = try await KeyLoader(
                storage: storage, given: custody,
                locations: try keyLocations ?? Self.keyLocations(of: storage, custody, dependencies)
            ).open()
            self.custody = opened.custody
            let reader = AccountReader(storage: storage, seal: RecordSeal(key: opened.key), cache: RecordCache())
            let publisher = ChangePublisher(reader: reader, sleep: dependencies.sleep)
            if watchesOtherProcesses { try await publisher.watchStorage() }
            self.publisher = publisher
            repository = AccountRepository(reader: reader) { await publisher.didSave($0) }
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot open the account store")
        }
        context = StoreContext(
            settings: settings, dependencies: dependencies, repository: repository,
            providers: ProviderCache(dependencies: dependencies))
        let revoker = TokenRevoker(dependencies: dependencies)
        let refresher = TokenRefresher(context: context, history: history, revoker: revoker)
        broker = TokenBroker(
            refresher: refresher, publisher: publisher, maximumRefreshes: Self.maximumRefreshesInFlight)
        signIns = SignInCoordinator(
            registrar: AccountRegistrar(context: context, history: history, revoker: revoker), publisher: publisher,
            maximumPending: maximumPendingSignIns)
        remover = AccountRemover(context: context, history: history, revoker: revoker)
        publisher.poster.setObject(self)
        await refresher.importRescuedTokens()
    }

    deinit { publisher.close() }

    /// Returns the possible locations of the key of a storage: its own folder.
    private static func keyLocations(
        of storage: any AccountStorage, _ custody: (any KeyCustody)?, _ dependencies: Dependencies
    ) throws -> KeyLocations {
        if let storage = storage as? SQLiteStorage {
            return KeyLocations(directory: storage.directory, environment: dependencies.environment)
        }
        // A key storage of the program needs no folder.
        if custody != nil { return KeyLocations(directory: StoreLocation(""), environment: dependencies.environment) }
        throw AccountStoreError(
            .key, what: "cannot open the account store", reason: "the location of the key is not specified",
            remedy: .nothing, hint: "pass the storage of the key, or its possible locations")
    }

    /// Returns the transport for the requests of an account type, with the certificate authorities of its settings.
    public nonisolated func transport(for type: AccountType) -> any HTTPTransport {
        context.providers.transport(for: type)
    }

    /// The location of the records, for messages.
    public nonisolated var storageLocation: String { storage.location }
    /// The location of the key, for messages.
    public nonisolated var keyLocation: String { custody.location }

    /// The way people use the device, from the settings.
    public nonisolated var deviceMode: DeviceMode { settings.deviceMode }

    /// Returns an account type at one of its policies. Without a policy, returns it at the default policy of the
    /// authority.
    package nonisolated func type(_ name: String, policy: String?) throws -> AccountType {
        try context.type(name, policy: policy)
    }
}

extension AccountStore: Redacted {
    /// The location of the records.
    public nonisolated var description: String { "account store in \(storage.location)" }
}
