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

struct AccountMatcherTests {
    private let test: Collaborators

    init() throws { test = try Collaborators() }

    private func record(_ id: String, _ change: (inout AccountRecord) -> Void = { _ in }) throws -> AccountRecord {
        var record = try test.record(id)
        change(&record)
        return record
    }

    /// Returns an entry of a file whose tokens no account has.
    private func entry(_ change: (inout AccountFile.Entry) -> Void = { _ in }) throws -> AccountFile.Entry {
        var entry = AccountFile.Entry(
            location: "file", tokens: try test.tokens(["access_token": "file", "token_type": "Bearer"]))
        change(&entry)
        return entry
    }

    private func match(
        _ matcher: AccountMatcher, _ change: (inout AccountFile.Entry) -> Void = { _ in }
    ) throws -> String? {
        let entry = try entry(change)
        return matcher.account(of: entry, ImportOrigin(key: entry.key, digest: entry.digest))?.rawValue
    }

    private func match(_ matcher: AccountMatcher, issuer: String?, subject: String) throws -> String? {
        try match(matcher) {
            $0.issuer = issuer
            $0.subject = subject
        }
    }

    @Test func `an account with the same refresh token is the same`() throws {
        var matcher = AccountMatcher()
        let ada = try record("ada")
        matcher.add(ada)
        let same = try match(matcher) { $0.tokens.refreshToken = ada.tokens.refreshToken }
        #expect(same == "ada")
        let other = try match(matcher)
        #expect(other == nil)
    }

    @Test func `an account with the same issuer and subject is the same`() throws {
        var matcher = AccountMatcher()
        matcher.add(try record("ada"))
        let matches = try [
            (test.provider.issuer, "ada"), ("https://other.example", "ada"), (test.provider.issuer, "bob"),
        ]
        .map { try match(matcher, issuer: $0.0, subject: $0.1) }
        #expect(matches == ["ada", nil, nil])
    }

    @Test func `a home account matches only an entry without a subject`() throws {
        var matcher = AccountMatcher()
        matcher.add(try record("ada") { $0.homeAccountID = "u.t" })
        let nameless = try match(matcher) { $0.homeAccountID = "u.t" }
        #expect(nameless == "ada")
        let bob = try match(matcher) {
            $0.homeAccountID = "u.t"
            $0.subject = "bob"
        }
        #expect(bob == nil)
    }

    @Test func `an account of the same import is the same after a refresh`() throws {
        var matcher = AccountMatcher()
        let imported = try entry { $0.key = "nxoauth2:1" }
        matcher.add(
            try record("ada") { $0.imported = ImportOrigin(key: imported.key, digest: imported.digest) })
        let keys = ["nxoauth2:1", "export:ada", "nxoauth2:2", "export:bob"]
        let matches = try keys.map { key in
            try match(matcher) {
                $0.key = key
                $0.tokens.accessToken = Secret("another")
            }
        }
        #expect(matches == ["ada", "ada", nil, nil])
        let unchanged = try match(matcher)
        #expect(unchanged == "ada", "the import has the same tokens")
    }

    @Test func `if several accounts match, the first one is returned`() throws {
        var matcher = AccountMatcher()
        let ada = try record("ada") { $0.homeAccountID = "u.t" }
        matcher.add(ada)
        matcher.add(try record("bob") { $0.homeAccountID = "u.t" })
        let first = try match(matcher) { $0.homeAccountID = "u.t" }
        #expect(first == "ada")
        matcher.remove(ada)
        let removed = try match(matcher, issuer: test.provider.issuer, subject: "ada")
        #expect(removed == nil)
        let bob = try match(matcher, issuer: test.provider.issuer, subject: "bob")
        #expect(bob == "bob")
    }

    @Test func `the client's own account never matches`() throws {
        var matcher = AccountMatcher()
        matcher.add(
            try record("client") { $0.serviceGrant = AccountRecord.ServiceGrant(scope: ["read"], parameters: [:]) })
        let client = try match(matcher, issuer: test.provider.issuer, subject: "client")
        #expect(client == nil)
        #expect(matcher.anyUser == nil)
    }
}
