import Foundation
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import Synchronization
import TestSupport
import Testing

@testable import FleetStorage

/// Workers whose server is killed and restarted. No other tests run with them: see ``TestServer/crash``.
@Suite(.enabled(if: TestServer.crash != nil && TestServer.url != nil), .serialized, .timeLimit(.scaled(minutes: 3)))
struct ServerCrashTests {
    /// Kills the server and waits until it runs again.
    private func crash() async throws {
        let words = (TestServer.crash ?? "false").split(separator: "\n").map(String.init)
        let process = Process()
        process.executableURL = URL(filePath: words[0])
        process.arguments = Array(words.dropFirst())
        let status = try await withCheckedThrowingContinuation { continuation in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { continuation.resume(throwing: error) }
        }
        try #require(status == 0)
    }

    private static func store(_ schema: TestSchema, _ directory: StoreLocation, _ provider: RotatingProvider)
        async throws -> AccountStore
    {
        let types = try (0..<3).map { number in
            var type = AccountType(
                name: "type\(number)", provider: .endpoints, clientID: "client",
                redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: ["read"])
            type.endpoints.token = URL(string: "http://127.0.0.1:\(provider.port)/token")
            return type
        }
        return try await AccountStore(
            settings: try Settings(types: types), storage: try schema.storage(),
            custody: KeyFile(directory: directory), dependencies: Dependencies(transport: CurlTransport()))
    }

    /// The progress of the workers.
    private final class Work: Sendable {
        struct Done {
            var written = [0, 0, 0]
            var writes = 0
            var refreshes = 0
            var later = 0
            var isOver = false
        }
        private let done = Mutex(Done())
        var now: Done { done.withLock { $0 } }
        func note(_ change: (inout Done) -> Void) { done.withLock { change(&$0) } }
        /// Waits until so many more were written and refreshed.
        func more() async throws {
            let before = now
            try await until {
                let now = now
                return now.isOver || now.writes >= before.writes + 30 && now.refreshes >= before.refreshes + 6
            }
        }
    }

    @Test func `workers write and refresh through two crashes of the server without losing a change`() async throws {
        let schema = TestSchema()
        let path = FileManager.default.temporaryDirectory.path + "/crash-test-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(atPath: path) }
        let directory = StoreLocation(path)
        let provider = try RotatingProvider(good: ["RT-a", "RT-b", "RT-c"])
        // Each store has its own connections, like a worker.
        var stores: [AccountStore] = []
        for _ in 0..<3 { stores.append(try await Self.store(schema, directory, provider)) }
        var ids: [Account.ID] = []
        for (number, word) in ["a", "b", "c"].enumerated() {
            let body =
                #"{"access_token":"AT-\#(word)","refresh_token":"RT-\#(word)","token_type":"Bearer","expires_in":3600}"#
            let answer = HTTPResponse(
                status: 200, fields: ["Content-Type": "application/json"], body: Data(body.utf8))
            ids.append(try await stores[0].add(try TokenResponse.read(answer), toType: "type\(number)").id)
        }
        let watcher = try await Self.store(schema, directory, provider)
        let events = watcher.events()
        let work = Work()
        try await withThrowingTaskGroup(of: Void.self) { [stores, ids] group in
            for number in 0..<3 {
                group.addTask {
                    var value = 0
                    while !work.now.isOver {
                        value += 1
                        // A restart of the server is not an error.
                        try await stores[number].setUserData(value, for: ids[number])
                        work.note {
                            $0.written[number] = value
                            $0.writes += 1
                        }
                    }
                }
                // Two workers refresh each account.
                for store in [stores[number], stores[(number + 1) % 3]] {
                    group.addTask {
                        while !work.now.isOver {
                            do {
                                let token = try await store.accessToken(for: ids[number])
                                _ = try await store.accessToken(for: ids[number], rejected: token.secret)
                                work.note { $0.refreshes += 1 }
                            } catch let error as AccountStoreError {
                                // The holder lost its lock, and may retry.
                                guard case .retryLater = error.remedy else { throw error }
                                work.note { $0.later += 1 }
                            }
                        }
                    }
                }
            }
            group.addTask {
                defer { work.note { $0.isOver = true } }
                try await work.more()
                try await crash()
                try await work.more()
                try await crash()
                try await work.more()
            }
            do { try await group.waitForAll() } catch {
                work.note { $0.isOver = true }
                throw error
            }
        }
        #expect(provider.counts.reuses == 0)
        let fresh = try await Self.store(schema, directory, provider)
        #expect(try await fresh.damagedRecords().isEmpty)
        let accounts = try await fresh.accounts()
        #expect(accounts.map(\.id) == ids)
        #expect(accounts.allSatisfy { $0.signInNeeded == nil })
        #expect(try accounts.map { try $0.userData(as: Int.self) } == work.now.written)
        let changes = try #require(await schema.storage().changes(after: 0))
        #expect(changes.map(\.sequence) == (1...Int64(changes.count)).map { $0 })
        #expect(changes.count { $0.kind == .userData } == work.now.writes)
        // A watcher from before the crashes gets the later changes.
        try await stores[0].setUserData(-1, for: ids[0])
        for await event in events {
            if case .userDataChanged(let account) = event, account.id == ids[0],
                try account.userData(as: Int.self) == -1
            {
                break
            }
        }
    }

    @Test func `a refresh during a crash of the server is saved before another worker starts one`()
        async throws
    {
        let fleet = try await Fleet()
        defer { fleet.end() }
        let (one, two) = (try await fleet.open(), try await fleet.open())
        let old = try await two.accessToken(for: fleet.id)
        #expect(old.secret.value == "AT-1")
        fleet.provider.holdNext()
        async let first = one.accessToken(for: fleet.id, rejected: old.secret)
        // The provider has taken the old refresh token, and only it knows the new one.
        await fleet.provider.stalled()
        try await crash()
        async let second = two.accessToken(for: fleet.id, rejected: old.secret)
        // The second worker is connected again, and gets the lock, but not the lease.
        let sessions = """
            SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%pg_advisory_unlock%'
            """
        try await until {
            try fleet.provider.counts.refreshes != 2 || fleet.schema.ask(sessions) == .integer(1)
        }
        fleet.provider.letGo()
        #expect(try await first.secret.value == "AT-2")
        #expect(try await second.secret.value == "AT-2")
        #expect(fleet.provider.counts.reuses == 0)
        #expect(try await two.account(fleet.id)?.signInNeeded == nil)
    }

    @Test func `a lease outlives a crash of the server`() async throws {
        let schema = TestSchema()
        let (storage, other) = (try schema.storage(), try schema.storage())
        let lock = try await storage.lock("a", timeout: .zero)
        try await other.lock("b", timeout: .zero).release()
        try await lock.confirm()
        let (notifications, continuation) = AsyncStream.makeStream(of: Void.self)
        let watch = try other.watch { continuation.yield() }
        var calls = notifications.makeAsyncIterator()
        _ = await calls.next()
        try await crash()
        _ = await calls.next()
        await #expect(throws: StorageError.self) { try await other.lock("a", timeout: .zero) }
        await #expect(throws: StorageError.self) { try await lock.confirm() }
        lock.release()
        let next = try await other.lock("a", timeout: .seconds(TestTime.seconds(30)))
        try await next.confirm()
        next.release()
        watch?.release()
    }
}
