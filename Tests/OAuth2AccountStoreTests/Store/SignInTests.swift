import Foundation
import HTTPExchange
import OAuth2Protocol
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite(.timeLimit(.scaled(minutes: 5)))
struct SignInTests {
    @Test func `a sign-in adds an account with the user's names`() async throws {
        let test = try await TestStore()
        let account = try await test.signIn()
        #expect(account.type == "graph")
        #expect(account.issuer == test.provider.issuer)
        #expect(account.subject == "ada")
        #expect(account.userName == "ada@example.com")
        #expect(account.displayName == "Ada")
        #expect(account.scope == ["openid", "read"])
        #expect(account.canRefresh)
        #expect(account.accessTokenExpiry == test.clock.now.addingTimeInterval(3600))
        #expect(try await test.token(account.id) == "AT-2")
        #expect(test.provider.refreshes == 0)
        let form = try #require(test.provider.requests.first { $0.url.path() == "/token" }.map(FakeProvider.form))
        #expect(form["code_verifier"]?.isEmpty == false)
        #expect(form["redirect_uri"] == "http://127.0.0.1:7777/callback")
    }

    @Test func `two concurrent sign-ins of one type both succeed in any order`() async throws {
        let test = try await TestStore()
        let first = try await test.store.prepareSignIn(to: "graph")
        let second = try await test.store.prepareSignIn(to: "graph")
        #expect(first.id != second.id)
        let bob = try await test.store.handleRedirect(test.provider.approve(second, as: "bob"))
        let ada = try await test.store.handleRedirect(test.provider.approve(first, as: "ada"))
        #expect([ada.subject, bob.subject] == ["ada", "bob"])
        #expect(try await test.store.accounts().map(\.subject) == ["bob", "ada"])
    }

    @Test func `the state distinguishes two types with the same redirect URI`() async throws {
        let clock = FakeClock()
        let one = try FakeProvider(issuer: "https://one.example.com", clock: clock)
        let two = try FakeProvider(issuer: "https://two.example.com", clock: clock)
        let test = try await TestStore(
            types: [
                try TestStore.type("one", issuer: one.issuer), try TestStore.type("two", issuer: two.issuer),
            ], provider: one, transport: Providers(all: [one, two]))
        let first = try await test.store.prepareSignIn(to: "one")
        let second = try await test.store.prepareSignIn(to: "two")
        let atTwo = try await test.store.handleRedirect(two.approve(second))
        let atOne = try await test.store.handleRedirect(one.approve(first))
        #expect([atOne.type, atTwo.type] == ["one", "two"])
        #expect([atOne.issuer, atTwo.issuer] == [one.issuer, two.issuer])
        #expect(one.count("/token") == 1 && two.count("/token") == 1)
        // The same subject at two issuers is two accounts.
        #expect(try await test.store.accounts().count == 2)
    }

    @Test func `a redirect is accepted once`() async throws {
        let test = try await TestStore()
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared)
        _ = try await test.store.handleRedirect(redirect)
        let error = try await failure { try await test.store.handleRedirect(redirect) }
        #expect(error?.kind == .redirectRefused)
        #expect(test.provider.count("/token") == 1)
    }

    @Test(arguments: [
        "http://127.0.0.1:7777/callback?code=x", "http://127.0.0.1:7777/callback?code=x&state=",
        "http://127.0.0.1:7777/callback?code=x&state=other",
        "http://127.0.0.1:7777/callback?error=access_denied&state=", "http://127.0.0.1:7777/callback?error=&code=x",
        "http://127.0.0.1:7777/callback?error=access_denied&state=other",
        "http://127.0.0.1:7777/callbackx?code=x&state=STATE", "http://127.0.0.1:7777/callback/?code=x&state=STATE",
        "http://127.0.0.1:7778/callback?code=x&state=STATE", "https://127.0.0.1:7777/callback?code=x&state=STATE",
        "http://evil.example/callback?code=x&state=STATE", "http://127.0.0.1:7777/callback?code=x&state=STATE&state=y",
        "http://127.0.0.1:7777/callback?code=x&code=y&state=STATE",
        "http://127.0.0.1:7777/callback?state=STATE",
        "http://127.0.0.1:7777/callback?code=x&iss=https%3A%2F%2Fevil&state=x",
    ])
    func `an unrelated redirect is rejected and the sign-in stays pending`(address: String) async throws {
        let test = try await TestStore()
        let events = test.store.events()
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let foreign = try #require(URL(string: address.replacing("STATE", with: prepared.id)))
        let error = try await failure { try await test.store.handleRedirect(foreign) }
        #expect(error?.kind == .redirectRefused)
        #expect(test.provider.count("/token") == 0)
        _ = try await test.store.handleRedirect(test.provider.approve(prepared))
        // The first event is the new account.
        var iterator = events.makeAsyncIterator()
        guard case .added? = await iterator.next() else {
            Issue.record("the rejection of an unrelated redirect was published")
            return
        }
    }

    @Test func `a URL is recognized as a redirect only while its sign-in is pending`() async throws {
        let test = try await TestStore()
        let url = try #require(URL(string: "HTTP://127.0.0.1:7777/callback?x=y"))
        let other = try #require(URL(string: "http://127.0.0.1:7777/callbackx?x=y"))
        #expect(!test.store.isRedirect(url))
        let prepared = try await test.store.prepareSignIn(to: "graph")
        #expect(test.store.isRedirect(url))
        #expect(!test.store.isRedirect(other))
        test.store.cancel(prepared)
        #expect(!test.store.isRedirect(url))
        let error = try await failure { try await test.store.handleRedirect(test.provider.approve(prepared)) }
        #expect(error?.kind == .redirectRefused)
    }

    @Test func `access_denied ends the sign-in and changes nothing`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let no = FakeProvider.redirect(prepared, "error=access_denied&error_description=no&state=\(prepared.id)")
        let events = test.store.events()
        let error = try await failure { try await test.store.handleRedirect(no) }
        #expect(error?.kind == .denied)
        #expect(error?.remedy == AccountStoreError.Remedy.nothing)
        #expect(error?.provider?.explanation == "no")
        #expect(try await test.store.accounts() == [ada])
        var iterator = events.makeAsyncIterator()
        guard case .signInFailed("graph", let told)? = await iterator.next() else {
            Issue.record("the error was not published")
            return
        }
        #expect((told as? AccountStoreError)?.kind == .denied)
        let again = try await failure { try await test.store.handleRedirect(no) }
        #expect(again?.kind == .redirectRefused)
    }

    @Test(arguments: ["error=access_denied", "error=access_denied&iss=https%3A%2F%2Fop.example.com"])
    func `an error without a state ends the only pending sign-in`(query: String) async throws {
        let test = try await TestStore(types: [
            try TestStore.type(), try TestStore.type("other", redirect: "http://127.0.0.1:7778/callback"),
        ])
        // This sign-in has a different redirect URI.
        let other = try await test.store.prepareSignIn(to: "other")
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let error = try await failure { try await test.store.handleRedirect(FakeProvider.redirect(prepared, query)) }
        #expect(error?.kind == .denied)
        #expect(test.store.signIns.pending.withLock { Array($0.keys) } == [other.id])
    }

    @Test func `an error without a state leaves two pending sign-ins unchanged`() async throws {
        let test = try await TestStore()
        let first = try await test.store.prepareSignIn(to: "graph")
        let second = try await test.store.prepareSignIn(to: "graph")
        let redirect = FakeProvider.redirect(first, "error=access_denied")
        #expect(try await failure { try await test.store.handleRedirect(redirect) }?.kind == .redirectRefused)
        _ = try await test.store.handleRedirect(test.provider.approve(first))
        _ = try await test.store.handleRedirect(test.provider.approve(second))
    }

    @Test func `an error without a state leaves a sign-in with an https redirect URI pending`() async throws {
        let test = try await TestStore(types: [try TestStore.type(redirect: "https://app.example.com/callback")])
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = FakeProvider.redirect(prepared, "error=access_denied")
        #expect(try await failure { try await test.store.handleRedirect(redirect) }?.kind == .redirectRefused)
        _ = try await test.store.handleRedirect(test.provider.approve(prepared))
    }

    @Test(arguments: [
        ("access_denied", AccountStoreError.Kind.denied), ("login_required", .signInNeeded(.interactionRequired)),
        ("invalid_scope", .settings),
    ])
    func `an error without the required iss parameter ends the sign-in`(code: String, kind: AccountStoreError.Kind)
        async throws
    {
        let test = try await TestStore()
        test.provider.change { $0.metadata["authorization_response_iss_parameter_supported"] = true }
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = FakeProvider.redirect(prepared, "error=\(code)&state=\(prepared.id)")
        #expect(try await failure { try await test.store.handleRedirect(redirect) }?.kind == kind)
        #expect(test.store.signIns.pending.withLock { $0.isEmpty })
    }

    @Test(arguments: ["", "&iss=https%3A%2F%2Fevil.example", "&iss=https%3A%2F%2Fop.example.com%2F"])
    func `a code with a missing or wrong iss ends the sign-in and is not sent`(issuer: String)
        async throws
    {
        let test = try await TestStore()
        test.provider.change { $0.metadata["authorization_response_iss_parameter_supported"] = true }
        let other = try await test.store.prepareSignIn(to: "graph")
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let events = test.store.events()
        let redirect = FakeProvider.redirect(prepared, "code=x&state=\(prepared.id)\(issuer)")
        let error = try await failure { try await test.store.handleRedirect(redirect) }
        #expect(error?.kind == .refused && error?.reason.contains("iss: expected \"https://op.example.com\"") == true)
        #expect(error?.hint?.description.hasPrefix("no code was sent") == true)
        #expect(test.provider.count("/token") == 0)
        var iterator = events.makeAsyncIterator()
        guard case .signInFailed("graph", _)? = await iterator.next() else {
            Issue.record("the failure was not published")
            return
        }
        // The response of the right issuer is too late, and the other sign-in stays pending.
        #expect(test.store.signIns.pending.withLock { Array($0.keys) } == [other.id])
        let own = test.provider.approve(prepared)
        #expect(try await failure { try await test.store.handleRedirect(own) }?.kind == .redirectRefused)
        #expect(test.provider.count("/token") == 0)
    }

    @Test func `an error of another issuer ends the sign-in and names both issuers`() async throws {
        let test = try await TestStore()
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = FakeProvider.redirect(
            prepared, "error=access_denied&iss=https%3A%2F%2Fevil.example&state=\(prepared.id)")
        let error = try await failure { try await test.store.handleRedirect(redirect) }
        #expect(error?.kind == .denied)
        #expect(error?.reason.hasPrefix("access_denied; it comes from a different issuer") == true)
        #expect(error?.reason.contains("https://evil.example") == true)
        #expect(test.store.signIns.pending.withLock { $0.isEmpty })
    }

    @Test func `a redirect after the timeout is rejected`() async throws {
        let test = try await TestStore()
        var options = SignInOptions()
        options.timeout = .seconds(60)
        let prepared = try await test.store.prepareSignIn(to: "graph", options: options)
        test.clock.advance(61)
        let error = try await failure { try await test.store.handleRedirect(test.provider.approve(prepared)) }
        #expect(error?.kind == .redirectRefused)
        #expect(test.provider.count("/token") == 0)
        #expect(!test.store.isRedirect(prepared.url))
    }

    @Test func `another sign-in of the same user updates the account`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn("ada")
        try await test.store.setUserData(["pinned": 3], for: ada.id)
        try await test.signIn("bob")
        test.provider.change { $0.claims = ["name": "Countess Lovelace"] }
        let again = try await test.signIn("ada")
        #expect(again.id == ada.id && again.position == ada.position && again.created == ada.created)
        #expect(again.displayName == "Countess Lovelace")
        #expect(try again.userData(as: [String: Int].self) == ["pinned": 3])
        #expect(try await test.store.accounts().map(\.subject) == ["ada", "bob"])
        #expect(try await test.store.currentAccount(ofType: "graph")?.id == ada.id)
    }

    @Test func `concurrent sign-ins of the same user add one account`() async throws {
        let test = try await TestStore()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { try await test.signIn("ada") } }
            try await group.waitForAll()
        }
        #expect(try await test.store.accounts().count == 1)
    }

    /// Returns a type with endpoints but no issuer.
    private func endpoints() throws -> AccountType {
        var type = try TestStore.type()
        type.provider = .endpoints
        type.scope = ["read"]
        type.endpoints = AccountType.Endpoints(
            authorization: URL(string: "https://op.example.com/authorize"),
            token: URL(string: "https://op.example.com/token"))
        return type
    }

    @Test func `without an issuer in the settings the issuer of the redirect is saved and not checked`() async throws {
        let test = try await TestStore(types: [try endpoints()])
        test.provider.change { $0.sendsIDToken = false }
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared).absoluteString + "&iss=https%3A%2F%2Fop.example.com%2Fa"
        let account = try await test.store.handleRedirect(try #require(URL(string: redirect)))
        #expect(account.issuer == nil && account.redirectIssuer == "https://op.example.com/a")
        // A different issuer adds no second account.
        #expect(try await test.signIn().id == account.id)
    }

    @Test func `an expected issuer is checked without discovery`() async throws {
        var type = try endpoints()
        type.expectedIssuer = "https://op.example.com"
        let test = try await TestStore(types: [type])
        test.provider.change { $0.sendsIDToken = false }
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared).absoluteString
        let foreign = try #require(URL(string: redirect + "&iss=https%3A%2F%2Fevil.example"))
        #expect(try await failure { try await test.store.handleRedirect(foreign) }?.kind == .refused)
        let own = test.provider.approve(try await test.store.prepareSignIn(to: "graph")).absoluteString
        let account = try await test.store.handleRedirect(
            try #require(URL(string: own + "&iss=https%3A%2F%2Fop.example.com")))
        #expect(account.issuer == "https://op.example.com" && account.redirectIssuer == nil)
        #expect(test.provider.requests.allSatisfy { !$0.url.path().contains("well-known") })
    }

    @Test(arguments: ["https://op.example.com", "https://op.example.com/"])
    func `an endpoint that only the metadata of RFC 8414 lists is found if its issuer is the same`(issuer: String)
        async throws
    {
        let test = try await TestStore()
        test.provider.change {
            $0.offersRevocation = false
            $0.oauthMetadata = [
                "issuer": .string(issuer), "revocation_endpoint": "https://op.example.com/revoke",
                "token_endpoint": "https://op.example.com/other",
            ]
        }
        let path = "/.well-known/oauth-authorization-server"
        let account = try await test.signIn()
        // The sign-in does not need the missing endpoint.
        #expect(test.provider.count(path) == 0)
        let report = try await test.store.signOut(account.id, revoking: true)
        let isSame = issuer == test.provider.issuer
        #expect(report.revocation == (isSame ? .succeeded : .notOffered))
        #expect(test.provider.revoked.isEmpty != isSame)
        let other = try await test.signIn("bob")
        _ = try await test.store.signOut(other.id, revoking: true)
        #expect(test.provider.count(path) == 1 && test.provider.count("/other") == 0)
    }

    @Test func `a provider without user identities has one account per type`() async throws {
        let type = try endpoints()
        let provider = try FakeProvider(clock: FakeClock())
        provider.change { $0.sendsIDToken = false }
        let test = try await TestStore(types: [type], provider: provider)
        let first = try await test.signIn()
        #expect(first.subject == nil && first.issuer == nil)
        #expect(try await test.signIn().id == first.id)
    }

    @Test func `names missing in the ID token come from userinfo, and a different subject ends the sign-in`()
        async throws
    {
        let test = try await TestStore()
        test.provider.change { $0.claims = ["name": .null, "preferred_username": .null] }
        let ada = try await test.signIn("ada")
        #expect(ada.displayName == "Ada Lovelace" && ada.userName == "ada@example.com")
        let error = try await failure { try await test.signIn("bob") }
        #expect(error?.kind == .invalidAnswer)
        #expect(error?.reason.contains("another subject") == true)
        #expect(try await test.store.accounts().map(\.subject) == ["ada"])
        // No account has the tokens of the second sign-in.
        #expect(test.provider.revoked == ["RT-4", "AT-4"])
    }

    @Test func `a read-only store is detected before the browser opens`() async throws {
        let storage = FailingStorage()
        let test = try await TestStore(storage: storage)
        storage.change { $0.isReadOnly = true }
        let error = try await failure { try await test.store.prepareSignIn(to: "graph") }
        #expect(error?.kind == .storage(.full))
    }

    @Test func `an unknown account type suggests the closest name`() async throws {
        let test = try await TestStore()
        let error = try await failure { try await test.store.prepareSignIn(to: "grpah") }
        #expect(error?.kind == .unknownType)
        #expect(error?.hint == "did you mean graph?")
    }

    @Test func `the browser sign-in gets its redirect on the loopback listener`() async throws {
        let test = try await TestStore(types: [try TestStore.type(redirect: "http://127.0.0.1/callback")])
        let provider = test.provider
        provider.change { $0.claims = ["preferred_username": "<b>\u{202E}ada"] }
        let pages = Log<HTTPResponse>(), rejections = Log<String>()
        let account = try await test.store.signIn(
            to: "graph",
            by: .browser(
                showing: { prepared in
                    let transport = CurlTransport()
                    let foreign = FakeProvider.redirect(prepared, "code=x&state=y")
                    pages.append(try await transport.send(HTTPRequest(.get, foreign)))
                    pages.append(try await transport.send(HTTPRequest(.post, provider.approve(prepared))))
                    // The redirect ends the sign-in, which cancels this task, so another task reads the whole page.
                    try await Task {
                        pages.append(try await transport.send(HTTPRequest(.get, provider.approve(prepared))))
                    }.value
                    // This never ends: the sign-in does not wait for it.
                    try await Gate().pass()
                }, rejecting: { rejections.append($0.reason) }))
        #expect(rejections.all.count == 1)
        #expect(rejections.all.first?.contains("does not match a pending sign-in") == true)
        #expect(account.label == "<b>\u{202E}ada")
        try await until { pages.all.count == 3 }
        #expect(pages.all.map(\.status) == [400, 405, 200])
        let page = String(decoding: pages.all[2].body, as: UTF8.self)
        #expect(page.contains("Signed in") && !page.contains("<b>") && !page.contains("\u{202E}"))
    }

    @Test func `a browser that cannot be opened ends the sign-in immediately`() async throws {
        let test = try await TestStore(types: [try TestStore.type(redirect: "http://127.0.0.1/callback")])
        let error = try await failure {
            try await test.store.signIn(
                to: "graph", by: .browser(opening: { _ in throw BrowserError(description: "no display") }))
        }
        #expect(error?.what == "cannot open the browser")
        #expect(error?.reason == "no display")
        #expect(test.store.signIns.pending.withLock { $0.isEmpty })
    }
}
