import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import Synchronization
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

@Suite struct SenderConstrainedTests {
    private static let bound: JSONObject = ["dpop": true, "scopes": ["read"], "resourceHosts": ["api.example"]]
    private static let answer: JSONObject = ["token_type": "DPoP", "id_token": .null]

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test func `the code, refresh and resource requests have proofs of one key in the sealed record`() async throws {
        let provider = try GrantProvider(["dpop_signing_alg_values_supported": ["ES256"]])
        let storage = MemoryStorage()
        let custody = try MemoryKey()
        let first = try await provider.store(Self.bound, storage: storage, custody: custody)
        let prepared = try await first.prepareSignIn(to: "t")
        #expect(GrantProvider.query(prepared.url)["dpop_jkt"]?.isEmpty == false)
        let account = try await provider.signIn(first, answer: Self.answer)
        // Another process opens the store.
        let store = try await provider.store(Self.bound, storage: storage, custody: custody)
        provider.advance(4000)
        provider.answer(
            "/token",
            inTurn: .grant(["access_token": "at-2", "token_type": "DPoP", "expires_in": 3600, "refresh_token": "rt-2"]))
        let token = try await store.accessToken(for: account.id)
        #expect(token.type == "dpop" && token.authorization == "DPoP at-2")
        let signed = try await store.sign(
            HTTPRequest(.get, try url("https://api.example/me?x=1")), for: account.id)
        #expect(signed.fields["Authorization"] == "DPoP at-2")

        let requests = provider.requests(to: "/token") + [GrantProvider.Received(signed)]
        let proofs = try requests.map { try #require(try $0.proof()) }
        #expect(proofs.map { $0["htm"]?.string } == ["POST", "POST", "GET"])
        #expect(proofs[2]["htu"] == "https://api.example/me" && proofs[2]["ath"] != nil && proofs[0]["ath"] == nil)
        #expect(Set(proofs.compactMap { $0["jti"]?.string }).count == 3)
        let keys = try requests.map { received -> String in
            let header = try JWT(parsing: try #require(received.request.fields["DPoP"])).header
            let key = try #require(header["jwk"]?.object)
            #expect(key["d"] == nil)
            return try JWK(key).thumbprint()
        }
        #expect(Set(keys).count == 1)
    }

    @Test func `dpop_jkt is the thumbprint of the proof key`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(Self.bound)
        let prepared = try await store.prepareSignIn(to: "t")
        provider.answer("/token", inTurn: .grant(["access_token": "at", "token_type": "DPoP"]))
        _ = try await store.handleRedirect(try url("http://127.0.0.1/callback?code=c&state=\(prepared.id)"))
        let proof = try #require(provider.requests(to: "/token").first?.request.fields["DPoP"])
        let key = try JWK(try #require(try JWT(parsing: proof).header["jwk"]?.object))
        #expect(GrantProvider.query(prepared.url)["dpop_jkt"] == key.thumbprint())
    }

    @Test func `a DPoP nonce is used after one rejection, and in the next request without one`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(Self.bound)
        provider.answer("/token") { received in
            guard try received.proof()?["nonce"] == "n-1" else {
                return .grantError("use_dpop_nonce", ["DPoP-Nonce": "n-1"])
            }
            return .grant(["access_token": "at", "token_type": "DPoP", "expires_in": 60, "refresh_token": "rt"])
        }
        let account = try await provider.signIn(store, answer: Self.answer)
        #expect(provider.requests(to: "/token").count == 2)
        #expect(provider.requests(to: "/token").allSatisfy { $0.form["code"] == "c-1" })
        provider.advance(100)
        _ = try await store.accessToken(for: account.id)
        #expect(provider.requests(to: "/token").count == 3)
    }

    @Test func `a server that always requires a new nonce gets two requests`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(Self.bound)
        provider.answer("/token", inTurn: .grantError("use_dpop_nonce", ["DPoP-Nonce": "n"]))
        let error = try await grantFailure { try await provider.signIn(store, answer: Self.answer) }
        #expect(error != nil && provider.requests(to: "/token").count == 2)
    }

    @Test func `a client assertion is new in the retry with a nonce`() async throws {
        let provider = try GrantProvider()
        let key = try JWK.generate(for: .es256)
        let store = try await provider.store(
            ["dpop": true, "scopes": ["read"], "clientKey": ["environment": "KEY"]],
            environment: ["KEY": try ClientAuthenticationStoreTests.keyText(key)])
        provider.answer(
            "/token", inTurn: .grantError("use_dpop_nonce", ["DPoP-Nonce": "n"]),
            .grant(["access_token": "at", "token_type": "DPoP"]))
        _ = try await provider.signIn(store, answer: Self.answer)
        let assertions = provider.requests(to: "/token").map { $0.form["client_assertion"] }
        #expect(assertions.count == 2 && assertions[0] != nil && assertions[0] != assertions[1])
    }

    @Test func `a Bearer token for a DPoP client is an invalid response`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(Self.bound)
        let error = try await grantFailure { try await provider.signIn(store, answer: ["id_token": .null]) }
        #expect(error?.kind == .invalidAnswer)
        #expect(try await store.accounts().isEmpty)
    }

    @Test func `polling for a device sign-in sends a proof and accepts a nonce`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(Self.bound)
        provider.answer(
            "/device",
            inTurn: .grant([
                "device_code": "d", "user_code": "u", "verification_uri": "https://id.example/go", "expires_in": 60,
            ]))
        provider.answer("/token") { received in
            guard try received.proof()?["nonce"] == "n" else {
                return .grantError("use_dpop_nonce", ["DPoP-Nonce": "n"])
            }
            return .grant(["access_token": "at", "token_type": "DPoP"])
        }
        let account = try await store.signIn(to: "t", by: .device { _ in })
        #expect(provider.requests(to: "/token").count == 2 && provider.waits == [5])
        #expect(try await store.accessToken(for: account.id).type == "dpop")
    }

    @Test func `a resource request is retried once with the nonce and once with a new token`()
        async throws
    {
        let provider = try GrantProvider()
        let store = try await provider.store(Self.bound)
        let account = try await provider.signIn(store, answer: Self.answer)
        provider.answer(
            "/token", inTurn: .grant(["access_token": "at-2", "token_type": "DPoP", "refresh_token": "rt-2"]))
        provider.answer("/api") { received in
            if try received.proof()?["nonce"] != "r" {
                return HTTPResponse(
                    status: 401,
                    fields: ["WWW-Authenticate": "DPoP error=\"use_dpop_nonce\"", "DPoP-Nonce": "r"])
            }
            let isNew = received.request.fields["Authorization"] == "DPoP at-2"
            return HTTPResponse(
                status: isNew ? 200 : 401, fields: isNew ? [:] : ["WWW-Authenticate": "DPoP error=\"invalid_token\""])
        }
        let request = HTTPRequest(.get, try url("https://api.example/api"))
        #expect(try await store.send(request, for: account.id).status == 200)
        #expect(provider.requests(to: "/api").count == 3)
        // A nonce is sent only to the server that issued it.
        #expect(try provider.requests(to: "/token").allSatisfy { try $0.proof()?["nonce"] == nil })
        provider.answer("/api") { _ in
            HTTPResponse(status: 401, fields: ["WWW-Authenticate": "DPoP error=\"invalid_token\""])
        }
        #expect(try await store.send(request, for: account.id).status == 401)
        #expect(provider.requests(to: "/api").count == 5)
    }

    @Test func `a request with a Bearer token is retried once after a 401`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(["scopes": ["read"], "resourceHosts": ["api.example"]])
        let account = try await provider.signIn(store, answer: ["id_token": .null])
        provider.answer(
            "/token", inTurn: .grant(["access_token": "at-2", "token_type": "Bearer", "expires_in": 3600]))
        provider.answer("/api") { received in
            HTTPResponse(status: received.request.fields["Authorization"] == "Bearer at-2" ? 200 : 401)
        }
        let request = HTTPRequest(.get, try url("https://api.example/api"))
        #expect(try await store.send(request, for: account.id).status == 200)
        #expect(provider.requests(to: "/api").count == 2)
        #expect(provider.requests(to: "/api").allSatisfy { $0.request.fields["DPoP"] == nil })
    }

    @Test func `a token is sent only to the hosts of the settings, and never over plain HTTP`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(["scopes": ["read"], "resourceHosts": ["api.example"]])
        let account = try await provider.signIn(store, answer: ["id_token": .null])
        for address in ["https://evil.example/", "https://api.example.evil.example/", "http://api.example/"] {
            let request = HTTPRequest(.get, try url(address))
            let error = try await grantFailure { try await store.sign(request, for: account.id) }
            #expect(error?.kind == .settings, "\(address)")
        }
        let good = HTTPRequest(.get, try url("https://API.example/x"))
        #expect(try await store.sign(good, for: account.id).fields["Authorization"] == "Bearer at-1")
    }

    @Test func `descriptions of accounts and records contain no key and no token`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(Self.bound)
        let account = try await provider.signIn(store, answer: Self.answer)
        let record = try #require(try await store.repository.read(account.id)?.record)
        let key = try #require(record.senderKey)
        #expect(key.value.contains("\"d\""))
        var text = "\(record) \(account)"
        dump(record, to: &text)
        dump(account, to: &text)
        dump(try await store.accessToken(for: account.id), to: &text)
        for secret in [key.value, "at-1", "rt-1"] { #expect(!text.contains(secret), "\(secret)") }
    }
}
