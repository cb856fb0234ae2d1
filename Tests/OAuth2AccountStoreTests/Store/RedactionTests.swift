import Foundation
import HTTPExchange
import JOSE
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

/// Descriptions of values do not contain secrets.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct RedactionTests {
    /// Returns every description that Swift has of a value.
    private func shown(_ value: Any) -> String {
        var text = ""
        dump(value, to: &text)
        var mirrored = ""
        for child in Mirror(reflecting: value).children { mirrored += "\(child)" }
        return text + String(describing: value) + String(reflecting: value) + "\(value)" + mirrored
    }

    private func expectNothing(of secrets: [String], in value: Any, _ name: String) {
        let text = shown(value)
        for secret in secrets { #expect(!text.contains(secret), "\(name) shows \(secret)") }
    }

    @Test func `the descriptions of public values contain no secret`() async throws {
        let secrets = [
            "AT_s3cr3t", "RT_s3cr3t", "CS_s3cr3t", "HEADER_s3cr3t", "PARAMETER_s3cr3t", "ENV_s3cr3t", "c2ln",
            "EXTRA_s3cr3t",
        ]
        var type = try TestStore.type()
        type.clientSecret = .inline(Secret("CS_s3cr3t_7Fjfp0ZBr1KtDRbnfVdmIw"))
        type.tokenHeaders = ["Authorization": "HEADER_s3cr3t"]
        type.tokenParameters = ["x": "PARAMETER_s3cr3t"]
        type.refreshParameters = ["x": "PARAMETER_s3cr3t"]
        type.authorizationParameters = ["x": "PARAMETER_s3cr3t"]
        let provider = try FakeProvider(clock: FakeClock())
        var dependencies = Dependencies(transport: provider, environment: ["SECRET": "ENV_s3cr3t"])
        dependencies.useTestTime()
        dependencies.now = { provider.clock.now }
        let settings = try Settings(types: [type])
        let custody = try TestStore.key()
        let store = try await AccountStore(
            settings: settings, storage: MemoryStorage(), custody: custody, dependencies: dependencies)
        let answer = try TokenResponse.read(
            .json([
                "access_token": "AT_s3cr3t_2YotnFZFEjr1zCsicMWpAA", "refresh_token": "RT_s3cr3t_tGzv3JOkF0XG5Qx2TlKWIA",
                "token_type": "bearer", "expires_in": 3600, "refresh_token_2": "EXTRA_s3cr3t",
            ]))
        let events = store.events()
        let account = try await store.add(answer, toType: "graph")
        let prepared = try await store.prepareSignIn(to: "graph")
        let token = try await store.accessToken(for: account.id)
        #expect(token.authorization == "Bearer AT_s3cr3t_2YotnFZFEjr1zCsicMWpAA")
        let loaded = try #require(store.repository.cache[account.id])
        var iterator = events.makeAsyncIterator()
        let event = try #require(await iterator.next())
        for (name, value) in [
            ("account", account), ("token", token), ("store", store), ("settings", settings), ("type", type),
            ("dependencies", dependencies), ("key", custody), ("event", event), ("tokens", loaded.record.tokens),
            ("record", loaded.record), ("source", type.clientSecret as Any), ("answer", answer),
        ] as [(String, Any)] {
            expectNothing(of: secrets, in: value, name)
        }
        expectNothing(of: [prepared.id], in: prepared, "prepared")
        let report = try await store.signOut(account.id)
        expectNothing(of: secrets, in: report, "report")
    }

    @Test func `the description of a sign-out report does not contain the ID token`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let idToken = try #require(await test.savedTokens(ada.id)?.idToken)
        let report = try await test.store.signOut(ada.id)
        #expect(report.endSessionURL?.absoluteString.contains(idToken.value) == true)
        expectNothing(of: [idToken.value, String(idToken.value.prefix(20))], in: report, "report")
    }

    @Test func `errors contain no secrets when the provider repeats the request`() async throws {
        var type = try TestStore.type()
        type.clientSecret = .inline(Secret("CS_s3cr3t"))
        let test = try await TestStore(types: [type])
        let echo: FakeProvider.Answer = { request in
            let form = FakeProvider.form(request)
            let sent = form["refresh_token"] ?? form["code"] ?? ""
            return .refusal("invalid_request", "cannot use \(sent) with CS_s3cr3t")
        }
        let prepared = try await test.store.prepareSignIn(to: "graph")
        test.provider.next(echo)
        let first = try #require(await failure { try await test.store.handleRedirect(test.provider.approve(prepared)) })
        expectNothing(of: ["code-1", "CS_s3cr3t"], in: first, "code")
        let ada = try await test.signIn()
        test.provider.next(echo)
        let second = try #require(await failure { try await test.token(ada.id, rejected: "AT-3") })
        expectNothing(of: ["RT-3", "CS_s3cr3t"], in: second, "refresh")
        #expect(second.reason.contains("cannot use \(Secret.mask) with"))
    }

    @Test func `an unknown transport error is not included in the message`() async throws {
        struct Leak: Error { let address = "https://op.example.com/token?refresh_token=RT-2" }
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.provider.next { _ in throw Leak() }
        let error = try #require(await failure { try await test.token(ada.id, rejected: "AT-2") })
        expectNothing(of: ["RT-2"], in: error, "error")
        #expect(error.remedy == .retryLater(after: nil))
    }

    @Test(arguments: ["s3cr3t_7Fjfp0ZBr1", "s3cr3t/ü+ 7Fjfp0ZBr1"])
    func `an error description that repeats the client secret in any form is redacted`(secret: String) throws {
        for authentication in [ClientAuthentication.secretBasic(Secret(secret)), .secretBasicRaw(Secret(secret))] {
            let client = Client(id: "client", authentication: authentication)
            let basic = try #require(client.basicCredentials).value
            let texts = [secret, basic, FormEncoding.encode(secret)]
            for text in texts {
                let error = OAuth2Error.provider(
                    ProviderError(code: .invalidClient, explanation: "cannot read (\(text)) here"))
                guard case .provider(let redacted) = error.redacting(client.secretForms) else {
                    Issue.record("another error")
                    continue
                }
                #expect(redacted.explanation == "cannot read (\(Secret.mask)) here")
            }
        }
    }

    @Test func `the files of a store contain no secret in clear text`() async throws {
        let directory = try TemporaryDirectory()
        let test = try await TestStore(
            storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store))
        let ada = try await test.signIn()
        try await test.store.setUserData("DATA_s3cr3t", for: ada.id)
        _ = try await test.token(ada.id, rejected: "AT-2")
        for name in try FileManager.default.contentsOfDirectory(atPath: directory.store.path) {
            let bytes = try Data(contentsOf: URL(filePath: directory.store.file(name)))
            for secret in ["AT-2", "AT-3", "RT-2", "RT-3", "DATA_s3cr3t", "ada@example.com"] {
                #expect(bytes.range(of: Data(secret.utf8)) == nil, "\(name) holds \(secret)")
            }
        }
    }
}
