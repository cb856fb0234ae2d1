import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import Synchronization
import TestSupport
import Testing
import AccountKeys
import OAuth2AccountStore
import LodgePlatform
import ProviderSettings
import SealedStorage

/// A clock that a test sets.
package final class FakeClock: Sendable {
    private let time = Mutex(Date(timeIntervalSince1970: 1_768_469_400))

    package init() {}

    package var now: Date { time.withLock { $0 } }
    package func advance(_ seconds: Double) { time.withLock { $0 += seconds } }
}

/// A gate at which tasks wait until a test opens it.
package final class Gate: Sendable {
    private let opened = Promise<Void>()
    private let reached = Promise<Void>()

    package init() {}

    package func pass() async throws {
        reached.finish(.success(()))
        try await opened.value()
    }
    /// Waits until a task arrives.
    package func arrival() async throws { try await reached.value() }
    package func open() { opened.finish(.success(())) }
}

/// A store with a fake provider and a fake clock, in memory by default.
package struct TestStore {
    package let store: AccountStore
    package let provider: FakeProvider
    package let clock: FakeClock

    package static func type(
        _ name: String = "graph", issuer: String = "https://op.example.com",
        redirect: String = "http://127.0.0.1:7777/callback"
    ) throws -> AccountType {
        AccountType(
            name: name, provider: .issuer(issuer), clientID: "client", redirectURI: try RedirectURI(redirect),
            scope: ["openid", "read"])
    }

    package static func key(_ byte: UInt8 = 7) throws -> MemoryKey {
        MemoryKey(try SealingKey([UInt8](repeating: byte, count: SealingKey.byteCount)))
    }

    package init(
        types: [AccountType]? = nil, storage: any AccountStorage = MemoryStorage(), custody: (any KeyCustody)? = nil,
        provider: FakeProvider? = nil, clock: FakeClock = FakeClock(), transport: (any HTTPTransport)? = nil,
        maximumPendingSignIns: Int = 1_000
    ) async throws {
        let provider = try provider ?? FakeProvider(clock: clock)
        var dependencies = Dependencies(transport: transport ?? provider, environment: [:])
        dependencies.now = { provider.clock.now }
        dependencies.useTestTime()
        self.store = try await AccountStore(
            settings: try Settings(types: types ?? [try Self.type()]), storage: storage,
            custody: try custody ?? Self.key(), dependencies: dependencies,
            maximumPendingSignIns: maximumPendingSignIns)
        self.provider = provider
        self.clock = provider.clock
    }

    /// Signs a user in.
    @discardableResult
    package func signIn(_ subject: String = "ada", to type: String = "graph") async throws -> Account {
        let prepared = try await store.prepareSignIn(to: type)
        return try await store.handleRedirect(provider.approve(prepared, as: subject))
    }

    package func token(_ id: Account.ID, rejected: String? = nil) async throws -> String {
        try await store.accessToken(for: id, rejected: rejected.map(Secret.init)).secret.value
    }
}

/// Returns the store's error of a call, or `nil` if the call does not throw.
package func failure(of body: () async throws -> some Any) async throws -> AccountStoreError? {
    try await thrownError(AccountStoreError.self, by: body)
}
