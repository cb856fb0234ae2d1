import Foundation
import HTTPExchange
import LodgePlatform
import OAuth2Protocol
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage

@Suite struct ManagedIdentityStoreTests {
    private static let type: JSONObject = ["provider": "entra", "grant": "managedIdentity"]
    private static let imds: JSONObject = [
        "provider": "entra", "grant": "managedIdentity", "managedIdentity": ["source": "imds"],
    ]
    private static let appService = [
        "IDENTITY_ENDPOINT": "http://127.0.0.1:41/msi/token", "IDENTITY_HEADER": "secret-header",
    ]

    private func failure(
        _ platform: ScriptedPlatform, _ type: JSONObject = imds, _ environment: [String: String] = [:]
    ) async throws -> AccountStoreError {
        let store = try await platform.store(type, environment: environment)
        let error = try #require(try await grantFailure { try await store.signIn(to: "t") })
        #expect(try await store.accounts().isEmpty)
        if case .signInNeeded = error.kind { Issue.record("a sign-in is not the remedy") }
        #expect(error.remedy != .signInAgain)
        return error
    }

    @Test func `a sign-in follows the grant, and callers share the next token`() async throws {
        let platform = ScriptedPlatform()
        let count = Mutex(0)
        platform.answer { _ in
            ScriptedPlatform.token("at-\(count.withLock { $0 += 1; return $0 })", ["id_token": "x.y.z", "extra": "e"])
        }
        let store = try await platform.store(Self.imds)
        let events = store.events()
        let account = try await store.signIn(to: "t")
        #expect(account.isClient && account.canRefresh && account.issuer == "managed-identity:imds")
        #expect(account.userName == "system-assigned")
        platform.advance(4000)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<50 { group.addTask { try await store.accessToken(for: account.id).secret } }
            return try await group.reduce(into: Set<Secret>()) { $0.insert($1) }
        }
        #expect(tokens == [Secret("at-2")] && platform.requests.count == 2)
        let request = try #require(platform.requests.first)
        #expect(
            request.url.host() == "169.254.169.254" && request.allowsLinkLocal && request.fields["Metadata"] == "true")
        #expect(GrantProvider.query(request.url)["resource"] == "https://graph.microsoft.com")
        let record = try #require(try await store.repository.read(account.id)?.record)
        #expect(record.tokens.refreshToken == nil && record.tokens.idToken == nil && record.tokens.additional == nil)
        #expect(record.claimsText == nil && record.subject == nil)
        var names: [String] = []
        for await event in events {
            if case .added = event { names.append("added") }
            if case .accessTokenChanged = event { names.append("tokens") }
            if names.last == "tokens" { break }
        }
        #expect(names.first == "added")
    }

    @Test func `a second sign-in updates the account, and another identity is another account`() async throws {
        let platform = ScriptedPlatform()
        platform.answer { request in
            let query = GrantProvider.query(request.url)
            return ScriptedPlatform.token(
                "at", query["client_id"].map { ["client_id": .string($0.uppercased())] } ?? [:])
        }
        let storage = MemoryStorage(), key = try MemoryKey()
        func store(_ type: JSONObject) async throws -> AccountStore {
            var dependencies = Dependencies(transport: platform, environment: [:])
            dependencies.useTestTime()
            let settings = JSONValue.object(["types": .object(["t": .object(type)])])
            return try await AccountStore(
                settings: Settings(bytes: settings.serialized(), source: "test"), storage: storage, custody: key,
                dependencies: dependencies, watchesOtherProcesses: false)
        }
        let first = try await store(Self.imds)
        let one = try await first.signIn(to: "t")
        #expect(try await first.signIn(to: "t").id == one.id)
        var other = Self.imds
        other["managedIdentity"] = ["source": "imds", "clientId": "abc"]
        let second = try await store(other)
        let two = try await second.signIn(to: "t")
        #expect(two.id != one.id && two.userName == "abc")
        // The settings no longer name the first identity.
        let refused = try await grantFailure {
            try await second.accessToken(for: one.id, minimumValidity: .seconds(1), rejected: Secret("at"))
        }
        #expect(refused?.kind == .settings && refused?.reason.contains("system-assigned") == true)
    }

    @Test func `a token for another resource is requested separately`() async throws {
        let platform = ScriptedPlatform()
        platform.answer { request in
            ScriptedPlatform.token(GrantProvider.query(request.url)["resource"] ?? "none")
        }
        let store = try await platform.store(Self.imds)
        let account = try await store.signIn(to: "t")
        let vault = try await store.accessToken(for: account.id, scopes: ["https://vault.azure.net/.default"])
        #expect(vault.secret == Secret("https://vault.azure.net"))
        #expect(try await store.accessToken(for: account.id).secret == Secret("https://graph.microsoft.com"))
        let error = try await grantFailure { try await store.accessToken(for: account.id, scopes: ["User.Read.All"]) }
        #expect(error?.kind == .settings && error?.reason.contains("User.Read.All") == true)
    }

    @Test func `sign-out reports that no token can be revoked`() async throws {
        let platform = ScriptedPlatform()
        platform.answer(inTurn: ScriptedPlatform.token("at"))
        let store = try await platform.store(Self.imds)
        let report = try await store.signOut(try await store.signIn(to: "t").id)
        #expect(report.revocation == .notOffered && platform.requests.count == 1)
    }

    @Test func `a user cannot sign in to a type of an application`() async throws {
        let platform = ScriptedPlatform()
        let store = try await platform.store(Self.imds)
        let error = try await grantFailure { try await store.signIn(to: "t", by: .browser) }
        #expect(error?.kind == .settings && error?.reason.contains("managedIdentity") == true)
        #expect(try await grantFailure { try await store.prepareSignIn(to: "t") }?.kind == .settings)
    }

    // MARK: Detection

    @Test func `the environment selects the source`() async throws {
        let cases: [(environment: [String: String], source: String, header: String)] = [
            (Self.appService, "appService", "X-IDENTITY-HEADER"),
            (["MSI_ENDPOINT": "http://localhost:50342/oauth2/token"], "cloudShell", "Metadata"),
            (["MSI_ENDPOINT": "http://169.254.3.4/token", "MSI_SECRET": "s"], "machineLearning", "secret"),
        ]
        for (environment, source, header) in cases {
            let platform = ScriptedPlatform()
            platform.answer(inTurn: ScriptedPlatform.token("at"))
            let store = try await platform.store(Self.type, environment: environment)
            #expect(try await store.signIn(to: "t").issuer == "managed-identity:\(source)")
            #expect(platform.requests.count == 1 && platform.requests.first?.fields[header] != nil)
        }
    }

    @Test func `Service Fabric is detected and refused`() async throws {
        let platform = ScriptedPlatform()
        var environment = Self.appService
        environment["IDENTITY_SERVER_THUMBPRINT"] = "AB"
        let error = try await failure(platform, Self.type, environment)
        #expect(error.kind == .settings && error.reason.contains("Service Fabric") && platform.requests.isEmpty)
    }

    @Test func `one probe without the header field finds the metadata service`() async throws {
        let platform = ScriptedPlatform()
        platform.answer { request in
            request.fields["Metadata"] == nil ? HTTPResponse(status: 400) : ScriptedPlatform.token("at")
        }
        let store = try await platform.store(Self.type)
        let account = try await store.signIn(to: "t")
        platform.advance(4000)
        _ = try await store.accessToken(for: account.id)
        #expect(platform.requests.filter { $0.fields["Metadata"] == nil }.count == 1 && platform.requests.count == 3)
    }

    @Test func `a machine without a metadata service is reported`() async throws {
        let docker = HTTPResponse(
            status: 403, body: Data("A socket operation was attempted to an unreachable network".utf8))
        for response in [nil, docker, HTTPResponse(status: 200, body: Data("<html>".utf8))] {
            let platform = ScriptedPlatform()
            if let response { platform.answer(inTurn: response) }
            let error = try await failure(platform, Self.type)
            #expect(error.kind == .network && error.reason == "this machine has no managed identity endpoint")
            #expect(platform.requests.count == 1)
        }
        let platform = ScriptedPlatform()
        platform.answer(inTurn: docker)
        #expect(try await failure(platform).reason == "this machine has no managed identity endpoint")
    }

    @Test(arguments: [
        "http://10.0.0.1/token", "http://metadata.example/token", "https://evil.example/token",
        "http://169.254.1/token",
        "http://user@127.0.0.1/token", "ftp://127.0.0.1/token", "http://0251.254.169.254/",
    ])
    func `an endpoint elsewhere is refused without a request`(_ address: String) async throws {
        let platform = ScriptedPlatform()
        let error = try await failure(platform, Self.type, ["IDENTITY_ENDPOINT": address, "IDENTITY_HEADER": "h"])
        #expect(error.kind == .settings && error.reason.contains("IDENTITY_ENDPOINT") && platform.requests.isEmpty)
        #expect(error.hint?.description == "correct or unset the variable IDENTITY_ENDPOINT, which the platform sets")
        let shell = try await failure(platform, Self.type, ["MSI_ENDPOINT": address])
        #expect(shell.kind == .settings && shell.hint?.description.contains("the variable MSI_ENDPOINT") == true)
        let google: JSONObject = [
            "grant": "managedIdentity", "managedIdentity": ["source": "google"], "scopes": ["https://a.example/x"],
        ]
        for (name, type) in [("AZURE_POD_IDENTITY_AUTHORITY_HOST", Self.imds), ("GCE_METADATA_HOST", google)] {
            // Another machine on the link is not this machine.
            let neighbor = try await failure(platform, type, [name: "169.254.3.4"])
            #expect(neighbor.kind == .settings && neighbor.reason.contains("expected this machine"))
            let host = try await failure(platform, type, [name: address])
            #expect(host.kind == .settings && host.reason.contains("the variable \(name)") && platform.requests.isEmpty)
            #expect(
                host.hint?.description == "unset the variable \(name), which is only for tests on this machine")
        }
    }

    @Test func `an error of a variable shows the host of its value, and no secret`() async throws {
        let environment = ["IDENTITY_ENDPOINT": "http://evil.example:8/x?code=secret-a", "IDENTITY_HEADER": "secret-b"]
        let error = try await failure(ScriptedPlatform(), Self.type, environment)
        #expect(
            error.reason
                == "the variable IDENTITY_ENDPOINT is not the URL of a loopback or link-local address, but of evil.example:8"
        )
        // The two values are exchanged.
        let exchanged = ["IDENTITY_ENDPOINT": "secret-header", "IDENTITY_HEADER": "http://127.0.0.1/msi"]
        let other = try await failure(ScriptedPlatform(), Self.type, exchanged)
        #expect(other.reason == "the variable IDENTITY_ENDPOINT is not the URL of a loopback or link-local address")
        let spaces = ["IDENTITY_ENDPOINT": "http://127.0.0.1/msi", "IDENTITY_HEADER": "two words"]
        let header = try await failure(ScriptedPlatform(), Self.type, spaces)
        #expect(header.reason.contains("IDENTITY_HEADER") && !header.reason.contains("two words"))
        #expect(header.hint?.description.contains("IDENTITY_HEADER") == true)
    }

    @Test func `a source without its variable names the variable`() async throws {
        for (source, name) in [("appService", "IDENTITY_ENDPOINT"), ("cloudShell", "MSI_ENDPOINT")] {
            var type = Self.type
            type["managedIdentity"] = ["source": .string(source)]
            #expect(try await failure(ScriptedPlatform(), type).reason.contains(name))
        }
    }

    // MARK: Errors

    @Test func `transient errors are retried, and then reported as unavailable`() async throws {
        let platform = ScriptedPlatform()
        platform.answer(
            inTurn: HTTPResponse(status: 404), HTTPResponse(status: 410), HTTPResponse(status: 500),
            ScriptedPlatform.token("at"))
        let store = try await platform.store(Self.imds)
        _ = try await store.signIn(to: "t")
        #expect(platform.waits == [1, 10, 2])
        platform.answer(inTurn: HTTPResponse(status: 429))
        let error = try await failure(platform)
        #expect(error.kind == .unavailable && platform.waits.suffix(3) == [2, 4, 8])
    }

    @Test func `a service that hangs is retried, and then a network error`() async throws {
        let platform = ScriptedPlatform()
        platform.answer { _ in throw HTTPTransportError(.timedOut, host: "169.254.169.254", reason: "slow") }
        #expect(try await failure(platform).kind == .network)
        #expect(platform.waits == [1, 2, 4])
    }

    @Test func `a missing identity is a settings error after three attempts`() async throws {
        let platform = ScriptedPlatform()
        platform.answer(
            inTurn: .grant(["error": "invalid_request", "error_description": "Identity not found"], status: 400))
        let error = try await failure(platform)
        #expect(error.kind == .settings && error.reason.contains("Identity not found") && platform.requests.count == 4)
        for code in ["invalid_grant", "interaction_required", "unauthorized_client"] {
            let platform = ScriptedPlatform()
            platform.answer(inTurn: .grantError(code))
            #expect(try await failure(platform).kind == .settings)
            #expect(platform.requests.count == 1)
        }
    }

    @Test func `a web page, a redirect and another identity are refused`() async throws {
        let responses = [
            HTTPResponse(status: 200, body: Data("<html>sign in</html>".utf8)),
            HTTPResponse(status: 302, fields: ["Location": "https://evil.example/"]), .grant(["token": "x"]),
            ScriptedPlatform.token("at", ["client_id": "other"]),
            .grant(["access_token": "a b", "expires_in": "1"]),
        ]
        for response in responses {
            let platform = ScriptedPlatform()
            platform.answer(inTurn: response)
            var type = Self.imds
            type["managedIdentity"] = ["source": "imds", "clientId": "mine"]
            let error = try await failure(platform, type)
            #expect([.network, .invalidAnswer].contains(error.kind) && platform.requests.count == 1)
        }
    }

    @Test func `an error keeps the account and its token`() async throws {
        let platform = ScriptedPlatform()
        platform.answer(inTurn: ScriptedPlatform.token("at-1"))
        let store = try await platform.store(Self.imds)
        let account = try await store.signIn(to: "t")
        platform.advance(4000)
        platform.answer(inTurn: .grantError("invalid_grant"))
        #expect(try await grantFailure { try await store.accessToken(for: account.id) }?.kind == .settings)
        #expect(try await store.account(account.id)?.signInNeeded == nil)
        platform.answer(inTurn: ScriptedPlatform.token("at-2"))
        #expect(try await store.accessToken(for: account.id).secret == Secret("at-2"))
    }

    // MARK: Azure Arc

    @Test func `only the content of the file of the agent is sent to Azure Arc`() async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/arc-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try Data("challenge-key".utf8).write(to: URL(filePath: folder + "/one.key"))
        try Data(repeating: 0x61, count: 4097).write(to: URL(filePath: folder + "/large.key"))
        try Data("first\nsecond".utf8).write(to: URL(filePath: folder + "/lines.key"))
        try Data().write(to: URL(filePath: folder + "/empty.key"))
        try Data("other-secret".utf8).write(to: URL(filePath: folder + "/secret.txt"))
        func source(_ name: String) -> (ScriptedPlatform, ManagedIdentitySource) {
            let platform = ScriptedPlatform()
            platform.answer { request in
                guard let sent = request.fields["Authorization"] else {
                    return HTTPResponse(status: 401, fields: ["WWW-Authenticate": "Basic realm=\(folder)/\(name)"])
                }
                return sent == "Basic challenge-key" ? ScriptedPlatform.token("at") : HTTPResponse(status: 401)
            }
            let environment = [
                "IDENTITY_ENDPOINT": "http://localhost:40342/token", "IMDS_ENDPOINT": "http://localhost:40342",
            ]
            let services = MetadataServices(
                dependencies: Dependencies(transport: platform, environment: environment), detected: DetectedService(),
                arcFolder: folder)
            return (platform, ManagedIdentitySource(services: services, identity: ManagedIdentity()))
        }
        let (platform, good) = source("one.key")
        #expect(try await good.token(for: "https://graph.example").accessToken == Secret("at"))
        #expect(try await good.application().issuer == "managed-identity:azureArc")
        #expect(platform.requests.allSatisfy { $0.fields["Metadata"] == "true" })
        for name in ["secret.txt", "large.key", "missing.key", "../x.key", "lines.key", "empty.key"] {
            let (platform, bad) = source(name)
            #expect(try await grantFailure { try await bad.token(for: "https://graph.example") } != nil)
            #expect(platform.requests.count == 1)
        }
    }
}
