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

/// The shared-device mode and sign-out, as in the tutorials of Microsoft's identity platform.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct SharedDeviceTests {
    private func begin(
        mode: String? = "shared", storage: any AccountStorage = MemoryStorage(), key: MemoryKey? = nil,
        opened: Log<URL> = Log(), _ metadata: JSONObject = [:]
    ) async throws -> (ScopedProvider, AccountStore) {
        var all: JSONObject = [
            "revocation_endpoint": "https://id.example/revoke", "end_session_endpoint": "https://id.example/logout",
        ]
        for member in metadata.members { all[member.name] = member.value == .null ? nil : member.value }
        let test = try ScopedProvider(all)
        test.provider.answer("/revoke") { _ in HTTPResponse(status: 200) }
        var dependencies = test.provider.dependencies()
        dependencies.openBrowser = { opened.append($0) }
        let store = try await test.store(
            types: ["t": .object(ScopedProvider.type(["clientSecret": "s"]))],
            mode.map { ["deviceMode": .string($0)] } ?? [:], storage: storage, custody: key, dependencies: dependencies)
        return (test, store)
    }

    @Test func `the device mode is private unless the settings select shared`() async throws {
        #expect(try await begin(mode: nil).1.deviceMode == .private)
        #expect(try await begin(mode: "private").1.deviceMode == .private)
        #expect(try await begin(mode: "shared").1.deviceMode == .shared)
        for text in ["\"Shared\"", "1", "null"] {
            let object = #"{"deviceMode":\#(text),"types":{"t":{}}}"#
            let fault = #expect(throws: SettingsError.self) {
                try Settings(bytes: Array(object.utf8), source: "s.json")
            }
            #expect(fault?.key == "deviceMode")
        }
    }

    @Test func `a shared device has at most one signed-in user per type`() async throws {
        let (test, store) = try await begin()
        let ada = try await test.signIn(store)
        // The signed-in user is the login hint.
        #expect(try await test.query(store, SignInOptions())["login_hint"] == "ada@contoso.example")
        let error = try await grantFailure { try await test.signIn(store, as: "bob") }
        #expect(error?.kind == .refused)
        #expect(error?.hint == "ada@contoso.example has to sign out first")
        #expect(try await store.accounts().map(\.id) == [ada.id])
        // Bob's tokens are revoked and not saved.
        #expect(test.provider.requests(to: "/revoke").map { $0.form["token"] } == ["rt-2", "at-2"])
        #expect(try await test.signIn(store).id == ada.id)
        _ = try await store.signOut(ada.id)
        #expect(try await test.signIn(store, as: "bob").subject == "bob")
        // The account of the client belongs to no user.
        _ = try await store.signIn(to: "t", by: .clientCredentials)
        #expect(try await store.accounts().count == 2)
    }

    @Test func `after a sign-out on a shared device, the previous account has only its identity`() async throws {
        let storage = MemoryStorage(), key = try MemoryKey()
        let (test, store) = try await begin(storage: storage, key: key)
        let ada = try await test.signIn(store)
        #expect(try await store.previousAccount(ofType: "t") == nil)
        try await store.setUserData("private", for: ada.id)
        try await store.signOut(ada.id)
        #expect(try await store.currentAccount(ofType: "t") == nil)
        let previous = try #require(try await store.previousAccount(ofType: "t"))
        #expect(previous.id == ada.id && previous.subject == "ada" && previous.userName == ada.userName)
        #expect(previous.claims == nil && !previous.canRefresh)
        #expect(try previous.userData(as: String.self) == nil)
        #expect(try await store.accounts().isEmpty)
        #expect(try await grantFailure { try await store.accessToken(for: previous.id) }?.kind == .unknownAccount)
        // Another process sees that another user uses the device.
        let other = try await AccountStore(
            settings: store.settings, storage: storage, custody: key, dependencies: test.provider.dependencies())
        try await test.signIn(store, as: "bob")
        #expect(try await other.currentAccount(ofType: "t")?.subject == "bob")
        #expect(try await other.previousAccount(ofType: "t")?.subject == "ada")
        try await store.signOut(try #require(try await store.currentAccount(ofType: "t")).id)
        // The same user again is not the previous one.
        try await test.signIn(store, as: "bob")
        #expect(try await other.previousAccount(ofType: "t") == nil)
        // The storage has neither the name nor a token.
        let saved = try #require(await storage.value("signed-out:t"))
        #expect(!String(decoding: saved, as: UTF8.self).contains("bob"))
    }

    @Test func `on a private device a removed account is not the previous one`() async throws {
        let (test, store) = try await begin(mode: "private")
        try await store.signOut(try await test.signIn(store).id)
        try await test.signIn(store, as: "bob")
        #expect(try await store.previousAccount(ofType: "t") == nil)
    }

    @Test func `a sign-in that started before another user signed in is rejected on a shared device`() async throws {
        let (test, store) = try await begin()
        let bobs = try await store.prepareSignIn(to: "t")
        try await test.signIn(store)
        test.change {
            $0.subject = "bob"
            $0.nonce = GrantProvider.query(bobs.url)["nonce"]
        }
        let redirect = try #require(URL(string: "\(bobs.redirectURI.text)?code=c-1&state=\(bobs.id)"))
        #expect(try await grantFailure { try await store.handleRedirect(redirect) }?.kind == .refused)
        #expect(try await store.accounts().map(\.subject) == ["ada"])
    }

    @Test func `the account of the client has no browser session to end`() async throws {
        let opened = Log<URL>()
        let (test, store) = try await begin(opened: opened)
        let report = try await store.signOut(try await store.signIn(to: "t", by: .clientCredentials).id)
        #expect(report.revocation == .succeeded && report.browserSession == .skipped)
        #expect(opened.all.isEmpty && test.tokenRequests.count == 1)
    }

    @Test func `a sign-out on a shared device is published to all processes and ends the browser session`() async throws
    {
        let storage = MemoryStorage(), key = try MemoryKey(), opened = Log<URL>()
        let (test, store) = try await begin(storage: storage, key: key, opened: opened)
        let ada = try await test.signIn(store)
        let other = try await AccountStore(
            settings: store.settings, storage: storage, custody: key, dependencies: test.provider.dependencies())
        _ = try await other.accessToken(for: ada.id)
        let events = other.events()
        let report = try await store.signOut(ada.id)
        #expect(report.browserSession == .succeeded)
        #expect(opened.all.map(\.path) == ["/logout"])
        var iterator = events.makeAsyncIterator()
        guard case .removed(let id, "t")? = await iterator.next() else {
            Issue.record("the sign-out was not published")
            return
        }
        #expect(id == ada.id)
        #expect(try await grantFailure { try await other.accessToken(for: ada.id) }?.kind == .unknownAccount)
    }

    @Test func `on a private device the browser session ends only on request`() async throws {
        let opened = Log<URL>()
        let (test, store) = try await begin(mode: "private", opened: opened)
        let first = try await store.signOut(try await test.signIn(store).id)
        #expect(first.browserSession == .skipped)
        #expect(first.endSessionURL != nil)
        #expect(opened.all.isEmpty)
        let second = try await store.signOut(try await test.signIn(store).id, endingBrowserSession: true)
        #expect(second.browserSession == .succeeded)
        #expect(opened.all == [second.endSessionURL])
    }

    @Test func `the sign-out report has the result of each step`() async throws {
        let (test, store) = try await begin(["revocation_endpoint": .null, "end_session_endpoint": .null])
        let ada = try await test.signIn(store)
        let report = try await store.signOut(ada.id)
        #expect(report.account.id == ada.id)
        #expect(report.revocation == .notOffered)
        #expect(report.browserSession == .notOffered)
        #expect("\(report)".hasSuffix("revocation: notOffered, browser session: notOffered"))
    }

    @Test func `the sign-out report distinguishes failed steps from steps that are not offered`() async throws {
        let storage = MemoryStorage(), key = try MemoryKey()
        let (test, store) = try await begin(storage: storage, key: key)
        let ada = try await test.signIn(store)
        var dependencies = Dependencies(transport: Providers(all: []), environment: [:])
        dependencies.openBrowser = { _ in }
        let offline = try await AccountStore(
            settings: store.settings, storage: storage, custody: key, dependencies: dependencies)
        let report = try await offline.signOut(ada.id)
        guard case .failed = report.revocation, case .failed = report.browserSession else {
            Issue.record("\(report)")
            return
        }
        #expect(try await store.accounts().isEmpty)
    }

    @Test func `a sign-out without the network sends no request`() async throws {
        let opened = Log<URL>()
        let (test, store) = try await begin(opened: opened)
        let ada = try await test.signIn(store)
        let count = test.provider.requests(to: "/revoke").count
        let report = try await store.signOut(ada.id, revoking: false)
        #expect(report.revocation == .skipped && report.browserSession == .skipped)
        #expect(opened.all.isEmpty && test.provider.requests(to: "/revoke").count == count)
    }

    @Test func `a sign-out revokes the tokens for other scopes too`() async throws {
        let (test, store) = try await begin()
        test.change { $0.consented.insert("write") }
        let ada = try await test.signIn(store)
        _ = try await store.accessToken(for: ada.id, scopes: ["write"])
        _ = try await store.signOut(ada.id)
        #expect(test.provider.requests(to: "/revoke").map { $0.form["token"] } == ["rt-2", "at-1", "at-2"])
    }
}
