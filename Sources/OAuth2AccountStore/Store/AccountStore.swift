import AccountKeys
import HTTPExchange
import OAuth2Protocol
import Platform
import ProviderSettings
import SealedStorage
import StrictJSON

/// Accounts of any OAuth 2 or OpenID Connect provider: signed in, stored safely, with fresh tokens.
///
/// `Settings` configure a store, and an `AccountStorage` contains its sealed records. Any number of stores, in any number of
/// processes, can share one storage. After it saves a change, the store sends an event to ``events()`` and, unless the package is built
/// without its trait `NotificationCenter`, posts a notification.
public actor AccountStore {
    /// The account types.
    public nonisolated let settings: Settings
    /// The environment: network, time, randomness, browser.
    public nonisolated let dependencies: Dependencies
    /// The maximum number of refreshes in progress at a time. The others wait for their turn, first come, first served: when thousands
    /// of accounts expire at once, neither the provider nor the system's file descriptors are overrun.
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

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - settings: the account types.
    ///   - application: The folder of the default location: see `StoreLocation/init(application:environment:)`. The default is the
    ///     name of the process.
    ///   - storage: where records are kept; nil: SQLite in the default location.
    ///   - custody: who keeps the key; nil: the place that the storage remembers, among `keyLocations`.
    ///   - keyLocations: where the key may be; nil: beside that database, or where the storage remembers.
    ///   - dependencies: the outside world.
    ///   - watchesOtherProcesses: whether changes made by other processes become events here.
    ///   - maximumPendingSignIns: The maximum number of sign-ins that wait for their redirect in memory, each for its time limit. The
    ///     default is 1,000. Beyond it, ``prepareSignIn(to:options:redirectURI:)`` throws `tooManySignIns`; no sign-in ends another one.
    /// - Throws: ``AccountStoreError`` when the storage or the key is unusable. A locked or missing key is never an empty store.
    public init(
        settings: Settings, application: String = ProcessInfo.processInfo.processName,
        storage: (any AccountStorage)? = nil, custody: (any KeyCustody)? = nil, keyLocations: KeyLocations? = nil,
        dependencies: Dependencies = .system, watchesOtherProcesses: Bool = true,
        maximumPendingSignIns: Int = 1_000
    ) async throws {
        let location = StoreLocation(application: application, environment: dependencies.environment)
        self.settings = settings
        self.dependencies = dependencies
        self.maximumPendingSignIns = maximumPendingSignIns
        let storage = storage ?? SQLiteStorage(directory: location)
        do {
            let locations = keyLocations ?? KeyLocations(directory: location, environment: dependencies.environment)
            let opened = try await KeyLoader(storage: storage, given: custody, locations: locations).open()
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

    /// Returns the transport for a type's requests, with the certificate authorities that its settings name.
    public nonisolated func transport(for type: AccountType) -> any HTTPTransport {
        context.providers.transport(for: type)
    }

    /// The location of the records, for messages.
    public nonisolated var storageLocation: String { storage.location }
    /// The location of the key, for messages.
    public nonisolated var keyLocation: String { custody.location }

    /// The way people use the device, from the settings.
    public nonisolated var deviceMode: DeviceMode { settings.deviceMode }

    /// Returns a type at one of its policies; `nil`: at the authority's own.
    package nonisolated func type(_ name: String, policy: String?) throws -> AccountType {
        try context.type(name, policy: policy)
    }
}

extension AccountStore: Redacted {
    /// The location of the records.
    public nonisolated var description: String { "account store in \(storage.location)" }
}
