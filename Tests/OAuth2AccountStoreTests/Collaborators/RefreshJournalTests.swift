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
struct RefreshJournalTests {
    private let test: Collaborators
    private let record: AccountRecord
    private var journal: RefreshJournal { test.journal }
    private let name = "attempt:ada"

    init() throws {
        test = try Collaborators()
        record = try test.record()
    }

    @Test func `the entry is in the storage while the request is in progress`() async throws {
        let entry = try #require(try await journal.write(record))
        #expect(!entry.isRepeated)
        let written = try await journal.send(entry) { try await test.storage.value(name) }
        #expect(written?.count == RecordIdentity.byteCount)
        #expect(try await test.storage.value(name) != nil, "it is removed only after the save")
        try await journal.remove(entry.name)
        #expect(try await test.storage.value(name) == nil)
    }

    @Test(
        arguments: [
            OAuth2Error.provider(ProviderError(code: .invalidGrant)), OAuth2Error.http(status: 503, retryAfter: nil),
            OAuth2Error.http(status: 500, retryAfter: nil), OAuth2Error.http(status: 429, retryAfter: .seconds(1)),
            HTTPTransportError(.cannotConnect, host: "op.example.com", reason: "no"),
        ] as [any Error])
    func `a request that certainly returned no tokens removes its entry`(error: any Error) async throws {
        let entry = try await journal.write(record)
        await #expect(throws: (any Error).self) { try await journal.send(entry) { throw error } }
        #expect(try await test.storage.value(name) == nil)
    }

    @Test(
        arguments: [
            OAuth2Error.http(status: 502, retryAfter: nil), OAuth2Error.http(status: 504, retryAfter: nil),
            CancellationError(),
            HTTPTransportError(.connectionLost, host: "op.example.com", reason: "no"),
        ] as [any Error])
    func `a request whose response may be lost keeps its entry`(error: any Error) async throws {
        let entry = try await journal.write(record)
        await #expect(throws: (any Error).self) { try await journal.send(entry) { throw error } }
        let repeated = try #require(try await journal.write(record))
        #expect(repeated.isRepeated)
        #expect(repeated.reason(.grantGone) == .answerLost)
        #expect(repeated.reason(.interactionRequired) == .interactionRequired)
    }

    @Test func `the entry of an earlier request remains when the second request is rejected`() async throws {
        _ = try await journal.write(record)
        let repeated = try await journal.write(record)
        await #expect(throws: (any Error).self) {
            try await journal.send(repeated) { throw OAuth2Error.provider(ProviderError(code: .invalidGrant)) }
        }
        #expect(try await test.storage.value(name) != nil)
    }

    @Test func `an entry for other tokens is ignored`() async throws {
        _ = try await journal.write(record)
        var refreshed = record
        refreshed.tokens.accessToken = Secret("other")
        let entry = try #require(try await journal.write(refreshed))
        #expect(!entry.isRepeated)
        #expect(entry.reason(.grantGone) == .grantGone)
    }

    @Test func `tokens without a refresh token need no entry`() async throws {
        var record = record
        record.tokens.refreshToken = nil
        #expect(try await journal.write(record) == nil)
        #expect(try await test.storage.value(name) == nil)
    }
}
