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

struct AccountRecordTests {
    /// A record with an additional token, as versions before this one saved it.
    private static let text = #"""
        {"clientID":"client","created":821692800,"further":[{"asked":"Mail.Read","key":{"resource":"https://api.example",
        "scope":["mail.read"]},"tokens":{"accessToken":"at-1","received":821692800,"scope":"Mail.Read"}},
        {"asked":"files","key":{"scope":["files"]},"tokens":{"accessToken":"at-2","lifetime":60,"received":821692800,
        "scope":"files"}}],"id":"a1","renewal":{"parameters":{"a":"b"},"scope":"read"},"tokens":{"accessToken":"at-0",
        "received":821692800,"scope":"read"},"type":"t"}
        """#

    private func members(_ text: String) throws -> JSONObject {
        try #require(JSONValue(parsing: Array(text.utf8)).object)
    }

    @Test func `additional tokens of an earlier version have their keys`() throws {
        let record = try JSONDecoder().decode(AccountRecord.self, from: Data(Self.text.utf8))
        let tokens = try #require(record.additionalTokens?.all)
        #expect(
            tokens.map(\.key) == [
                TokenKey(scope: ["mail.read"], resource: "https://api.example"), TokenKey(scope: ["files"]),
            ])
        #expect(tokens.map(\.accessToken) == [Secret("at-1"), Secret("at-2")])
        #expect(tokens[1].lifetime == 60)
        #expect(record.serviceGrant?.scope == ["read"])
        #expect(record.tokens.key == .main)
    }

    @Test func `a saved record has the members that earlier versions read`() throws {
        let record = try JSONDecoder().decode(AccountRecord.self, from: Data(Self.text.utf8))
        let written = String(decoding: try JSONEncoder().encode(record), as: UTF8.self)
        let new = try members(written), old = try members(Self.text)
        #expect(Set(new.members.map(\.name)) == Set(old.members.map(\.name)))
        let entries = try #require(new["further"]?.array).compactMap(\.object)
        for (entry, former) in zip(entries, try #require(old["further"]?.array).compactMap(\.object)) {
            #expect(Set(entry.members.map(\.name)) == ["key", "asked", "tokens"])
            #expect(entry["key"]?.object?["scope"] == former["key"]?.object?["scope"])
            #expect(entry["key"]?.object?["resource"] == former["key"]?.object?["resource"])
            #expect(entry["tokens"]?.object?["accessToken"] == former["tokens"]?.object?["accessToken"])
            #expect(entry["tokens"]?.object?["key"] == nil)
        }
        #expect(try JSONDecoder().decode(AccountRecord.self, from: Data(written.utf8)) == record)
    }

    @Test func `a refresh response without a refresh token or ID token keeps the existing ones`() throws {
        let test = try Collaborators()
        var record = try test.record()
        record.tokens.idToken = Secret("a.b.c")
        record.signInNeeded = .grantGone
        record.refresh(with: try test.tokens(["access_token": "new", "token_type": "Bearer"]))
        #expect(record.tokens.accessToken == Secret("new"))
        #expect(record.tokens.refreshToken == Secret("RT-1"))
        #expect(record.tokens.idToken == Secret("a.b.c"))
        #expect(record.signInNeeded == nil)
    }

    @Test func `a response for another scope changes only the refresh token of the main tokens`() throws {
        let test = try Collaborators()
        var record = try test.record()
        var token = try test.tokens(["access_token": "mail", "token_type": "Bearer", "refresh_token": "RT-2"])
        token.key = TokenKey(scope: ["mail"])
        var expected = record.tokens
        expected.refreshToken = Secret("RT-2")
        record.refresh(with: token)
        #expect(record.tokens == expected)
    }
}
