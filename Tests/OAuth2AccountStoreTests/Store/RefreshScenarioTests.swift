import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StorageSuite
import StoreTestSupport
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// The scenarios of refresh-and-store.json. A named test covers each case.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct RefreshScenarioTests {
    /// The tests that cover a case. One test may cover several cases.
    static let held = [
        "RS-009": [
            "a refreshed ID token of a different user is rejected, and its tokens are not saved",
            "a refreshed ID token of a different user is rejected, and no tokens are saved",
        ],
        "RS-026": ["eight processes with 125 callers each share one refresh"],
        "RS-027": [
            "a thousand callers share one refresh", "an error reaches every caller and ends after its delay",
        ],
        "RS-028": [
            "eight processes with 125 callers each share one refresh",
            "RS-028: a caller that waited for the lock reads the new tokens without a request",
        ],
        "RS-029": ["after invalid_grant a newer refresh token in the storage is used"],
        "RS-033": ["an account removed during a refresh stays removed and its new tokens are revoked"],
        "RS-034": [
            "a value that a killed process reported as saved is in the store",
            "files have mode 0600 from their creation under every umask",
        ],
        "RS-035": [
            "a save that exceeds the file size limit changes nothing",
            "with a full disk a save fails without loss, and the reserved space still takes new tokens",
            "opening a store on a full disk is an error and leaves no partial files",
        ],
        "RS-036": [
            "tokens that fail to save are not returned and are saved on the next call",
            "no refresh is sent while the store is not writable",
        ],
        "RS-038": ["a truncated store is an error, not an empty store"],
        "RS-039": ["a file that is not a database is rejected and remains unchanged"],
        "RS-040": ["a store of a later version is rejected and remains unchanged"],
        "RS-041": ["files have mode 0600 from their creation under every umask"],
        "RS-042": [
            "a database that other users can read gets mode 0600",
            "a key file that others can read is an error with a chmod hint",
        ],
        "RS-044": [
            "symbolic links in place of the store's files are not followed",
            "a store opens below a symbolic link to a folder",
            "a link or folder in place of the key file is an error",
        ],
        "RS-045": ["a store folder that other users can enter is rejected"],
        "RS-046": ["the default location is never the working directory"],
        "RS-047": ["OwnerOnlyFile does not write through a planted temporary file"],
        "RS-054": [
            "RS-054: a sign-out leaves no part of the tokens in the files",
            "a sign-out succeeds without revocation and reports it",
        ],
    ]

    @Test func `every published case of refresh and store has a test`() throws {
        let run = ["merge", "failure"].flatMap(RefreshVectorTests.cases).map { String($0.testDescription.prefix(6)) }
        try VectorCoverage.check("refresh-and-store", run: run, held: Self.held)
    }

    /// Returns the rejection that a case expects.
    private func rejection(_ id: String) throws -> JSONObject {
        let vector = try #require(VectorFile("refresh-and-store").cases.first { $0.id == id })
        return try #require(vector.expect["stored_after"]?.object)
    }

    // MARK: Races

    /// Opens two stores like two processes, which share only the files.
    private func two(_ directory: TemporaryDirectory) async throws -> (TestStore, TestStore) {
        let provider = try FakeProvider(clock: FakeClock())
        func open() async throws -> TestStore {
            try await TestStore(
                storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store),
                provider: provider)
        }
        return (try await open(), try await open())
    }

    @Test func `RS-028: a caller that waited for the lock reads the new tokens without a request`() async throws {
        let directory = try TemporaryDirectory()
        let (first, second) = try await two(directory)
        let ada = try await first.signIn()
        #expect(try await second.token(ada.id) == "AT-2")
        first.clock.advance(3600)
        let gate = Gate()
        first.provider.next { request in
            try await gate.pass()
            return try await first.provider.send(request)
        }
        let refreshing = Task { try await first.token(ada.id) }
        try await gate.arrival()
        // The first store holds the lock until the gate opens.
        let storage = second.store.storage
        await #expect(throws: StorageError.self) {
            try await storage.lock("account:\(ada.id.rawValue)", timeout: .zero)
        }
        let waiting = Task { try await second.token(ada.id) }
        try await until { await second.store.broker.refreshesInFlight.count == 1 }
        gate.open()
        #expect(try await refreshing.value == "AT-3")
        #expect(try await waiting.value == "AT-3")
        // The scripted response forwards its request, so that the provider counts one refresh twice.
        #expect(first.provider.refreshes == 2)
        #expect(try await second.savedTokens(ada.id)?.refreshToken == Secret("RT-3"))
    }

    @Test func `RS-032: a concurrent sign-in and refresh of different accounts are both saved`() async throws {
        let directory = try TemporaryDirectory()
        let (first, second) = try await two(directory)
        let ada = try await first.signIn("ada")
        first.clock.advance(3600)
        let gate = Gate()
        first.provider.next { request in
            try await gate.pass()
            return try await first.provider.send(request)
        }
        let refreshing = Task { try await first.token(ada.id) }
        try await gate.arrival()
        let bob = try await second.signIn("bob")
        gate.open()
        let token = try await refreshing.value
        for test in [first, second] {
            #expect(try await test.store.accounts().map(\.subject) == ["ada", "bob"])
            #expect(try await test.savedTokens(ada.id)?.accessToken.value == token)
            #expect(try await test.savedTokens(bob.id)?.accessToken.value.isEmpty == false)
        }
        #expect(token != "AT-2")
    }

    // MARK: Crashes

    @Test func `RS-037: tokens lost between response and save require one sign-in, not a loop`() async throws {
        let storage = FailingStorage()
        let lost = try await TestStore(storage: storage)
        let ada = try await lost.signIn()
        lost.clock.advance(3600)
        storage.change { $0.replacements = 1 }
        #expect(try await failure { try await lost.token(ada.id) }?.kind == .storage(.readOnly))
        // The next process does not have the new tokens, and its refresh token was used.
        let next = try await TestStore(storage: storage, provider: lost.provider)
        for _ in 0..<5 {
            #expect(try await failure { try await next.token(ada.id) }?.kind == .signInNeeded(.answerLost))
        }
        #expect(lost.provider.refreshes == 2)
        #expect(try await next.store.account(ada.id)?.subject == "ada")
    }

    // MARK: Bound tokens

    @Test func `RS-008: a refresh that returns a Bearer token for a DPoP account is rejected`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(["dpop": true, "scopes": ["read"]])
        let account = try await provider.signIn(store, answer: ["token_type": "DPoP", "id_token": .null])
        let before = try await store.storage.record(account.id.rawValue)
        provider.advance(4000)
        provider.answer("/token", inTurn: .grant(["access_token": "AT2", "token_type": "bearer"]))
        let error = try await grantFailure { try await store.accessToken(for: account.id) }
        let expected = try rejection("RS-008")
        #expect(expected["outcome"] == "rejected" && expected["reason"] == "dpop_downgrade")
        #expect(error?.kind == .invalidAnswer)
        #expect(try await store.storage.record(account.id.rawValue) == before)
    }

    // MARK: Key location

    /// A keyring that is locked.
    private struct Locked: KeyCustody {
        let location = "keyring"
        func key() async throws -> SealingKey? {
            throw KeyCustodyError(location: location, reason: "it is locked", hint: "unlock it, or choose the key file")
        }
        func create() async throws -> SealingKey {
            Issue.record("the store created a key")
            return try MemoryKey().create()
        }
    }

    @Test func `RS-049: with an unavailable key the store throws and writes no file`() async throws {
        let directory = try TemporaryDirectory()
        let error = try await failure {
            try await TestStore(storage: SQLiteStorage(directory: directory.store), custody: Locked())
        }
        #expect(error?.kind == .key)
        #expect(error?.reason.contains("it is locked") == true)
        #expect(error?.hint == "unlock it, or choose the key file")
        #expect(try await SQLiteStorage(directory: directory.store).records(ofType: nil).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: directory.store.file("accounts.key")))
    }

    @Test func `RS-052: tokens larger than a keyring entry are saved completely`() async throws {
        let directory = try TemporaryDirectory()
        let (first, second) = try await two(directory)
        let access = String(repeating: "a", count: 8192), refresh = String(repeating: "r", count: 200_000)
        let answer = try TokenResponse.read(
            .json([
                "access_token": .string(access), "refresh_token": .string(refresh), "token_type": "bearer",
                "expires_in": 3600,
            ]))
        let account = try await first.store.add(answer, toType: "graph")
        #expect(try await second.token(account.id) == access)
        #expect(try await second.savedTokens(account.id)?.refreshToken == Secret(refresh))
    }

    @Test func `RS-053: one user of two clients and two users of one client are separate accounts`()
        async throws
    {
        var other = try TestStore.type("two")
        other.clientID = "other"
        let test = try await TestStore(types: [try TestStore.type("one"), other])
        let ada = try await test.signIn("ada", to: "one")
        test.provider.change { $0.claims = ["aud": "other"] }
        let again = try await test.signIn("ada", to: "two")
        // The same name does not identify the same user.
        test.provider.change { $0.claims = ["preferred_username": "ada@example.com", "email": "ada@example.com"] }
        let eve = try await test.signIn("eve", to: "one")
        #expect(Set([ada.id, again.id, eve.id]).count == 3)
        #expect(ada.userName == eve.userName)
        let tokens = try await [test.token(ada.id), test.token(again.id), test.token(eve.id)]
        #expect(Set(tokens).count == 3)
        try await test.store.remove(ada.id)
        #expect(try await test.token(eve.id) == tokens[2])
        #expect(try await test.token(again.id) == tokens[1])
    }

    @Test func `RS-054: a sign-out leaves no part of the tokens in the files`() async throws {
        let directory = try TemporaryDirectory()
        let test = try await two(directory).0
        let bob = try await test.signIn("bob")
        let ada = try await test.signIn("ada")
        _ = try await test.token(ada.id, rejected: "AT-4")
        let sealed = try #require(try await test.store.storage.record(ada.id.rawValue)?.sealed)
        /// Returns the names of the files that contain a part of the sealed record.
        func remains() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: directory.store.path).filter { name in
                let bytes = try Data(contentsOf: URL(filePath: directory.store.file(name)))
                return stride(from: 0, to: sealed.count - 32, by: 32).contains {
                    bytes.range(of: Data(sealed[$0..<$0 + 32])) != nil
                }
            }
        }
        #expect(try remains().contains("accounts.sqlite"))
        #expect(try await test.store.signOut(ada.id).revocation == .succeeded)
        #expect(try remains() == [])
        #expect(test.store.repository.cache[ada.id] == nil)
        #expect(!test.store.history.hasPendingUpdates)
        #expect(try await test.store.accounts().map(\.id) == [bob.id])
        #expect(
            try Set(FileManager.default.contentsOfDirectory(atPath: directory.store.path)).isSubset(of: [
                "accounts.sqlite", "accounts.sqlite-journal", "accounts.key", "accounts.lock",
            ]))
    }
}
