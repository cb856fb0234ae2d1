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

/// The collaborators of a store without the store: one account type, a scripted provider, a fake clock.
struct Collaborators {
    let storage: any AccountStorage
    let provider: FakeProvider
    let clock: FakeClock
    let saves = Log<Int64>()
    let sleeps = Log<Duration>()
    let timer: FakeTimer
    let repository: AccountRepository
    let context: StoreContext
    let history = TokenHistory()
    let publisher: ChangePublisher
    let refresher: TokenRefresher
    let broker: TokenBroker
    let signIns: SignInCoordinator
    var journal: RefreshJournal { refresher.journal }

    init(
        storage: any AccountStorage = MemoryStorage(), type: AccountType? = nil, transport: (any HTTPTransport)? = nil,
        provider: FakeProvider? = nil, timer: FakeTimer = FakeTimer(), activity: ExpiringActivity.Begin? = nil
    ) throws {
        self.storage = storage
        self.timer = timer
        let provider = try provider ?? FakeProvider(clock: FakeClock())
        self.provider = provider
        clock = provider.clock
        provider.change { $0.sendsIDToken = false }
        var dependencies = Dependencies(transport: transport ?? provider, environment: [:])
        dependencies.now = { [clock] in clock.now }
        dependencies.expiringActivity = ExpiringActivity(activity)
        dependencies.uptime = { .seconds(timer.uptime) }
        dependencies.timer = { try await timer.sleep($0) }
        dependencies.sleep = { [sleeps] in sleeps.append($0) }
        let reader = try Self.reader(storage)
        repository = AccountRepository(reader: reader) { [saves] in saves.append($0) }
        context = StoreContext(
            settings: try Settings(types: [try type ?? TestStore.type()]), dependencies: dependencies,
            repository: repository, providers: ProviderCache(dependencies: dependencies))
        publisher = ChangePublisher(reader: reader, sleep: dependencies.sleep)
        let revoker = TokenRevoker(dependencies: dependencies)
        refresher = TokenRefresher(context: context, history: history, revoker: revoker)
        broker = TokenBroker(refresher: refresher, publisher: publisher, maximumRefreshes: 64)
        signIns = SignInCoordinator(
            registrar: AccountRegistrar(context: context, history: history, revoker: revoker), publisher: publisher,
            maximumPending: 1_000)
    }

    /// Returns a reader with a separate cache, as in another process.
    static func reader(_ storage: any AccountStorage) throws -> AccountReader {
        let key = try SealingKey([UInt8](repeating: 7, count: SealingKey.byteCount))
        return AccountReader(storage: storage, seal: RecordSeal(key: key), cache: RecordCache())
    }

    /// Returns the collaborators of another process with the same storage, provider and time.
    func process() throws -> Collaborators {
        try Collaborators(storage: storage, provider: provider, timer: timer)
    }

    /// Returns the repository of another process with the same storage.
    func anotherProcess() throws -> AccountRepository {
        AccountRepository(reader: try Self.reader(storage)) { _ in }
    }

    /// Returns a record with tokens that the provider has just issued.
    func record(_ id: String = "ada") throws -> AccountRecord {
        AccountRecord(
            id: Account.ID(rawValue: id), type: "graph", issuer: provider.issuer, subject: id, clientID: "client",
            tokens: try tokens(.object(provider.issue(id, nonce: nil))), created: clock.now)
    }

    func tokens(_ response: JSONValue) throws -> TokenSet {
        TokenSet(try TokenResponse.read(.json(response)), requested: ["openid", "read"], received: clock.now)
    }

    /// Adds an account. Its access token is AT-1 and its refresh token RT-1.
    func addAccount(_ id: String = "ada") async throws -> Account.ID {
        try await repository.insert(try record(id)).id
    }

    /// Returns the record in the storage.
    func saved(_ id: Account.ID) async throws -> AccountRecord? {
        try await storage.record(id.rawValue).flatMap(repository.seal.open)
    }

    func mainKey(_ id: Account.ID) -> RefreshKey { RefreshKey(account: id, token: .main) }
}

/// A storage that logs locks, releases and writes.
final class RecordingStorage: WrappedStorage {
    private struct Lock: StorageLock {
        let inner: any StorageLock
        let name: String
        let log: Log<String>
        let endGate: Gate?

        func confirm() async throws {
            log.append("confirm \(name)")
            try await inner.confirm()
        }

        func release() {
            log.append("release \(name)")
            inner.release()
        }

        func end() async {
            // On a server, ending a lock takes time.
            await Task.yield()
            try? await endGate?.pass()
            release()
        }
    }

    let inner = MemoryStorage()
    let log = Log<String>()
    /// The requested locks, held or not.
    let requestedLocks = Log<String>()
    /// The gate that delays the end of each lock; `nil` for no delay.
    private let endGate: Gate?

    init(endGate: Gate? = nil) { self.endGate = endGate }

    func lock(_ name: String, timeout: Duration) async throws -> any StorageLock {
        requestedLocks.append(name)
        let lock = try await inner.lock(name, timeout: timeout)
        log.append("lock \(name)")
        return Lock(inner: lock, name: name, log: log, endGate: endGate)
    }

    func setValue(_ value: [UInt8]?, for name: String) async throws {
        log.append((value == nil ? "remove " : "write ") + name)
        await inner.setValue(value, for: name)
    }

    func replace(
        _ record: SealedRecord, kind: StorageChange.Kind, setting values: [String: [UInt8]]
    ) async throws -> Int64? {
        log.append("replace \(record.id)")
        return await inner.replace(record, kind: kind, setting: values)
    }
}
