import Platform
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Synchronization

/// Accounts of any OAuth 2 or OpenID Connect provider: signed in, kept safe, kept fresh.
///
/// A store is configured by ``Settings`` and keeps sealed records in an ``AccountStorage``. Any number of stores, in any
/// number of processes, may share one storage. Changes are told by ``events()`` and, unless the package is built without its trait
/// `NotificationCenter`, by NotificationCenter, after they are saved.
public actor AccountStore {
    /// The account types.
    public nonisolated let settings: Settings
    /// The outside world.
    public nonisolated let dependencies: Dependencies
    nonisolated let storage: any AccountStorage
    nonisolated let custody: any KeyCustody
    nonisolated let seal: RecordSeal
    nonisolated let hub = EventBroadcaster()
    nonisolated let pending = Mutex<[String: PendingSignIn]>([:])
    let providers: ProviderCache

    /// An account as it was read last.
    struct Loaded {
        var record: AccountRecord
        var revision: Int64
        var position: Int64
    }

    /// The accounts that were used last, so that a fresh token needs no disk.
    var loaded = LRUCache<Account.ID, Loaded>(capacity: maximumLoaded)
    private static let maximumLoaded = 1_000
    /// The refreshes under way, each shared by all who want that account's token.
    var flights: [Account.ID: Promise<RefreshOutcome>] = [:]
    /// The maximum number of refreshes in progress at a time. The others wait for their turn, first come, first served: when thousands
    /// of accounts expire at once, neither the provider nor the system's file descriptors are overrun.
    public static let maximumRefreshesInFlight = 64
    nonisolated let refreshGate = AsyncSemaphore(limit: maximumRefreshesInFlight)
    /// The access tokens for other scopes and resources: refreshes under way, refusals, uses.
    var further = AccessTokenCache()
    /// Tokens that the provider gave and the storage would not take. They are saved before anything else is tried.
    var unsaved: [Account.ID: PendingTokenUpdate] = [:]
    /// The newest change that was told.
    private var told: Int64?
    private var telling: Task<Void, Never>?
    private var hasNotice = false
    /// Whether the log could not be read when it was looked at last.
    private var isBehind = false
    private var watch: (any StorageLock)?

    /// Opens a store.
    ///
    /// - Parameters:
    ///   - settings: the account types.
    ///   - storage: where records are kept; nil: SQLite in the user's standard directory, see ``StoreLocation``.
    ///   - custody: who keeps the key; nil: the place that the storage remembers, among `keyLocations`.
    ///   - keyLocations: where the key may be; nil: beside that database, or where the storage remembers.
    ///   - dependencies: the outside world.
    ///   - watchesOtherProcesses: whether changes made by other processes become events here.
    /// - Throws: ``AccountStoreError`` when the storage or the key is unusable. A locked or missing key is never an empty store.
    public init(
        settings: Settings, storage: (any AccountStorage)? = nil, custody: (any KeyCustody)? = nil,
        keyLocations: KeyLocations? = nil, dependencies: Dependencies = .system, watchesOtherProcesses: Bool = true
    ) async throws {
        let directory = StoreLocation.standard(environment: dependencies.environment)
        self.settings = settings
        self.dependencies = dependencies
        self.storage = storage ?? SQLiteStorage(directory: directory)
        providers = ProviderCache(dependencies: dependencies)
        do {
            let places = keyLocations ?? KeyLocations(directory: directory, environment: dependencies.environment)
            let opened = try await KeyLoader(storage: self.storage, given: custody, places: places).open()
            self.custody = opened.custody
            seal = RecordSeal(key: opened.key)
            if watchesOtherProcesses {
                told = try await self.storage.lastSequence()
                watch = try self.storage.watch { [weak self] in
                    guard let self else { return }
                    Task { await self.notice() }
                }
            }
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot open the account store")
        }
    }

    deinit {
        watch?.release()
        hub.finish()
    }

    /// The transport for a type's requests, with the certificate authorities that its settings name.
    public nonisolated func transport(for type: AccountType) -> any HTTPTransport { providers.transport(for: type) }

    /// Where the records are, in words for people.
    public nonisolated var storagePlace: String { storage.place }
    /// Where the key is, in words for people.
    public nonisolated var keyPlace: String { custody.place }

    // MARK: Reading

    /// Every account, or those of one type, in a stable order. Damaged records are left out: see ``damagedRecords()``.
    ///
    /// - Throws: ``AccountStoreError``
    public func accounts(ofType type: String? = nil) async throws -> [Account] {
        try await failing("cannot read the accounts") {
            var accounts: [Account] = []
            try await eachRecord(ofType: type) { sealed in
                if let record = seal.open(sealed) {
                    accounts.append(Account(record: record, position: sealed.position))
                }
            }
            return accounts
        }
    }

    /// Goes through the sealed records in order. Only a page of them is in memory at a time.
    func eachRecord(ofType type: String?, _ body: (SealedRecord) throws -> Void) async throws {
        var last: Int64 = 0
        while true {
            try Task.checkCancellation()
            let page = try await storage.records(ofType: type, after: last, limit: RecordPage.size)
            guard let end = page.last?.position else { return }
            last = try RecordPage.next(after: last, end, place: storage.place)
            for record in page { try body(record) }
        }
    }

    /// The records whose seal is broken: changed from outside, or sealed with another key. They are left as they are.
    ///
    /// - Throws: ``AccountStoreError``
    public func damagedRecords() async throws -> [(id: Account.ID, type: String)] {
        try await failing("cannot read the accounts") {
            var damaged: [(id: Account.ID, type: String)] = []
            try await eachRecord(ofType: nil) { sealed in
                if seal.open(sealed) == nil { damaged.append((Account.ID(rawValue: sealed.id), sealed.type)) }
            }
            return damaged
        }
    }

    /// The account of this identifier, or nil.
    ///
    /// - Throws: ``AccountStoreError``, also when the record is damaged.
    public func account(_ id: Account.ID) async throws -> Account? {
        try await failing("cannot read the account") {
            try await read(id).map { Account(record: $0.record, position: $0.position) }
        }
    }

    /// The account of a type that is used where none is named: the one signed in or chosen last; when that is removed, the
    /// newest one.
    ///
    /// - Throws: ``AccountStoreError``, also when its record is damaged: nobody acts as somebody else unawares.
    public func currentAccount(ofType type: String) async throws -> Account? {
        let chosen = try await failing("cannot read the accounts") { try await storage.value("current:\(type)") }
        if let chosen, let id = String(validating: chosen, as: UTF8.self),
            let account = try await account(Account.ID(rawValue: id)), account.type == type
        {
            return account
        }
        let last = try await failing("cannot read the accounts") { try await storage.lastRecord(ofType: type) }
        guard let last else { return nil }
        if let record = seal.open(last) { return Account(record: record, position: last.position) }
        // The newest one is damaged: of the others the newest.
        return try await accounts(ofType: type).last
    }

    /// Makes an account its type's current one.
    ///
    /// - Throws: ``AccountStoreError``
    public func makeCurrent(_ account: Account) async throws {
        try await failing("cannot choose the account") {
            try await setCurrent(account)
        }
    }

    /// Reads a record and remembers it; nil when there is none.
    func read(_ id: Account.ID) async throws -> Loaded? {
        guard let sealed = try await storage.record(id.rawValue) else {
            loaded[id] = nil
            return nil
        }
        guard let record = seal.open(sealed) else {
            throw AccountStoreError(
                .damagedRecord, what: "cannot read account \(id)",
                reason: "its record is damaged or sealed with another key",
                remedy: .signInAgain,
                hint: "the record is left as it is; sign in again to make a new one")
        }
        let read = Loaded(record: record, revision: sealed.revision, position: sealed.position)
        remember(read)
        return read
    }

    /// Keeps what was read, unless something newer is kept already.
    func remember(_ read: Loaded) {
        if let kept = loaded[read.record.id], kept.revision > read.revision { return }
        loaded[read.record.id] = read
    }

    // MARK: Changing

    /// Changes a record where it is: read, changed, sealed, and saved if nobody saved meanwhile; else again from the start.
    /// Nil when the account is gone.
    func update(
        _ id: Account.ID, _ kind: StorageChange.Kind, _ change: (inout AccountRecord) throws -> Void
    ) async throws -> Loaded? {
        while true {
            guard let current = try await read(id) else { return nil }
            var record = current.record
            try change(&record)
            let sealed = try seal.seal(record, revision: current.revision + 1)
            guard let sequence = try await storage.replace(sealed, kind: kind) else {
                try Task.checkCancellation()
                continue
            }
            let saved = Loaded(record: record, revision: sealed.revision, position: current.position)
            remember(saved)
            await changed(sequence)
            return saved
        }
    }

    /// Adds a record after all others.
    func insert(_ record: AccountRecord) async throws -> Account {
        let sealed = try seal.seal(record, revision: 1)
        let (position, sequence) = try await storage.insert(sealed)
        remember(Loaded(record: record, revision: 1, position: position))
        await changed(sequence)
        return Account(record: record, position: position)
    }

    /// Saves the app's own data with an account; nil removes it. It is sealed with the tokens.
    ///
    /// - Throws: ``AccountStoreError``; `EncodingError` when the value cannot be encoded.
    public func setUserData(_ value: (some Encodable)?, for id: Account.ID) async throws {
        // In an array, because a bare string or number is no JSON text for every decoder.
        let bytes = try value.map { try JSONEncoder().encode([$0]) }
        let saved = try await failing("cannot save the account's data") {
            try await update(id, .userData) { $0.userData = bytes }
        }
        guard saved != nil else { throw unknown(id) }
    }

    /// Removes an account from this store, without telling the provider: see ``signOut(_:revoking:endingBrowserSession:)``. Removing what is not there
    /// does nothing.
    ///
    /// - Throws: ``AccountStoreError``
    public func remove(_ id: Account.ID) async throws {
        try await failing("cannot remove the account") {
            let sequence = try await storage.remove(id.rawValue)
            loaded[id] = nil
            unsaved[id] = nil
            if let sequence {
                try? await storage.setValue(nil, for: RefreshJournal.name(id))
                await changed(sequence)
            }
        }
    }

    func unknown(_ id: Account.ID) -> AccountStoreError {
        AccountStoreError(
            .unknownAccount, what: "no account \(id)", reason: "the store has none of this identifier",
            remedy: .signInAgain)
    }

    /// The type of this name.
    nonisolated func type(_ name: String) throws -> AccountType {
        if let type = settings[name] { return type }
        let names = settings.types.map(\.name)
        throw AccountStoreError(
            .unknownType, what: "no account type \(name.debugDescription)",
            reason: "\(settings.source) has \(names.joined(separator: ", "))", remedy: .changeSettings,
            hint: SpellingSuggestion.nearest(to: name, in: names).map { "did you mean \($0)?" })
    }

    /// Runs `body` and makes its failures the store's.
    func failing<Result>(_ what: String, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch {
            throw AccountStoreError.wrapping(error, what: what)
        }
    }

    // MARK: Telling

    /// Everything that happens to the accounts from now on, also by other processes. Nothing is left out; what is not read yet
    /// is kept without a limit, so end the stream when it is no longer read.
    public nonisolated func events() -> AsyncStream<AccountEvent> { hub.stream() }

    /// Tells everybody. The only place that does.
    func tell(_ event: AccountEvent) {
        hub.send(event)
        notify(event)
    }

    /// After this store saved a change: tells it, and before it what others changed.
    private func changed(_ sequence: Int64) async {
        if told == nil { told = sequence - 1 }
        await tellChanges(upTo: sequence)
    }

    /// Another process may have changed something. Many such notices at a time are one.
    private func notice() async {
        guard !hasNotice else { return }
        hasNotice = true
        while let running = telling { await running.value }
        // What is saved from here on gives a notice of its own.
        hasNotice = false
        await tellChanges(upTo: .max)
        // Another process may hold the file for longer than is waited for. Without another change nobody would look again.
        for _ in 0..<Self.maximumLooks where isBehind {
            guard (try? await dependencies.sleep(.seconds(1))) != nil else { return }
            await tellChanges(upTo: .max)
        }
    }

    /// How often the log is looked at again that could not be read, once a second.
    private static let maximumLooks = 10

    /// Tells what the log has since the last time, in its order. One at a time, so that nothing is told twice; in a task of its
    /// own, so that nobody's cancellation ends it half-way.
    private func tellChanges(upTo sequence: Int64) async {
        while let running = telling {
            await running.value
            if let told, told >= sequence { return }
        }
        let task = Task {
            // A change that is saved is saved: if the log cannot be read now, it is read with the next change.
            isBehind = (try? await tellLog()) == nil
            telling = nil
        }
        telling = task
        await task.value
    }

    private func tellLog() async throws {
        guard let last = told else { return }
        guard let changes = try await storage.changes(after: last) else {
            told = try await storage.lastSequence()
            loaded.removeAll()
            tell(.manyChanges)
            return
        }
        for change in changes {
            let event = try await event(for: change)
            told = change.sequence
            if let event { tell(event) }
        }
    }

    private func event(for change: StorageChange) async throws -> AccountEvent? {
        let id = Account.ID(rawValue: change.id)
        if change.kind == .removed {
            loaded[id] = nil
            return .removed(id, type: change.type)
        }
        let found: Loaded?
        do {
            found = try await read(id)
        } catch let error as AccountStoreError where error.kind == .damagedRecord {
            found = nil
        }
        // Gone meanwhile: what comes later in the log tells. Or damaged, which whoever reads the account is told.
        guard let read = found else { return nil }
        let account = Account(record: read.record, position: read.position)
        switch change.kind {
        case .added: return .added(account)
        case .tokens: return .accessTokenChanged(account)
        case .signInNeeded: return .accessTokenLost(account)
        case .userData: return .userDataChanged(account)
        case .profile, .removed: return .profileChanged(account)
        }
    }
}

extension AccountStore: CustomStringConvertible, CustomReflectable {
    /// Where the records are.
    public nonisolated var description: String { "account store in \(storage.place)" }
    /// Where the records are; neither settings nor environment, which may hold secrets.
    public nonisolated var customMirror: Mirror { Mirror(self, children: ["store": description]) }
}
