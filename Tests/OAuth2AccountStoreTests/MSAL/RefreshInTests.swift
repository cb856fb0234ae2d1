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

/// `refresh_in`: an early refresh in the background.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct RefreshInTests {
    private func begin() async throws -> (ScopedProvider, AccountStore, Account) {
        let test = try ScopedProvider()
        test.change { $0.overlay = ["refresh_in": 1800] }
        let store = try await test.store()
        return (test, store, try await test.signIn(store))
    }

    @Test func `refresh_in refreshes early while callers still get the current token`() async throws {
        let (test, store, ada) = try await begin()
        test.provider.advance(1799)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
        await store.finishPendingRefreshes()
        #expect(test.refreshes.isEmpty)
        test.provider.advance(1)
        let gate = Gate()
        test.change { $0.gate = gate }
        for _ in 0..<20 { #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1")) }
        try await gate.arrival()
        gate.open()
        await store.finishPendingRefreshes()
        #expect(test.refreshes.count == 1)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-2"))
        #expect(test.refreshes.count == 1)
    }

    @Test(arguments: [503, 400])
    func `a failed early refresh is not an error and is retried only after five minutes`(status: Int) async throws {
        let (test, store, ada) = try await begin()
        test.provider.advance(1800)
        test.change {
            $0.refusal = ["error": status == 400 ? "invalid_grant" : "temporarily_unavailable"]
            $0.refusalStatus = status
        }
        let events = store.events()
        for _ in 0..<5 {
            #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
            await store.finishPendingRefreshes()
        }
        #expect(test.refreshes.count == 1)
        #expect(try await store.account(ada.id)?.signInNeeded == nil)
        test.provider.advance(300)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
        await store.finishPendingRefreshes()
        #expect(test.refreshes.count == 2)
        // An expired token requires a refresh, and its error is reported.
        test.provider.advance(1500)
        let error = try await grantFailure { try await store.accessToken(for: ada.id) }
        #expect(error?.kind == (status == 400 ? .signInNeeded(.grantGone) : .unavailable))
        // This is the first event that the store publishes.
        var iterator = events.makeAsyncIterator()
        switch (status, await iterator.next()) {
        case (400, .accessTokenLost?), (503, .accessTokenFailed?): break
        case (_, let event): Issue.record("unexpected event: \(String(describing: event))")
        }
    }

    @Test(arguments: ["-1", "0", "\"x\"", "3600", "99999999999999999999", "null", "[]", "1e400"])
    func `an invalid refresh_in is ignored`(text: String) throws {
        let body = #"{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_in":\#(text)}"#
        let response = HTTPResponse(
            status: 200, fields: ["Content-Type": "application/json"], body: Data(body.utf8))
        guard let answer = try? TokenResponse.read(response) else { return }
        #expect(TokenSet(answer, requested: [], received: Date(timeIntervalSince1970: 0)).refreshIn == nil)
    }

    @Test func `a refresh_in of one second is treated as one minute`() throws {
        let body = #"{"access_token":"a","token_type":"bearer","expires_in":3600,"refresh_in":1}"#
        let response = HTTPResponse(
            status: 200, fields: ["Content-Type": "application/json"], body: Data(body.utf8))
        let tokens = TokenSet(try TokenResponse.read(response), requested: [], received: Date(timeIntervalSince1970: 0))
        #expect(!tokens.isDueEarly(at: Date(timeIntervalSince1970: 59)))
        #expect(tokens.isDueEarly(at: Date(timeIntervalSince1970: 60)))
    }
}
