import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import ProviderSettings
import LodgePlatform

/// Client assertions in the form of Microsoft Entra and AD FS.
@Suite struct CertificateAssertionTests {
    private static let endpoint = "https://id.example/token"

    /// A store with a client that has a certificate.
    private struct Scene {
        let provider: GrantProvider
        let store: AccountStore

        /// Creates a store.
        ///
        /// - Parameter authority: A Microsoft authority, or `nil` for an issuer.
        init(
            _ certificate: JSONObject, authority: String? = "https://id.example/contoso", keys: JSONObject = [:],
            environment: [String: String] = [:]
        ) async throws {
            let metadata: JSONObject =
                authority == nil
                ? [:] : ["issuer": "https://id.example/contoso/v2.0", "token_endpoint": .string(endpoint)]
            provider = try GrantProvider(metadata)
            for path in ["/contoso/v2.0", "/adfs"] {
                provider.answer(path + "/.well-known/openid-configuration") { _ in
                    .grant([
                        "issuer": .string("https://id.example" + path), "token_endpoint": .string(endpoint),
                        "authorization_endpoint": "https://id.example/authorize",
                    ])
                }
            }
            var all: JSONObject = [
                "clientAssertion": ["certificate": .object(certificate)],
                "scopes": ["https://graph.microsoft.com/.default"],
            ]
            if let authority { all["authority"] = .string(authority) }
            for member in keys.members { all[member.name] = member.value }
            store = try await provider.store(
                all, environment: environment, omitting: authority == nil ? [] : ["issuer"])
        }

        func signIn() async throws -> Account {
            provider.answer(
                "/token", inTurn: .grant(["access_token": "at", "token_type": "Bearer", "expires_in": 3600]))
            return try await store.signIn(to: "t", by: .clientCredentials)
        }

        func assertion() throws -> JWT {
            let form = try #require(provider.requests(to: "/token").last?.form)
            #expect(form["client_id"] == "client" && form["client_secret"] == nil)
            #expect(form["client_assertion_type"] == ClientAssertion.type)
            return try JWT(parsing: form["client_assertion"] ?? "")
        }
    }

    private static func pem(_ name: String) throws -> JSONObject {
        ["certificate": .string(try SampleCertificate.path(name))]
    }

    private static func key(_ name: String) throws -> JWK {
        try CertificateIdentity(pem: SampleCertificate.bytes(name)).key
    }

    @Test func `an assertion for Entra has PS256, the SHA-256 thumbprint and the token endpoint as audience`()
        async throws
    {
        let scene = try await Scene(Self.pem("app.pem"))
        _ = try await scene.signIn()
        let assertion = try scene.assertion()
        let thumbprint = Certificate.hexadecimal(
            try #require(assertion.header["x5t#S256"]?.string.flatMap { Base64URL.decode($0) }))
        #expect(thumbprint == (try SampleCertificate.thumbprint("app.pem", "sha256")))
        #expect(assertion.header["alg"] == "PS256" && assertion.header["typ"] == "JWT")
        #expect(assertion.header.members.count == 3)
        let claims = try assertion.verified(with: Self.key("app.pem"), algorithms: [.ps256]).claims.members
        #expect(claims["iss"] == "client" && claims["sub"] == "client" && claims["aud"] == .string(Self.endpoint))
        // 30 seconds before now, for ten minutes.
        #expect(claims["nbf"] == 1_799_999_970 && claims["iat"] == 1_799_999_970 && claims["exp"] == 1_800_000_570)
        #expect(claims["jti"]?.string?.utf8.count == 22 && claims.members.count == 7)
    }

    @Test(arguments: [("https://id.example/adfs", nil), ("https://id.example/contoso", "RS256")])
    func `an assertion for AD FS, or with RS256, has the SHA-1 thumbprint`(
        authority: String, algorithm: String?
    ) async throws {
        var certificate = try Self.pem("app.pem")
        if let algorithm { certificate["algorithm"] = .string(algorithm) }
        let scene = try await Scene(certificate, authority: authority)
        _ = try await scene.signIn()
        let assertion = try scene.assertion()
        let thumbprint = try #require(assertion.header["x5t"]?.string.flatMap { Base64URL.decode($0) })
        #expect(Certificate.hexadecimal(thumbprint) == (try SampleCertificate.thumbprint("app.pem", "sha1")))
        #expect(assertion.header["alg"] == "RS256" && assertion.header["x5t#S256"] == nil)
        #expect(
            try assertion.verified(with: Self.key("app.pem"), algorithms: [.rs256]).claims.audience == [Self.endpoint])
    }

    @Test func `another provider gets its issuer as audience, unless the settings name another one`() async throws {
        let scene = try await Scene(Self.pem("app.pem"), authority: nil)
        _ = try await scene.signIn()
        #expect(try scene.assertion().unverifiedClaims.audience == [GrantProvider.issuer])
        let other = try await Scene(
            Self.pem("app.pem"), keys: ["clientAssertionAudience": "https://id.example/other"])
        _ = try await other.signIn()
        #expect(try other.assertion().unverifiedClaims.audience == ["https://id.example/other"])
    }

    @Test func `the chain is in the assertion only if the settings require it`() async throws {
        let path = try SampleCertificate.path("chain.pfx")
        var certificate: JSONObject = ["pkcs12": .string(path), "password": ["environment": "PASSWORD"], "chain": true]
        let environment = ["PASSWORD": SampleCertificate.password]
        let scene = try await Scene(certificate, environment: environment)
        _ = try await scene.signIn()
        let header = try scene.assertion().header
        let chain = try #require(header["x5c"]?.array).compactMap(\.string)
        let expected = try CertificateIdentity(
            pkcs12: SampleCertificate.bytes("chain.pfx"), password: Secret(SampleCertificate.password))
        #expect(chain.map { Data(base64Encoded: $0).map(Array.init) } == expected.chain.map(\.der))
        certificate["chain"] = nil
        let other = try await Scene(certificate, environment: environment)
        _ = try await other.signIn()
        #expect(try other.assertion().header["x5c"] == nil)
    }

    @Test func `each request has a new assertion with the time of the provider`() async throws {
        let scene = try await Scene(Self.pem("app.pem"))
        let account = try await scene.signIn()
        // The Date of the first response is ten minutes ahead.
        scene.provider.answer(
            "/token",
            inTurn: .grantError("invalid_client", status: 401, ["Date": "Fri, 15 Jan 2027 09:16:40 GMT"]),
            .grant(["access_token": "at-2", "token_type": "Bearer", "expires_in": 3600]))
        scene.provider.advance(4000)
        _ = try await scene.store.accessToken(for: account.id)
        let requests = scene.provider.requests(to: "/token")
        #expect(requests.count == 3)
        let claims = try requests.map { try JWT(parsing: $0.form["client_assertion"] ?? "").unverifiedClaims.members }
        #expect(Set(claims.compactMap { $0["jti"]?.string }).count == 3)
        #expect(claims.map { $0["iat"] } == [1_799_999_970, 1_800_003_970, 1_800_004_570])
    }

    @Test(arguments: [
        ("expired.pem", "expired at 2021-01-01T00:00:00Z"), ("future.pem", "is not valid before 2090-01-01T00:00:00Z"),
        ("weak.pem", "1024 bits"), ("ec.pem", "a key of the type EC"),
        ("foreign-key.pem", "the key of another certificate"), ("unlinked.pem", "CN=app"),
        ("absent.pem", "No such file"),
    ])
    func `an unusable certificate is an error before the first request`(file: String, reason: String) async throws {
        let folder = try SampleCertificate.path("app.pem").dropLast("app.pem".utf8.count)
        let scene = try await Scene(["certificate": .string("\(folder)\(file)"), "chain": true])
        let error = try #require(try await grantFailure { try await scene.signIn() })
        #expect(error.kind == .settings && error.remedy == .changeSettings)
        #expect(error.reason.contains(reason) && error.reason.contains(file), "\(error)")
        #expect(scene.provider.requests(to: "/contoso/v2.0/.well-known/openid-configuration").isEmpty)
        #expect(scene.provider.requests(to: "/token").isEmpty)
    }

    @Test func `an expired intermediate certificate is an error before the first request if the chain is sent`()
        async throws
    {
        // The intermediate certificate expires in 2030, the certificate of the application in 2126.
        var certificate = try Self.pem("chain-short.pem")
        certificate["chain"] = true
        let scene = try await Scene(certificate)
        _ = try await scene.signIn()
        let later = try await Scene(certificate)
        later.provider.advance(4 * 366 * 86_400)
        let error = try #require(try await grantFailure { try await later.signIn() })
        #expect(error.kind == .settings && error.remedy == .changeSettings)
        #expect(
            error.reason.contains("CN=short-lived, O=Contoso, which expired at 2030-01-01T00:00:00Z"), "\(error)")
        #expect(error.reason.contains("chain-short.pem") && error.hint?.description.contains("chain") == true)
        #expect(later.provider.requests(to: "/contoso/v2.0/.well-known/openid-configuration").isEmpty)
        // Without the chain, the provider never gets it.
        let alone = try await Scene(Self.pem("chain-short.pem"))
        alone.provider.advance(4 * 366 * 86_400)
        _ = try await alone.signIn()
    }

    @Test func `a key that no token has is an error before the first request, without the password`() async throws {
        var certificate = try Self.pem("app-certificate.pem")
        certificate["key"] = "pkcs11:token=lodge-no-such-token;object=none"
        certificate["password"] = "82317731"
        let scene = try await Scene(certificate)
        let error = try #require(try await grantFailure { try await scene.signIn() })
        #expect(error.kind == .settings && error.remedy == .changeSettings && error.hint != nil)
        #expect(error.reason.contains("pkcs11:token=lodge-no-such-token;object=none"), "\(error)")
        #expect(!"\(error)".contains("82317731"))
        #expect(scene.provider.requests(to: "/contoso/v2.0/.well-known/openid-configuration").isEmpty)
    }

    @Test func `a device that does not respond ends the call after a time limit, and a file needs none`() async throws {
        let opened = Mutex(false)
        var dependencies = Dependencies(transport: try GrantProvider(), environment: [:])
        dependencies.timer = { limit in #expect(limit == .seconds(30)) }
        let device = try #require(try DeviceKey("handle:0x81000001"))
        let error = await #expect(throws: SettingsError.self) {
            try await DeviceCall.run(device, dependencies) {
                while !opened.withLock({ $0 }) { usleep(1000) }
                return 1
            }
        }
        #expect(error?.file == "handle:0x81000001" && error?.found == "no response within 30 seconds")
        opened.withLock { $0 = true }
        #expect(try await DeviceCall.run(nil, dependencies) { 2 } == 2)
    }

    @Test func `a wrong password and an outdated encryption are settings errors without the password`() async throws {
        for (file, password, reason) in [
            ("app.pfx", "not the password", "a password that does not open the file"),
            ("app-rc2.pfx", SampleCertificate.password, "RC2-40"),
        ] {
            let scene = try await Scene([
                "pkcs12": .string(try SampleCertificate.path(file)), "password": .string(password),
            ])
            let error = try #require(try await grantFailure { try await scene.signIn() })
            #expect(error.kind == .settings && error.reason.contains(reason), "\(error)")
            let hint = error.hint?.description ?? ""
            let text = "\(error) " + hint
            #expect(!text.contains(password))
            #expect(file != "app-rc2.pfx" || hint.contains("openssl pkcs12 -legacy -in "), "\(hint)")
        }
    }

    @Test func `a file that others can change, a large file and a folder are rejected`() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/app.pem"
        func reason() async throws -> String? {
            let scene = try await Scene(["certificate": .string(path)])
            return try await grantFailure { try await scene.signIn() }?.reason
        }
        let content = Data(try SampleCertificate.bytes("app.pem"))
        try content.write(to: URL(filePath: path))
        #expect(chmod(path, 0o622) == 0)
        #expect(try await reason()?.contains("can write to it") == true)
        #expect(chmod(path, 0o600) == 0)
        #expect(try await reason() == nil)
        // A link is followed, as to the file of a mounted secret.
        let link = folder.path + "/link.pem"
        try FileManager.default.moveItem(atPath: path, toPath: link)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: link)
        #expect(try await reason() == nil)
        try FileManager.default.removeItem(atPath: path)
        try (content + Data(count: 1 << 20)).write(to: URL(filePath: path))
        #expect(try await reason()?.contains("65536 bytes") == true)
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(try await reason()?.contains("a directory") == true)
    }

    @Test func `a replaced certificate signs the next request`() async throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/app.pem"
        try Data(try SampleCertificate.bytes("app.pem")).write(to: URL(filePath: path))
        let scene = try await Scene(["certificate": .string(path)])
        let account = try await scene.signIn()
        try Data(try SampleCertificate.bytes("chain.pem")).write(to: URL(filePath: path), options: .atomic)
        scene.provider.advance(4000)
        _ = try await scene.store.accessToken(for: account.id)
        let thumbprint = try #require(scene.assertion().header["x5t#S256"]?.string.flatMap { Base64URL.decode($0) })
        #expect(Certificate.hexadecimal(thumbprint) == (try SampleCertificate.thumbprint("chain.pem", "sha256")))
    }

    @Test func `the error of a rejected certificate contains its thumbprint and not the assertion`() async throws {
        let scene = try await Scene(Self.pem("app.pem"))
        scene.provider.answer("/token") { request in
            .grant(
                [
                    "error": "invalid_client",
                    "error_description": .string(
                        "AADSTS700027: The certificate is not registered. \(request.form["client_assertion"] ?? "")"),
                ], status: 401)
        }
        let error = try #require(
            try await grantFailure { try await scene.store.signIn(to: "t", by: .clientCredentials) })
        #expect(error.kind == .settings && error.remedy == .changeSettings)
        #expect(error.reason.contains(try SampleCertificate.thumbprint("app.pem", "sha256")), "\(error)")
        let assertion = try #require(scene.provider.requests(to: "/token").last?.form["client_assertion"])
        #expect(!error.reason.contains(assertion) && error.reason.contains(Secret.mask))
    }
}

/// The error numbers of Microsoft Entra for credentials of a client.
@Suite struct ClientErrorTests {
    @Test(arguments: [
        ("invalid_client", 700027, "upload the certificate"), ("invalid_client", 50027, "clientAssertion"),
        ("invalid_request", 50027, "clientAssertion"), ("invalid_client", 50012, "clientAssertion"),
        ("invalid_client", 700021, "clientId"), ("invalid_client", 700023, "clientAssertionAudience"),
        ("invalid_client", 7000215, "clientSecret"), ("invalid_client", 7000222, "clientSecret"),
        ("unauthorized_client", 700016, "clientId"), ("invalid_request", 90002, "tenant"),
        ("invalid_scope", 1002012, "/.default"), ("invalid_scope", 70011, "scopes"),
    ])
    func `an error of the client's credential is solved in the settings and never by a sign-in`(
        code: String, number: Int, advice: String
    ) {
        let provider = ProviderError(
            code: ErrorCode(rawValue: code), explanation: "AADSTS\(number): text", status: 401)
        let error = AccountStoreError.wrapping(OAuth2Error.provider(provider), what: "cannot sign in")
        #expect(error.kind == .settings && error.remedy == .changeSettings)
        #expect(error.hint?.description.contains(advice) == true, "\(error.hint ?? "")")
        #expect(error.reason.contains("AADSTS\(number)"))
    }

    @Test func `the OAuth code decides the remedy, not an unexpected number`() {
        let provider = ProviderError(code: .invalidClient, explanation: "AADSTS70002: text AADSTS50012", status: 401)
        #expect(AccountStoreError.wrapping(OAuth2Error.provider(provider), what: "").remedy == .changeSettings)
    }
}
