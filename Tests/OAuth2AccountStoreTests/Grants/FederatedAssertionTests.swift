import Foundation
import HTTPExchange
import JOSE
import LodgePlatform
import OAuth2Protocol
import StoreTestSupport
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import AccountKeys
@testable import OAuth2AccountStore
@testable import ProviderSettings
@testable import SealedStorage

/// Assertions of other issuers: their sources, their checks before a request, and the retries after a rejection.
@Suite(.timeLimit(.scaled(minutes: 5))) struct FederatedAssertionTests {
    private static let audience = "api://AzureADTokenExchange"
    private static let assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

    private let provider: GrantProvider
    private let folder: TemporaryDirectory

    init() throws {
        provider = try GrantProvider(["token_endpoint_auth_methods_supported": ["private_key_jwt"]])
        folder = try TemporaryDirectory()
        let count = Mutex(0)
        provider.answer("/token") { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .grant(["access_token": .string("at-\(number)"), "token_type": "Bearer", "expires_in": 3600])
        }
    }

    /// Returns a JWT of another issuer.
    private func jwt(
        _ number: Int = 1, audience: String = audience, lifetime: Double = 300
    ) throws -> String {
        let now = Int64(provider.now.timeIntervalSince1970 + lifetime)
        let claims: JSONObject = [
            "iss": "https://ci.example", "sub": .string("job:\(number)"), "aud": .string(audience),
            "exp": .number(JSONNumber(now)),
        ]
        return try JWT.sign(claims, with: provider.signingKey, algorithm: .es256)
    }

    private func path(_ name: String) -> String { folder.path + "/" + name }

    @discardableResult
    private func write(_ text: String, _ name: String = "token") throws -> String {
        try text.write(toFile: path(name), atomically: true, encoding: .utf8)
        return path(name)
    }

    private func store(
        _ assertion: JSONObject, environment: [String: String] = [:], _ keys: JSONObject = [:]
    ) async throws -> AccountStore {
        var settings: JSONObject = ["clientAssertion": .object(assertion), "scopes": ["read"]]
        for member in keys.members { settings[member.name] = member.value }
        return try await provider.store(settings, environment: environment)
    }

    private var sent: [String?] { provider.requests(to: "/token").map { $0.form["client_assertion"] } }

    /// Returns the error of a sign-in, and checks that no token request was sent and no assertion is in the error.
    private func failure(
        _ assertion: JSONObject, environment: [String: String] = [:], hiding secrets: [String] = []
    ) async throws -> AccountStoreError? {
        let store = try await store(assertion, environment: environment)
        let error = try await grantFailure { try await store.signIn(to: "t", by: .clientCredentials) }
        #expect(provider.requests(to: "/token").isEmpty)
        let shown = error.map { "\($0) \($0.hint?.description ?? "")" } ?? ""
        for secret in secrets {
            let isShown = shown.contains(secret)
            #expect(!isShown)
        }
        return error
    }

    // MARK: Sources

    @Test func `a file that is replaced between two requests is read again`() async throws {
        let first = try jwt(1), second = try jwt(2, lifetime: 9000)
        let file = try write(first + "\n")
        let store = try await store(["file": .string(file)])
        let account = try await store.signIn(to: "t", by: .clientCredentials)
        // The kubelet replaces a link.
        try write(second, "next")
        try FileManager.default.removeItem(atPath: file)
        try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: path("next"))
        provider.advance(4000)
        #expect(try await store.accessToken(for: account.id).secret == Secret("at-2"))
        #expect(sent == [first, second])
        #expect(
            provider.requests(to: "/token").allSatisfy {
                $0.form["client_assertion_type"] == Self.assertionType && $0.form["client_id"] == "client"
                    && $0.request.fields["Authorization"] == nil && $0.form["client_secret"] == nil
            })
    }

    @Test func `a variable names the file or has the assertion`() async throws {
        let first = try jwt(1), second = try jwt(2)
        let file = try write(first)
        let named = try await store(["file": ["environment": "TOKEN_FILE"]], environment: ["TOKEN_FILE": file])
        _ = try await named.signIn(to: "t", by: .clientCredentials)
        let variable = try await store(["environment": "ID_TOKEN"], environment: ["ID_TOKEN": second])
        _ = try await variable.signIn(to: "t", by: .clientCredentials)
        #expect(sent == [first, second])
    }

    @Test func `a command runs without a shell and with a minimal environment`() async throws {
        let token = try jwt()
        let program = try write(
            "#!/bin/sh\n[ -z \"$SECRET\" ] && [ \"$1\" = '$HOME; exit' ] && [ -n \"$PATH\" ] && printf '%s\\n' '\(token)'\n",
            "fetch")
        try #require(chmod(program, 0o700) == 0)
        let store = try await store(
            ["command": [.string(program), "$HOME; exit"]], environment: ["SECRET": "s", "PATH": "/usr/bin:/bin"])
        _ = try await store.signIn(to: "t", by: .clientCredentials)
        #expect(sent == [token])
    }

    @Test func `concurrent callers cause one run of the command and one token request`() async throws {
        let program = try write(
            "#!/bin/sh\necho run >> '\(path("runs"))'\nprintf %s '\(try jwt(1, lifetime: 9000))'\n", "fetch")
        try #require(chmod(program, 0o700) == 0)
        let store = try await store(["command": [.string(program)]], environment: ["PATH": "/usr/bin:/bin"])
        let account = try await store.signIn(to: "t", by: .clientCredentials)
        provider.advance(4000)
        try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<100 { group.addTask { try await store.accessToken(for: account.id).secret } }
            for try await secret in group { #expect(secret == Secret("at-2")) }
        }
        #expect(try String(contentsOfFile: path("runs"), encoding: .utf8) == "run\nrun\n")
    }

    @Test func `GitHub's endpoint gets the audience and the bearer token`() async throws {
        let token = try jwt()
        provider.answer("/idtoken") { _ in .grant(["count": 1, "value": .string(token)]) }
        let store = try await store(
            ["githubActions": [:]],
            environment: [
                "ACTIONS_ID_TOKEN_REQUEST_URL": "https://ci.example/idtoken?api-version=2.0",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-token",
            ])
        _ = try await store.signIn(to: "t", by: .clientCredentials)
        let request = try #require(provider.requests(to: "/idtoken").first?.request)
        #expect(request.method == .get && request.fields["Authorization"] == "Bearer request-token")
        #expect(request.url.query() == "api-version=2.0&audience=api%3A%2F%2FAzureADTokenExchange")
        #expect(request.redirects == .none)
        #expect(sent == [token])
    }

    @Test func `Azure Pipelines gets a POST for the service connection`() async throws {
        let token = try jwt()
        provider.answer("/oidc") { _ in .grant(["oidcToken": .string(token)]) }
        let store = try await store(
            ["azurePipelines": ["serviceConnection": "conn 1"]],
            environment: ["SYSTEM_OIDCREQUESTURI": "https://ado.example/oidc", "SYSTEM_ACCESSTOKEN": "job-token"])
        _ = try await store.signIn(to: "t", by: .clientCredentials)
        let request = try #require(provider.requests(to: "/oidc").first?.request)
        #expect(request.method == .post && request.fields["Authorization"] == "Bearer job-token")
        #expect(request.url.query() == "api-version=7.1&serviceConnectionId=conn%201")
        #expect(request.fields["Content-Type"] == "application/json")
        #expect(request.fields["X-TFS-FedAuthRedirect"] == "Suppress")
    }

    @Test func `a URL has its header fields, its bearer file and a member of two levels`() async throws {
        let token = try jwt(1, audience: "a b")
        provider.answer("/identity") { _ in .grant(["data": ["jwt": .string(token)]]) }
        let bearer = try write("key\n", "bearer")
        let store = try await store([
            "url": "https://meta.example/identity", "query": ["audience": "a b"],
            "headers": ["Metadata-Flavor": "Google"], "bearer": ["file": .string(bearer)], "member": "data.jwt",
        ])
        _ = try await store.signIn(to: "t", by: .clientCredentials)
        let request = try #require(provider.requests(to: "/identity").first?.request)
        #expect(request.fields["Metadata-Flavor"] == "Google" && request.fields["Authorization"] == "Bearer key")
        #expect(sent == [token])
    }

    @Test func `the metadata service of Google Cloud issues an assertion over plain http`() async throws {
        let token = try jwt()
        provider.answer("/identity") { _ in HTTPResponse(status: 200, body: Data(token.utf8)) }
        let store = try await store([
            "url": "http://169.254.169.254/identity", "query": ["audience": .string(Self.audience)],
            "headers": ["Metadata-Flavor": "Google"],
        ])
        _ = try await store.signIn(to: "t", by: .clientCredentials)
        let request = try #require(provider.requests(to: "/identity").first?.request)
        #expect(request.allowsLinkLocal && request.fields["Metadata-Flavor"] == "Google")
        #expect(sent == [token])
    }

    // MARK: Errors before the request

    @Test func `an error of a variable names the variable in the reason and in the hint`() async throws {
        let missing = path("absent")
        for name in ["AZURE_FEDERATED_TOKEN_FILE", "OTHER_FILE"] {
            let error = try await failure(["file": ["environment": .string(name)]], environment: [name: missing])
            #expect(error?.kind == .settings && error?.reason.contains("the variable \(name) names this file") == true)
            #expect(error?.reason.contains(missing) == true && error?.hint != nil)
        }
        let job = try await failure(
            ["githubActions": [:]],
            environment: [
                "ACTIONS_ID_TOKEN_REQUEST_URL": "http://evil.example/",
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "hidden-token",
            ], hiding: ["hidden-token"])
        #expect(job?.kind == .settings && job?.reason.contains("ACTIONS_ID_TOKEN_REQUEST_URL") == true)
        #expect(job?.hint?.description == "correct the variable ACTIONS_ID_TOKEN_REQUEST_URL")
        let unset = try await failure(["environment": "ID_TOKEN"])
        #expect(unset?.hint?.description == "set the variable ID_TOKEN")
    }

    @Test func `an expired assertion is an error with its source and its expiry, and no request is sent`() async throws
    {
        let token = try jwt(lifetime: -60)
        let file = try write(token)
        let error = try await failure(["file": .string(file)], hiding: [token])
        #expect(error?.kind == .settings)
        #expect(
            error?.reason.contains(file) == true && error?.reason.contains("expired at 2027-01-15T07:59:00Z") == true)
        #expect(error?.hint?.description.contains("job:1") == true)
    }

    @Test func `a source without a valid JWT is a settings error that names the source`() async throws {
        let large = String(repeating: "s3cret", count: 200_000)
        let wrong = try jwt(1, audience: "api://other")
        for (name, text, found) in [
            ("empty", " \n", "nothing"), ("text", "s3cret", "not a JWT"),
            ("control", "s3\u{1}cret", "control characters"), ("line", "s3cret\ns3cret", "control characters"),
            ("large", large, "65536 bytes"),
        ] {
            let file = try write(text, name)
            let error = try await failure(["file": .string(file)], hiding: ["s3cret"])
            #expect(error?.kind == .settings && error?.remedy == .changeSettings, "\(name)")
            #expect(
                error?.reason.contains(file) == true && error?.reason.contains(found) == true, "\(error?.reason ?? "")")
        }
        let missing = try await failure(["file": .string(path("none"))])
        #expect(missing?.kind == .settings && missing?.reason.contains(path("none")) == true)
        let variable = try await failure(["file": ["environment": "AZURE_FEDERATED_TOKEN_FILE"]])
        #expect(variable?.kind == .settings && variable?.reason.contains("AZURE_FEDERATED_TOKEN_FILE") == true)
        provider.answer("/wrong") { _ in .grant(["value": .string(wrong)]) }
        let environment = [
            "ACTIONS_ID_TOKEN_REQUEST_URL": "https://ci.example/wrong",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-token",
        ]
        let audience = try await failure(
            ["githubActions": [:]], environment: environment, hiding: [wrong, "request-token"])
        #expect(audience?.kind == .settings && audience?.reason.contains("api://other") == true)
        let permission = try await failure(["githubActions": [:]])
        #expect(permission?.hint?.description.contains("id-token: write") == true)
    }

    @Test func `a file that others can write is refused`() async throws {
        let file = try write(try jwt())
        try #require(chmod(file, 0o666) == 0)
        let error = try await failure(["file": .string(file)])
        #expect(error?.kind == .settings && error?.reason.contains(file) == true)
    }

    @Test func `a command that fails is an error with its status and its redacted message`() async throws {
        let token = try jwt()
        let program = try write(
            "#!/bin/sh\necho \"no login: \(token)\" >&2\necho second >&2\nexit 3\n", "fetch")
        try #require(chmod(program, 0o700) == 0)
        let environment = ["PATH": "/usr/bin:/bin"]
        let error = try await failure(["command": [.string(program)]], environment: environment, hiding: [token])
        #expect(error?.kind == .settings)
        #expect(
            error?.reason.contains("exit status 3: no login: ") == true && error?.reason.contains("second") == false)
        let none = try await failure(["command": ["/nonexistent/program"]], environment: environment)
        #expect(none?.kind == .settings && none?.reason.contains("/nonexistent/program") == true)
        let endless = try await failure(["command": ["yes"]], environment: environment)
        #expect(endless?.kind == .settings && endless?.reason.contains("65536 bytes") == true)
    }

    @Test(arguments: [500, 503, 429])
    func `a source that fails is unavailable, and the account remains signed in`(status: Int) async throws {
        let token = try jwt()
        provider.answer(
            "/identity", inTurn: HTTPResponse(status: 200, body: Data(token.utf8)), HTTPResponse(status: status))
        let store = try await store(["url": "https://meta.example/identity"])
        let account = try await store.signIn(to: "t", by: .clientCredentials)
        provider.advance(4000)
        let error = try await grantFailure { try await store.accessToken(for: account.id) }
        #expect(error?.kind == .unavailable)
        #expect(try await store.account(account.id)?.signInNeeded == nil)
        #expect(provider.requests(to: "/token").count == 1)
    }

    @Test(arguments: [302, 401, 403, 404])
    func `a source that rejects the request is a settings error`(status: Int) async throws {
        provider.answer("/identity") { _ in HTTPResponse(status: status, fields: ["Location": "https://other.example/"])
        }
        let error = try await failure(["url": "https://meta.example/identity"])
        #expect(error?.kind == .settings && error?.reason.contains("\(status)") == true)
    }

    @Test func `a variable with a plain http URL of another machine is refused`() async throws {
        let environment = [
            "ACTIONS_ID_TOKEN_REQUEST_URL": "http://ci.example/wrong",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "request-token",
        ]
        let error = try await failure(["githubActions": [:]], environment: environment)
        #expect(error?.kind == .settings && error?.reason.contains("ACTIONS_ID_TOKEN_REQUEST_URL") == true)
    }

    // MARK: Rejections

    private func reject(_ number: Int, times: Int) {
        let left = Mutex(times)
        provider.answer("/token") { _ in
            let isRejected = left.withLock { left in
                left -= 1
                return left >= 0
            }
            guard isRejected else { return .grant(["access_token": "at", "token_type": "Bearer", "expires_in": 3600]) }
            return .grant(
                [
                    "error": .string(number == 700024 ? "invalid_client" : "invalid_request"),
                    "error_description": .string("AADSTS\(number): No matching federated identity record found."),
                ], status: 400)
        }
    }

    @Test(arguments: [(700024, []), (70021, [10])] as [(Int, [Double])])
    func `a rejection that a new assertion can solve is retried once`(number: Int, waits: [Double]) async throws {
        let first = try jwt(1)
        let file = try write(first)
        reject(number, times: 1)
        let store = try await store(["file": .string(file)])
        _ = try await store.signIn(to: "t", by: .clientCredentials)
        #expect(sent.count == 2 && provider.waits == waits)
        reject(number, times: 2)
        let error = try await grantFailure { try await store.signIn(to: "t", by: .clientCredentials) }
        #expect(error != nil && sent.count == 4)
    }

    @Test(arguments: [700211, 700212, 700213, 7002138, 70021])
    func `an unknown federated credential is an error with the values that were sent`(number: Int) async throws {
        let token = try jwt()
        let file = try write(token)
        reject(number, times: 2)
        let store = try await store(["file": .string(file)])
        let error = try await grantFailure { try await store.signIn(to: "t", by: .clientCredentials) }
        #expect(error?.kind == .settings && error?.remedy == .changeSettings)
        for value in ["https://ci.example", "job:1", Self.audience, "AADSTS\(number)"] {
            #expect(error?.reason.contains(value) == true, "\(error?.reason ?? "")")
        }
        #expect(error?.reason.contains(token) == false)
        #expect(sent.count == (number == 70021 ? 2 : 1))
    }
}
