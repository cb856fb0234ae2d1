import Foundation
import JOSE
import OAuth2Protocol
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Tests with a wrong clock, a clock that is set, and a clock that stops while the machine sleeps.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct ClockTests {
    static let day = 86_400.0
    static let errors: [Double] = [0, day, -day, 600, -600, 3600, -3600]
    static let clients: [(name: String, keys: JSONObject)] = [
        ("bearer", [:]), ("assertion", ["clientKey": ["environment": "KEY"]]), ("proof", ["dpop": true]),
        ("both", ["clientKey": ["environment": "KEY"], "dpop": true]),
    ]

    @Test(arguments: errors, clients)
    func `with a wrong clock, sign-in, requests and refreshes succeed without a rejection`(
        error: Double, client: (name: String, keys: JSONObject)
    ) async throws {
        let provider = try ClockedProvider(machineAhead: error)
        let store = try await provider.store(client.keys)
        let account = try await provider.signIn(store)
        #expect(account.subject == "ada")
        #expect(try await provider.use(store, account) == 200)
        provider.pass(1800)
        #expect(try await provider.use(store, account) == 200)
        #expect(provider.refreshes == 0)
        provider.pass(1800)
        #expect(try await provider.use(store, account) == 200)
        #expect(provider.refreshes == 1)
        #expect(provider.refusals == 0)
        // The store has measured the difference between the clocks.
        let skew = try #require(await store.clockSkew(ofType: "t"))
        #expect(abs(skew.difference / .seconds(1) + error) < 1.5)
        #expect(skew.isNotable == (error != 0))
    }

    @Test(arguments: clients)
    func `a clock that jumps during use requires no sign-in, and every request succeeds`(
        client: (name: String, keys: JSONObject)
    ) async throws {
        let provider = try ClockedProvider()
        let store = try await provider.store(client.keys)
        let account = try await provider.signIn(store)
        for jump in [1200, -1200, Self.day, 0, -Self.day, 300, -3000] {
            provider.setMachine(ahead: jump)
            for _ in 0..<4 {
                provider.pass(1200)
                _ = try await store.accessToken(for: account.id)
                #expect(try await provider.use(store, account) == 200, "\(jump)")
            }
        }
        #expect(try await store.account(account.id)?.signInNeeded == nil)
    }

    @Test(arguments: [-600.0, -1800, -3000])
    func `a clock set back does not extend the lifetime of a token`(back: Double) async throws {
        let provider = try ClockedProvider()
        let store = try await provider.store()
        let account = try await provider.signIn(store)
        #expect(try await provider.use(store, account) == 200)
        provider.pass(3300)
        provider.setMachine(ahead: back)
        provider.pass(280)
        // By the wall clock the token is minutes old; in fact it expires in 20 seconds.
        #expect(try await provider.use(store, account) == 200)
        #expect(provider.refreshes == 1 && provider.refusals == 0)
    }

    @Test func `a clock set back extends the lifetime of no token if several are in use`() {
        let ages = MonotonicAge(), id = Account.ID(rawValue: "a"), start = Date(timeIntervalSince1970: 1_800_000_000)
        func tokens(_ name: String) -> TokenSet {
            TokenSet(
                access: Secret(name), refresh: nil, idToken: nil, scope: [], type: nil, received: start, lifetime: 3600)
        }
        for name in ["main", "further"] {
            #expect(ages.now(forAgeOf: tokens(name), account: id, wall: start, uptime: 0) == start)
        }
        let back = start.addingTimeInterval(60)
        for name in ["main", "further", "main"] {
            #expect(
                ages.now(forAgeOf: tokens(name), account: id, wall: back, uptime: 3500)
                    == start.addingTimeInterval(3500))
        }
        // The number of remembered tokens per account is limited.
        for number in 0..<50 { _ = ages.now(forAgeOf: tokens("t\(number)"), account: id, wall: start, uptime: 0) }
        #expect(ages.now(forAgeOf: tokens("main"), account: id, wall: back, uptime: 3500) == back)
    }

    @Test(arguments: [true, false])
    func `after a sleep of eight hours an expired token is refreshed before use`(asleep: Bool) async throws {
        let provider = try ClockedProvider()
        let store = try await provider.store()
        let account = try await provider.signIn(store)
        #expect(try await provider.use(store, account) == 200)
        provider.pass(8 * 3600, asleep: asleep)
        #expect(try await provider.use(store, account) == 200)
        #expect(provider.refusals == 0 && provider.refreshes == 1)
    }

    @Test(arguments: [86_400.0, -86_400, 2400])
    func `a clock that is corrected between two runs causes at most one refresh`(error: Double) async throws {
        let provider = try ClockedProvider(machineAhead: error)
        let storage = MemoryStorage(), key = try MemoryKey()
        let account = try await provider.signIn(try await provider.store(storage: storage, custody: key))
        provider.setMachine(ahead: 0)
        provider.pass(60)
        let store = try await provider.store(storage: storage, custody: key)
        for _ in 0..<5 { #expect(try await provider.use(store, account) == 200) }
        #expect(provider.refreshes <= 1 && provider.refusals == 0)
    }

    @Test func `after a clock change the rejected proof is corrected and the request is retried`()
        async throws
    {
        let provider = try ClockedProvider()
        let store = try await provider.store(["clientKey": ["environment": "KEY"], "dpop": true])
        let account = try await provider.signIn(store)
        provider.setMachine(ahead: 150)
        provider.pass(60)
        _ = try await store.accessToken(for: account.id, rejected: Secret("at-1"))
        #expect(provider.refusals == 1 && provider.refreshes == 1)
        #expect(try await store.account(account.id)?.signInNeeded == nil)
    }

    @Test func `the explanation of a clock skew states its size and direction`() {
        #expect(ClockSkew(seconds: 86_400).explanation == "this machine's clock is 86400 s behind the provider's")
        #expect(ClockSkew(seconds: -90).explanation == "this machine's clock is 90 s ahead of the provider's")
        #expect(ClockSkew(seconds: 0).explanation == "this machine's clock agrees with the provider's")
        #expect(!ClockSkew(seconds: 59).isNotable && ClockSkew(seconds: -61).isNotable)
        #expect(!ClockSkew(seconds: .infinity).explanation.isEmpty)
    }

    @Test func `the clock skew is unknown until the provider has responded`() async throws {
        let store = try await ClockedProvider().store()
        #expect(await store.clockSkew(ofType: "t") == nil)
        #expect(await store.clockSkew(ofType: "none") == nil)
    }
}
