import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StoreTestSupport
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite(.timeLimit(.scaled(minutes: 5)))
struct IDTokenTests {
    @Test(arguments: [
        ("nonce", JSONValue.string("another"), IDTokenError.Kind.nonceMismatch), ("nonce", .null, .nonceMissing),
        ("iss", "https://evil.example.com", .issuerMismatch), ("aud", "another", .audienceMismatch),
        ("exp", 1_000_000_000, .expired), ("sub", .null, .subjectMissing), ("azp", "another", .authorizedPartyMismatch),
        ("at_hash", "AAAA", .accessTokenHashMismatch),
    ])
    func `an ID token with a wrong claim is rejected and no account is saved`(
        name: String, value: JSONValue, kind: IDTokenError.Kind
    ) async throws {
        let test = try await TestStore()
        test.provider.change { $0.claims = JSONObject([.init(name: name, value: value)]) }
        let error = try await failure { try await test.signIn() }
        #expect(error?.kind == .invalidAnswer)
        #expect(error?.reason.hasPrefix(OAuth2Error.idToken(IDTokenError(kind)).description + " (\(name)") == true)
        #expect(try await test.store.accounts().isEmpty)
    }

    @Test func `an ID token with a signature of another key is rejected`() async throws {
        let test = try await TestStore()
        let other = try JWK.generate(for: .es256, keyID: "k1")
        let real = test.provider.state.withLock { $0.keys }
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = test.provider.approve(prepared)
        // The store caches the keys before the attack.
        try await test.signIn("bob")
        test.provider.change { $0.keys = [other] }
        let error = try await failure { try await test.store.handleRedirect(redirect) }
        #expect(error?.reason == OAuth2Error.idToken(.signature).description)
        test.provider.change { $0.keys = real }
        #expect(try await test.store.accounts().map(\.subject) == ["bob"])
    }

    @Test func `a token response without the requested ID token ends the sign-in`() async throws {
        let test = try await TestStore()
        test.provider.change { $0.sendsIDToken = false }
        let error = try await failure { try await test.signIn() }
        #expect(error?.reason == OAuth2Error.idToken(.missing).description)
    }

    @Test func `new keys are fetched once, and not again within a minute`() async throws {
        let test = try await TestStore()
        try await test.signIn("ada")
        try await test.signIn("bob")
        #expect(test.provider.count("/jwks") == 1)
        test.clock.advance(61)
        let rotated = try JWK.generate(for: .es256, keyID: "k2")
        test.provider.change { $0.keys.insert(rotated, at: 0) }
        try await test.signIn("cyd")
        #expect(test.provider.count("/jwks") == 2)
        // For an unknown key the store requests the keys once a minute, not for each token.
        let unknown = try JWK.generate(for: .es256, keyID: "k3")
        for _ in 0..<5 {
            let prepared = try await test.store.prepareSignIn(to: "graph")
            let redirect = test.provider.approve(prepared)
            let keys = test.provider.state.withLock { $0.keys }
            test.provider.next { request in
                test.provider.change { $0.keys = [unknown] }
                let code = FakeProvider.form(request)["code"] ?? ""
                let nonce = test.provider.state.withLock { $0.codes[code]?.nonce }
                let answer = try test.provider.issue("eve", nonce: nonce)
                test.provider.change { $0.keys = keys }
                return .json(.object(answer))
            }
            let error = try await failure { try await test.store.handleRedirect(redirect) }
            #expect(error?.reason == OAuth2Error.idToken(.keyNotFound).description)
        }
        #expect(test.provider.count("/jwks") == 2)
        test.clock.advance(61)
        try await test.signIn("dan")
        #expect(test.provider.count("/jwks") == 2)
    }

    @Test func `a failed request for keys is a network error, not an invalid ID token`() async throws {
        let provider = try FakeProvider(clock: FakeClock())
        let test = try await TestStore(provider: provider, transport: NoKeys(provider: provider))
        let error = try await failure { try await test.signIn() }
        #expect(error?.kind == .network)
    }

    private struct NoKeys: HTTPTransport {
        let provider: FakeProvider
        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            if request.url.path() == "/jwks" {
                throw HTTPTransportError(.cannotConnect, host: "op.example.com", reason: "refused")
            }
            return try await provider.send(request)
        }
    }

    @Test func `a refreshed ID token of a different user is rejected, and its tokens are not saved`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.provider.change { $0.claims = ["sub": "eve"] }
        let error = try await failure { try await test.store.accessToken(for: ada.id, rejected: Secret("AT-2")) }
        #expect(error?.reason.hasSuffix(#"it is about another user (sub: expected "ada", received "eve")"#) == true)
        let vector = try #require(VectorFile("refresh-and-store").cases.first { $0.id == "RS-009" })
        #expect(
            vector.expect["stored_after"]?.object
                == ["outcome": "rejected", "reason": .string(IDTokenError.Kind.subjectMismatch.rawValue)])
        #expect(try await test.savedTokens(ada.id)?.accessToken == Secret("AT-2"))
        #expect(try await test.savedTokens(ada.id)?.refreshToken == Secret("RT-2"))
    }

    @Test func `a refresh with an unreadable ID token is rejected unless a quirk allows it`() async throws {
        let strict = try await TestStore()
        let account = try await strict.signIn()
        strict.provider.next { _ in
            .json(["access_token": "new", "token_type": "bearer", "id_token": "garbage", "expires_in": 60])
        }
        let error = try await failure { try await strict.token(account.id, rejected: "AT-2") }
        #expect(error?.reason == OAuth2Error.idToken(IDTokenError(.malformed)).description)
        #expect(try await strict.savedTokens(account.id)?.accessToken == Secret("AT-2"))
        var type = try TestStore.type()
        type.quirks.insert(.invalidRefreshedIDToken)
        let test = try await TestStore(types: [type])
        let ada = try await test.signIn()
        let former = try await test.savedTokens(ada.id)?.idToken
        test.provider.next { _ in
            .json(["access_token": "new", "token_type": "bearer", "id_token": "garbage", "expires_in": 60])
        }
        #expect(try await test.token(ada.id, rejected: "AT-2") == "new")
        #expect(try await test.savedTokens(ada.id)?.idToken == former)
    }

    @Test func `an existing token response of any age can be added as an account`() async throws {
        let test = try await TestStore()
        let answer = try TokenResponse.read(.json(.object(try test.provider.issue("ada", nonce: "old"))))
        test.clock.advance(100_000)
        let ada = try await test.store.add(answer, toType: "graph")
        #expect(ada.subject == "ada" && ada.canRefresh)
        test.provider.change { $0.claims = ["iss": "https://evil.example.com"] }
        let foreign = try TokenResponse.read(.json(.object(try test.provider.issue("eve", nonce: nil))))
        let error = try await failure { try await test.store.add(foreign, toType: "graph") }
        #expect(error?.reason.contains(#"received "https://evil.example.com""#) == true)
    }
}
