import Foundation
import HTTPExchange
import JOSE
import LoopbackHTTP
import OAuth2Protocol
import StoreTestSupport
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
import AccountKeys
import ProviderSettings
import SealedStorage
@testable import Diagnostics
import LodgePlatform

@Suite(.timeLimit(.scaled(minutes: 5)))
struct DiagnosisTests {
    /// Diagnoses a store whose provider responds.
    private func examine(
        _ test: TestStore, types: [AccountType]? = nil, storage: (any AccountStorage)? = nil,
        custody: (any KeyCustody)? = nil, transport: (any HTTPTransport)? = nil, environment: [String: String] = [:],
        clock: Double = 0, usesNetwork: Bool = true
    ) async throws -> Diagnosis {
        var dependencies = Dependencies(transport: transport ?? test.provider, environment: environment)
        dependencies.now = { test.clock.now.addingTimeInterval(clock) }
        return try await Diagnosis.examine(
            settings: try Settings(types: types ?? test.store.settings.types),
            storage: storage ?? test.store.storage, custody: try custody ?? TestStore.key(),
            dependencies: dependencies, usesNetwork: usesNetwork)
    }

    private func finding(_ diagnosis: Diagnosis, _ check: Diagnosis.Check) throws -> Diagnosis.Finding {
        let found = diagnosis.findings.filter { $0.check == check }
        return try #require(found.first { $0.state != .ok } ?? found.first, "\(check)")
    }

    private func type(_ redirect: String = "http://127.0.0.1/callback") throws -> AccountType {
        try TestStore.type(redirect: redirect)
    }

    @Test func `a healthy store passes every check`() async throws {
        let test = try await TestStore(types: [try type()])
        try await test.signIn()
        let before = try await (test.store.storage as? MemoryStorage)?.records(ofType: nil)
        let diagnosis = try await examine(test)
        #expect(diagnosis.problems.isEmpty, "\(diagnosis.problems)")
        #expect(Set(diagnosis.findings.map(\.check)) == Set(Diagnosis.Check.allCases).subtracting([.agent]))
        #expect(diagnosis.findings.allSatisfy { $0.state == .ok })
        #expect(test.provider.refreshes == 0)
        #expect(try await (test.store.storage as? MemoryStorage)?.records(ofType: nil) == before)
    }

    @Test func `without the network the diagnosis sends no request`() async throws {
        let test = try await TestStore(types: [try type()])
        let diagnosis = try await examine(test, usesNetwork: false)
        #expect(test.provider.requests.isEmpty)
        #expect(!diagnosis.findings.contains { [.network, .discovery, .clock].contains($0.check) })
        let nobody = try finding(diagnosis, .accounts)
        #expect(nobody.state == .warning && nobody.remedy?.actions.first as? AccountRemedy == .signIn(type: nil))
    }

    struct Answers: HTTPTransport {
        let answer: @Sendable (HTTPRequest) throws -> HTTPResponse
        func send(_ request: HTTPRequest) async throws -> HTTPResponse { try answer(request) }
    }

    @Test(arguments: [
        (HTTPTransportError.Kind.cannotResolveHost, "The name has no address.", "network"),
        (.cannotConnect, "No server accepted the connection.", "network"),
        (.timedOut, "No response.", "allow more time"),
        (.proxy, "The proxy could not be used.", "https_proxy"),
        (
            .tls, "The certificate comes from an authority that is not trusted here (CN=Corporate Proxy CA).",
            "specify its certificate file"
        ),
        (.tls, "The certificate has expired.", "date"), (.tls, "The certificate is for another host.", "hotel"),
    ])
    func `an unreachable provider is a network problem with its remedy`(
        kind: HTTPTransportError.Kind, reason: String, remedy: String
    ) async throws {
        let test = try await TestStore(types: [try type()])
        let transport = Answers { _ in throw HTTPTransportError(kind, host: "op.example.com", reason: reason) }
        for provider in [AccountType.Provider.issuer("https://op.example.com"), .endpoints] {
            var type = try type()
            type.provider = provider
            type.endpoints.token = URL(string: "https://op.example.com/token")
            let found = try finding(try await examine(test, types: [type], transport: transport), .network)
            #expect(found.state == .problem && found.failure?.kind == .network)
            #expect(found.detail.contains(reason))
            #expect(found.remedy?.description.contains(remedy) == true, "\(String(describing: found.remedy))")
        }
    }

    @Test(arguments: [86_400.0, -86_400, 90])
    func `a wrong local clock is a warning`(error: Double) async throws {
        let test = try await TestStore(types: [try type()])
        let provider = test.provider, now = test.clock.now
        for endpoints in [false, true] {
            var type = try type()
            if endpoints {
                type.provider = .endpoints
                type.endpoints.token = URL(string: "https://op.example.com/token")
            }
            let found = try finding(
                try await examine(
                    test, types: [type], transport: DatedTransport(inner: provider, date: HTTPDateText.text(now)),
                    clock: error), .clock)
            #expect(found.state == .warning && found.detail.contains("\(Int(abs(error))) s"))
            #expect(found.remedy?.description.contains("clock") == true)
        }
    }

    struct DatedTransport: HTTPTransport {
        let inner: any HTTPTransport
        let date: String
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            var response = try await inner.send(request)
            response.fields["Date"] = date
            return response
        }
    }

    @Test func `invalid metadata is a discovery problem`() async throws {
        let test = try await TestStore(types: [try type()])
        let portal = Answers { _ in
            HTTPResponse(status: 200, fields: ["Content-Type": "text/html"], body: Data("<html>".utf8))
        }
        #expect(try finding(try await examine(test, transport: portal), .network).failure?.kind == .network)
        let bare = Answers { _ in .json(["issuer": "https://op.example.com"]) }
        let found = try finding(try await examine(test, transport: bare), .discovery)
        #expect(found.failure?.kind == .refused && found.detail.contains("token_endpoint") || found.state == .problem)
        #expect(found.remedy?.actions.first as? AccountRemedy == .checkProvider(type: "graph"), "\(found)")
    }

    @Test func `a locked, missing or wrong key is a problem, not an empty store`() async throws {
        let test = try await TestStore(types: [try type()])
        try await test.signIn()
        let locked = try await examine(test, custody: UnusableKeyring(reason: "the keyring is locked"))
        #expect(try finding(locked, .key).detail.contains("the keyring is locked"))
        #expect(try finding(locked, .key).remedy == "what to do")
        let wrong = try await examine(test, custody: try TestStore.key(9))
        #expect(try finding(wrong, .key).failure?.kind == .key)
        #expect(!wrong.findings.contains { $0.check == .accounts })
    }

    @Test(arguments: [StorageError.Kind.readOnly, .noPermission, .insecure, .laterVersion, .full, .notAStore])
    func `an unusable store is a problem with its remedy`(kind: StorageError.Kind) async throws {
        let test = try await TestStore(types: [try type()])
        let storage = FaultyStorage()
        storage.fail(with: StorageError(kind, location: "/store", reason: "no", hint: "run: chmod 700 /store"))
        let found = try finding(try await examine(test, storage: storage, usesNetwork: false), .store)
        #expect(found.failure?.kind == .storage(kind) && found.remedy == "run: chmod 700 /store")
    }

    @Test func `the diagnosis uses the key location of the store`() async throws {
        let storage = MemoryStorage()
        var locations = KeyLocations(directory: StoreLocation("/nowhere"), choice: .passphrase, environment: [:])
        locations.passphraseParameters = try Scrypt(cost: 16, blockSize: 1, parallelization: 1)
        locations.passphrase = { _ in Secret("correct horse") }
        let types = [try type()]
        _ = try await AccountStore(settings: try Settings(types: types), storage: storage, keyLocations: locations)
        locations.choice = nil
        let test = try await TestStore(types: types)
        func examine() async throws -> Diagnosis.Finding {
            try finding(
                try await Diagnosis.examine(
                    settings: test.store.settings, storage: storage, keyLocations: locations,
                    dependencies: test.store.dependencies, usesNetwork: false), .key)
        }
        let found = try await examine()
        #expect(found.state == .ok && found.detail.contains("passphrase"), "\(found)")
        locations.passphrase = { _ in Secret("wrong horse") }
        #expect(try await examine().failure?.kind == .key)
    }

    @Test func `an account with an unknown policy is a problem`() async throws {
        let test = try await TestStore(types: [try type()])
        let ada = try await test.signIn()
        _ = try await test.store.repository.update(ada.id, .profile) { $0.policy = "edit" }
        let found = try finding(try await examine(test, usesNetwork: false), .accounts)
        #expect(found.state == .problem && found.failure?.kind == .settings && found.detail.contains("policies"))
    }

    @Test func `expired sign-ins and damaged records are separate findings`() async throws {
        let test = try await TestStore(types: [try type()])
        test.provider.change { $0.rotates = false }
        try await test.signIn()
        test.clock.advance(7200)
        let over = try finding(try await examine(test, usesNetwork: false), .accounts)
        #expect(over.state == .problem && over.remedy?.actions.first as? AccountRemedy == .signIn(type: "graph"))
        #expect(over.failure?.kind == .signInNeeded(.noRefreshToken))
        let bad = SealedRecord(id: "bad", type: "graph", revision: 1, sealed: [1, 2, 3])
        _ = try await test.store.storage.insert(bad)
        let damaged = try finding(try await examine(test, usesNetwork: false), .accounts)
        #expect(damaged.subject == "bad" && damaged.failure?.kind == .damagedRecord)
    }

    @Test func `an account with an unknown type is a warning`() async throws {
        let test = try await TestStore(types: [try type()])
        try await test.signIn()
        var other = try type()
        other.name = "other"
        let found = try finding(try await examine(test, types: [other], usesNetwork: false), .accounts)
        #expect(found.state == .warning && found.detail.contains("graph"))
    }

    @Test func `missing secrets and files of the settings are problems`() async throws {
        var type = try type()
        type.clientSecret = .environment("NO_SUCH")
        type.caFile = "/no/such/file.pem"
        let test = try await TestStore(types: [try self.type()])
        let diagnosis = try await examine(test, types: [type], usesNetwork: false)
        let found = diagnosis.problems.filter { $0.check == .settings }
        #expect(found.count == 2 && found.allSatisfy { $0.failure?.kind == .settings })
        #expect(found[0].detail.contains("NO_SUCH") && found[1].detail.contains("/no/such/file.pem"))
    }

    @Test func `a redirect port in use is a problem`() async throws {
        let listener = try LoopbackListener { _ in LoopbackResponse(status: 200) }
        defer { listener.close() }
        let test = try await TestStore(types: [try type("http://127.0.0.1:\(listener.port)/callback")])
        let found = try finding(try await examine(test, usesNetwork: false), .redirect)
        #expect(found.state == .problem && found.detail.contains("\(listener.port)"))
        #expect(found.remedy?.description.contains("redirectUri") == true)
        // The remedy names the command that lists the process.
        #expect(found.remedy?.description.contains(LoopbackPort.listenerCommand(listener.port)) == true)
    }

    @Test(arguments: [("NO_PROXY", "*", true), ("no_proxy", "*", true), ("NO_PROXY", "a.example", false)])
    func `a proxy that NO_PROXY disables is reported as not used`(name: String, value: String, isOff: Bool) async throws
    {
        let test = try await TestStore(types: [try type()])
        let environment = ["https_proxy": "http://proxy.example:3128", name: value]
        let found = try finding(try await examine(test, environment: environment, usesNetwork: false), .proxy)
        #expect(found.state == .ok && found.detail.contains("\(name) is *") == isOff)
        #expect(found.detail.contains("go through proxy.example:3128") != isOff)
    }

    @Test(arguments: [
        ("http://ada:s3cret@proxy.example:3128", Diagnosis.State.ok, "proxy.example:3128"),
        ("proxy:8080", .ok, "proxy:8080"),
        ("http://", .problem, "https_proxy"),
    ])
    func `the finding about the proxy does not contain its password`(
        value: String, state: Diagnosis.State, word: String
    ) async throws {
        let test = try await TestStore(types: [try type()])
        let found = try finding(
            try await examine(test, environment: ["https_proxy": value], usesNetwork: false), .proxy)
        #expect(found.state == state)
        #expect("\(found.detail) \(found.remedy ?? "")".contains(word) && !"\(found)".contains("s3cret"))
    }
}
