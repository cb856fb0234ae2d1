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

/// The published cases for successful and failed refreshes. Other tests cover the scenarios of races, crashes, files
/// and keyrings: TokenTests, ProcessTests, BadStoreTests and StoreKeyTests.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct RefreshVectorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let input: JSONObject
        let expect: JSONObject
    }

    /// The omitted cases, with the reason.
    static let leftOut = [
        "RS-008": "a scenario: the account needs a DPoP key",
        "RS-009": "a scenario: the ID token of the case is a placeholder",
    ]

    static func cases(_ kind: String) -> [Case] {
        guard let file = try? VectorFile.object("refresh-and-store.json") else {
            Issue.record("the vector file cannot be read")
            return []
        }
        return (file["cases"]?.array ?? []).compactMap(\.object).compactMap { entry in
            guard let id = entry["id"]?.string, leftOut[id] == nil, let input = entry["input"]?.object,
                input["kind"]?.string == kind, let expect = entry["expect"]?.object
            else { return nil }
            return Case(testDescription: "\(id) \(entry["title"]?.string ?? "")", input: input, expect: expect)
        }
    }

    private func tokens(_ value: JSONValue?, clock: FakeClock) throws -> TokenSet {
        var object = try #require(value?.object)
        if let scope = object["scope"]?.array?.compactMap(\.string) {
            object["scope"] = .string(scope.joined(separator: " "))
        }
        return TokenSet(try TokenResponse.read(.json(.object(object))), requested: [], received: clock.now)
    }

    @Test(arguments: cases("merge"))
    func `a refresh response is merged as its case says`(vector: Case) throws {
        let clock = FakeClock()
        let stored = try tokens(vector.input["stored"], clock: clock)
        let answer = try TokenResponse.read(.json(try #require(vector.input["response"])))
        let merged = stored.refreshed(by: TokenSet(answer, requested: stored.scope, received: clock.now))
        let after = try #require(vector.expect["stored_after"]?.object)
        if let token = after["access_token"]?.string { #expect(merged.accessToken.value == token) }
        if let token = after["refresh_token"]?.string { #expect(merged.refreshToken?.value == token) }
        if let scope = after["scope"]?.array { #expect(merged.scope.tokens == scope.compactMap(\.string)) }
    }

    @Test(arguments: cases("failure"))
    func `a failed refresh changes the account as its case says`(vector: Case) async throws {
        let test = try await TestStore()
        var stored = try #require(vector.input["stored"]?.object)
        stored["token_type"] = "bearer"
        var record = AccountRecord(
            id: Account.ID(rawValue: "a"), type: "graph", issuer: test.provider.issuer, clientID: "client",
            tokens: try tokens(.object(stored), clock: test.clock), created: test.clock.now)
        record.userData = Data("[1]".utf8)
        _ = try await test.store.repository.insert(record)
        let before = try await test.store.storage.record("a")
        test.clock.advance(3600)
        let http = try #require(vector.input["http"]?.object)
        test.provider.next { _ in
            guard let status = http["status"]?.number?.double else {
                throw HTTPTransportError(.cannotConnect, host: "op.example.com", reason: "no")
            }
            var response = HTTPResponse(status: Int(status), body: Data((http["body"]?.string ?? "").utf8))
            for member in http["headers"]?.object?.members ?? [] { response.fields[member.name] = member.value.string }
            return response
        }
        let error = try #require(await failure { try await test.token(record.id) })
        let account = try #require(await test.store.account(record.id))
        #expect(try account.userData(as: Int.self) == 1)
        if let isUnchanged = vector.expect["stored_unchanged"]?.bool {
            let after = try await test.store.storage.record("a")
            #expect((after == before) == isUnchanged)
        }
        if let isRetryable = vector.expect["retryable"]?.bool {
            if case .retryLater = error.remedy {
                #expect(isRetryable)
            } else {
                #expect(!isRetryable, "\(error.remedy)")
            }
        }
        if let action = vector.expect["user_action"] {
            #expect(action == "login" && vector.expect["refresh_token"] == "removed or marked dead")
            #expect(error.remedy == .signInAgain)
            #expect(account.signInNeeded == .grantGone)
        }
    }
}
