import Foundation
import OAuth2Protocol
import LodgePlatform
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import ProviderSettings

/// The sign-in of an app with a window, and errors of the app's own functions.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct WebSessionTests {
    /// An error of an app.
    struct AppError: Error, Equatable { let code: Int }

    @Test(arguments: [
        "com.example.app:/callback", "msauth.com.example.app://auth", "https://app.example.com/callback",
        "http://127.0.0.1:7777/callback",
    ])
    func `the window returns the redirect and the account is signed in`(redirectURI: String) async throws {
        let test = try await TestStore(types: [try TestStore.type(redirect: redirectURI)])
        let account = try await test.store.signIn(
            to: "graph",
            by: .webAuthenticationSession { signIn in
                #expect(signIn.url.absoluteString.hasPrefix("https://op.example.com/authorize"))
                #expect(signIn.redirectURI.scheme == redirectURI.split(separator: ":").first.map(String.init))
                let redirect = test.provider.approve(signIn)
                #expect(signIn.isRedirect(redirect) && !signIn.isRedirect(signIn.url))
                return redirect
            })
        #expect(account.subject == "ada")
        #expect(test.store.signIns.pending.withLock { $0.isEmpty })
    }

    @Test func `a user who closes the window cancels the sign-in`() async throws {
        let test = try await TestStore()
        let events = test.store.events()
        let error = try await failure {
            try await test.store.signIn(to: "graph", by: .webAuthenticationSession { _ in throw CancellationError() })
        }
        #expect(error?.kind == .cancelled && error?.remedy == .nothing)
        #expect(test.store.signIns.pending.withLock { $0.isEmpty })
        // The first event is the next sign-in: a cancellation is not published.
        _ = try await test.signIn()
        for await event in events {
            #expect(event.word == "added ada")
            break
        }
    }

    @Test(arguments: ["error=access_denied", "error=access_denied&state=STATE"])
    func `declining in the window throws denied`(query: String) async throws {
        let test = try await TestStore(types: [try TestStore.type(redirect: "https://app.example.com/callback")])
        let error = try await failure {
            try await test.store.signIn(
                to: "graph",
                by: .webAuthenticationSession {
                    FakeProvider.redirect($0, query.replacing("STATE", with: $0.id))
                })
        }
        #expect(error?.kind == .denied)
    }

    @Test func `a window that returns another URL ends the sign-in`() async throws {
        let test = try await TestStore()
        let other = try await test.store.prepareSignIn(to: "graph")
        let error = try await failure {
            try await test.store.signIn(
                to: "graph", by: .webAuthenticationSession { _ in test.provider.approve(other) })
        }
        #expect(error?.kind == .redirectRefused)
        #expect(error?.hint?.description.contains("http://127.0.0.1:7777/callback") == true)
        #expect(test.provider.count("/token") == 0)
        #expect(test.store.signIns.pending.withLock { Array($0.keys) } == [other.id])
    }

    @Test func `a window that returns after the time limit throws timedOut`() async throws {
        let test = try await TestStore()
        let error = try await failure {
            try await test.store.signIn(
                to: "graph",
                by: .webAuthenticationSession {
                    test.clock.advance(301)
                    return test.provider.approve($0)
                })
        }
        #expect(error?.kind == .timedOut)
        #expect(test.provider.count("/token") == 0)
    }

    @Test(arguments: ["web session", "browser", "paste"])
    func `an error of the app's function is the underlying error`(name: String) async throws {
        let test = try await TestStore()
        let method: SignInMethod =
            switch name {
            case "browser": .browser(opening: { _ in throw AppError(code: 7) })
            case "paste": .paste { _ in throw AppError(code: 7) }
            default: .webAuthenticationSession { _ in throw AppError(code: 7) }
            }
        let events = test.store.events()
        let error = try await failure { try await test.store.signIn(to: "graph", by: method) }
        #expect(error?.kind == .callback && error?.remedy == .nothing)
        #expect(error?.underlyingError as? AppError == AppError(code: 7))
        #expect(error?.reason.contains("AppError") == true)
        for await event in events {
            #expect(event.word == "sign-in failed graph")
            break
        }
    }

    @Test func `an error of the app's browser does not show its contents`() throws {
        struct Leak: Error { let token = "s3cr3t" }
        let error = AccountStoreError.callback(Leak(), what: "cannot show the sign-in page")
        var dumped = ""
        dump(error, to: &dumped)
        for text in ["\(error)", String(reflecting: error), dumped, error.localizedDescription] {
            #expect(!text.contains("s3cr3t"))
        }
    }

    @Test func `a cancelled task throws cancelled`() async throws {
        let test = try await TestStore()
        let gate = Gate()
        let task = Task {
            try await test.store.signIn(
                to: "graph",
                by: .webAuthenticationSession { signIn in
                    try await gate.pass()
                    return test.provider.approve(signIn)
                })
        }
        try await gate.arrival()
        task.cancel()
        let error = try await failure { try await task.value }
        #expect(error?.kind == .cancelled)
        #expect(try await test.store.accounts().isEmpty)
    }
}
