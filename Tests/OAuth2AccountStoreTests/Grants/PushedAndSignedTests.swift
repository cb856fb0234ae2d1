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

@Suite struct PushedAndSignedTests {
    private static let pushed: JSONObject = ["request_uri": "urn:ietf:params:oauth:request_uri:1", "expires_in": 60]

    @Test(arguments: [201, 400, 404])
    func `an offered pushed authorization request is used; if rejected, the request is not pushed`(status: Int)
        async throws
    {
        let provider = try GrantProvider()
        let isPushed = status == 201
        provider.answer(
            "/par",
            inTurn: isPushed ? .grant(Self.pushed, status: 201) : .grantError("unauthorized_client", status: status))
        let store = try await provider.store()
        let prepared = try await store.prepareSignIn(to: "t")
        let query = try #require(prepared.url.query(percentEncoded: true))
        #expect(query.contains("request_uri=") == isPushed)
        #expect(query.contains("state=") != isPushed)
        #expect(provider.requests(to: "/par").count == 1)
    }

    @Test func `an unavailable endpoint for pushed authorization requests is an error`() async throws {
        let provider = try GrantProvider()
        provider.answer("/par", inTurn: HTTPResponse(status: 503))
        let store = try await provider.store()
        #expect(try await grantFailure { try await store.prepareSignIn(to: "t") }?.kind == .unavailable)
    }

    @Test(arguments: [true, false])
    func `requests are pushed if the provider or the settings require it`(isRequired: Bool) async throws {
        let provider = try GrantProvider(isRequired ? ["require_pushed_authorization_requests": true] : [:])
        provider.answer("/par", inTurn: .grant(Self.pushed, status: 201))
        let store = try await provider.store(isRequired ? [:] : ["pushedAuthorizationRequests": true])
        let prepared = try await store.prepareSignIn(to: "t")
        #expect(
            GrantProvider.query(prepared.url) == [
                "client_id": "client", "request_uri": "urn:ietf:params:oauth:request_uri:1",
            ])
        let form = try #require(provider.requests(to: "/par").first).form
        #expect(form["state"] == prepared.id && form["code_challenge"] != nil && form["scope"] == "openid read")
        #expect(try await provider.signIn(store).subject == "ada")
    }

    @Test func `a rejected pushed request is an error before the sign-in`() async throws {
        let provider = try GrantProvider()
        provider.answer("/par", inTurn: .grantError("invalid_scope"))
        let store = try await provider.store(["pushedAuthorizationRequests": true])
        let error = try await grantFailure { try await store.prepareSignIn(to: "t") }
        #expect(error?.kind == .settings && error?.provider?.code == .invalidScope)
        let unwilling = try GrantProvider(["require_pushed_authorization_requests": true])
        let plain = try await unwilling.store(["pushedAuthorizationRequests": false])
        #expect(try await grantFailure { try await plain.prepareSignIn(to: "t") }?.kind == .settings)
    }

    @Test(arguments: [true, false])
    func `a signed request has its parameters in a JWT, with and without a pushed request`(isPushed: Bool) async throws
    {
        let provider = try GrantProvider()
        provider.answer("/par", inTurn: .grant(Self.pushed, status: 201))
        let key = try JWK.generate(for: .es256, keyID: "mine")
        let store = try await provider.store(
            [
                "clientKey": ["environment": "KEY"], "requestObjectSigning": true, "clientAuthentication": "none",
                "pushedAuthorizationRequests": .bool(isPushed), "claims": ["userinfo": ["email": .null]],
            ], environment: ["KEY": try ClientAuthenticationStoreTests.keyText(key)])
        let prepared = try await store.prepareSignIn(to: "t")
        let query = GrantProvider.query(prepared.url)
        #expect(query["state"] == nil)
        let object = isPushed ? provider.requests(to: "/par").first?.form["request"] : query["request"]
        let token = try JWT(parsing: try #require(object))
        #expect(token.header["typ"] == "oauth-authz-req+jwt")
        let claims = try token.verified(with: try #require(key.publicKey), algorithms: [.es256]).claims.members
        #expect(claims["state"] == .string(prepared.id) && claims["iss"] == "client")
        #expect(claims["aud"] == .string(GrantProvider.issuer))
        #expect(claims["claims"]?.object?["userinfo"]?.object?["email"] == .null)
        if isPushed { #expect(provider.requests(to: "/par").first?.form["state"] == nil) }
    }

    @Test func `resources and authorization details are part of the authorization request`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store([
            "resources": ["https://api.example", "https://other.example"],
            "authorizationDetails": [["type": "payment"]],
        ])
        let query = GrantProvider.query(try await store.prepareSignIn(to: "t").url)
        #expect(query["resource"] == "https://api.example, https://other.example")
        #expect(query["authorization_details"] == #"[{"type":"payment"}]"#)
        let account = try await provider.signIn(store)
        provider.advance(4000)
        provider.answer("/token", inTurn: .grant(["access_token": "at-2", "token_type": "Bearer"]))
        _ = try await store.accessToken(for: account.id)
        let forms = provider.requests(to: "/token").map(\.form)
        #expect(forms.count == 2)
        #expect(forms.allSatisfy { $0["resource"] == "https://api.example, https://other.example" })
    }
}
