import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite struct DirectGrantTests {
    private static let confidential: JSONObject = [
        "clientSecret": "s", "scopes": ["openid", "read", "offline_access"],
    ]

    private static func numbered() -> GrantProvider.Handler {
        let count = Mutex(0)
        return { _ in
            let number = count.withLock { value in
                value += 1; return value
            }
            return .grant([
                "access_token": .string("at-\(number)"), "token_type": "Bearer", "expires_in": 3600,
                "refresh_token": "not-wanted", "scope": "read granted",
            ])
        }
    }

    // MARK: Client credentials

    @Test func `concurrent callers share one new client credentials request after expiry`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token", Self.numbered())
        let store = try await provider.store(Self.confidential)
        let account = try await store.signIn(to: "t", by: .clientCredentials)
        #expect(account.isClient && account.canRefresh && account.userName == "client" && account.subject == nil)
        #expect(try await store.accessToken(for: account.id).secret == Secret("at-1"))
        #expect(try await store.repository.read(account.id)?.record.tokens.refreshToken == nil)
        provider.advance(4000)
        let tokens = try await withThrowingTaskGroup(of: Secret.self) { group in
            for _ in 0..<50 { group.addTask { try await store.accessToken(for: account.id).secret } }
            return try await group.reduce(into: Set<Secret>()) { $0.insert($1) }
        }
        #expect(tokens == [Secret("at-2")])
        let requests = provider.requests(to: "/token")
        #expect(requests.count == 2)
        // The request omits the scopes that concern a user, and the second request has the same scopes as the first.
        #expect(requests.allSatisfy { $0.form["grant_type"] == "client_credentials" && $0.form["scope"] == "read" })
        #expect(try await store.account(account.id)?.signInNeeded == nil)
    }

    @Test func `the account of the client is separate from the account of a user`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(["clientSecret": "s", "scopes": ["read"]])
        let person = try await provider.signIn(store, answer: ["id_token": .null])
        provider.answer("/token", Self.numbered())
        let client = try await store.signIn(to: "t", by: .clientCredentials)
        let again = try await store.signIn(to: "t", by: .clientCredentials)
        #expect(client.id == again.id && client.id != person.id)
        #expect(try await store.accounts().map(\.isClient) == [false, true])
    }

    @Test func `client credentials without client authentication are a settings error`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store()
        let error = try await grantFailure { try await store.signIn(to: "t", by: .clientCredentials) }
        #expect(error?.kind == .settings)
        #expect(provider.requests(to: "/token").isEmpty)
    }

    @Test func `an unavailable provider does not change the client's account`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token", Self.numbered())
        let store = try await provider.store(Self.confidential)
        let account = try await store.signIn(to: "t", by: .clientCredentials)
        provider.advance(4000)
        provider.answer("/token", inTurn: HTTPResponse(status: 503))
        #expect(try await grantFailure { try await store.accessToken(for: account.id) }?.kind == .unavailable)
        provider.advance(5)
        provider.answer("/token", inTurn: .grantError("invalid_client", status: 401))
        #expect(try await grantFailure { try await store.accessToken(for: account.id) }?.kind == .settings)
        provider.answer("/token", Self.numbered())
        #expect(try await store.accessToken(for: account.id).secret == Secret("at-1"))
    }

    // MARK: Password

    @Test func `a wrong password is an error about the user name and the password`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(["scopes": ["read"], "allowsPasswordGrant": true])
        provider.answer("/token", inTurn: .grant(["error": "invalid_grant"], status: 400))
        let error = try await grantFailure {
            try await store.signIn(to: "t", by: .password("ada", Secret("lovelace-1815")))
        }
        #expect(error?.remedy == .signInAgain && error?.provider?.code == .invalidGrant)
        #expect(error?.reason == "the provider rejected the user name or the password")
        #expect(error?.hint?.description.contains("check the user name and the password") == true)
        #expect(try await store.accounts().isEmpty)
    }

    @Test func `an error that a settings key solves names the key`() {
        func hint(_ error: OAuth2Error) -> String? {
            AccountStoreError.wrapping(error, what: "x").hint?.description
        }
        #expect(hint(.idToken(IDTokenError(.algorithmNotAllowed)))?.contains("idTokenSigningAlgorithm") == true)
        #expect(hint(.idToken(IDTokenError(.weakKey)))?.contains("HS512 of 64") == true)
        #expect(hint(.idToken(.signature)) == nil)
        let audience = ProviderError(code: .invalidClient, explanation: "The 'aud' claim of the assertion is wrong.")
        #expect(hint(.provider(audience))?.contains("clientAssertionAudience") == true)
        let fraud = ProviderError(code: .invalidClient, explanation: "fraud")
        #expect(hint(.provider(fraud))?.contains("clientSecret") == true)
    }

    @Test func `RB-052: a password is sent only if the settings allow it, and is not saved`() async throws {
        let vector = try #require(VectorFile("request-building").cases.first { $0.id == "RB-052" })
        #expect(vector.input["grant"] == "password" && vector.outcome == "not_supported")
        let provider = try GrantProvider()
        provider.answer("/token", Self.numbered())
        let refused = try await provider.store()
        let method = SignInMethod.password("ada", Secret("lovelace-1815"))
        let error = try await grantFailure { try await refused.signIn(to: "t", by: method) }
        #expect(error?.kind == .settings && error?.hint?.description.contains("allowsPasswordGrant") == true)
        #expect(provider.requests(to: "/token").isEmpty)

        let store = try await provider.store(["allowsPasswordGrant": true, "scopes": ["read"]])
        let account = try await store.signIn(to: "t", by: method)
        let form = try #require(provider.requests(to: "/token").first).form
        #expect(form["username"] == "ada" && form["password"] == "lovelace-1815" && form["scope"] == "read")
        let record = try #require(try await store.repository.read(account.id)?.record)
        #expect(!String(decoding: try JSONEncoder().encode(record), as: UTF8.self).contains("lovelace-1815"))
        var text = ""
        dump(method, to: &text)
        #expect(!text.contains("lovelace-1815"))
    }

    // MARK: Assertions

    @Test func `a JWT and a SAML assertion are exchanged for an account`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token", Self.numbered())
        let store = try await provider.store(["scopes": ["read"]])
        let account = try await store.signIn(to: "t", by: .jwtBearer(Secret("a.b.c")))
        let again = try await store.signIn(to: "t", by: .samlBearer(Secret("<Assertion/>")))
        #expect(account.id == again.id && account.scope == ["read", "granted"])
        let forms = provider.requests(to: "/token").map(\.form)
        #expect(forms[0]["assertion"] == "a.b.c" && forms[0]["scope"] == "read")
        #expect(forms[0]["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        #expect(forms[1]["assertion"] == Base64URL.encode(Array("<Assertion/>".utf8)))
        #expect(forms[1]["grant_type"] == "urn:ietf:params:oauth:grant-type:saml2-bearer")
    }

    // MARK: Exchange

    @Test func `exchanging an account's token does not change the account`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(["clientSecret": "s"])
        let account = try await provider.signIn(store)
        provider.answer(
            "/token",
            inTurn: .grant([
                "access_token": "other", "token_type": "N_A", "expires_in": 60,
                "issued_token_type": .string(TokenExchange.jwtType),
            ]))
        let token = try await store.exchange(
            tokenOf: account.id, resources: ["https://api.example"], audiences: ["payroll"], scope: ["pay"],
            requestedType: TokenExchange.jwtType)
        #expect(token.secret == Secret("other") && token.tokenType == "n_a" && token.scope == ["pay"])
        #expect(token.issuedType == TokenExchange.jwtType && token.expiry == provider.now.addingTimeInterval(60))
        let form = try #require(provider.requests(to: "/token").last).form
        #expect(form["subject_token"] == "at-1" && form["subject_token_type"] == TokenExchange.accessTokenType)
        #expect(form["resource"] == "https://api.example" && form["audience"] == "payroll")
        #expect(try await store.repository.read(account.id)?.record.tokens.accessToken == Secret("at-1"))
    }

    @Test(arguments: [([], ["https://own.example"]), (["payroll"], [])] as [([String], [String])])
    func `an exchange without an audience is for the resources of the settings`(
        audiences: [String], resources: [String]
    ) async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(["clientSecret": "s", "resources": ["https://own.example"]])
        let account = try await provider.signIn(store)
        provider.answer(
            "/token",
            inTurn: .grant([
                "access_token": "other", "token_type": "Bearer", "issued_token_type": .string(TokenExchange.jwtType),
            ]))
        _ = try await store.exchange(tokenOf: account.id, audiences: audiences)
        let form = try #require(provider.requests(to: "/token").last).form
        #expect(form["resource"] == resources.first && form["audience"] == audiences.first)
    }

    @Test func `Entra's on-behalf-of request has requested_token_use, and its claims challenge is in the error`()
        async throws
    {
        let provider = try GrantProvider()
        let store = try await provider.store(["clientSecret": "s"])
        provider.answer("/token", inTurn: .grant(["access_token": "obo", "token_type": "Bearer"]))
        let token = try await store.exchange(onBehalfOf: Secret("a.b.c"), at: "t", scope: ["User.Read"])
        #expect(token.secret == Secret("obo") && token.scope == ["User.Read"])
        let form = try #require(provider.requests(to: "/token").last).form
        #expect(form["requested_token_use"] == "on_behalf_of" && form["assertion"] == "a.b.c")
        provider.answer(
            "/token", inTurn: .grant(["error": "interaction_required", "claims": "{\"access_token\":{}}"], status: 400))
        let error = try await grantFailure {
            try await store.exchange(onBehalfOf: Secret("a.b.c"), at: "t", scope: ["User.Read"])
        }
        #expect(error?.kind == .signInNeeded(.interactionRequired))
        #expect(error?.provider?.claims == "{\"access_token\":{}}")
    }

    // MARK: Pasted responses

    private static let outOfBand: JSONObject = [
        "redirectUri": .string(RedirectURI.outOfBand), "scopes": ["read"],
    ]

    @Test func `a code that the provider displays can be pasted`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token", Self.numbered())
        let store = try await provider.store(Self.outOfBand)
        let shown = Mutex<URL?>(nil)
        let account = try await store.signIn(
            to: "t",
            by: .paste { url in
                shown.withLock { $0 = url }
                return "  the-code\r\n"
            })
        #expect(account.scope == ["read", "granted"])
        let query = GrantProvider.query(try #require(shown.withLock { $0 }))
        #expect(query["redirect_uri"] == RedirectURI.outOfBand && query["code_challenge_method"] == "S256")
        let form = try #require(provider.requests(to: "/token").first).form
        #expect(form["code"] == "the-code" && form["code_verifier"]?.isEmpty == false)
    }

    @Test(arguments: ["", " \n", "two words", "tab\tbed", "ünal", "\u{1B}[2J"])
    func `pasted text that is not a code is not sent`(text: String) async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(Self.outOfBand)
        let error = try await grantFailure { try await store.signIn(to: "t", by: .paste { _ in text }) }
        #expect(error?.kind == .redirectRefused)
        #expect(provider.requests(to: "/token").isEmpty)
    }

    @Test func `without an out-of-band redirect URI the full URL is pasted, and its state is checked`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token", Self.numbered())
        let store = try await provider.store(["scopes": ["read"]])
        let account = try await store.signIn(
            to: "t",
            by: .paste { url in
                "http://127.0.0.1/callback?code=c&state=\(GrantProvider.query(url)["state"] ?? "")\n"
            })
        #expect(account.type == "t")
        for text in ["c", "http://127.0.0.1/callback?code=c&state=another", "http://127.0.0.1/callback?code=c"] {
            let error = try await grantFailure { try await store.signIn(to: "t", by: .paste { _ in text }) }
            #expect(
                error?.kind == .redirectRefused && error?.hint?.description.contains("whole address") == true, "\(text)"
            )
        }
        #expect(provider.requests(to: "/token").count == 1)
    }
}
