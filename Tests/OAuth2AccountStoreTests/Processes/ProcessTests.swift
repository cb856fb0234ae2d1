import Foundation
import HTTPExchange
import StrictJSON
import JOSE
import LoopbackHTTP
import OAuth2Protocol
import StorageSuite
import StoreTestSupport
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Processes that share one store.
@Suite(.serialized, .timeLimit(.scaled(minutes: 5)))
struct ProcessTests {
    /// Starts requests of all processes at the same time and returns the number of responses for each token.
    private func ask(_ processes: [TestProcess]) async -> [String: Int] {
        for process in processes { #expect(await process.says("ready")) }
        for process in processes { process.goOn() }
        var tokens: [String: Int] = [:]
        for process in processes {
            for line in await process.rest() {
                let words = line.split(separator: " ")
                guard words.count == 3, words[0] == "token", let count = Int(words[2]) else {
                    Issue.record("unexpected line: \(line)")
                    continue
                }
                tokens[String(words[1]), default: 0] += count
            }
        }
        return tokens
    }

    private func start(_ count: Int, _ directory: StoreLocation, _ server: TokenServer) throws -> [TestProcess] {
        try (0..<count).map { _ in try TestProcess(["tokens", directory.path, "\(server.port)", "125"]) }
    }

    @Test func `eight processes with 125 callers each share one refresh`() async throws {
        let directory = try TemporaryDirectory()
        let server = try TokenServer()
        _ = try await server.makeStore(in: directory.store)
        let processes = try start(8, directory.store, server)
        #expect(await ask(processes) == ["AT-1": 1000])
        #expect(server.counts.refreshes == 1)
        #expect(server.counts.reuses == 0)
    }

    /// Creates a program that prints an assertion, and adds a line to the file `runs` each time. The first run does not end if
    /// `stalls` is set: it writes its process ID to the file `stalled`.
    private func assertionProgram(in directory: TemporaryDirectory, stalls: Bool = false) throws -> String {
        let claims: JSONObject = ["iss": "https://ci.example", "sub": "job", "aud": "provider", "exp": 4_000_000_000]
        let token = try JWT.sign(claims, with: try JWK.generate(for: .es256), algorithm: .es256)
        let (path, folder) = (directory.path + "/assertion", directory.path)
        let wait = "if mkdir '\(folder)/first' 2>/dev/null; then echo $$ > '\(folder)/stalled'; exec sleep 600; fi\n"
        try "#!/bin/sh\necho run >> '\(folder)/runs'\n\(stalls ? wait : "")printf %s '\(token)'\n".write(
            toFile: path, atomically: true, encoding: .utf8)
        try #require(chmod(path, 0o700) == 0)
        return path
    }

    private func runs(in directory: TemporaryDirectory) -> Int {
        ((try? String(contentsOfFile: directory.path + "/runs", encoding: .utf8)) ?? "").split(separator: "\n").count
    }

    @Test func `eight processes with 125 callers each fetch one client assertion`() async throws {
        let directory = try TemporaryDirectory()
        let server = try TokenServer()
        _ = try await server.makeStore(in: directory.store)
        let program = try assertionProgram(in: directory)
        let processes = try (0..<8).map { _ in
            try TestProcess(["tokens", directory.store.path, "\(server.port)", "125", program])
        }
        #expect(await ask(processes) == ["AT-1": 1000])
        #expect(server.counts.refreshes == 1 && runs(in: directory) == 1)
    }

    /// A metadata service of Azure and a token endpoint of Google. They issue the tokens AT-0, AT-1 and so on.
    private final class PlatformServer: Sendable {
        private let requests = Log<String>()
        private let listener: LoopbackListener
        var port: UInt16 { listener.port }
        var paths: [String] { requests.all }

        init() throws {
            listener = try LoopbackListener(limits: .server) { [requests] request in
                requests.append(request.path)
                let number = requests.all.count - 1
                let body = Data(
                    "{\"access_token\":\"AT-\(number)\",\"token_type\":\"Bearer\",\"expires_in\":3600}".utf8)
                return LoopbackResponse(status: 200, fields: ["Content-Type": "application/json"], body: body)
            }
        }
    }

    @Test(arguments: ["managedIdentity", "serviceAccount"])
    func `eight processes with 125 callers each request one token of a platform`(grant: String) async throws {
        let directory = try TemporaryDirectory()
        let server = try PlatformServer()
        let key: JSONObject = [
            "type": "service_account", "client_email": "robot@project.example", "private_key": .string(TestKeys.rsa),
            "token_uri": .string("http://127.0.0.1:\(server.port)/token"),
        ]
        let keyFile = directory.path + "/key"
        try Data(JSONValue.object(key).serialized()).write(to: URL(filePath: keyFile))
        var type: JSONObject = [
            "grant": .string(grant), "scopes": ["https://graph.example/.default"], "knownAuthorities": ["127.0.0.1"],
        ]
        type[grant] = grant == "managedIdentity" ? ["source": "imds"] : ["file": .string(keyFile)]
        let file = directory.path + "/settings.json"
        try Data(JSONValue.object(["types": .object(["t": .object(type)])]).serialized()).write(to: URL(filePath: file))
        var dependencies = Dependencies(
            transport: CurlTransport(),
            environment: ["AZURE_POD_IDENTITY_AUTHORITY_HOST": "127.0.0.1:\(server.port)"])
        dependencies.now = { Date().addingTimeInterval(-7200) }
        let store = try await AccountStore(
            settings: Settings(bytes: Array(Data(contentsOf: URL(filePath: file))), source: file),
            storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store),
            dependencies: dependencies)
        _ = try await store.signIn(to: "t")
        let processes = try (0..<8).map { _ in
            try TestProcess(["tokens", directory.store.path, "\(server.port)", "125", file])
        }
        #expect(await ask(processes) == ["AT-1": 1000])
        let path = grant == "managedIdentity" ? "/metadata/identity/oauth2/token" : "/token"
        #expect(server.paths == [path, path])
    }

    @Test func `a process killed while it fetches a client assertion does not block the other processes`() async throws
    {
        let directory = try TemporaryDirectory()
        let server = try TokenServer()
        _ = try await server.makeStore(in: directory.store)
        let program = try assertionProgram(in: directory, stalls: true)
        let words = ["tokens", directory.store.path, "\(server.port)", "125", program]
        let first = try TestProcess(words)
        #expect(await first.says("ready"))
        first.goOn()
        let pid = directory.path + "/stalled"
        try await until { (try? String(contentsOfFile: pid, encoding: .utf8))?.hasSuffix("\n") == true }
        let text = try String(contentsOfFile: pid, encoding: .utf8)
        let child = try #require(pid_t(text.trimmingCharacters(in: .whitespacesAndNewlines)))
        first.kill()
        let others = try (0..<2).map { _ in try TestProcess(words) }
        #expect(await ask(others) == ["AT-1": 250])
        #expect(server.counts.refreshes == 1 && runs(in: directory) == 2)
        kill(child, SIGKILL)
    }

    @Test func `a process killed during a refresh does not block the other processes`() async throws {
        let directory = try TemporaryDirectory()
        let server = try TokenServer()
        _ = try await server.makeStore(in: directory.store)
        server.change { $0.stalls = 1 }
        let first = try #require(try start(1, directory.store, server).first)
        #expect(await first.says("ready"))
        first.goOn()
        // Its request is at the provider, so it holds the account's lock.
        try await server.stalled.arrival()
        let others = try start(8, directory.store, server)
        for process in others { #expect(await process.says("ready")) }
        let storage = SQLiteStorage(directory: directory.store, sleep: { _ in })
        let id = try #require(try await storage.records(ofType: nil).first?.id)
        await #expect(throws: StorageError.self) { try await storage.lock("account:\(id)", timeout: .zero) }
        first.kill()
        for process in others { process.goOn() }
        var answers = 0
        for process in others { answers += await process.rest() == ["token AT-1 125"] ? 125 : 0 }
        #expect(answers == 1000)
        #expect(server.counts.refreshes == 1)
    }

    @Test(arguments: 0..<6)
    func `a value that a killed process reported as saved is in the store`(round: Int) async throws {
        let directory = try TemporaryDirectory()
        let server = try TokenServer()
        let id = try await server.makeStore(in: directory.store)
        let process = try TestProcess(["churn", directory.store.path, "\(server.port)", "\(round)"])
        var said: [String] = []
        // Each round kills the process after a different number of lines.
        while said.count < 7 + round * 5, let line = await process.nextLine() { said.append(line) }
        process.kill()
        said += await process.rest()
        #expect(!said.contains { $0.hasPrefix("error") }, "\(said.last ?? "")")
        let written = said.compactMap { $0.hasPrefix("written ") ? Int($0.dropFirst(8)) : nil }.last
        let begun = said.compactMap { $0.hasPrefix("writing ") ? Int($0.dropFirst(8)) : nil }.last

        let test = try await TestStore(
            storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store))
        #expect(try await test.store.damagedRecords().isEmpty)
        let accounts = try await test.store.accounts()
        #expect(accounts.map(\.id) == [id])
        #expect(accounts.first?.signInNeeded == nil)
        let found = try accounts.first?.userData(as: Int.self)
        #expect(found == written || found == begun, "\(String(describing: found)) of \(said.suffix(4))")
        #expect(server.counts.reuses == 0)
    }

    @Test
    func `processes killed at any instruction leave a store without missing or partial records`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let lines = try await TestProcess(["soak", directory.store.path, "25", "5"]).rest()
        #expect(lines.count == 1 && lines.last?.hasPrefix("soak: 25 kills") == true, "\(lines)")
        #expect(lines.last?.hasSuffix("; 0 faults") == true, "\(lines)")
    }
}
