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
struct SignInCoordinatorTests {
    private let test: Collaborators

    init() throws {
        test = try Collaborators()
        test.provider.change { $0.sendsIDToken = true }
    }

    @Test func `a redirect finds its sign-in by state`() async throws {
        let first = try await test.signIns.prepareSignIn(to: "graph")
        let second = try await test.signIns.prepareSignIn(to: "graph")
        #expect(first.id != second.id)
        let bob = try await test.signIns.handleRedirect(test.provider.approve(second, as: "bob"))
        #expect(bob.subject == "bob")
        #expect(test.signIns.pending.withLock { Array($0.keys) } == [first.id])
        let ada = try await test.signIns.handleRedirect(test.provider.approve(first, as: "ada"))
        #expect(ada.subject == "ada")
        #expect(try await test.storage.count(ofType: "graph") == 2)
    }

    @Test func `the same redirect is accepted once`() async throws {
        let prepared = try await test.signIns.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared)
        let id = try await test.signIns.handleRedirect(redirect).id
        let error = try await failure { try await test.signIns.handleRedirect(redirect) }
        #expect(error?.kind == .redirectRefused)
        #expect(try await test.saved(id)?.signInNeeded == nil)
        #expect(test.provider.count("/token") == 1)
    }

    @Test func `two copies of a redirect at the same time sign in once`() async throws {
        let prepared = try await test.signIns.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared)
        let results = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 { group.addTask { (try? await test.signIns.handleRedirect(redirect)) != nil } }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(results == 1)
        #expect(test.provider.count("/token") == 1)
    }

    @Test(arguments: ["code=c&state=unknown", "code=c", "error=access_denied&state=unknown"])
    func `a redirect with an unknown state is rejected, and the sign-in stays pending`(query: String) async throws {
        let prepared = try await test.signIns.prepareSignIn(to: "graph")
        let error = try await failure {
            try await test.signIns.handleRedirect(FakeProvider.redirect(prepared, query))
        }
        #expect(error?.kind == .redirectRefused)
        #expect(test.provider.count("/token") == 0)
        #expect(try await test.signIns.handleRedirect(test.provider.approve(prepared)).subject == "ada")
    }

    @Test func `an expired sign-in does not accept its redirect`() async throws {
        let prepared = try await test.signIns.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared)
        test.clock.advance(301)
        #expect(try await failure { try await test.signIns.handleRedirect(redirect) }?.kind == .redirectRefused)
        #expect(test.provider.count("/token") == 0)
    }

    @Test func `a cancelled sign-in does not accept its redirect`() async throws {
        let prepared = try await test.signIns.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared)
        #expect(test.signIns.isRedirect(redirect))
        test.signIns.cancel(prepared)
        #expect(!test.signIns.isRedirect(redirect))
        #expect(try await failure { try await test.signIns.handleRedirect(redirect) }?.kind == .redirectRefused)
    }

    @Test func `a failed sign-in is published and saves no account`() async throws {
        let events = test.publisher.broadcaster.stream()
        let prepared = try await test.signIns.prepareSignIn(to: "graph")
        let redirect = FakeProvider.redirect(prepared, "error=access_denied&state=\(prepared.id)")
        #expect(try await failure { try await test.signIns.handleRedirect(redirect) }?.kind == .denied)
        for await event in events {
            #expect(event.word == "sign-in failed graph")
            break
        }
        #expect(try await test.storage.count(ofType: nil) == 0)
    }
}
