import Foundation
import HTTPExchange
import JOSE
import LodgePlatform
import OAuth2AccountStore
import ProviderSettings
import SealedStorage
import StoreTestSupport
import StrictJSON
import TestSupport
import Testing

@testable import Diagnostics

/// The sources of an application's tokens and assertions in the results of both checks.
@Suite final class TokenSourceTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func write(_ name: String, _ object: JSONObject, mode: mode_t = 0o600) throws -> String {
        try write(name, JSONValue.object(object).text(), mode: mode)
    }

    private func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
        let path = "\(folder.path)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: path))
        chmod(path, mode)
        return path
    }

    private func jwt(expiry: Int64 = 4_000_000_000) throws -> String {
        let claims: JSONObject = [
            "iss": "https://ci.example", "sub": "job", "aud": "api://exchange", "exp": .number(JSONNumber(expiry)),
        ]
        return try JWT.sign(claims, with: try JWK.generate(for: .es256), algorithm: .es256)
    }

    /// The findings about a type, and the requests of both checks.
    private struct Result {
        let doctor: [Diagnosis.Finding]
        let offline: [Diagnosis.Finding]
        let report: ProviderReport
        let requests: [HTTPRequest]
    }

    /// Runs both checks, and `doctor` without the network too. Checks that the offline check sends no request.
    private func check(
        _ type: JSONObject, _ environment: [String: String] = [:],
        answer: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
    ) async throws -> Result {
        let requests = Log<HTTPRequest>()
        var dependencies = Dependencies(
            transport: NetworkDiagnosisTests.Answers { request in
                requests.append(request)
                return try answer(request)
            }, environment: environment)
        dependencies.now = { Date(timeIntervalSince1970: 1_800_000_000) }
        let text = JSONValue.object(["types": .object(["t": .object(type)])]).serialized()
        let settings = try Settings(bytes: text, source: "test", environment: environment)
        func examine(_ usesNetwork: Bool) async throws -> [Diagnosis.Finding] {
            try await Diagnosis.examine(
                settings: settings, storage: MemoryStorage(), custody: try TestStore.key(), dependencies: dependencies,
                usesNetwork: usesNetwork
            ).findings.filter { $0.subject == "t" }
        }
        let offline = try await examine(false)
        #expect(requests.all.isEmpty)
        let found = try #require(try settings.type(named: "t"))
        return Result(
            doctor: try await examine(true), offline: offline,
            report: try await ProviderReport.check(found, dependencies: dependencies), requests: requests.all)
    }

    private static let appService = ["IDENTITY_ENDPOINT": "http://127.0.0.1:41/msi", "IDENTITY_HEADER": "hidden"]
    private static let identity: JSONObject = ["provider": "entra", "grant": "managedIdentity"]
    private static func google(_ grant: String, _ file: String, subject: String? = nil) -> JSONObject {
        var account: JSONObject = ["file": .string(file)]
        if let subject { account["subject"] = .string(subject) }
        var type: JSONObject = ["provider": "google", "grant": .string(grant)]
        type[grant] = .object(account)
        return type
    }

    // MARK: Services of the platform

    @Test func `both checks show the detected source, its variable and its identity, and only ask whether it responds`()
        async throws
    {
        let result = try await check(Self.identity, Self.appService) { _ in HTTPResponse(status: 401) }
        let detail = "detected appService at http://127.0.0.1:41/msi (IDENTITY_ENDPOINT), system-assigned identity"
        #expect(result.offline.map(\.detail) == [detail])
        #expect(result.doctor.map(\.detail) == [detail + "; it responds"])
        #expect(result.doctor.map(\.check) == [.client] && result.doctor.first?.state == .ok)
        #expect(result.report.findings.map(\.detail) == [detail + "; it responds"])
        #expect(result.report.problems.isEmpty && result.report.sourceFailure == nil)
        // No request has the header field that would return a token, and none goes to the authority.
        #expect(result.requests.allSatisfy { $0.fields["X-IDENTITY-HEADER"] == nil && $0.url.host() == "127.0.0.1" })
        #expect(result.requests.allSatisfy { $0.allowsLinkLocal && $0.redirects == .none })
    }

    @Test func `the metadata service of Azure is recognized by its error`() async throws {
        var type = Self.identity
        type["managedIdentity"] = ["clientId": "abc"]
        let good = try await check(type) { _ in HTTPResponse(status: 400) }
        #expect(
            good.doctor.map(\.detail) == [
                "detected imds at http://169.254.169.254/metadata/identity/oauth2/token, identity abc; it responds"
            ])
        #expect(good.offline.first?.detail.contains("only a request can detect the source") == true)
        #expect(good.requests.allSatisfy { $0.fields["Metadata"] == nil })
        type["managedIdentity"] = ["source": "imds"]
        for response in [HTTPResponse(status: 403), HTTPResponse(status: 200), HTTPResponse(status: 302)] {
            let wrong = try await check(type) { _ in response }
            #expect(wrong.doctor.map(\.state) == [.problem] && wrong.offline.map(\.state) == [.ok])
            #expect(wrong.doctor.first?.remedy != nil && wrong.report.sourceFailure?.kind == .network)
        }
        let absent = try await check(type) { _ in throw HTTPTransportError(.cannotConnect, host: "h", reason: "no") }
        #expect(absent.doctor.first?.detail.contains("does not respond") == true)
    }

    @Test func `another service at the address of Google's metadata service is a problem`() async throws {
        let type: JSONObject = [
            "grant": "managedIdentity", "managedIdentity": ["source": "google"], "scopes": ["https://a.example/x"],
        ]
        let good = try await check(type, ["GCE_METADATA_HOST": "127.0.0.1:5"]) { _ in
            HTTPResponse(status: 200, fields: ["Metadata-Flavor": "Google"])
        }
        #expect(good.doctor.first?.detail.contains("(GCE_METADATA_HOST)") == true && good.report.problems.isEmpty)
        #expect(good.requests.allSatisfy { $0.url.path() == "/" && $0.url.host() == "127.0.0.1" })
        let page = Data("<html>".utf8)
        for response in [HTTPResponse(status: 403), HTTPResponse(status: 200, body: page)] {
            let wrong = try await check(type) { _ in response }
            #expect(wrong.doctor.map(\.state) == [.problem] && wrong.report.problems.count == 1)
        }
    }

    @Test func `an unusable variable is a problem that names it, and no request is sent`() async throws {
        let environment = ["IDENTITY_ENDPOINT": "http://evil.example/", "IDENTITY_HEADER": "hidden"]
        let result = try await check(Self.identity, environment) { _ in HTTPResponse(status: 400) }
        for findings in [result.doctor, result.offline] {
            #expect(findings.map(\.state) == [.problem] && findings[0].failure?.kind == .settings)
            #expect(findings[0].remedy?.description.contains("IDENTITY_ENDPOINT") == true)
        }
        #expect(result.requests.isEmpty)
    }

    // MARK: Files of Google

    private func keyFile(_ endpoint: String = "https://oauth2.googleapis.com/token", mode: mode_t = 0o600) throws
        -> String
    {
        try write(
            "key.json",
            [
                "type": "service_account", "client_email": "robot@project.example", "private_key_id": "kid-1",
                "private_key": .string(TestKeys.rsa), "token_uri": .string(endpoint),
            ], mode: mode)
    }

    @Test func `both checks show the account, the key, the user and the mode of a key file`() async throws {
        let file = try keyFile()
        let date = HTTPDateText.text(Date(timeIntervalSince1970: 1_800_000_100))
        let result = try await check(Self.google("serviceAccount", file, subject: "admin@example.com")) { _ in
            HTTPResponse(status: 404, fields: ["Date": date])
        }
        let detail =
            "\(file) (mode 600): service account \"robot@project.example\", key \"kid-1\", for the user "
            + "\"admin@example.com\"; oauth2.googleapis.com"
        #expect(result.offline.map(\.detail) == [detail])
        #expect(result.doctor.first { $0.check == .client }?.detail == detail + " responds")
        #expect(result.doctor.contains { $0.check == .clock && $0.state == .warning })
        #expect(result.report.findings.map(\.subject) == ["source", "clock"])
        #expect(result.requests.allSatisfy { $0.method == .get && $0.body == nil })
    }

    @Test func `a key file that others can read is a warning, and one for another server is a problem`() async throws {
        // In a folder that others cannot enter, the mode does not matter.
        chmod(folder.path, 0o755)
        let open = try await check(Self.google("serviceAccount", try keyFile(mode: 0o644))) { _ in
            HTTPResponse(status: 404)
        }
        #expect(open.offline.contains { $0.state == .warning && $0.remedy?.description.contains("chmod") == true })
        #expect(open.offline.contains { $0.detail.contains("(mode 644)") && $0.detail.contains("for no user") })
        let type = Self.google("serviceAccount", try keyFile("https://evil.example/token"))
        let wrong = try await check(type) { _ in HTTPResponse(status: 404) }
        #expect(
            wrong.doctor.contains {
                $0.state == .problem && $0.remedy?.description.contains("knownAuthorities") == true
            })
        #expect(wrong.report.sourceFailure?.kind == .settings && wrong.requests.isEmpty)
    }

    @Test func `both checks show the claims of the token of another provider, and never the token`() async throws {
        let token = try jwt()
        let file = try write(
            "external.json",
            [
                "type": "external_account", "audience": "//iam/p", "subject_token_type": "jwt",
                "credential_source": ["file": .string(try write("token", token))],
            ])
        let result = try await check(Self.google("externalAccount", file)) { _ in HTTPResponse(status: 404) }
        for detail in [result.offline.first?.detail, result.doctor.first?.detail] {
            let detail = try #require(detail)
            for text in ["//iam/p", "https://ci.example", "job", "api://exchange", "valid for", "sts.googleapis.com"] {
                #expect(detail.contains(text), "\(text)")
            }
            #expect(!detail.contains("eyJ"))
        }
        // Only the final request of the application sends the token.
        #expect(result.requests.allSatisfy { $0.method == .get })
    }

    // MARK: Assertions

    @Test func `an assertion in a file is shown without the network, and one of a server is not fetched`() async throws
    {
        let token = try jwt(expiry: 1_800_000_600)
        let file = try write("assertion", token)
        func type(_ assertion: JSONObject) -> JSONObject {
            [
                "issuer": "https://op.example.com", "clientId": "c", "grant": "clientCredentials", "scopes": ["read"],
                "clientAssertion": .object(assertion),
            ]
        }
        let result = try await check(type(["file": .string(file)])) { _ in HTTPResponse(status: 404) }
        let detail =
            "\(file) returns a JWT with issuer \"https://ci.example\", subject \"job\", audience \"api://exchange\", "
            + "valid for 10 min"
        #expect(result.offline.map(\.detail) == [detail])
        #expect(result.doctor.contains { $0.detail == detail })
        #expect(result.report.findings.first?.detail == detail && result.report.findings.first?.subject == "source")
        let server = try await check(type(["url": "https://ci.example/token"])) { _ in HTTPResponse(status: 404) }
        #expect(server.offline.map(\.state) == [.ok])
        #expect(server.report.sourceFailure?.kind == .settings)
        let absent = try await check(type(["file": .string(folder.path + "/absent")])) { _ in HTTPResponse(status: 404)
        }
        #expect(absent.offline.map(\.state) == [.problem] && absent.report.sourceFailure?.kind == .settings)
        let old = try write("old", try jwt(expiry: 1_700_000_000))
        let expired = try await check(type(["file": .string(old)])) { _ in HTTPResponse(status: 404) }
        #expect(expired.offline.map(\.state) == [.warning] && expired.offline.first?.remedy != nil)
    }
}
