import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import LodgePlatform
import StorageSuite
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import ProviderSettings
@testable import SealedStorage

/// Sign-ins of many visitors of a server, with one process or several.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct ServerSignInTests {
    private let callback = "https://app.example.com/callback"

    /// Creates two processes of a server with one storage and one key.
    private func workers(
        _ type: AccountType? = nil, second: AccountType? = nil, maximum: Int = 1_000
    ) async throws -> (TestStore, TestStore, MemoryStorage) {
        let storage = MemoryStorage()
        let type = try type ?? TestStore.type(redirect: callback)
        let one = try await TestStore(types: [type], storage: storage, maximumPendingSignIns: maximum)
        let two = try await TestStore(types: [second ?? type], storage: storage, provider: one.provider)
        return (one, two, storage)
    }

    @Test func `two hundred visitors sign in at the same time, each to their own account`() async throws {
        let test = try await TestStore(types: [try TestStore.type(redirect: callback)])
        let prepared = try await withThrowingTaskGroup(of: (Int, PreparedSignIn).self) { group in
            for visitor in 0..<200 {
                group.addTask { (visitor, try await test.store.prepareSignIn(to: "graph")) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (visitor, signIn) in prepared {
                group.addTask {
                    let redirect = test.provider.approve(signIn, as: "visitor-\(visitor)")
                    let account = try await test.store.handleRedirect(redirect, for: signIn.id)
                    #expect(account.subject == "visitor-\(visitor)")
                }
            }
            try await group.waitForAll()
        }
        #expect(try await test.store.accounts().count == 200)
        #expect(test.provider.count("/token") == 200)
    }

    @Test func `a sign-in makes two durable writes: the check before it, and the account`() async throws {
        let directory = try TemporaryDirectory()
        let storage = SQLiteStorage(directory: directory.store)
        let test = try await TestStore(storage: storage)
        // The file change counter is the number of transactions (the SQLite database file format, section 1.3.7).
        func transactions() throws -> Int {
            let head = try Data(contentsOf: URL(filePath: storage.location)).prefix(28)
            return head.dropFirst(24).reduce(0) { $0 << 8 | Int($1) }
        }
        // The first one also reserves space for several accounts.
        let ada = try await test.signIn("ada")
        for (user, current) in [("bob", "bob"), ("eve", "eve"), ("ada", "ada")] {
            let before = try transactions()
            let prepared = try await test.store.prepareSignIn(to: "graph")
            #expect(try transactions() == before + 1)
            _ = try await test.store.handleRedirect(test.provider.approve(prepared, as: user))
            #expect(try transactions() == before + 2)
            #expect(try await test.store.currentAccount(ofType: "graph")?.subject == current)
            #expect(try await test.store.activeAccount()?.subject == current)
        }
        #expect(try await test.store.previousAccount(ofType: "graph")?.subject == "eve")
        #expect(try await test.store.currentAccount(ofType: "graph")?.id == ada.id)
        withExtendedLifetime(directory) {}
    }

    @Test func `a thousand requests for two hundred expired accounts cause two hundred refreshes`() async throws {
        let (one, two, _) = try await workers()
        var ids: [Account.ID] = []
        for user in 0..<200 { ids.append(try await one.signIn("user-\(user)").id) }
        for round in 1...2 {
            one.clock.advance(3600)
            let tokens = try await withThrowingTaskGroup(of: (Account.ID, String).self) { group in
                for request in 0..<1000 {
                    let id = ids[request % ids.count]
                    // The first round has one process. In the second one, both refresh the same accounts.
                    let worker = round == 2 && request / ids.count % 2 == 1 ? two : one
                    group.addTask { (id, try await worker.token(id)) }
                }
                return try await group.reduce(into: [Account.ID: Set<String>]()) { $0[$1.0, default: []].insert($1.1) }
            }
            #expect(tokens.count == 200 && tokens.values.allSatisfy { $0.count == 1 })
            #expect(Set(tokens.values.flatMap { $0 }).count == 200)
            #expect(one.provider.refreshes == 200 * round)
        }
    }

    @Test func `a sign-in beyond the maximum is rejected, and the others finish`() async throws {
        let test = try await TestStore(maximumPendingSignIns: 2)
        #expect(test.store.maximumPendingSignIns == 2)
        let first = try await test.store.prepareSignIn(to: "graph")
        test.clock.advance(100)
        let second = try await test.store.prepareSignIn(to: "graph")
        let error = try await failure { try await test.store.prepareSignIn(to: "graph") }
        #expect(error?.kind == .tooManySignIns)
        // The first one expires five minutes after its start.
        #expect(error?.remedy == .retryLater(after: .seconds(200)))
        _ = try await test.store.handleRedirect(test.provider.approve(first, as: "ada"))
        _ = try await test.store.handleRedirect(test.provider.approve(second, as: "bob"))
        #expect(try await test.store.accounts().map(\.subject) == ["ada", "bob"])
    }

    @Test func `an expired sign-in does not count`() async throws {
        let test = try await TestStore(maximumPendingSignIns: 1)
        _ = try await test.store.prepareSignIn(to: "graph")
        test.clock.advance(301)
        let next = try await test.store.prepareSignIn(to: "graph")
        _ = try await test.store.handleRedirect(test.provider.approve(next))
    }

    @Test func `a rejected sign-in sends no request`() async throws {
        let test = try await TestStore(maximumPendingSignIns: 0)
        #expect(try await failure { try await test.store.prepareSignIn(to: "graph") }?.kind == .tooManySignIns)
        #expect(test.provider.requests.isEmpty)
    }

    @Test func `the redirect of another visitor is rejected, and both sign-ins continue to wait`() async throws {
        let test = try await TestStore(types: [try TestStore.type(redirect: callback)])
        let mallory = try await test.store.prepareSignIn(to: "graph")
        let victim = try await test.store.prepareSignIn(to: "graph")
        let link = test.provider.approve(mallory, as: "mallory")
        let error = try await failure { try await test.store.handleRedirect(link, for: victim.id) }
        #expect(error?.kind == .redirectRefused && error?.reason.contains("a different sign-in") == true)
        #expect(test.provider.count("/token") == 0)
        let own = test.provider.approve(victim, as: "victim")
        #expect(try await test.store.handleRedirect(own, for: victim.id).subject == "victim")
        #expect(try await test.store.handleRedirect(link, for: mallory.id).subject == "mallory")
    }

    @Test(arguments: ["", "unknown"])
    func `a redirect for a sign-in that does not wait is rejected`(id: String) async throws {
        let test = try await TestStore()
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared)
        #expect(try await failure { try await test.store.handleRedirect(redirect, for: id) }?.kind == .redirectRefused)
        #expect(try await test.store.handleRedirect(redirect, for: prepared.id).subject == "ada")
    }

    @Test func `an error without a state ends only the expected sign-in`() async throws {
        let test = try await TestStore()
        let first = try await test.store.prepareSignIn(to: "graph")
        let second = try await test.store.prepareSignIn(to: "graph")
        let redirect = FakeProvider.redirect(first, "error=access_denied")
        #expect(try await failure { try await test.store.handleRedirect(redirect, for: second.id) }?.kind == .denied)
        #expect(test.store.signIns.pending.withLock { Array($0.keys) } == [first.id])
    }

    @Test(arguments: StorageKind.allCases)
    func `another worker finishes a sealed sign-in`(kind: StorageKind) async throws {
        let (storage, directory) = try kind.make()
        let type = try TestStore.type(redirect: callback)
        let one = try await TestStore(types: [type], storage: storage)
        let second: any AccountStorage = kind == .sqlite ? SQLiteStorage(directory: directory.store) : storage
        let two = try await TestStore(types: [type], storage: second, provider: one.provider)
        let prepared = try await one.store.prepareSignIn(to: "graph")
        let redirect = one.provider.approve(prepared)
        let cookie = try one.store.seal(prepared)
        #expect(
            cookie.utf8.allSatisfy { $0 == 0x2D || $0 == 0x5F || Character(Unicode.Scalar($0)).isASCIILetterOrDigit })
        #expect(try await failure { try await one.store.handleRedirect(redirect) }?.kind == .redirectRefused)
        let account = try await two.store.handleRedirect(redirect, sealed: cookie)
        #expect(account.subject == "ada")
        #expect(try await one.store.accounts().map(\.id) == [account.id])
        let again = try await failure { try await one.store.handleRedirect(redirect, sealed: cookie) }
        #expect(again?.kind == .redirectRefused && one.provider.count("/token") == 1)
    }

    @Test func `a sealed sign-in needs no memory`() async throws {
        let (one, _, _) = try await workers(maximum: 1)
        var sealed: [(PreparedSignIn, String)] = []
        for _ in 0..<20 {
            let prepared = try await one.store.prepareSignIn(to: "graph")
            sealed.append((prepared, try one.store.seal(prepared)))
        }
        for (number, (prepared, cookie)) in sealed.enumerated() {
            let redirect = one.provider.approve(prepared, as: "visitor-\(number)")
            #expect(try await one.store.handleRedirect(redirect, sealed: cookie).subject == "visitor-\(number)")
        }
    }

    @Test func `a sealed sign-in is finished once by all workers`() async throws {
        let (one, two, _) = try await workers()
        let prepared = try await one.store.prepareSignIn(to: "graph")
        let redirect = one.provider.approve(prepared)
        let cookie = try one.store.seal(prepared)
        let finished = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<8 {
                let store = number % 2 == 0 ? one.store : two.store
                group.addTask { (try? await store.handleRedirect(redirect, sealed: cookie)) != nil }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(finished == 1)
        // A second use of the code would make the provider revoke the tokens.
        #expect(one.provider.count("/token") == 1)
        let error = try await failure { try await two.store.handleRedirect(redirect, sealed: cookie) }
        #expect(error?.kind == .redirectRefused)
    }

    @Test func `a redirect of another visitor does not finish a sealed sign-in`() async throws {
        let (one, two, _) = try await workers()
        let mallory = one.provider.approve(try await one.store.prepareSignIn(to: "graph"), as: "mallory")
        let prepared = try await one.store.prepareSignIn(to: "graph")
        let cookie = try one.store.seal(prepared)
        let error = try await failure { try await two.store.handleRedirect(mallory, sealed: cookie) }
        #expect(error?.kind == .redirectRefused && error?.reason.contains("a different sign-in") == true)
        #expect(one.provider.count("/token") == 0)
        #expect(try await two.store.handleRedirect(one.provider.approve(prepared), sealed: cookie).subject == "ada")
    }

    @Test func `a user who declines ends a sealed sign-in`() async throws {
        let (one, two, _) = try await workers()
        let prepared = try await one.store.prepareSignIn(to: "graph")
        let cookie = try one.store.seal(prepared)
        let declined = FakeProvider.redirect(prepared, "error=access_denied&state=\(prepared.id)")
        #expect(try await failure { try await two.store.handleRedirect(declined, sealed: cookie) }?.kind == .denied)
        let late = one.provider.approve(prepared)
        #expect(
            try await failure { try await one.store.handleRedirect(late, sealed: cookie) }?.kind == .redirectRefused)
    }

    @Test func `a sealed sign-in expires`() async throws {
        let (one, two, _) = try await workers()
        let prepared = try await one.store.prepareSignIn(to: "graph")
        let cookie = try one.store.seal(prepared)
        one.clock.advance(301)
        let redirect = one.provider.approve(prepared)
        #expect(try await failure { try await two.store.handleRedirect(redirect, sealed: cookie) }?.kind == .timedOut)
        #expect(one.provider.count("/token") == 0)
    }

    @Test func `a changed text or a text of another store finishes no sign-in`() async throws {
        let (one, two, _) = try await workers()
        let prepared = try await one.store.prepareSignIn(to: "graph")
        let redirect = one.provider.approve(prepared)
        let cookie = try one.store.seal(prepared)
        let foreign = try await TestStore(
            types: [try TestStore.type(redirect: callback)], custody: TestStore.key(8), provider: one.provider)
        let other = try await foreign.store.prepareSignIn(to: "graph")
        var texts = ["", "x", "====", String(repeating: "A", count: 10_000), try foreign.store.seal(other)]
        for index in [0, 20, 40, cookie.count - 2] {
            var bytes = Array(cookie.utf8)
            bytes[index] = bytes[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            texts.append(String(decoding: bytes, as: UTF8.self))
        }
        for text in texts {
            let error = try await failure { try await two.store.handleRedirect(redirect, sealed: text) }
            #expect(error?.kind == .redirectRefused)
        }
        #expect(one.provider.count("/token") == 0)
        _ = try await two.store.handleRedirect(redirect, sealed: cookie)
    }

    @Test func `a worker with another client does not send the code`() async throws {
        var changed = try TestStore.type(redirect: callback)
        changed.clientID = "another"
        let (one, two, _) = try await workers(second: changed)
        let prepared = try await one.store.prepareSignIn(to: "graph")
        let redirect = one.provider.approve(prepared)
        let cookie = try one.store.seal(prepared)
        #expect(try await failure { try await two.store.handleRedirect(redirect, sealed: cookie) }?.kind == .settings)
        #expect(one.provider.count("/token") == 0)
        // It can still be finished with the right settings.
        #expect(try await one.store.handleRedirect(redirect, sealed: cookie).subject == "ada")
    }

    @Test func `a sealed sign-in has every value of the request`() async throws {
        var type = try TestStore.type(redirect: callback)
        type.dpop = true
        let (one, two, _) = try await workers(type)
        var options = SignInOptions()
        options.contextClasses = ["mfa"]
        options.maximumAge = .seconds(60)
        options.extraScopesToConsent = ["write"]
        let prepared = try await one.store.prepareSignIn(to: "graph", options: options)
        let sign = try #require(one.store.signIns.pending.withLock { $0[prepared.id] })
        let cookie = try one.store.seal(prepared)
        #expect(cookie.utf8.count < 2_000)
        let sealed = try SealedSignIn(cookie, two.store.repository.seal)
        let opened = try sealed.pending(try await two.store.signIns.client(of: type))
        #expect(opened.authorization == sign.authorization)
        #expect(opened.senderKey?.key.thumbprint() == sign.senderKey?.key.thumbprint())
        #expect(opened.senderKey != nil)
        #expect(opened.contextClasses == ["mfa"] && opened.scope == sign.scope && opened.expires == sign.expires)
    }

    @Test func `a sign-in that does not fit into a cookie continues to wait`() async throws {
        let test = try await TestStore()
        var options = SignInOptions()
        options.scope = Scope((0..<200).map { "https://api.example.com/permission/\($0)" })
        let prepared = try await test.store.prepareSignIn(to: "graph", options: options)
        #expect(try await failure { try test.store.seal(prepared) }?.kind == .settings)
        _ = try await test.store.handleRedirect(test.provider.approve(prepared))
        #expect(try await failure { try test.store.seal(prepared) }?.kind == .redirectRefused)
    }

    @Test func `expired entries of finished sign-ins are removed`() async throws {
        let (one, _, storage) = try await workers()
        func size() async throws -> Int {
            var size = 0
            for number in 0..<64 { size += await storage.value("finished-sign-ins:\(number)")?.count ?? 0 }
            return size
        }
        func signIn() async throws {
            let prepared = try await one.store.prepareSignIn(to: "graph")
            let cookie = try one.store.seal(prepared)
            _ = try await one.store.handleRedirect(one.provider.approve(prepared), sealed: cookie)
        }
        for _ in 0..<100 { try await signIn() }
        let full = try await size()
        #expect(full == 100 * 24)
        one.clock.advance(301)
        for _ in 0..<100 { try await signIn() }
        // Each value that got an entry lost its expired ones.
        let later = try await size()
        #expect(later < 150 * 24)
    }
}

extension Character {
    fileprivate var isASCIILetterOrDigit: Bool { isASCII && (isLetter || isNumber) }
}
