import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import LodgePlatform
import StorageSuite
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import SealedStorage

@Suite(.timeLimit(.scaled(minutes: 5)))
struct TokenRescueTests {
    private let storage: RescueStorage
    private let test: Collaborators

    init() throws {
        storage = try RescueStorage()
        test = try Collaborators(storage: storage)
    }

    /// Refreshes the tokens while they cannot be saved, and returns the account.
    private func lose(_ kind: StorageError.Kind = .busy, _ key: TokenKey = .main) async throws -> Account.ID {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        storage.fail(kind)
        let error = try await failure { try await test.broker.accessToken(for: id, key) }
        #expect(error?.kind == .storage(kind))
        let path = try storage.path()
        #expect(error?.reason.contains(path) == true)
        #expect(error?.hint.map { "\($0)" }?.contains("you are still signed in") == true)
        storage.fail(nil)
        return id
    }

    @Test(arguments: [StorageError.Kind.busy, .full, .other])
    func `tokens that cannot be saved for a minute are in a rescue file`(kind: StorageError.Kind) async throws {
        let id = try await lose(kind)
        #expect(test.timer.uptime > 55 && test.timer.uptime <= 60)
        #expect(!test.history.hasPendingUpdates)
        var status = stat()
        let path = try storage.path()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        let bytes = try Data(contentsOf: URL(filePath: storage.path()))
        for secret in ["RT-1", "RT-2", "AT-2"] { #expect(!String(decoding: bytes, as: UTF8.self).contains(secret)) }
        let next = try test.process()
        #expect(try await next.broker.accessToken(for: id).secret == Secret("AT-2"))
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
        #expect(test.provider.refreshes == 1 && storage.names.isEmpty)
    }

    @Test(arguments: [StorageError.Kind.readOnly, .noPermission, .notAStore])
    func `a save is not retried after an error that a retry cannot solve`(kind: StorageError.Kind) async throws {
        _ = try await lose(kind)
        #expect(test.timer.uptime == 0 && storage.replacements.all.count == 1)
    }

    @Test func `opening a store imports its rescue files`() async throws {
        let id = try await lose()
        let next = try test.process()
        await next.refresher.importRescuedTokens()
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
        #expect(storage.names.isEmpty)
    }

    @Test func `opening a store imports the rescue file of a process whose lease remains`() async throws {
        let id = try await lose()
        storage.isLeased.withLock { $0 = true }
        await test.refresher.importRescuedTokens()
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
        #expect(storage.names.isEmpty)
    }

    @Test func `the error of a shared storage names the machine that has the tokens`() async throws {
        let storage = try RescueStorage(isShared: true)
        let test = try Collaborators(storage: storage)
        let id = try await test.addAccount()
        test.clock.advance(3600)
        storage.fail(.busy)
        let error = try await failure { try await test.broker.accessToken(for: id) }
        let path = try storage.path()
        #expect(error?.reason.contains(path) == true)
        let hint = error?.hint.map { "\($0)" } ?? ""
        #expect(
            hint.contains("on this machine before another machine refreshes it") && !hint.contains("still signed in"))
        let ended = await test.broker.endRefreshes()
        #expect(ended.rescueFiles == [path] && ended.isStorageShared)
    }

    @Test func `opening a store does not import the rescue file of a locked account`() async throws {
        let id = try await lose()
        let lock = try await storage.lock("account:\(id)", timeout: .zero)
        await test.refresher.importRescuedTokens()
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-1"))
        #expect(storage.names.count == 1)
        lock.release()
        await test.refresher.importRescuedTokens()
        #expect(storage.names.isEmpty)
    }

    @Test func `an import keeps the changes of other processes`() async throws {
        let id = try await lose()
        _ = try await test.anotherProcess().update(id, .userData) { $0.userData = Data([1]) }
        await test.refresher.importRescuedTokens()
        let saved = try await test.saved(id)
        #expect(saved?.tokens.refreshToken == Secret("RT-2") && saved?.userData == Data([1]))
    }

    @Test func `a rescue file does not replace newer tokens`() async throws {
        let id = try await lose()
        let new = try test.tokens(
            ["access_token": "theirs", "token_type": "Bearer", "refresh_token": "R", "expires_in": 3600])
        _ = try await test.anotherProcess().update(id, .profile) { $0.tokens = new }
        await test.refresher.importRescuedTokens()
        #expect(try await test.saved(id)?.tokens == new && storage.names.isEmpty)
    }

    @Test func `restoring an imported rescue file has no effect`() async throws {
        // A provider that does not rotate: the record keeps the refresh token that was sent.
        for number in 2...3 {
            test.provider.next { _ in
                .json(["access_token": .string("AT-\(number)"), "token_type": "Bearer", "expires_in": 3600])
            }
        }
        let id = try await lose()
        let path = try storage.path()
        let copy = try Data(contentsOf: URL(filePath: path))
        _ = try await test.broker.accessToken(for: id)
        test.clock.advance(3600)
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-3"))
        let saved = try await test.saved(id)
        #expect(saved?.tokens.refreshToken == Secret("RT-1"))
        try copy.write(to: URL(filePath: path))
        await test.refresher.importRescuedTokens()
        #expect(try await test.saved(id) == saved && storage.names.isEmpty)
    }

    @Test func `restoring the rescue file of an additional token has no effect`() async throws {
        let id = try await test.addAccount()
        func answer() { test.provider.next { _ in .json(["access_token": "mail", "token_type": "Bearer"]) } }
        let key = TokenKey(resource: "https://api.example")
        answer()
        storage.fail(.readOnly)
        _ = try await failure { try await test.broker.accessToken(for: id, key) }
        storage.fail(nil)
        let path = try storage.path()
        let copy = try Data(contentsOf: URL(filePath: path))
        #expect(try await test.broker.accessToken(for: id, key).secret == Secret("mail"))
        let saved = try await test.saved(id)
        #expect(saved?.additionalTokens?.all.count == 1 && test.provider.refreshes == 1)
        try copy.write(to: URL(filePath: path))
        await test.refresher.importRescuedTokens()
        #expect(try await test.saved(id) == saved && storage.names.isEmpty)
    }

    /// Changes the contents of the only rescue file.
    private func edit(_ change: (inout [String: Any]) -> Void) throws {
        let url = URL(filePath: try storage.path())
        var contents = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
        change(&contents)
        try JSONSerialization.data(withJSONObject: contents).write(to: url)
    }

    @Test(arguments: ["revision", "type", "sealed", "id", "nothing", "length"])
    func `a damaged rescue file is renamed and not imported`(part: String) async throws {
        let id = try await lose()
        try edit { contents in
            switch part {
            case "revision": contents["revision"] = 7
            case "type": contents["type"] = "other"
            case "sealed": contents["sealed"] = Data(repeating: 1, count: 200).base64EncodedString()
            case "id": contents["id"] = "bob"
            default: contents = [:]
            }
        }
        if part == "length" { try Data(count: 5 << 20).write(to: URL(filePath: storage.path())) }
        let name = try #require(storage.names.first)
        await test.refresher.importRescuedTokens()
        #expect(storage.names == [name + ".damaged-1"])
        #expect(await storage.rescueFolder?.damagedFiles() == [storage.directory.store.file(name + ".damaged-1")])
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-1"))
        // A second damaged file does not replace the first one.
        try Data().write(to: URL(filePath: storage.directory.store.file(name)))
        try await TokenRescue(context: test.context, history: test.history).importTokens(of: id)
        #expect(storage.names == [name + ".damaged-1", name + ".damaged-2"])
    }

    @Test func `the file of another account is not imported`() async throws {
        let id = try await lose()
        var bob = try test.record("bob")
        bob.tokens = try #require(try await test.saved(id)).tokens
        _ = try await test.repository.insert(bob)
        let sealed = try #require(try await storage.rescueFolder?.file(of: "ada")?.record)
        _ = try await storage.rescueFolder?.save(
            SealedRecord(id: "bob", type: sealed.type, revision: sealed.revision, sealed: sealed.sealed))
        await test.refresher.importRescuedTokens()
        #expect(try await test.saved(bob.id)?.tokens.refreshToken == Secret("RT-1"))
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
        #expect(storage.names.count == 1 && storage.names.first?.hasSuffix(".damaged-1") == true)
    }

    @Test func `no request is sent while the rescue file cannot be imported`() async throws {
        let id = try await lose()
        storage.fail(.busy)
        let next = try test.process()
        #expect(try await failure { try await next.broker.accessToken(for: id) }?.kind == .storage(.busy))
        #expect(test.provider.refreshes == 1 && storage.names.count == 1)
        storage.fail(nil)
        #expect(try await next.broker.accessToken(for: id).secret == Secret("AT-2"))
    }

    @Test func `a process that is ending writes the rescue file after the first error`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        storage.fail(.busy)
        let gate = Gate()
        test.provider.next { [provider = test.provider] _ in
            try await gate.pass()
            return .json(.object(try provider.issue("ada", nonce: nil)))
        }
        let token = Task { try await test.broker.accessToken(for: id) }
        try await gate.arrival()
        let ending = Task { await test.broker.endRefreshes() }
        try await until { test.history.isEnding }
        gate.open()
        let ended = await ending.value
        let path = try storage.path()
        #expect(ended.saved == 0 && ended.rescueFiles == [path])
        #expect(try await failure { try await token.value }?.kind == .storage(.busy))
        #expect(storage.replacements.all.count == 1)
        storage.fail(nil)
        #expect(try await test.process().broker.accessToken(for: id).secret == Secret("AT-2"))
    }

    @Test func `a save that succeeds after an error leaves no rescue file`() async throws {
        let id = try await test.addAccount()
        test.clock.advance(3600)
        storage.fail(.busy, count: 3)
        #expect(try await test.broker.accessToken(for: id).secret == Secret("AT-2"))
        #expect(try await test.saved(id)?.tokens.refreshToken == Secret("RT-2"))
        #expect(storage.replacements.all.count == 4 && storage.names.isEmpty)
    }

    @Test func `a sign-out revokes the tokens of the rescue file and removes it`() async throws {
        let id = try await lose()
        let revoker = TokenRevoker(dependencies: test.context.dependencies)
        let remover = AccountRemover(context: test.context, history: test.history, revoker: revoker)
        _ = try await remover.signOut(id, revoking: true, endingBrowserSession: false)
        #expect(test.provider.revoked == ["RT-2", "AT-2"] && storage.names.isEmpty)
    }

    @Test func `a rescue file whose account is not in the store remains`() async throws {
        let id = try await lose()
        _ = try await storage.remove(id.rawValue)
        await test.refresher.importRescuedTokens()
        #expect(storage.names.count == 1)
    }
}
