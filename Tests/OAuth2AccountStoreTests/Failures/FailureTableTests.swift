import Foundation
import HTTPExchange
import OAuth2Protocol
import StoreTestSupport
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Runs each row of the table with a real store, then checks the error and the record.
@Suite(.timeLimit(.scaled(minutes: 10)))
struct FailureTableTests {
    /// A store with one account whose access token has expired.
    struct CommandEnvironment {
        let provider = FailingProvider()
        let storage = FaultyStorage()
        let clock = FakeClock()
        let store: AccountStore
        let account: Account

        init(discovers: Bool = false) async throws {
            var type = try TestStore.type(issuer: "https://op.example")
            type.scope = ["read"]
            if !discovers {
                type.provider = .endpoints
                type.endpoints.token = URL(string: "https://op.example/token")
            }
            store = try await Self.open(type, provider, storage, clock)
            let first = try TokenResponse.read(
                .json([
                    "access_token": "AT-old", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "RT-old",
                ]))
            account = try await store.add(first, toType: type.name)
            clock.advance(2 * 3600)
        }

        static func open(
            _ type: AccountType, _ provider: FailingProvider, _ storage: FaultyStorage, _ clock: FakeClock,
            custody: (any KeyCustody)? = nil
        ) async throws -> AccountStore {
            var dependencies = Dependencies(transport: provider, environment: [:])
            dependencies.now = { clock.now }
            dependencies.useTestTime()
            return try await AccountStore(
                settings: Settings(types: [type]), storage: storage, custody: try custody ?? TestStore.key(),
                dependencies: dependencies, watchesOtherProcesses: false)
        }

        func sealed() async throws -> SealedRecord? { try await storage.record(account.id.rawValue) }

        func record() async throws -> AccountRecord? { try await sealed().flatMap(store.repository.seal.open) }
    }

    private func fails(_ row: FailureRow, _ world: CommandEnvironment) async throws -> AccountStoreError? {
        switch row.via {
        case "token", "transport": world.provider.next { _ in try row.answer() }
        case "discovery":
            // The cached discovery result expires.
            world.clock.advance(7200)
            for _ in 0..<3 { world.provider.next { _ in try row.answer() } }
        case "storage":
            let kind = try #require(row.given["fault"]?.string.flatMap(StorageError.Kind.init))
            world.storage.fail(
                with: StorageError(kind, location: "memory", reason: "no", hint: "what to do"))
        case "clock":
            let skew = Double(try #require(row.given.int("skew")))
            let date = HTTPDateText.text(world.clock.now.addingTimeInterval(skew))
            world.provider.next { _ in
                var answer = HTTPResponse.json(FailingProvider.tokens)
                answer.fields["Date"] = date
                return answer
            }
        case "key":
            return try await failure {
                try await CommandEnvironment.open(
                    try TestStore.type(), world.provider, world.storage, world.clock,
                    custody: UnusableKeyring(reason: row.given["reason"]?.string ?? ""))
            }
        default: Issue.record("unknown via \(row.via)")
        }
        return try await failure { try await world.store.accessToken(for: world.account.id) }
    }

    @Test(arguments: FailureRow.all)
    func `a failure has its kind, its remedy and its message, and keeps the tokens`(row: FailureRow) async throws {
        let world = try await CommandEnvironment(discovers: row.via == "discovery")
        let before = try await world.sealed()
        let error = try await fails(row, world)
        world.provider.recover()
        let tokens = row.expect["tokens"]?.string
        guard let error else {
            #expect(row.expect["kind"] == "none" && tokens == "renewed")
            #expect(try await world.record()?.tokens.refreshToken == Secret("RT-new"))
            return
        }
        #expect(FailureRow.word(error.kind) == row.expect["kind"]?.string)
        #expect(FailureRow.word(error.remedy) == row.expect["remedy"]?.string)
        let said = "\(error.what) \(error.reason) \(error.hint ?? "")"
        // The table has the option names of the command; the library describes the action.
        let actions = [
            "providers check": "check the provider", "--timeout": "allow more time", "--ca-file": "certificate file",
        ]
        for word in row.expect.texts("words") ?? [] { #expect(said.contains(actions[word] ?? word), "\(said)") }
        if let after = row.expect.int("after") { #expect(error.remedy == .retryLater(after: .seconds(after))) }
        if let correlation = row.given["correlation"]?.string {
            #expect(error.provider?.correlationID == correlation)
        }
        #expect(!said.contains("RT-old") && !said.contains("AT-old"))

        let record = try #require(await world.record())
        #expect(record.tokens.refreshToken == Secret("RT-old") && record.tokens.accessToken == Secret("AT-old"))
        if tokens == "marked" {
            #expect(record.signInNeeded.map { "signInNeeded.\($0.rawValue)" } == row.expect["kind"]?.string)
        } else {
            // The record is unchanged byte for byte, and the next attempt is a normal refresh.
            #expect(try await world.sealed() == before)
            // The store sends no request for a while after a transient error.
            world.clock.advance(901)
            #expect(try await world.store.accessToken(for: world.account.id).secret == Secret("AT-new"))
        }
    }

    @Test func `the table has rows of every source, and the name of each row is unique`() {
        #expect(FailureRow.all.count >= 80)
        #expect(Set(FailureRow.all.map(\.id)).count == FailureRow.all.count)
        #expect(Set(FailureRow.all.map(\.via)) == ["token", "transport", "discovery", "storage", "key", "clock"])
    }

    @Test func `each Entra error number appears once and has a meaning`() {
        #expect(Set(EntraError.all.map(\.number)).count == EntraError.all.count)
        for error in EntraError.all {
            #expect(!error.meaning.isEmpty && !error.meaning.hasSuffix("."))
            // An error in the settings names the setting to change.
            if error.disposition == .settings { #expect(error.advice != nil, "\(error.number)") }
        }
    }

    @Test(arguments: [
        ("AADSTS70008: The refresh token", 70008), ("no number", nil), ("AADSTS", nil), ("AADSTSx1", nil),
        ("error AADSTS50076: due to", 50076), ("AADSTS99999999999999999999999: x", nil), ("", nil),
        ("AADSTS٧٠٠٠٨", nil),
    ])
    func `the Entra error number is found in the provider's error description`(text: String, number: Int?) {
        #expect(EntraError.number(in: text) == number)
    }
}
