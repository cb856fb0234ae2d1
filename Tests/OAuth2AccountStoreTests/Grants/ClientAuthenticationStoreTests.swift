import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite struct ClientAuthenticationStoreTests {
    static func keyText(_ key: JWK) throws -> String { JSONValue.object(try key.privateJSON()).text() }

    @Test func `a client with a private key from a file signs an assertion for each request`() async throws {
        let provider = try GrantProvider(["token_endpoint_auth_methods_supported": ["private_key_jwt"]])
        let key = try JWK.generate(for: .es256, keyID: "mine")
        let file = FileManager.default.temporaryDirectory.appending(path: "key-\(UUID().uuidString).json")
        try Data(try Self.keyText(key).utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let store = try await provider.store(["clientKey": ["file": .string(file.path)]])
        let account = try await provider.signIn(store)
        provider.answer("/token", inTurn: .grant(["access_token": "at-2", "token_type": "Bearer"]))
        provider.advance(4000)
        _ = try await store.accessToken(for: account.id)
        let requests = provider.requests(to: "/token")
        #expect(requests.count == 2)
        let claims = try requests.map { try $0.claims(of: $0.form["client_assertion"], key: key.publicKey) }
        #expect(claims.allSatisfy { $0?["aud"] == .string(GrantProvider.issuer) && $0?["sub"] == "client" })
        #expect(requests.allSatisfy { $0.form["client_assertion_type"] == ClientAssertion.type })
        #expect(claims[0]?["jti"] != claims[1]?["jti"])
    }

    @Test(arguments: [
        (["client_secret_post"], "post"), (["client_secret_basic", "client_secret_post"], "basic"),
        (["client_secret_jwt"], "jwt"),
    ])
    func `the client authentication method is chosen from the methods of the provider's metadata`(
        methods: [String], expected: String
    ) async throws {
        let provider = try GrantProvider([
            "token_endpoint_auth_methods_supported": .array(methods.map(JSONValue.string))
        ])
        let store = try await provider.store(["clientSecret": .string(String(repeating: "s", count: 40))])
        _ = try await provider.signIn(store)
        let request = try #require(provider.requests(to: "/token").first)
        #expect((request.request.fields["Authorization"] != nil) == (expected == "basic"))
        #expect((request.form["client_secret"] != nil) == (expected == "post"))
        #expect((request.form["client_assertion"] != nil) == (expected == "jwt"))
    }

    @Test func `a client secret that the provider does not support is an error before the sign-in`() async throws {
        let provider = try GrantProvider(["token_endpoint_auth_methods_supported": ["tls_client_auth"]])
        let store = try await provider.store(["clientSecret": "hidden-secret"])
        let error = try #require(try await grantFailure { try await store.prepareSignIn(to: "t") })
        #expect(error.kind == .settings && error.reason.contains("tls_client_auth"))
        #expect(!"\(error)".contains("hidden-secret"))
        // A method in the settings takes precedence.
        let other = try await provider.store(["clientSecret": "s", "clientAuthentication": "client_secret_post"])
        _ = try await provider.signIn(other)
        #expect(provider.requests(to: "/token").first?.form["client_secret"] == "s")
    }

    @Test(arguments: ["{}", "nonsense-that-may-be-a-secret", "PUBLIC", "OCT", ""])
    func `an unusable private key is rejected, and the error does not contain it`(text: String) async throws {
        let provider = try GrantProvider()
        let key = try JWK.generate(for: .es256)
        let content =
            switch text {
            case "PUBLIC": JSONValue.object(key.publicJSON).text()
            case "OCT": try Self.keyText(try JWK.generate(for: .hs256))
            default: text
            }
        let store = try await provider.store(
            ["clientKey": ["environment": "KEY"], "clientAuthentication": "private_key_jwt"],
            environment: ["KEY": content])
        let error = try #require(try await grantFailure { try await store.prepareSignIn(to: "t") })
        #expect(error.kind == .settings && error.reason.contains("KEY"), "\(error)")
        #expect(content.isEmpty || !error.reason.contains(content))
    }

    @Test func `the client assertion has the audience of the settings`() async throws {
        let provider = try GrantProvider()
        let key = try JWK.generate(for: .es256)
        let store = try await provider.store(
            ["clientKey": ["environment": "KEY"], "clientAssertionAudience": "https://id.example/token"],
            environment: ["KEY": try Self.keyText(key)])
        _ = try await provider.signIn(store)
        let request = try #require(provider.requests(to: "/token").first)
        let claims = try request.claims(of: request.form["client_assertion"], key: key.publicKey)
        #expect(claims?["aud"] == "https://id.example/token")
    }

    @Test func `a client with a certificate sends its client ID to the mTLS endpoint aliases`() async throws {
        let provider = try GrantProvider([
            "mtls_endpoint_aliases": [
                "token_endpoint": "https://mtls.id.example/mtls-token",
                "revocation_endpoint": "http://mtls.id.example/",
            ],
            "token_endpoint_auth_methods_supported": ["tls_client_auth"],
        ])
        let certificate: JSONObject = ["certificate": "/c.pem", "key": "/k.pem"]
        let store = try await provider.store(["clientCertificate": .object(certificate), "scopes": ["read"]])
        provider.answer("/mtls-token", inTurn: .grant(["access_token": "at", "token_type": "Bearer"]))
        let account = try await store.signIn(to: "t", by: .clientCredentials)
        #expect(account.isClient)
        let request = try #require(provider.requests(to: "/mtls-token").first)
        #expect(request.form["client_id"] == "client" && request.form["client_secret"] == nil)
        #expect(provider.requests(to: "/token").isEmpty)
        // Endpoints in the settings take precedence over the aliases too.
        let named = try await provider.store([
            "clientCertificate": .object(certificate), "scopes": ["read"],
            "tokenEndpoint": "https://id.example/token",
        ])
        provider.answer("/token", inTurn: .grant(["access_token": "at", "token_type": "Bearer"]))
        _ = try await named.signIn(to: "t", by: .clientCredentials)
        #expect(provider.requests(to: "/token").count == 1)
    }

    @Test func `a type with a client certificate uses a separate transport`() async throws {
        let provider = try GrantProvider()
        let other = try GrantProvider()
        var dependencies = provider.dependencies()
        dependencies.certifiedTransport = { _, certificate in
            certificate.certificateFile == "/c.pem" ? other : provider
        }
        var type = AccountType(
            name: "t", provider: .issuer(GrantProvider.issuer), clientID: "client",
            redirectURI: try RedirectURI("http://127.0.0.1/callback"), scope: ["read"])
        type.clientCertificate = ClientCertificate(certificateFile: "/c.pem", keyFile: "/k.pem")
        let store = try await AccountStore(
            settings: Settings(types: [type]), storage: MemoryStorage(), custody: MemoryKey(),
            dependencies: dependencies)
        _ = try await store.prepareSignIn(to: "t")
        #expect(other.requests(to: "/.well-known/openid-configuration").count == 1)
        #expect(provider.requests(to: "/.well-known/openid-configuration").isEmpty)
    }

    @Test func `client assertions and proofs have the time of the provider's clock`() async throws {
        let provider = try GrantProvider()
        let key = try JWK.generate(for: .es256)
        // The Date of the provider's responses is ten minutes ahead.
        provider.answer("/.well-known/openid-configuration") { _ in
            .grant(
                [
                    "issuer": .string(GrantProvider.issuer),
                    "authorization_endpoint": "https://id.example/authorize",
                    "token_endpoint": "https://id.example/token",
                ], ["Date": "Fri, 15 Jan 2027 08:10:00 GMT"])
        }
        let store = try await provider.store(
            ["clientKey": ["environment": "KEY"], "scopes": ["read"]], environment: ["KEY": try Self.keyText(key)])
        _ = try await provider.signIn(store, answer: ["id_token": .null])
        let request = try #require(provider.requests(to: "/token").first)
        let claims = try request.claims(of: request.form["client_assertion"], key: key.publicKey)
        #expect(claims?["iat"] == .number(JSONNumber(1_800_000_600)))
    }
}
