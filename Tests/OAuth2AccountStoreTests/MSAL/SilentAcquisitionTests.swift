import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// The behavior of MSAL's `acquireTokenSilent`, from the tutorials of Microsoft's identity platform.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct SilentAcquisitionTests {
    @Test func `acquireTokenSilent returns the cached token if it covers the scopes and has not expired`() async throws
    {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        for scopes in [nil, [], ["read"], ["openid", "read"], ["profile", "offline_access", "read"]] as [Scope?] {
            #expect(try await store.accessToken(for: ada.id, scopes: scopes).secret == Secret("at-1"))
        }
        #expect(test.refreshes.isEmpty)
    }

    @Test func `acquireTokenSilent refreshes an expired token`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        test.provider.advance(3600)
        #expect(try await store.accessToken(for: ada.id, scopes: ["read"]).secret == Secret("at-2"))
        #expect(test.refreshes.map { $0.form["scope"] } == [nil])
    }

    @Test func `acquireTokenSilent gets an additional token for other scopes and caches both`() async throws {
        let test = try ScopedProvider()
        test.change { $0.consented.formUnion(["write", "offline_access"]) }
        let storage = MemoryStorage(), key = try MemoryKey()
        let store = try await test.store(["scopes": "openid read offline_access"], storage: storage, custody: key)
        let ada = try await test.signIn(store)
        let other = try await store.accessToken(for: ada.id, scopes: ["write"])
        #expect(other.secret == Secret("at-2"))
        #expect(other.scope.contains("write"))
        #expect(test.refreshes.map { $0.form["scope"] } == ["write openid offline_access"])
        #expect(test.refreshes.map { $0.form["refresh_token"] } == ["rt-1"])
        #expect(try await store.accessToken(for: ada.id, scopes: ["write"]).secret == Secret("at-2"))
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
        // Another program of the same user has both tokens too.
        let again = try await test.store(["scopes": "openid read offline_access"], storage: storage, custody: key)
        #expect(try await again.accessToken(for: ada.id, scopes: ["write"]).secret == Secret("at-2"))
        #expect(try await again.accessToken(for: ada.id, scopes: ["read"]).secret == Secret("at-1"))
        #expect(test.refreshes.count == 1)
        // The new refresh token applies to all tokens of the account.
        test.provider.advance(3600)
        #expect(try await again.accessToken(for: ada.id).secret == Secret("at-3"))
        #expect(try await again.accessToken(for: ada.id, scopes: ["write"]).secret == Secret("at-4"))
        #expect(test.refreshes.map { $0.form["refresh_token"] } == ["rt-1", "rt-2", "rt-3"])
        #expect(test.reuses == 0)
        #expect(try await store.saved(ada.id)?.additionalTokens?.all.count == 1)
    }

    @Test func `concurrent callers for two scope sets use each refresh token only once`() async throws {
        let test = try ScopedProvider()
        test.change { $0.consented.formUnion(["a", "b"]) }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        test.provider.advance(3600)
        let found = try await withThrowingTaskGroup(of: (Int, String).self) { group in
            for number in 0..<150 {
                group.addTask {
                    let scopes: Scope? = [nil, ["a"], ["b"]][number % 3]
                    return (number % 3, try await store.accessToken(for: ada.id, scopes: scopes).secret.value)
                }
            }
            return try await group.reduce(into: [Int: Set<String>]()) { $0[$1.0, default: []].insert($1.1) }
        }
        #expect(found.values.allSatisfy { $0.count == 1 })
        #expect(test.refreshes.count == 3)
        #expect(test.reuses == 0)
    }

    @Test func `a token is cached for each resource`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store(["resources": "https://a.example"])
        let ada = try await test.signIn(store)
        #expect(try await store.accessToken(for: ada.id, resource: "https://a.example").secret == Secret("at-1"))
        #expect(try await store.accessToken(for: ada.id, resource: "https://b.example").secret == Secret("at-2"))
        // The response says that the token also covers this scope.
        let read = try await store.accessToken(for: ada.id, scopes: ["read"], resource: "https://b.example")
        #expect(read.secret == Secret("at-2"))
        #expect(try await store.accessToken(for: ada.id, scopes: ["read"]).secret == Secret("at-1"))
        #expect(test.refreshes.map { $0.form["resource"] } == ["https://b.example"])
        let error = try await grantFailure { try await store.accessToken(for: ada.id, resource: "b#c") }
        #expect(error?.kind == .settings)
        test.change { $0.refusal = ["error": "invalid_target"] }
        let refused = try await grantFailure { try await store.accessToken(for: ada.id, resource: "https://c.example") }
        #expect(refused?.kind == .signInNeeded(.scopeNotGranted))
        #expect(refused?.reason == "not granted: https://c.example")
    }

    @Test func `if there are too many tokens, the least recently used is removed, but not the main one`()
        async throws
    {
        let test = try ScopedProvider()
        test.change { $0.consented.formUnion((0..<20).map { "s\($0)" }) }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        for number in 0..<AdditionalTokens.maximumCount {
            _ = try await store.accessToken(for: ada.id, scopes: ["s\(number)"])
        }
        _ = try await store.accessToken(for: ada.id, scopes: ["s0"])
        _ = try await store.accessToken(for: ada.id, scopes: ["s16"])
        let kept = try #require(await store.saved(ada.id)?.additionalTokens?.all).map(\.key.scope)
        #expect(kept.count == AdditionalTokens.maximumCount)
        #expect(kept.contains(["s0"]) && kept.contains(["s16"]) && !kept.contains(["s1"]))
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
        // Expired tokens are removed first.
        test.provider.advance(3600)
        _ = try await store.accessToken(for: ada.id, scopes: ["s3"])
        #expect(try await store.saved(ada.id)?.additionalTokens?.all.count == 1)
    }

    @Test(arguments: ["consent_required", "invalid_grant", "invalid_scope", "interaction_required"])
    func `acquireTokenSilent throws interactionRequired for missing consent and keeps the account`(
        code: String
    ) async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        test.change { $0.refusal = ["error": .string(code)] }
        for _ in 0..<3 {
            let error = try await grantFailure { try await store.accessToken(for: ada.id, scopes: ["read", "write"]) }
            #expect(error?.kind == .signInNeeded(.scopeNotGranted))
            #expect(error?.reason == "not granted: write")
            #expect(error?.provider?.code.rawValue == code)
        }
        // The store sends one request and remembers the rejection for a while.
        #expect(test.refreshes.count == 1)
        #expect(try await store.account(ada.id)?.signInNeeded == nil)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-1"))
        test.provider.advance(601)
        _ = try await grantFailure { try await store.accessToken(for: ada.id, scopes: ["read", "write"]) }
        #expect(test.refreshes.count == 2)
        // The user may have consented in the new sign-in.
        try await test.signIn(store)
        test.change {
            $0.refusal = nil
            $0.consented.insert("write")
        }
        #expect(try await store.accessToken(for: ada.id, scopes: ["read", "write"]).scope.contains("write"))
    }

    @Test func `a transient Entra error number is not missing consent, and the request is repeated`() async throws {
        let test = try ScopedProvider()
        test.change { $0.consented.insert("write") }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        for (number, kind) in [
            ("AADSTS90033: a passing fault", AccountStoreError.Kind.unavailable),
            ("AADSTS70011: the scope is not valid", .settings),
        ] {
            test.change { $0.refusal = ["error": "invalid_grant", "error_description": .string(number)] }
            let error = try await grantFailure { try await store.accessToken(for: ada.id, scopes: ["write"]) }
            #expect(error?.kind == kind)
        }
        test.change { $0.refusal = nil }
        #expect(try await store.accessToken(for: ada.id, scopes: ["write"]).secret == Secret("at-2"))
    }

    @Test func `if the server ignores the requested scope, the token is not used for it`() async throws {
        let test = try ScopedProvider()
        test.change {
            $0.namesScope = false
            $0.consented.insert("write")
        }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        let error = try await grantFailure { try await store.accessToken(for: ada.id, scopes: ["write"]) }
        #expect(error?.kind == .signInNeeded(.scopeNotGranted))
        // The refresh token of that response is saved nevertheless.
        test.provider.advance(3600)
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-3"))
        #expect(test.reuses == 0)
    }

    @Test func `acquireTokenSilent does not throw interactionRequired when offline`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        test.change {
            $0.refusal = ["error": "temporarily_unavailable"]
            $0.refusalStatus = 503
        }
        for _ in 0..<2 {
            let error = try await grantFailure { try await store.accessToken(for: ada.id, scopes: ["write"]) }
            #expect(error?.kind == .unavailable)
        }
        test.provider.answer("/token") { _ in
            throw HTTPTransportError(.cannotConnect, host: "id.example", reason: "no network")
        }
        for claims in [nil, "{}"] {
            test.provider.advance(5)
            let error = try await grantFailure {
                try await store.accessToken(for: ada.id, scopes: ["write"], claims: claims)
            }
            #expect(error?.kind == .network)
        }
        #expect(try await store.account(ada.id)?.signInNeeded == nil)
    }

    @Test func `a claims challenge bypasses the cached token and sends its claims`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        let claims = #"{"access_token":{"nbf":{"essential":true,"value":"1"}}}"#
        #expect(try await store.accessToken(for: ada.id, claims: claims).secret == Secret("at-2"))
        #expect(test.refreshes.map { $0.form["claims"] } == [claims])
        #expect(test.refreshes.map { $0.form["scope"] } == [nil])
        // The new token replaces the rejected one.
        #expect(try await store.accessToken(for: ada.id).secret == Secret("at-2"))
        let error = try await grantFailure { try await store.accessToken(for: ada.id, claims: "[]") }
        #expect(error?.kind == .settings)
        #expect(test.refreshes.count == 1)
    }

    @Test func `a claims challenge that requires interaction returns the claims for the next sign-in`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        let asked = #"{"access_token":{"acrs":{"value":"c1"}}}"#, theirs = #"{"access_token":{"acrs":{"value":"c2"}}}"#
        test.change { $0.refusal = ["error": "interaction_required"] }
        var error = try await grantFailure { try await store.accessToken(for: ada.id, claims: asked) }
        #expect(error?.kind == .signInNeeded(.interactionRequired))
        #expect(error?.provider?.claims == asked)
        test.change { $0.refusal = ["error": "interaction_required", "claims": .string(theirs)] }
        error = try await grantFailure { try await store.accessToken(for: ada.id, claims: asked) }
        #expect(error?.provider?.claims == theirs)
        #expect(try await store.account(ada.id)?.signInNeeded == nil)
        var options = SignInOptions()
        options.claims = error?.provider?.claims
        #expect(try await test.query(store, options)["claims"] == theirs)
    }

    @Test func `a claims challenge of a resource is satisfied once, silently if possible`()
        async throws
    {
        let test = try ScopedProvider()
        let store = try await test.store()
        let ada = try await test.signIn(store)
        let claims = #"{"access_token":{"nbf":{"essential":true}}}"#
        let challenge = "Bearer error=\"insufficient_claims\", claims=\"\(Data(claims.utf8).base64EncodedString())\""
        test.provider.answer("/me") { request in
            request.request.fields["Authorization"] == "Bearer at-1"
                ? .grant([:], status: 401, ["WWW-Authenticate": challenge]) : .grant(["ok": true])
        }
        let url = try #require(URL(string: "https://id.example/me"))
        #expect(try await store.send(HTTPRequest(.get, url), for: ada.id).status == 200)
        #expect(test.refreshes.map { $0.form["claims"] } == [claims])
    }

    @Test func `a request has the token for its scopes`() async throws {
        let test = try ScopedProvider()
        test.change { $0.consented.insert("write") }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        let request = HTTPRequest(.get, try #require(URL(string: "https://id.example/me")))
        let signed = try await store.sign(request, for: ada.id, scopes: ["write"])
        #expect(signed.fields["Authorization"] == "Bearer at-2")
        #expect(try await store.sign(request, for: ada.id).fields["Authorization"] == "Bearer at-1")
    }

    @Test func `additional tokens are bound to the account's key`() async throws {
        let test = try ScopedProvider()
        test.change {
            $0.overlay = ["token_type": "DPoP"]
            $0.consented.insert("write")
        }
        let store = try await test.store(["dpop": true])
        let ada = try await test.signIn(store)
        let token = try await store.accessToken(for: ada.id, scopes: ["write"])
        #expect(token.type == "dpop")
        #expect(try test.refreshes.first?.proof() != nil)
        let request = HTTPRequest(.get, try #require(URL(string: "https://id.example/me")))
        let signed = try await store.sign(request, for: ada.id, scopes: ["write"])
        #expect(signed.fields["Authorization"] == "DPoP at-2")
        let proof = try #require(try GrantProvider.Received(signed).proof())
        #expect(proof["ath"]?.string == Base64URL.encode(SHA2.sha256.digest(Array("at-2".utf8))))
    }

    @Test func `the account of the client gets tokens for other scopes too`() async throws {
        let test = try ScopedProvider()
        let store = try await test.store(["clientSecret": "s", "scopes": ["a"]])
        let account = try await store.signIn(to: "t", by: .clientCredentials)
        #expect(try await store.accessToken(for: account.id, scopes: ["b"]).secret == Secret("at-2"))
        #expect(try await store.accessToken(for: account.id, scopes: ["b"]).secret == Secret("at-2"))
        #expect(try await store.accessToken(for: account.id, scopes: ["a"]).secret == Secret("at-1"))
        #expect(test.tokenRequests.map { $0.form["scope"] } == ["a", "b"])
    }

    @Test func `without a refresh token other scopes require interaction, and no request is sent`() async throws {
        let test = try ScopedProvider()
        test.change { $0.overlay = ["refresh_token": .null] }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        let error = try await grantFailure { try await store.accessToken(for: ada.id, scopes: ["write"]) }
        #expect(error?.kind == .signInNeeded(.scopeNotGranted))
        #expect(error?.reason == "not granted: write")
        #expect(test.refreshes.isEmpty)
    }

    @Test func `additional tokens that fail to save are saved on the next call`() async throws {
        let test = try ScopedProvider()
        test.change { $0.consented.insert("write") }
        let storage = FailingStorage()
        let store = try await test.store(storage: storage)
        let ada = try await test.signIn(store)
        storage.change { $0.replacements = 1 }
        let error = try await grantFailure { try await store.accessToken(for: ada.id, scopes: ["write"]) }
        #expect(error?.kind == .storage(.readOnly))
        #expect(try await store.accessToken(for: ada.id, scopes: ["write"]).secret == Secret("at-2"))
        #expect(test.refreshes.count == 1)
        #expect(test.reuses == 0)
    }

    @Test func `the description of a record contains no token`() async throws {
        let test = try ScopedProvider()
        test.change { $0.consented.insert("write") }
        let store = try await test.store()
        let ada = try await test.signIn(store)
        _ = try await store.accessToken(for: ada.id, scopes: ["write"])
        var text = ""
        dump(try await store.saved(ada.id), to: &text)
        dump(try await store.account(ada.id), to: &text)
        #expect(!text.contains("at-2") && !text.contains("rt-2"))
    }
}
