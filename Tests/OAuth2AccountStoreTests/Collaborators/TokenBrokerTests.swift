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

@Suite(.timeLimit(.scaled(minutes: 5)))
struct TokenBrokerTests {
    private static let claims = #"{"access_token":{"acrs":{"essential":true,"value":"c1"}}}"#

    /// Makes the next token request wait for a gate.
    private func hold(_ test: Collaborators) -> Gate {
        let gate = Gate()
        test.provider.next { [provider = test.provider] _ in
            try await gate.pass()
            return .json(.object(try provider.issue("ada", nonce: nil)))
        }
        return gate
    }

    @Test func `callers of the same token share one refresh`() async throws {
        let storage = RecordingStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let gate = hold(test)
        let callers = (0..<5).map { _ in Task { try await test.broker.accessToken(for: id).secret } }
        try await gate.arrival()
        #expect(await test.broker.refreshesInFlight.count == 1)
        gate.open()
        for caller in callers { #expect(try await caller.value == Secret("AT-2")) }
        #expect(test.provider.refreshes == 1)
        #expect(storage.log.all.count { $0 == "lock account:ada" } == 1)
        #expect(await test.broker.refreshesInFlight.isEmpty)
    }

    @Test func `tokens for another scope, resource or claims have separate refreshes`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let gate = hold(test)
        let keys = [
            TokenKey.main, TokenKey(scope: ["mail"]), TokenKey(resource: "https://api.example"),
            TokenKey(claims: Self.claims), TokenKey(scope: ["mail"], claims: Self.claims),
        ]
        let callers = (keys + keys).map { key in Task { try await test.broker.accessToken(for: id, key) } }
        try await until { await test.broker.refreshesInFlight.count == keys.count }
        #expect(Set(await test.broker.refreshesInFlight.keys.map(\.token)) == Set(keys))
        gate.open()
        for caller in callers { _ = await caller.result }
        #expect(await test.broker.refreshesInFlight.isEmpty)
    }

    @Test func `the order of scope tokens does not matter to the cache`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.provider.next { _ in
            .json(["access_token": "mail", "token_type": "Bearer", "expires_in": 3600, "scope": "mail files"])
        }
        for scope in [["mail", "files"], ["files", "mail"], ["files", "openid"]] {
            #expect(try await test.broker.accessToken(for: id, TokenKey(scope: Scope(scope))).secret == Secret("mail"))
        }
        #expect(test.provider.refreshes == 1)
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-1"))
    }

    @Test func `cancelling one caller ends only its wait`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let gate = hold(test)
        let first = Task { try await test.broker.accessToken(for: id).secret }
        try await gate.arrival()
        let second = Task { try await test.broker.accessToken(for: id).secret }
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        #expect(await test.broker.refreshesInFlight.count == 1)
        gate.open()
        #expect(try await second.value == Secret("AT-2"))
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
    }

    @Test func `a token with claims is never served from the cache`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        for number in 2...3 {
            let token = try await test.broker.accessToken(for: id, TokenKey(claims: Self.claims))
            #expect(token.secret == Secret("AT-\(number)"))
        }
        #expect(test.provider.refreshes == 2)
        #expect(
            test.provider.requests.compactMap { FakeProvider.form($0)["claims"] } == [Self.claims, Self.claims])
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-3"))
        #expect(test.provider.refreshes == 2)
    }

    @Test func `a valid token is returned from memory`() async throws {
        let storage = RecordingStorage()
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-1"))
        #expect(storage.log.all.isEmpty && test.provider.requests.isEmpty)
    }

    @Test func `a rejected token is refreshed although it has not expired`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        let requirement = FreshnessRequirement(rejected: Secret("AT-1"))
        for _ in 0..<2 {
            #expect(try await test.broker.accessToken(for: id, .main, requirement).secret == Secret("AT-2"))
        }
        #expect(test.provider.refreshes == 1)
    }

    @Test func `a denied scope is not requested again for ten minutes`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.provider.change { $0.lifetime = 7200 }
        test.provider.next { _ in .refusal("invalid_scope") }
        func request() async throws -> AccountStoreError? {
            try await failure { try await test.broker.accessToken(for: id, TokenKey(scope: ["mail"])) }
        }
        #expect(try await request()?.kind == .signInNeeded(.scopeNotGranted))
        #expect(try await request()?.kind == .signInNeeded(.scopeNotGranted))
        #expect(test.provider.refreshes == 1)
        test.clock.advance(601)
        _ = try await request()
        #expect(test.provider.refreshes == 2)
    }

    @Test func `a failed refresh is published and not retried`() async throws {
        let test = try Collaborators()
        let id = try await test.addAccount()
        test.clock.advance(3600)
        let events = test.publisher.broadcaster.stream()
        test.provider.next { _ in HTTPResponse(status: 503) }
        let error = try await failure { try await test.broker.accessToken(for: id) }
        #expect(error?.kind == .unavailable)
        for await event in events {
            #expect(event.word == "failed ada")
            break
        }
        #expect(test.provider.refreshes == 1)
    }
}
