import CurlHTTP
import DirectorySearch
import Foundation
import HTTPExchange
import JOSE
import LocalProvider
import LodgePlatform
import OAuth2AccountStore
import OAuth2AccountStoreTesting
import StrictJSON
import TestSupport
import Testing

/// Applications without a secret: tokens from the services of a platform, and searches with them.
@Suite struct ApplicationDirectoryTests {
    private static let scope = "https://www.googleapis.com/auth/admin.directory.user.readonly"

    private func open(
        _ provider: LoopbackProvider, _ type: JSONObject, _ environment: [String: String] = [:]
    ) async throws -> AccountStore {
        let settings = JSONValue.object(["types": .object(["t": .object(type)])])
        return try await InMemoryStore.open(
            settings: try Settings(bytes: settings.serialized(), source: "test"),
            dependencies: Dependencies(transport: CurlTransport(), environment: environment))
    }

    private func count(_ store: AccountStore) async throws -> Int {
        let account = try await store.signIn(to: "t")
        let directory = account.directory(in: store)
        var count = 0
        for try await _ in directory.users(matching: .givenName(startsWith: "Ada")) { count += 1 }
        return count
    }

    private func managed(_ provider: LoopbackProvider, _ identity: JSONObject) -> JSONObject {
        [
            "grant": "managedIdentity", "managedIdentity": .object(identity),
            "graphAPI": .string(provider.graphBase.absoluteString),
        ]
    }

    @Test func `a managed identity searches Microsoft Graph`() async throws {
        var configuration = ProviderConfiguration()
        configuration.accessTokenLifetime = .seconds(600)
        let provider = try await LoopbackProvider(configuration: configuration)
        defer { provider.close() }
        let origin = "http://127.0.0.1:\(provider.port)"
        let environments = [
            ["AZURE_POD_IDENTITY_AUTHORITY_HOST": origin],
            ["IDENTITY_ENDPOINT": "\(origin)/msi/token", "IDENTITY_HEADER": PlatformConfiguration.header],
            ["MSI_ENDPOINT": "\(origin)/machinelearning/token", "MSI_SECRET": PlatformConfiguration.header],
            ["MSI_ENDPOINT": "\(origin)/cloudshell/oauth2/token"],
        ]
        for environment in environments {
            let store = try await open(provider, managed(provider, [:]), environment)
            #expect(try await count(store) > 0)
        }
        let identity = PlatformConfiguration.userIdentity
        for (name, value) in [
            ("clientId", identity.clientID), ("objectId", identity.objectID), ("resourceId", identity.resourceID),
        ] {
            let type = managed(
                provider, JSONObject([.init(name: "source", value: "imds"), .init(name: name, value: .string(value))]))
            #expect(try await count(open(provider, type, environments[0])) > 0)
        }
    }

    @Test func `faults of a metadata service are errors or are tolerated`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let environment = ["AZURE_POD_IDENTITY_AUTHORITY_HOST": "http://127.0.0.1:\(provider.port)"]
        let type = managed(
            provider, ["source": "imds", "clientId": .string(PlatformConfiguration.userIdentity.clientID)])
        for name in [InjectedErrors.Name.metadataHTML, .metadataRedirect, .metadataOtherIdentity] {
            provider.setInjectedErrors(InjectedErrors(name))
            let store = try await open(provider, type, environment)
            await #expect(throws: AccountStoreError.self) { try await store.signIn(to: "t") }
        }
        provider.setInjectedErrors(InjectedErrors(.metadataNumber))
        #expect(try await count(open(provider, type, environment)) > 0)
    }

    @Test func `a challenge of Azure Arc with a file elsewhere is refused`() async throws {
        let folder = try TemporaryDirectory()
        try Data("content".utf8).write(to: URL(filePath: folder.path + "/a.key"))
        var configuration = ProviderConfiguration()
        configuration.platform.challenge = (folder.path + "/a.key", "content")
        let provider = try await LoopbackProvider(configuration: configuration)
        defer { provider.close() }
        let origin = "http://127.0.0.1:\(provider.port)"
        let environment = [
            "IDENTITY_ENDPOINT": "\(origin)/arc/metadata/identity/oauth2/token", "IMDS_ENDPOINT": origin,
        ]
        // The folder of the challenge is fixed, so a file elsewhere is refused.
        let store = try await open(provider, managed(provider, [:]), environment)
        await #expect(throws: AccountStoreError.self) { try await store.signIn(to: "t") }
    }

    @Test func `a service account searches Google's directory for an administrator`() async throws {
        let mail = "robot@example.iam.gserviceaccount.com"
        var key = try JWK(privateKeyPEM: Array(TestKeys.rsa.utf8))
        key.keyID = "k1"
        var configuration = ProviderConfiguration()
        configuration.platform.serviceAccountKeys = [mail: key]
        let provider = try await LoopbackProvider(configuration: configuration)
        defer { provider.close() }
        let origin = "http://127.0.0.1:\(provider.port)"
        let folder = try TemporaryDirectory()
        let file = folder.path + "/key.json"
        let object: JSONObject = [
            "type": "service_account", "client_email": .string(mail), "private_key": .string(TestKeys.rsa),
            "private_key_id": "k1", "token_uri": .string("\(origin)/google/token"),
        ]
        try Data(JSONValue.object(object).serialized()).write(to: URL(filePath: file))
        let administrator = try #require(provider.user(at: 0)).userPrincipalName
        func type(_ account: JSONObject, _ more: JSONObject = [:]) -> JSONObject {
            var type: JSONObject = [
                "grant": "serviceAccount", "serviceAccount": .object(account), "directory": "google",
                "directoryBase": .string("\(origin)/admin/directory/v1"), "knownAuthorities": ["127.0.0.1"],
            ]
            for member in more.members { type[member.name] = member.value }
            return type
        }
        #expect(try await count(open(provider, type(["file": .string(file), "subject": .string(administrator)]))) > 0)
        // Only a user can be an administrator.
        let itself = try await open(provider, type(["file": .string(file)]))
        await #expect(throws: (any Error).self) { try await count(itself) }
        let drive = type(
            ["file": .string(file), "subject": .string(administrator)],
            ["scopes": ["https://www.googleapis.com/auth/drive"]])
        let refused = try await open(provider, drive)
        do {
            _ = try await refused.signIn(to: "t")
            Issue.record("the delegation has no such scope")
        } catch let error as AccountStoreError {
            #expect(error.remedy == .askAdministrator && error.reason.contains("auth/drive"))
        }
    }

    @Test func `an external account searches Google's directory without a key file`() async throws {
        let provider = try await LoopbackProvider()
        defer { provider.close() }
        let origin = "http://127.0.0.1:\(provider.port)"
        let folder = try TemporaryDirectory()
        let token = folder.path + "/token", file = folder.path + "/external.json"
        try Data(PlatformConfiguration.subjectToken.utf8).write(to: URL(filePath: token))
        let impersonation =
            "\(origin)/v1/projects/-/serviceAccounts/\(PlatformConfiguration.serviceAccount):generateAccessToken"
        let object: JSONObject = [
            "type": "external_account", "audience": .string(PlatformConfiguration.audience),
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": .string("\(origin)/v1/token"),
            "service_account_impersonation_url": .string(impersonation),
            "credential_source": ["file": .string(token)],
        ]
        try Data(JSONValue.object(object).serialized()).write(to: URL(filePath: file))
        let administrator = try #require(provider.user(at: 0)).userPrincipalName
        func type(_ account: JSONObject) -> JSONObject {
            [
                "grant": "externalAccount", "externalAccount": .object(account), "directory": "google",
                "directoryBase": .string("\(origin)/admin/directory/v1"), "knownAuthorities": ["127.0.0.1"],
                "tokenEndpoint": .string("\(origin)/google/token"),
            ]
        }
        let delegated = try await open(
            provider, type(["file": .string(file), "subject": .string(administrator)]))
        #expect(try await count(delegated) > 0)
        let itself = try await open(provider, type(["file": .string(file)]))
        #expect(try await itself.signIn(to: "t").isClient)
    }
}
