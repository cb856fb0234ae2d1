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
import Platform

/// Who stands between this machine and a provider, and what is looked at without settings.
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

    @Test func `the issuer of the certificate that came is named, and a proxy that reads along is a warning`()
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

    @Test func `a certificate that is not trusted names its authority, and what to do with it`() async throws {
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
        // A server that is not there has presented nothing.
        let absent = Answers { _ in
            throw HTTPTransportError(
                .cannotConnect, host: "op.example.com", reason: "No server accepted the connection.")
        }
        let other = try finding(try await examine(test, transport: absent, certificates: chain), .network)
        #expect(!other.detail.contains("Company"))
    }

    @Test func `a proxy that refuses is a problem of its own, with the variable that names it`() async throws {
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
    func `a provider that is named as an exception is asked without the proxy`(list: String, isException: Bool)
        async throws
    {
        let test = try await TestStore()
        let environment = ["https_proxy": "proxy.example:3128", "NO_PROXY": list]
        let found = try finding(try await examine(test, environment: environment), .proxy)
        #expect(found.state == .ok && found.detail.contains("NO_PROXY") == isException, "\(found.detail)")
        #expect(found.detail.contains("lets them pass") != isException)
    }

    @Test func `without settings the store, the key and the sign-ins are looked at all the same`() async throws {
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
