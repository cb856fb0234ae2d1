import Foundation
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore
import TestSupport
import Testing

@testable import FleetStorage

/// A store with one account whose token has expired, and its name for `store-process`.
struct Fleet {
    let schema = TestSchema()
    let provider: RotatingProvider
    let directory: StoreLocation
    let id: Account.ID
    var word: String { "\(TestServer.url ?? "")#\(schema.name)#\(directory.path)" }

    init() async throws {
        provider = try RotatingProvider()
        let path = FileManager.default.temporaryDirectory.path + "/fleet-test-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        directory = StoreLocation(path)
        var dependencies = Dependencies(transport: CurlTransport())
        dependencies.now = { Date().addingTimeInterval(-7200) }
        let answer = HTTPResponse(
            status: 200, fields: ["Content-Type": "application/json"],
            body: Data(
                #"{"access_token":"AT-0","refresh_token":"RT-0","token_type":"Bearer","expires_in":3600}"#.utf8)
        )
        let store = try await Self.store(schema, directory, provider, dependencies)
        id = try await store.add(try TokenResponse.read(answer), toType: "graph").id
    }

    static func store(
        _ schema: TestSchema, _ directory: StoreLocation, _ provider: RotatingProvider,
        _ dependencies: Dependencies, _ connection: String? = nil
    ) async throws -> AccountStore {
        var type = AccountType(
            name: "graph", provider: .endpoints, clientID: "client",
            redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: ["read"])
        type.endpoints.token = URL(string: "http://127.0.0.1:\(provider.port)/token")
        return try await AccountStore(
            settings: try Settings(types: [type]), storage: try schema.storage(connection),
            custody: KeyFile(directory: directory), dependencies: dependencies)
    }

    /// Opens the store as a worker with its own connections.
    func open(_ connection: String? = nil) async throws -> AccountStore {
        try await Self.store(schema, directory, provider, Dependencies(transport: CurlTransport()), connection)
    }

    func worker(_ word: String, _ number: Int) throws -> Worker {
        try Worker([word, self.word, "\(provider.port)", "\(number)"])
    }

    func end() {
        try? FileManager.default.removeItem(atPath: directory.path)
    }
}

/// Workers that share one store, each a process with its own connection.
@Suite(.enabled(if: TestServer.url != nil), .serialized, .timeLimit(.scaled(minutes: 3)))
struct FleetTests {
    @Test func `eight workers with 125 callers each share one refresh`() async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        let workers = try (0..<8).map { _ in try fleet.worker("tokens", 125) }
        for worker in workers { #expect(await worker.says("ready")) }
        for worker in workers { worker.resume() }
        for worker in workers { #expect(await worker.rest() == ["token AT-1 125"]) }
        #expect(fleet.provider.counts.refreshes == 1)
        #expect(fleet.provider.counts.reuses == 0)
    }

    @Test func `a worker killed during a refresh does not block the others`() async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        fleet.provider.stallNext()
        let first = try fleet.worker("tokens", 125)
        #expect(await first.says("ready"))
        first.resume()
        // Its request is at the provider, so it holds the account's lock.
        await fleet.provider.stalled()
        let others = try (0..<8).map { _ in try fleet.worker("tokens", 125) }
        for worker in others { #expect(await worker.says("ready")) }
        let storage = try fleet.schema.storage()
        await #expect(throws: StorageError.self) {
            try await storage.lock("account:\(fleet.id)", timeout: .milliseconds(50))
        }
        first.kill()
        for worker in others { worker.resume() }
        for worker in others { #expect(await worker.rest() == ["token AT-1 125"]) }
        #expect(fleet.provider.counts.refreshes == 1)
    }

    @Test(arguments: 0..<6)
    func `every change that a killed worker acknowledged is stored`(round: Int) async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        let worker = try fleet.worker("churn", round)
        var said: [String] = []
        // Each round kills it after a different number of lines.
        while said.count < 7 + round * 5, let line = await worker.nextLine() { said.append(line) }
        worker.kill()
        said += await worker.rest()
        #expect(!said.contains { $0.hasPrefix("error") }, "\(said.last ?? "")")
        let written = said.compactMap { $0.hasPrefix("written ") ? Int($0.dropFirst(8)) : nil }.last
        let begun = said.compactMap { $0.hasPrefix("writing ") ? Int($0.dropFirst(8)) : nil }.last
        let store = try await fleet.open()
        #expect(try await store.damagedRecords().isEmpty)
        let accounts = try await store.accounts()
        #expect(accounts.map(\.id) == [fleet.id])
        #expect(accounts.first?.signInNeeded == nil)
        let found = try accounts.first?.userData(as: Int.self)
        #expect(found == written || found == begun, "\(String(describing: found)) of \(said.suffix(4))")
        #expect(fleet.provider.counts.reuses == 0)
    }

    @Test func `a change of one worker is an event for another worker`() async throws {
        let fleet = try await Fleet()
        defer { fleet.end() }
        let (one, two) = (try await fleet.open(), try await fleet.open())
        var events = two.events().makeAsyncIterator()
        try await one.setUserData("new", for: fleet.id)
        guard case .userDataChanged(let account)? = await events.next() else {
            Issue.record("another event came")
            return
        }
        #expect(try account.userData(as: String.self) == "new")
    }
}
