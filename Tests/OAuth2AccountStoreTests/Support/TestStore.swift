import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import Synchronization
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import Platform

/// A clock that a test sets.
final class FakeClock: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: 1_768_469_400))
    var now: Date { time.withLock { $0 } }
    func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}

/// Something that tasks wait at until a test opens it.
final class Gate: Sendable {
    private let opened = Promise<Void>()
    private let reached = Promise<Void>()

    func pass() async throws {
        reached.finish(.success(()))
        try await opened.value()
    }
    /// Waits until somebody stands before it.
    func arrival() async throws { try await reached.value() }
    func open() { opened.finish(.success(())) }
}

/// Values that grow while a test runs.
final class Log<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    func append(_ value: Value) { values.withLock { $0.append(value) } }
    var all: [Value] { values.withLock { $0 } }
}

/// A directory of its own that goes away with the value.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.path + "/store-test-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard chmod(path, 0o700) == 0 else { throw CocoaError(.fileWriteNoPermission) }
    }

    /// The store's directory in it.
    var store: StoreLocation { StoreLocation(path + "/store") }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}

/// A store with a fake provider and a fake clock, in memory unless told otherwise.
struct TestStore {
    let store: AccountStore
    let provider: FakeProvider
    let clock: FakeClock

    static func type(
        _ name: String = "graph", issuer: String = "https://op.example.com",
        redirect: String = "http://127.0.0.1:7777/callback"
    ) throws -> AccountType {
        AccountType(
            name: name, provider: .issuer(issuer), clientID: "client", redirectURI: try RedirectURI(redirect),
            scope: ["openid", "read"])
    }

    static func key(_ byte: UInt8 = 7) throws -> MemoryKey {
        MemoryKey(try SealingKey([UInt8](repeating: byte, count: SealingKey.byteCount)))
    }

    init(
        types: [AccountType]? = nil, storage: any AccountStorage = MemoryStorage(), custody: (any KeyCustody)? = nil,
        provider: FakeProvider? = nil, clock: FakeClock = FakeClock(), transport: (any HTTPTransport)? = nil
    ) async throws {
        let provider = try provider ?? FakeProvider(clock: clock)
        var dependencies = Dependencies(transport: transport ?? provider, environment: [:])
        dependencies.now = { provider.clock.now }
        // The test's time alone passes, however long the machine takes.
        dependencies.uptime = { 0 }
        self.store = try await AccountStore(
            settings: try Settings(types: types ?? [try Self.type()]), storage: storage,
            custody: try custody ?? Self.key(), dependencies: dependencies)
        self.provider = provider
        self.clock = provider.clock
    }

    /// Signs a person in.
    @discardableResult
    func signIn(_ subject: String = "ada", to type: String = "graph") async throws -> Account {
        let prepared = try await store.prepareSignIn(to: type)
        return try await store.handleRedirect(provider.approve(prepared, as: subject))
    }

    /// The tokens as they are saved.
    func savedTokens(_ id: Account.ID) async throws -> TokenSet? {
        guard let sealed = try await store.storage.record(id.rawValue) else { return nil }
        return store.repository.seal.open(sealed)?.tokens
    }

    func token(_ id: Account.ID, rejected: String? = nil) async throws -> String {
        try await store.accessToken(for: id, rejected: rejected.map(Secret.init)).secret.value
    }
}

/// The store's error of a call; nil when there was none.
func failure(of body: () async throws -> some Any) async throws -> AccountStoreError? {
    do {
        _ = try await body()
        return nil
    } catch let error as AccountStoreError {
        return error
    }
}
