import Foundation
import HTTPExchange
import JOSE
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

@Suite final class GoogleStoreTests {
    private static let scope = "https://www.googleapis.com/auth/admin.directory.user.readonly"
    private static let mail = "robot@project.iam.gserviceaccount.com"
    private static let impersonation =
        "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/\(mail):generateAccessToken"
    private let folder = FileManager.default.temporaryDirectory.path + "/google-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private func write(_ name: String, _ text: String) throws -> String {
        let path = "\(folder)/\(name)"
        try Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    private func keyFile(_ members: JSONObject = [:]) throws -> String {
        var object: JSONObject = [
            "type": "service_account", "client_email": .string(Self.mail), "private_key": .string(TestKeys.rsa),
            "private_key_id": "kid-1", "client_id": "1234", "token_uri": "https://oauth2.googleapis.com/token",
        ]
        for member in members.members { object[member.name] = member.value }
        return try write("key.json", JSONValue.object(object).text())
    }

    private func externalFile(_ source: JSONObject, _ members: JSONObject = [:]) throws -> String {
        var object: JSONObject = [
            "type": "external_account", "audience": "//iam.googleapis.com/p",
            "token_url": "https://sts.googleapis.com/v1/token",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "credential_source": .object(source),
        ]
        for member in members.members { object[member.name] = member.value == .null ? nil : member.value }
        return try write("external.json", JSONValue.object(object).text())
    }

    private func serviceAccount(_ file: String, subject: String? = "admin@example.com", _ more: JSONObject = [:])
        -> JSONObject
    {
        var account: JSONObject = ["file": .string(file)]
        if let subject { account["subject"] = .string(subject) }
        let type: JSONObject = [
            "provider": "google", "grant": "serviceAccount", "serviceAccount": .object(account),
        ]
        return type.adding(more)
    }

    private func external(_ file: String, _ members: JSONObject = [:]) -> JSONObject {
        let account: JSONObject = ["file": .string(file)]
        return ["provider": "google", "grant": "externalAccount", "externalAccount": .object(account.adding(members))]
    }

    private func failure(_ platform: ScriptedPlatform, _ type: JSONObject) async throws -> AccountStoreError {
        let store = try await platform.store(type)
        let error = try #require(try await grantFailure { try await store.signIn(to: "t") })
        if case .signInNeeded = error.kind { Issue.record("a sign-in is not the remedy") }
        #expect(!"\(error) \(error.hint.map(String.init(describing:)) ?? "")".contains("PRIVATE"))
        return error
    }

    private static func token(_ token: String) -> HTTPResponse {
        .grant(["access_token": .string(token), "expires_in": 3599, "token_type": "Bearer", "id_token": "x.y.z"])
    }

    // MARK: Service accounts

    @Test func `a service account signs an assertion for a user of its domain`() async throws {
        let platform = ScriptedPlatform()
        platform.answer(inTurn: Self.token("at-1"), Self.token("at-2"))
        let store = try await platform.store(serviceAccount(try keyFile()))
        let account = try await store.signIn(to: "t")
        #expect(account.isClient && account.userName == Self.mail && account.subject == "admin@example.com")
        let request = try #require(platform.requests.first)
        #expect(request.url.absoluteString == "https://oauth2.googleapis.com/token")
        let form = GrantProvider.Received(request).form
        #expect(form.keys.sorted() == ["assertion", "grant_type"])
        let token = try JWT(parsing: form["assertion"] ?? "")
        #expect(token.header["alg"]?.string == "RS256" && token.header["kid"]?.string == "kid-1")
        let key = try JWK(privateKeyPEM: Array(TestKeys.rsa.utf8)).publicKey
        let claims = try token.verified(with: try #require(key), algorithms: [.rs256]).claims.members
        let now = Int64(platform.now.timeIntervalSince1970)
        #expect(
            claims == [
                "iss": .string(Self.mail), "scope": .string(Self.scope), "aud": "https://oauth2.googleapis.com/token",
                "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 3600)), "sub": "admin@example.com",
            ])
        platform.advance(4000)
        #expect(try await store.accessToken(for: account.id).secret == Secret("at-2"))
        let record = try #require(try await store.repository.read(account.id)?.record)
        #expect(record.tokens.idToken == nil && record.tokens.additional == nil)
        #expect(try await store.signOut(account.id).revocation == .notOffered)
    }

    @Test func `an error of Google names the delegation, and never requires a sign-in`() async throws {
        let platform = ScriptedPlatform()
        platform.answer(inTurn: .grantError("unauthorized_client", status: 401))
        let file = try keyFile()
        let delegation = try await failure(platform, serviceAccount(file))
        #expect(delegation.remedy == .askAdministrator && delegation.reason.contains(Self.scope))
        #expect(delegation.reason.contains("1234"))
        platform.answer(
            inTurn: .grant(["error": "invalid_grant", "error_description": "Invalid email or User ID"], status: 400))
        let user = try await failure(platform, serviceAccount(file))
        #expect(user.kind == .settings && user.reason.contains("Invalid email"))
        #expect(user.hint?.description.contains("subject") == true)
        platform.answer(inTurn: HTTPResponse(status: 503))
        #expect(try await failure(platform, serviceAccount(file)).kind == .unavailable)
    }

    @Test func `a wrong clock is corrected with the time of the server`() async throws {
        let platform = ScriptedPlatform()
        let server = Int(platform.now.timeIntervalSince1970) + 100_000
        platform.answer { request in
            let text = GrantProvider.Received(request).form["assertion"] ?? ""
            let issued = try JWT(parsing: text).unverifiedClaims.members["iat"]?.number?.int64 ?? 0
            var response: HTTPResponse =
                abs(Int(issued) - server) < 300 ? Self.token("at") : .grantError("invalid_grant")
            response.fields["Date"] = HTTPDate.text(server)
            return response
        }
        let store = try await platform.store(serviceAccount(try keyFile()))
        _ = try await store.signIn(to: "t")
        #expect(platform.requests.count == 2)
    }

    @Test func `only invalid_grant at a server with another time is sent again, and only once`() async throws {
        let file = try keyFile()
        for (code, offset, count) in [
            ("invalid_grant", 0, 1), ("invalid_grant", 30, 1), ("unauthorized_client", 100_000, 1),
            ("invalid_scope", 100_000, 1), ("invalid_grant", 100_000, 2),
        ] {
            let platform = ScriptedPlatform()
            let date = HTTPDate.text(Int(platform.now.timeIntervalSince1970) + offset)
            platform.answer { _ in
                var response = HTTPResponse.grantError(code)
                response.fields["Date"] = date
                return response
            }
            _ = try await failure(platform, serviceAccount(file))
            #expect(platform.requests.count == count, "\(code) \(offset)")
        }
    }

    @Test func `invalid_grant of a refresh keeps the account, which needs no sign-in`() async throws {
        let platform = ScriptedPlatform()
        platform.answer(inTurn: Self.token("at-1"))
        let store = try await platform.store(serviceAccount(try keyFile()))
        let account = try await store.signIn(to: "t")
        platform.advance(4000)
        platform.answer(inTurn: .grantError("invalid_grant"))
        let error = try await grantFailure { try await store.accessToken(for: account.id) }
        #expect(error?.kind == .settings && error?.hint?.description.contains("clock") == true)
        #expect(try await store.account(account.id)?.signInNeeded == nil)
        platform.answer(inTurn: Self.token("at-2"))
        #expect(try await store.accessToken(for: account.id).secret == Secret("at-2"))
    }

    @Test func `an assertion goes only to Google or to a known host`() async throws {
        for address in [
            "https://evil.example/token", "https://evilgoogleapis.com/token",
            "https://googleapis.com.evil.example/token",
            "http://oauth2.googleapis.com/token",
            "https://oauth2.googleapis.com:8443/token", "http://127.0.0.1:1/token",
            "https://user@oauth2.googleapis.com/token",
        ] {
            let platform = ScriptedPlatform()
            let file = try keyFile(["token_uri": .string(address)])
            #expect(try await failure(platform, serviceAccount(file)).kind == .settings)
            #expect(platform.requests.isEmpty)
        }
        let platform = ScriptedPlatform()
        platform.answer(inTurn: Self.token("at"))
        let file = try keyFile(["token_uri": "https://sts.company.example/token"])
        let store = try await platform.store(
            serviceAccount(file, subject: nil, ["knownAuthorities": ["sts.company.example"]]))
        #expect(try await store.signIn(to: "t").isClient)
    }

    @Test func `an unusable key file is a settings error that shows nothing of it`() async throws {
        let platform = ScriptedPlatform()
        let files = [
            "\(folder)/missing.json", folder, try write("text.json", "PRIVATE text"),
            try write("other.json", #"{"type": "authorized_user", "refresh_token": "PRIVATE"}"#),
            try write("large.json", String(repeating: " ", count: 70_000)),
            try write("key.pem.json", #"{"type": "service_account", "client_email": "a", "private_key": "PRIVATE"}"#),
        ]
        for file in files { #expect(try await failure(platform, serviceAccount(file)).kind == .settings) }
        let open = try keyFile()
        chmod(open, 0o666)
        let writable = try await failure(platform, serviceAccount(open))
        #expect(writable.reason.contains("write"))
        #expect(writable.hint?.description.contains("if the file is right, run: chmod ") == true)
        let missing = try await failure(platform, serviceAccount("\(folder)/missing.json"))
        #expect(missing.hint?.description.contains("correct the path") == true)
        #expect(platform.requests.isEmpty)
    }

    // MARK: The metadata service

    @Test func `Google's metadata service issues the token of the machine`() async throws {
        let platform = ScriptedPlatform()
        platform.answer { _ in
            var response = Self.token("at")
            response.fields["Metadata-Flavor"] = "Google"
            return response
        }
        let type: JSONObject = [
            "grant": "managedIdentity", "managedIdentity": ["source": "google"],
            "scopes": ["https://www.googleapis.com/auth/a", "https://www.googleapis.com/auth/b"],
        ]
        let store = try await platform.store(type)
        #expect(try await store.signIn(to: "t").issuer == "managed-identity:google")
        let request = try #require(platform.requests.first)
        #expect(request.url.host() == "169.254.169.254" && request.fields["Metadata-Flavor"] == "Google")
        #expect(
            GrantProvider.query(request.url)["scopes"]
                == "https://www.googleapis.com/auth/a,https://www.googleapis.com/auth/b")
        #expect(request.timeout == .seconds(3) && request.allowsLinkLocal)
        platform.answer(inTurn: Self.token("at"))
        let other = try await failure(platform, type)
        #expect(other.kind == .invalidAnswer && other.reason.contains("Metadata-Flavor"))
        platform.answer { _ in throw HTTPTransportError(.cannotConnect, host: "", reason: "") }
        #expect(try await failure(platform, type).reason == "this machine has no managed identity endpoint")
    }

    // MARK: External accounts

    @Test func `an external account exchanges a token and impersonates a service account`() async throws {
        let platform = ScriptedPlatform()
        let now = platform.now
        platform.answer { request in
            request.url.host() == "sts.googleapis.com"
                ? Self.token("federated")
                : .grant(["accessToken": "at", "expireTime": .string(now.addingTimeInterval(1800).rfc3339)])
        }
        let token = try write("token.txt", "subject-token\n")
        let file = try externalFile(
            ["file": .string(token)], ["service_account_impersonation_url": .string(Self.impersonation)])
        let store = try await platform.store(external(file))
        let account = try await store.signIn(to: "t")
        #expect(account.userName == Self.mail && account.accessTokenExpiry == now.addingTimeInterval(1800))
        let form = GrantProvider.Received(platform.requests[0]).form
        #expect(form["subject_token"] == "subject-token" && form["audience"] == "//iam.googleapis.com/p")
        #expect(form["scope"] == "https://www.googleapis.com/auth/iam")
        #expect(form["requested_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
        let second = platform.requests[1]
        #expect(second.url.absoluteString == Self.impersonation && second.fields["Authorization"] == "Bearer federated")
        let json = try JSONValue(parsing: second.body ?? Data()).object
        #expect(json == ["delegates": [], "scope": [.string(Self.scope)], "lifetime": "3600s"])
        // The file is read again for every request.
        _ = try write("token.txt", "newer-token")
        platform.advance(2000)
        _ = try? await store.accessToken(for: account.id)
        #expect(GrantProvider.Received(platform.requests[2]).form["subject_token"] == "newer-token")
    }

    @Test func `an external account acts for a user with an assertion that Google signs`() async throws {
        let platform = ScriptedPlatform()
        platform.answer { request in
            if request.url.path().hasSuffix(":signJwt") { return .grant(["keyId": "k", "signedJwt": "a.b.c"]) }
            return Self.token(request.url.host() == "sts.googleapis.com" ? "federated" : "at")
        }
        let token = try write("token.json", #"{"access": "subject-token"}"#)
        let file = try externalFile(
            ["file": .string(token), "format": ["type": "json", "subject_token_field_name": "access"]],
            ["service_account_impersonation_url": .string(Self.impersonation)])
        let store = try await platform.store(external(file, ["subject": "admin@example.com"]))
        #expect(try await store.signIn(to: "t").subject == "admin@example.com")
        #expect(platform.requests.count == 3)
        let payload = try JSONValue(parsing: platform.requests[1].body ?? Data()).object?["payload"]?.string ?? ""
        let claims = try JSONValue(parsing: payload).object
        #expect(claims?["sub"]?.string == "admin@example.com" && claims?["iss"]?.string == Self.mail)
        #expect(claims?["aud"]?.string == "https://oauth2.googleapis.com/token")
        #expect(GrantProvider.Received(platform.requests[2]).form["assertion"] == "a.b.c")
    }

    @Test func `the token of another provider comes from a URL or a command`() async throws {
        let platform = ScriptedPlatform()
        platform.answer { request in
            request.url.host() == "id.example"
                ? .grant(["value": "from-url"]) : Self.token("at")
        }
        let url = try externalFile([
            "url": "https://id.example/token", "headers": ["X-Key": "secret"],
            "format": ["type": "json", "subject_token_field_name": "value"],
        ])
        _ = try await platform.store(external(url)).signIn(to: "t")
        #expect(platform.requests[0].fields["X-Key"] == "secret" && platform.requests[0].redirects == .none)
        #expect(GrantProvider.Received(platform.requests[1]).form["subject_token"] == "from-url")
        // Without an impersonation, the exchange requests the scope itself.
        #expect(GrantProvider.Received(platform.requests[1]).form["scope"] == Self.scope)
        let program = try write(
            "program",
            "#!/bin/sh\necho '{\"version\": 1, \"success\": true, \"id_token\": \"'$1-$GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE-$SECRET'\"}'\n"
        )
        chmod(program, 0o700)
        let command = try externalFile(["executable": ["command": .string("\(program) $HOME;x")]])
        #expect(try await failure(platform, external(command)).hint?.description.contains("allowsCommand") == true)
        _ = try await platform.store(external(command, ["allowsCommand": true])).signIn(to: "t")
        let form = GrantProvider.Received(try #require(platform.requests.last)).form
        #expect(form["subject_token"] == "$HOME;x-0-")
    }

    @Test func `a hostile external account file is refused before a request`() async throws {
        let token = try write("token.txt", "subject-token")
        let passwords = try write("passwords", "root:x:0:0\nada:x:1:1\n")
        let fifo = "\(folder)/fifo"
        mkfifo(fifo, 0o600)
        let files: [(JSONObject, JSONObject)] = [
            (["file": .string(token)], ["token_url": "https://evil.example/token"]),
            (["file": .string(token)], ["token_url": "http://169.254.169.254/token"]),
            (
                ["file": .string(token)],
                ["service_account_impersonation_url": "https://evil.example/x:generateAccessToken"]
            ),
            (["file": .string(passwords)], [:]), (["file": .string(fifo)], [:]), (["file": "/dev/zero"], [:]),
            (["url": "http://10.0.0.1/token"], [:]), (["url": "file:///etc/passwd"], [:]),
            (["url": "http://169.254.169.254.evil.example/"], [:]), (["url": "http://169.254.1.1/"], [:]),
            (["url": "https://id.example/", "headers": ["A": "b\r\nEvil: c"]], [:]),
            (["environment_id": "aws1", "url": "http://169.254.169.254/"], [:]),
            (["file": .string(token), "url": "https://id.example/"], [:]), ([:], [:]),
            (["executable": ["command": ""]], [:]), (["file": .string(token)], ["audience": .null]),
            (["file": .string(token), "format": ["type": "xml"]], [:]),
        ]
        for (source, members) in files {
            let platform = ScriptedPlatform()
            let type = external(try externalFile(source, members), ["allowsCommand": true])
            let error = try await failure(platform, type)
            #expect(error.kind == .settings && platform.requests.isEmpty)
            #expect(!error.reason.contains("root:x"))
        }
        let aws = try externalFile(["environment_id": "aws1"])
        #expect(try await failure(ScriptedPlatform(), external(aws)).reason.contains("AWS"))
    }
}

extension JSONObject {
    fileprivate func adding(_ other: JSONObject) -> JSONObject {
        var object = self
        for member in other.members { object[member.name] = member.value }
        return object
    }
}
