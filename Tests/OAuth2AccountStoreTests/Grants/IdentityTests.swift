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

@Suite struct IdentityTests {
    private static let secret = String(repeating: "s", count: 40)

    @Test func `an ID token signed with the client secret is accepted only if the settings select HS256`() async throws
    {
        let provider = try GrantProvider()
        let shared = try JWK(secret: Self.secret.utf8)
        @Sendable func token(_ nonce: String?) throws -> JSONValue {
            try provider.idToken(key: shared, algorithm: .hs256, nonce: nonce)
        }
        let plain = try await provider.store(["clientSecret": .string(Self.secret)])
        let refused = try await grantFailure { try await provider.signIn(plain, idToken: token) }
        #expect(refused?.reason.contains("alg_not_allowed") == true, "\(String(describing: refused))")
        #expect(try await plain.accounts().isEmpty)

        let other = try GrantProvider()
        let registered = try await other.store([
            "clientSecret": .string(Self.secret), "idTokenSigningAlgorithm": "HS256",
        ])
        let account = try await other.signIn(registered) {
            try other.idToken(key: shared, algorithm: .hs256, nonce: $0)
        }
        #expect(account.subject == "ada")
        // An HMAC signature needs no key of the provider.
        #expect(other.requests(to: "/keys").isEmpty)
    }

    @Test func `a rotated key is fetched once, and an unknown key is not requested again for a minute`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store()
        _ = try await provider.signIn(store)
        #expect(provider.requests(to: "/keys").count == 1)

        provider.advance(61)
        let new = try JWK.generate(for: .es256, keyID: "second")
        provider.publish([provider.signingKey, new])
        provider.answer("/token") { received in
            _ = received
            throw HTTPTransportError(.other, host: "", reason: "replaced below")
        }
        func signIn(_ key: JWK) async throws -> Account {
            let prepared = try await store.prepareSignIn(to: "t")
            let nonce = GrantProvider.query(prepared.url)["nonce"]
            provider.answer(
                "/token",
                inTurn: .grant([
                    "access_token": "a", "token_type": "Bearer",
                    "id_token": try provider.idToken(key: key, nonce: nonce),
                ]))
            return try await store.handleRedirect(
                URL(string: "http://127.0.0.1/callback?code=c&state=\(prepared.id)") ?? URL(filePath: "/"))
        }
        _ = try await signIn(new)
        #expect(provider.requests(to: "/keys").count == 2)
        let stranger = try JWK.generate(for: .es256, keyID: "third")
        #expect(try await grantFailure { try await signIn(stranger) }?.kind == .invalidAnswer)
        #expect(provider.requests(to: "/keys").count == 2)
        provider.advance(61)
        #expect(try await grantFailure { try await signIn(stranger) }?.kind == .invalidAnswer)
        #expect(provider.requests(to: "/keys").count == 3)
    }

    @Test func `sign-in succeeds with a clock that is off by an hour if the provider sends a Date`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store()
        let prepared = try await store.prepareSignIn(to: "t")
        let nonce = GrantProvider.query(prepared.url)["nonce"]
        // The provider's clock is an hour ahead, so its ID tokens are issued in the future.
        let late = Int64(provider.now.timeIntervalSince1970) + 3600
        let token = try provider.idToken(
            ["iat": .number(JSONNumber(late)), "exp": .number(JSONNumber(late + 600))], nonce: nonce)
        let answer: JSONObject = [
            "access_token": "a", "token_type": "Bearer", "expires_in": 3600, "id_token": token,
        ]
        let redirect = try #require(URL(string: "http://127.0.0.1/callback?code=c&state=\(prepared.id)"))
        provider.answer("/token", inTurn: .grant(answer, ["Date": "Fri, 15 Jan 2027 09:00:00 GMT"]))
        let account = try await store.handleRedirect(redirect)
        #expect(account.subject == "ada")
        #expect(account.accessTokenExpiry == provider.now.addingTimeInterval(3600))
    }

    @Test func `without a Date from the provider an ID token issued in the future is rejected`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store()
        let late = Int64(provider.now.timeIntervalSince1970) + 3600
        let error = try await grantFailure {
            try await provider.signIn(store, claims: ["iat": .number(JSONNumber(late))])
        }
        #expect(error?.reason.contains("clock") == true, "\(String(describing: error))")
    }

    @Test(arguments: ["options", "parameters"])
    func `the requested max_age and acr_values are checked in the ID token`(way: String) async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(
            way == "options" ? [:] : ["authorizationParameters": ["max_age": "60", "acr_values": "gold silver"]])
        var options = SignInOptions()
        if way == "options" {
            options.maximumAge = .seconds(60)
            options.contextClasses = ["gold", "silver"]
        }
        let query = GrantProvider.query(try await store.prepareSignIn(to: "t", options: options).url)
        #expect(query["max_age"] == "60" && query["acr_values"] == "gold silver")

        let now = Int64(provider.now.timeIntervalSince1970)
        let cases: [(JSONObject, String?)] = [
            (["acr": "silver", "auth_time": .number(JSONNumber(now))], nil),
            (["acr": "silver"], "auth_time_missing"),
            (["acr": "silver", "auth_time": .number(JSONNumber(now - 1000))], "auth_time_too_old"),
            (["acr": "tin", "auth_time": .number(JSONNumber(now))], "acr_mismatch"),
        ]
        for (claims, rejection) in cases {
            let prepared = try await store.prepareSignIn(to: "t", options: options)
            let nonce = GrantProvider.query(prepared.url)["nonce"]
            provider.answer(
                "/token",
                inTurn: .grant([
                    "access_token": "a", "token_type": "Bearer", "id_token": try provider.idToken(claims, nonce: nonce),
                ]))
            let redirect = try #require(URL(string: "http://127.0.0.1/callback?code=c&state=\(prepared.id)"))
            let error = try await grantFailure { try await store.handleRedirect(redirect) }
            #expect(error?.reason.contains(rejection ?? "no such thing") ?? (rejection == nil), "\(claims)")
        }
    }

    @Test func `an essential acr in the claims parameter is checked too`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store([
            "claims": ["id_token": ["acr": ["essential": true, "values": ["gold"]]]]
        ])
        let error = try await grantFailure { try await provider.signIn(store, claims: ["acr": "tin"]) }
        #expect(error?.reason.contains("acr_mismatch") == true)
        var options = SignInOptions()
        options.claims = "no json"
        #expect(try await grantFailure { try await store.prepareSignIn(to: "t", options: options) }?.kind == .settings)
    }

    // MARK: Refresh

    private func renewed(
        _ claims: JSONObject, key: JWK? = nil, settings: JSONObject = [:]
    ) async throws -> (error: AccountStoreError?, tokens: TokenSet?, original: Secret?) {
        let provider = try GrantProvider()
        let store = try await provider.store(settings)
        let account = try await provider.signIn(store, claims: ["auth_time": 1_768_469_000])
        let original = try await store.repository.read(account.id)?.record.tokens.idToken
        provider.advance(4000)
        provider.answer(
            "/token",
            inTurn: .grant([
                "access_token": "at-2", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-2",
                "id_token": try provider.idToken(claims, key: key),
            ]))
        let error = try await grantFailure { try await store.accessToken(for: account.id) }
        return (error, try await store.repository.read(account.id)?.record.tokens, original)
    }

    @Test func `a refreshed ID token of the same user replaces the previous one`() async throws {
        let (error, tokens, original) = try await renewed(["name": "Ada, Countess of Lovelace"])
        #expect(error == nil)
        #expect(tokens?.accessToken == Secret("at-2") && tokens?.idToken != nil && tokens?.idToken != original)
    }

    @Test(arguments: [["sub": "eve"], ["iss": "https://evil.example"]] as [JSONObject])
    func `a refreshed ID token of a different user is rejected, and no tokens are saved`(claims: JSONObject)
        async throws
    {
        let (error, tokens, original) = try await renewed(claims)
        #expect(error?.kind == .invalidAnswer)
        #expect(tokens?.accessToken == Secret("at-1") && tokens?.refreshToken == Secret("rt-1"))
        #expect(tokens?.idToken == original)
        // A wrong signature makes no difference.
        let forged = try await renewed(claims, key: try JWK.generate(for: .es256))
        #expect(forged.error?.kind == .invalidAnswer && forged.tokens?.refreshToken == Secret("rt-1"))
    }

    @Test(
        arguments: [
            ["exp": 1], ["aud": "another"], ["azp": "another"], ["nonce": "another"], ["sub": .null],
            ["at_hash": "AAAA"], ["auth_time": 1_768_469_001],
        ] as [JSONObject])
    func `a refresh with an invalid ID token is rejected unless a quirk allows it`(claims: JSONObject) async throws {
        let (error, tokens, original) = try await renewed(claims)
        #expect(error?.kind == .invalidAnswer, "\(String(describing: error))")
        #expect(tokens?.accessToken == Secret("at-1") && tokens?.refreshToken == Secret("rt-1"))
        #expect(tokens?.idToken == original)
        let tolerant = try await renewed(claims, settings: ["quirks": ["invalidRefreshedIDToken"]])
        #expect(tolerant.error == nil, "\(String(describing: tolerant.error))")
        #expect(tolerant.tokens?.accessToken == Secret("at-2") && tolerant.tokens?.refreshToken == Secret("rt-2"))
        #expect(tolerant.tokens?.idToken == tolerant.original)
    }

    @Test func `a refreshed ID token with a wrong signature is rejected; with an unknown key it is ignored`()
        async throws
    {
        let (error, tokens, original) = try await renewed([:], key: try JWK.generate(for: .es256, keyID: "first"))
        #expect(error?.reason == OAuth2Error.idToken(.signature).description)
        #expect(tokens?.refreshToken == Secret("rt-1") && tokens?.idToken == original)
        let unknown = try await renewed([:], key: try JWK.generate(for: .es256, keyID: "unknown"))
        #expect(unknown.error == nil)
        #expect(unknown.tokens?.refreshToken == Secret("rt-2") && unknown.tokens?.idToken == unknown.original)
    }

    // MARK: Userinfo

    @Test(arguments: [true, false])
    func `a signed userinfo response is verified`(isGood: Bool) async throws {
        let provider = try GrantProvider(["userinfo_endpoint": "https://id.example/me"])
        let store = try await provider.store(["userinfoSigningAlgorithm": "ES256"])
        let key = isGood ? provider.signingKey : try JWK.generate(for: .es256, keyID: "first")
        let answer = try JWT.sign(
            ["iss": "https://id.example", "aud": "client", "sub": "ada", "email": "ada@contoso.example"], with: key,
            algorithm: .es256)
        provider.answer(
            "/me",
            inTurn: HTTPResponse(status: 200, fields: ["Content-Type": "application/jwt"], body: Data(answer.utf8)))
        let account = try await provider.signIn(store, claims: ["preferred_username": .null])
        #expect(account.userName == (isGood ? "ada@contoso.example" : nil))
    }

    @Test func `an unsigned userinfo response is ignored if the settings require a signature`() async throws {
        let provider = try GrantProvider(["userinfo_endpoint": "https://id.example/me"])
        let store = try await provider.store(["userinfoSigningAlgorithm": "ES256"])
        provider.answer("/me", inTurn: .grant(["sub": "ada", "email": "eve@evil.example"]))
        #expect(try await provider.signIn(store, claims: ["preferred_username": .null]).userName == nil)
        let plain = try GrantProvider(["userinfo_endpoint": "https://id.example/me"])
        plain.answer("/me", inTurn: .grant(["sub": "ada", "email": "ada@contoso.example"]))
        let account = try await plain.signIn(
            try await plain.store(), claims: ["preferred_username": .null])
        #expect(account.userName == "ada@contoso.example")
    }

    @Test func `userInfo refreshes once if the provider rejects the access token`() async throws {
        let provider = try GrantProvider(["userinfo_endpoint": "https://id.example/userinfo"])
        let store = try await provider.store()
        let account = try await provider.signIn(store)
        provider.answer("/userinfo") { received in
            guard received.request.fields["Authorization"] == "Bearer at-2" else { return HTTPResponse(status: 401) }
            return .grant(["sub": "ada", "department": "Research"])
        }
        provider.answer("/token", inTurn: .grant(["access_token": "at-2", "token_type": "Bearer", "expires_in": 3600]))
        let claims = try await store.userInfo(for: account.id)
        #expect(claims?.text("department") == "Research")
        #expect(provider.requests(to: "/userinfo").count == 2)
        #expect(provider.requests(to: "/token").count { $0.form["grant_type"] == "refresh_token" } == 1)

        // A second rejection is an error, not another refresh.
        provider.answer("/userinfo", inTurn: HTTPResponse(status: 401))
        #expect(try await grantFailure { try await store.userInfo(for: account.id) } != nil)
        #expect(provider.requests(to: "/token").count { $0.form["grant_type"] == "refresh_token" } == 2)
    }

    @Test func `userInfo sends no token to another provider that now has the name of the type`() async throws {
        let storage = MemoryStorage()
        let custody = try MemoryKey()
        let provider = try GrantProvider(["userinfo_endpoint": "https://id.example/userinfo"])
        let account = try await provider.signIn(try await provider.store(storage: storage, custody: custody))
        let other = try GrantProvider([
            "userinfo_endpoint": "https://id.example/userinfo", "token_endpoint": "https://evil.example/token",
        ])
        let changed = try await other.store(storage: storage, custody: custody)
        #expect(try await grantFailure { try await changed.userInfo(for: account.id) }?.kind == .settings)
        #expect(other.requests(to: "/userinfo").isEmpty && other.requests(to: "/token").isEmpty)
    }
}
