import Foundation
import HTTPExchange
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

/// Tests proxies and certificates on the way to a provider, and the checks without settings.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct NetworkDiagnosisTests {
    struct Answers: HTTPTransport {
        let answer: @Sendable (HTTPRequest) throws -> HTTPResponse
        func send(_ request: HTTPRequest) async throws -> HTTPResponse { try answer(request) }
    }

    private func examine(
        _ test: TestStore, transport: (any HTTPTransport)? = nil, environment: [String: String] = [:],
        certificates: [PeerCertificate] = [], caFile: String? = nil
    ) async throws -> Diagnosis {
        var dependencies = Dependencies(transport: transport ?? test.provider, environment: environment)
        let now = test.clock.now
        dependencies.now = { now }
        dependencies.peerCertificates = { url in
            #expect(url.absoluteString == "https://op.example.com:443/")
            return certificates
        }
        var type = try TestStore.type(redirect: "http://127.0.0.1/callback")
        type.caFile = caFile
        return try await Diagnosis.examine(
            settings: try Settings(types: [type]), storage: MemoryStorage(), custody: try TestStore.key(),
            dependencies: dependencies)
    }

    private func finding(_ diagnosis: Diagnosis, _ check: Diagnosis.Check) throws -> Diagnosis.Finding {
        try #require(diagnosis.findings.first { $0.check == check }, "\(check)")
    }

    @Test func `the finding names the certificate's issuer, and a proxy that intercepts TLS is a warning`()
        async throws
    {
        let test = try await TestStore()
        let own = PeerCertificate(subject: "CN = op.example.com", issuer: "O = Honest Trust, CN = Honest R3")
        let plain = try finding(try await examine(test, certificates: [own]), .network)
        #expect(
            plain.state == .ok
                && plain.detail.hasSuffix("its certificate is issued by O = Honest Trust, CN = Honest R3"))
        let read = PeerCertificate(
            subject: "CN = op.example.com", issuer: "O = Zscaler Inc., CN = Zscaler Root CA")
        let intercepted = try finding(try await examine(test, certificates: [read, own]), .network)
        #expect(intercepted.state == .warning && intercepted.detail.contains("Zscaler Root CA"))
        #expect(intercepted.remedy != nil)
        #expect(try finding(try await examine(test), .network).detail == "the provider responds")
    }

    @Test func `an untrusted certificate is a problem that names its authority and remedy`() async throws {
        let test = try await TestStore()
        let transport = Answers { _ in
            throw HTTPTransportError(
                .tls, host: "op.example.com",
                reason: "The certificate comes from an authority that is not trusted here.")
        }
        let chain = [
            PeerCertificate(subject: "CN = op.example.com", issuer: "CN = Company Issuing"),
            PeerCertificate(subject: "CN = Company Issuing", issuer: "CN = Company Root"),
        ]
        let found = try finding(try await examine(test, transport: transport, certificates: chain), .network)
        #expect(found.state == .problem && found.detail.contains("issued by: CN = Company Root"))
        #expect(found.remedy?.actions.first as? AccountRemedy == .nameCertificateFile)
        #expect(found.remedy?.description.contains("caFile of graph") == true)
        // An unreachable server presented no certificate.
        let absent = Answers { _ in
            throw HTTPTransportError(
                .cannotConnect, host: "op.example.com", reason: "No server accepted the connection.")
        }
        let other = try finding(try await examine(test, transport: absent, certificates: chain), .network)
        #expect(!other.detail.contains("Company"))
    }

    @Test func `a failed proxy is a separate problem that names its variable`() async throws {
        let test = try await TestStore()
        let transport = Answers { _ in
            throw HTTPTransportError(.proxy, host: "op.example.com", reason: "The proxy could not be used.")
        }
        let environment = ["HTTPS_PROXY": "http://ada:s3cret@proxy.example:3128"]
        let found = try finding(try await examine(test, transport: transport, environment: environment), .proxy)
        #expect(
            found.state == .problem && found.detail.contains("proxy.example:3128") && found.subject == "HTTPS_PROXY")
        #expect(found.remedy?.description.contains("unset HTTPS_PROXY") == true && !"\(found)".contains("s3cret"))
        let passing = try finding(try await examine(test, environment: environment), .proxy)
        #expect(passing.state == .ok && passing.detail.contains("lets them pass"))
    }

    @Test(arguments: [
        ("op.example.com", true), ("example.com", true), (".EXAMPLE.com", true), ("a.example, example.com.", true),
        ("a.example example.com", true), ("*", true), ("le.com", false), ("www.op.example.com", false), ("", false),
        ("*,b.example", false),
    ])
    func `a provider in NO_PROXY is reached without the proxy`(list: String, isException: Bool)
        async throws
    {
        let test = try await TestStore()
        let environment = ["https_proxy": "proxy.example:3128", "NO_PROXY": list]
        let found = try finding(try await examine(test, environment: environment), .proxy)
        #expect(found.state == .ok && found.detail.contains("NO_PROXY") == isException, "\(found.detail)")
        #expect(found.detail.contains("lets them pass") != isException)
    }

    @Test func `without valid settings the diagnosis still checks the store, key and accounts`() async throws {
        let test = try await TestStore()
        try await test.signIn()
        let failure = SettingsError(
            file: "settings.json", key: nil, expected: "JSON", found: "the text ends inside an object")
        let diagnosis = try await Diagnosis.examine(
            without: failure, storage: test.store.storage, custody: try TestStore.key(),
            dependencies: test.store.dependencies)
        let settings = try finding(diagnosis, .settings)
        #expect(settings.state == .problem && settings.detail.contains("ends inside an object"))
        #expect(diagnosis.findings.map(\.check) == [.settings, .proxy, .store, .key, .locks, .accounts])
        #expect(diagnosis.problems.count == 1, "\(diagnosis.problems)")
        let account = try finding(diagnosis, .accounts)
        #expect(account.state == .ok && account.subject == "ada@example.com", "\(account)")
    }
}
