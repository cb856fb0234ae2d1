import Foundation
import HTTPExchange
import LodgePlatform
import OAuth2AccountStore
import ProviderSettings
import StoreTestSupport
import TestSupport
import Testing

@testable import Diagnostics

/// The certificates of clients in the results of both checks.
@Suite struct ClientCertificateTests {
    /// The end of the certificate, 2126-01-01.
    private static let end = 4_922_899_200.0

    private func type(_ file: String = "app.pem") throws -> AccountType {
        var type = try TestStore.type()
        type.clientAssertion = .certificate(
            CertificateCredential(files: .pem(certificate: try SampleCertificate.path(file), key: nil)))
        return type
    }

    private func dependencies(days: Double) -> Dependencies {
        let transport = NetworkDiagnosisTests.Answers { _ in HTTPResponse(status: 503) }
        var dependencies = Dependencies(transport: transport, environment: [:])
        dependencies.now = { Date(timeIntervalSince1970: Self.end - days * 86_400) }
        return dependencies
    }

    @Test(arguments: [
        (400.5, "expires in 400 days", false), (31.5, "expires in 31 days", false), (30.5, "expires in 30 days", true),
        (1.5, "expires in 1 day;", true), (0.5, "expires within a day", true),
    ])
    func `both checks show the certificate, with a warning in the last 30 days`(
        days: Double, remaining: String, isWarning: Bool
    ) async throws {
        let (type, dependencies) = (try type(), dependencies(days: days))
        let report = try await ProviderReport.check(type, dependencies: dependencies)
        let finding = try #require(report.findings.first)
        #expect(finding.subject == "certificate" && finding.state == (isWarning ? .warning : .ok))
        var diagnosis = Diagnosis()
        try await diagnosis.checkSettings(try Settings(types: [type]), [type], dependencies, type: nil)
        let finding2 = try #require(
            diagnosis.findings.first { $0.subject == type.name && $0.detail.contains("CN=app") })
        #expect(finding2.check == .settings && finding2.state == (isWarning ? .warning : .ok))
        for (detail, remedy) in [(finding.detail, finding.remedy), (finding2.detail, finding2.remedy)] {
            #expect(detail.contains("CN=app, O=Contoso") && detail.contains(remaining), "\(detail)")
            for digest in ["sha1", "sha256"] {
                #expect(detail.contains(try SampleCertificate.thumbprint("app.pem", digest)), "\(detail)")
            }
            #expect((remedy != nil) == isWarning)
        }
    }

    @Test(arguments: [(31.5, false), (30.5, true), (0.5, true)])
    func `both checks warn of an intermediate certificate that expires first, if the chain is sent`(
        days: Double, isWarning: Bool
    ) async throws {
        // The intermediate certificate ends on 2030-01-01, the certificate of the application on 2126-01-01.
        let dependencies = dependencies(days: (Self.end - 1_893_456_000) / 86_400 + days)
        for includesChain in [true, false] {
            var type = try type()
            var credential = CertificateCredential(
                files: .pem(certificate: try SampleCertificate.path("chain-short.pem"), key: nil))
            credential.includesChain = includesChain
            type.clientAssertion = .certificate(credential)
            let finding = try #require(
                try await ProviderReport.check(type, dependencies: dependencies).findings.first)
            #expect(finding.state == (isWarning && includesChain ? .warning : .ok))
            let remaining = days < 1 ? "expires within a day" : "expires in \(Int(days)) days"
            #expect(
                finding.detail.contains("the intermediate certificate CN=short-lived, O=Contoso \(remaining)")
                    == includesChain, "\(finding.detail)")
            #expect((finding.remedy?.description.contains("intermediate") == true) == (isWarning && includesChain))
        }
    }

    @Test(arguments: ["expired.pem", "weak.pem", "absent.pem"])
    func `an unusable certificate is a problem of the settings`(file: String) async throws {
        var type = try type()
        let folder = try SampleCertificate.path("app.pem").dropLast("app.pem".utf8.count)
        type.clientAssertion = .certificate(
            CertificateCredential(files: .pem(certificate: "\(folder)\(file)", key: nil)))
        let dependencies = dependencies(days: 400)
        let report = try await ProviderReport.check(type, dependencies: dependencies)
        #expect(report.findings.map(\.subject) == ["certificate"] && report.problems.count == 1)
        #expect(report.failure?.kind == .settings && report.failure?.reason.contains(file) == true)
        var diagnosis = Diagnosis()
        try await diagnosis.checkSettings(try Settings(types: [type]), [type], dependencies, type: nil)
        #expect(diagnosis.problems.contains { $0.failure?.reason.contains(file) == true })
    }
}
