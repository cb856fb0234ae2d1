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

/// Imported accounts without a subject, and the first sign-in of their user.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct UnverifiedAccountTests {
    private func take(_ accounts: [JSONObject], _ store: AccountStore) async throws {
        let file: JSONValue = [
            "format": "oauth2-accounts", "version": 1, "accounts": .array(accounts.map { .object($0) }),
        ]
        let report = try await store.importAccounts(try AccountFile(parsing: Array(file.text().utf8), source: "f"))
        #expect(report.count == accounts.count, "\(report.items)")
    }

    private func account(_ number: Int, _ more: JSONObject = [:]) -> JSONObject {
        var object: JSONObject = [
            "id": .string("id-\(number)"), "type": "graph", "clientId": "client", "userName": "Ada@example.com",
            "label": "work", "accessToken": .string("AT-f\(number)"), "refreshToken": .string("RT-f\(number)"),
        ]
        for member in more.members { object[member.name] = member.value }
        return object
    }

    private func test() async throws -> TestStore {
        let test = try await TestStore()
        test.provider.change { $0.claims = ["preferred_username": "ada@example.com"] }
        return test
    }

    @Test(arguments: [nil, "https://op.example.com"])
    func `the first sign-in of the user verifies the imported account and keeps its ID and name`(issuer: String?)
        async throws
    {
        let test = try await test()
        try await take([account(1, issuer.map { ["issuer": .string($0)] } ?? [:])], test.store)
        let before = try #require(try await test.store.accounts().first)
        let ada = try await test.signIn("ada")
        #expect(ada.id == before.id && ada.subject == "ada" && ada.nickname == "work")
        #expect(try await test.store.accounts().count == 1)
        // After the sign-in the subject identifies the user. The same name with another subject is a different user.
        #expect(try await test.signIn("ada").id == ada.id)
        #expect(try await test.signIn("another").id != ada.id)
        #expect(try await test.store.accounts().count == 2)
    }

    @Test(
        arguments: [
            ["userName": "bob@example.com"], ["issuer": "https://other.example"], ["userName": .null],
        ] as [JSONObject])
    func `a sign-in does not take over an imported account with another user name or issuer`(more: JSONObject)
        async throws
    {
        let test = try await test()
        try await take([account(1, more)], test.store)
        let before = try #require(try await test.store.accounts().first)
        #expect(try await test.signIn("ada").id != before.id)
        let tokens = try #require(try await test.savedTokens(before.id))
        #expect(tokens.refreshToken == Secret("RT-f1"))
    }

    @Test func `if two imported accounts match, the sign-in takes over neither`() async throws {
        let test = try await test()
        try await take([account(1), account(2)], test.store)
        let before = Set(try await test.store.accounts().map(\.id))
        #expect(before.count == 2)
        let ada = try await test.signIn("ada")
        #expect(!before.contains(ada.id))
    }

    @Test func `a sign-out sends the tokens only to the provider that issued them`() async throws {
        let test = try await test()
        try await take(
            [account(1, ["issuer": "https://former.example", "tokenOrigin": "https://former.example"])], test.store)
        let before = try #require(try await test.store.accounts().first)
        let report = try await test.store.signOut(before.id)
        guard case .failed(let reason) = report.revocation else {
            Issue.record("\(report.revocation)")
            return
        }
        #expect(reason.contains("now name the provider"))
        #expect(
            !test.provider.requests.contains { String(decoding: $0.body ?? Data(), as: UTF8.self).contains("RT-f1") })
    }
}
