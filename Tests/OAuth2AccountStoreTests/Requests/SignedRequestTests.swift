import Foundation
import HTTPExchange
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

/// Authorized requests: retries, the hosts that get the token, and the result for the caller.
@Suite(.timeLimit(.scaled(minutes: 25))) struct SignedRequestTests {
    private static let keys: JSONObject = ["scopes": ["read"], "resourceHosts": ["api.example"]]

    private func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    private func signedIn(_ keys: JSONObject = keys) async throws -> (GrantProvider, AccountStore, Account) {
        let provider = try GrantProvider()
        let store = try await provider.store(keys)
        let account = try await provider.signIn(store, answer: ["id_token": .null])
        provider.answer(
            "/token",
            inTurn: .grant([
                "access_token": "at-2", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt-2",
            ])
        )
        return (provider, store, account)
    }

    private func challenge(_ text: String, status: Int = 401) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["WWW-Authenticate": text], body: Data("why".utf8))
    }

    @Test(arguments: [
        nil, #"Bearer error="invalid_token""#, #"Bearer realm="x", error="expired_token""#, "Bearer",
    ])
    func `a 401 causes one refresh and one retry, with any WWW-Authenticate header`(_ words: String?) async throws {
        let (provider, store, account) = try await signedIn()
        provider.answer("/me") { received in
            guard received.request.fields["Authorization"] == "Bearer at-2" else {
                return HTTPResponse(status: 401, fields: words.map { ["WWW-Authenticate": $0] } ?? [:])
            }
            return HTTPResponse(status: 200, body: received.request.body ?? Data())
        }
        let request = HTTPRequest(.post, try url("https://api.example/me"), body: Data("content".utf8))
        let answer = try await account.send(request, in: store)
        #expect(answer.status == 200 && answer.body == Data("content".utf8))
        #expect(provider.requests(to: "/me").count == 2)
    }

    @Test func `a second 401 is the response, with its content`() async throws {
        let (provider, store, account) = try await signedIn()
        provider.answer("/me") { _ in self.challenge(#"Bearer error="invalid_token""#) }
        let answer = try await store.send(HTTPRequest(.get, try url("https://api.example/me")), for: account.id)
        #expect(answer.status == 401 && answer.body == Data("why".utf8))
        #expect(provider.requests(to: "/me").count == 2)
    }

    @Test func `concurrent requests that get a 401 share one refresh, and each is retried`() async throws {
        let (provider, store, account) = try await signedIn()
        let gate = Gate()
        let all = 40
        let arrived = Log<Int>()
        provider.answer("/me") { received in
            guard received.request.fields["Authorization"] == "Bearer at-1" else { return HTTPResponse(status: 200) }
            arrived.append(1)
            if arrived.all.count == all { gate.open() }
            try await gate.pass()
            return HTTPResponse(status: 401)
        }
        let before = provider.requests(to: "/token").count
        let request = HTTPRequest(.get, try url("https://api.example/me"))
        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<all { group.addTask { try await store.send(request, for: account.id).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(statuses == Array(repeating: 200, count: all))
        #expect(provider.requests(to: "/token").count - before == 1)
    }

    @Test func `a request without an account is not sent, unless it is unsigned on purpose`() async throws {
        let (provider, store, _) = try await signedIn()
        provider.answer("/public") { _ in HTTPResponse(status: 401) }
        let request = HTTPRequest(
            .get, try url("https://elsewhere.example/public"),
            fields: ["Accept": "text/plain", "Authorization": "Mine"])
        #expect(try await grantFailure { try await store.send(request, for: nil) }?.kind == .unknownAccount)
        #expect(try await grantFailure { try await store.sign(request, for: nil) }?.kind == .unknownAccount)
        #expect(provider.requests(to: "/public").isEmpty)
        #expect(try await store.sendUnsigned(request).status == 401)
        #expect(provider.requests(to: "/public").map(\.request) == [request])
    }

    @Test func `a request has the caller's Accept header but not the caller's Authorization header`() async throws {
        let (provider, store, account) = try await signedIn()
        provider.answer("/me") { _ in HTTPResponse(status: 200) }
        let request = HTTPRequest(
            .get, try url("https://api.example/me"), fields: ["accept": "image/*", "authorization": "Basic x"])
        _ = try await store.send(request, for: account.id)
        let sent = try #require(provider.requests(to: "/me").first?.request)
        #expect(sent.fields.values(for: "Accept") == ["image/*"])
        #expect(sent.fields.values(for: "Authorization") == ["Bearer at-1"])
    }

    @Test func `an insufficient_scope response is returned and names the scopes`() async throws {
        let (provider, store, account) = try await signedIn()
        provider.answer("/me") { _ in
            self.challenge(#"Bearer error="insufficient_scope", scope="mail.read mail.send""#, status: 403)
        }
        let answer = try await account.send(HTTPRequest(.get, try url("https://api.example/me")), in: store)
        #expect(answer.status == 403 && answer.scopeNeeded == ["mail.read", "mail.send"])
        #expect(provider.requests(to: "/me").count == 1)
        #expect(challenge("Bearer error=insufficient_scope", status: 403).scopeNeeded == [])
        #expect(challenge(#"Basic error="insufficient_scope""#, status: 403).scopeNeeded == nil)
        #expect(challenge("Bearer error=insufficient_scope", status: 200).scopeNeeded == nil)
    }

    @Test func `a claims challenge that requires interaction is a sign-in-needed error with its claims`() async throws {
        let (provider, store, account) = try await signedIn()
        let claims = #"{"access_token":{"nbf":{"essential":true,"value":"1"}}}"#
        let words = #"Bearer error="insufficient_claims", claims="\#(Data(claims.utf8).base64EncodedString())""#
        provider.answer("/me") { _ in self.challenge(words) }
        provider.answer("/token", inTurn: .grantError("interaction_required"))
        let error = try await grantFailure {
            try await store.send(HTTPRequest(.get, try self.url("https://api.example/me")), for: account.id)
        }
        #expect(error?.kind == .signInNeeded(.interactionRequired) && error?.provider?.claims == claims)
        // The provider issues a token for the claims, but the resource rejects it too.
        provider.answer(
            "/token", inTurn: .grant(["access_token": "at-3", "token_type": "Bearer", "refresh_token": "rt-3"]))
        let again = try await grantFailure {
            try await store.send(HTTPRequest(.get, try self.url("https://api.example/me")), for: account.id)
        }
        #expect(again?.kind == .signInNeeded(.interactionRequired) && again?.provider?.claims == claims)
        #expect(try await store.account(account.id)?.signInNeeded == nil)
    }

    @Test func `an insufficient_user_authentication response is a sign-in-needed error with a command`() async throws {
        let (provider, store, account) = try await signedIn()
        provider.answer("/me") { _ in
            self.challenge(
                #"Bearer error="insufficient_user_authentication", acr_values="gold it's", max_age="5""#)
        }
        let error = try await grantFailure {
            try await store.send(HTTPRequest(.get, try self.url("https://api.example/me")), for: account.id)
        }
        #expect(error?.kind == .signInNeeded(.interactionRequired))
        #expect(
            error?.hint?.actions.first as? AccountRemedy
                == .signIn(
                    type: nil,
                    parameters: [.init(name: "acr_values", value: "gold"), .init(name: "max_age", value: "5")]))
    }

    @Test func `a token is sent only to the provider and the type's hosts; for other hosts it is not refreshed`()
        async throws
    {
        let (provider, store, account) = try await signedIn([
            "scopes": ["read"], "resourceHosts": ["api.example", "port.example:8443", "[::1]"],
            "graphAPI": "https://graph.example/",
        ])
        provider.advance(9000)
        let asked = provider.requests(to: "/token").count
        for address in [
            "https://evil.example/", "https://api.example.evil.example/", "https://port.example/",
            "https://port.example:8444/", "http://api.example/", "https://xapi.example/", "ftp://api.example/", "/me",
        ] {
            let request = HTTPRequest(.get, try url(address))
            let error = try await grantFailure { try await store.sign(request, for: account.id) }
            #expect(error?.kind == .settings, "\(address)")
            #expect(error?.reason.isEmpty == false && error?.hint != nil)
        }
        #expect(provider.requests(to: "/token").count == asked)
        for address in [
            "https://api.example:9000/x", "https://API.EXAMPLE/", "https://port.example:8443/",
            "https://graph.example/v1.0/me", "https://id.example/userinfo", "http://[::1]:7000/", "https://[::1]/",
        ] {
            let signed = try await store.sign(HTTPRequest(.get, try url(address)), for: account.id)
            #expect(signed.fields["Authorization"] == "Bearer at-2", "\(address)")
        }
    }

    @Test func `a 401 of another host after a redirect causes no refresh`() async throws {
        let (provider, store, account) = try await signedIn()
        let asked = provider.requests(to: "/token").count
        provider.answer("/away") { _ in
            HTTPResponse(status: 401, url: URL(string: "https://elsewhere.example/x"))
        }
        let answer = try await store.send(HTTPRequest(.get, try url("https://api.example/away")), for: account.id)
        #expect(answer.status == 401)
        #expect(provider.requests(to: "/away").count == 1 && provider.requests(to: "/token").count == asked)
    }

    @Test func `a request cancelled during the refresh ends, and the refresh continues`() async throws {
        let (provider, store, account) = try await signedIn()
        let gate = Gate()
        provider.answer("/me") { _ in HTTPResponse(status: 401) }
        provider.answer("/token") { _ in
            try await gate.pass()
            return .grant(["access_token": "at-2", "token_type": "Bearer", "expires_in": 3600])
        }
        let request = HTTPRequest(.get, try url("https://api.example/me"))
        let task = Task { try await store.send(request, for: account.id).status }
        try await gate.arrival()
        task.cancel()
        #expect(try await grantFailure { try await task.value }?.kind == .cancelled)
        gate.open()
        #expect(try await store.accessToken(for: account.id, rejected: Secret("at-1")).secret.value == "at-2")
    }

    @Test func `the description of a request contains neither the token nor the content`() async throws {
        let (_, store, account) = try await signedIn()
        let request = HTTPRequest(
            .post, try url("https://api.example/me?key=hidden-query"), body: Data("hidden-body".utf8))
        let signed = try await store.sign(request, for: account.id)
        var text = "\(signed) \(String(reflecting: signed))"
        dump(signed, to: &text)
        for secret in ["at-1", "hidden-query", "hidden-body"] { #expect(!text.contains(secret), "\(secret)") }
    }
}

/// Redirects of requests with a DPoP token. Each proof is for one URL.
@Suite struct BoundRedirectTests {
    private func following(_ address: String) throws -> HTTPRequest {
        var request = HTTPRequest(.post, try #require(URL(string: address)), body: Data("x".utf8))
        request.redirects = .follow(limit: 3)
        return request
    }

    private func signedIn() async throws -> (GrantProvider, AccountStore, Account) {
        let provider = try GrantProvider()
        let store = try await provider.store(["dpop": true, "scopes": ["read"], "resourceHosts": ["api.example"]])
        let account = try await provider.signIn(store, answer: ["token_type": "DPoP", "id_token": .null])
        return (provider, store, account)
    }

    @Test func `a redirect within the origin gets a new proof, and 303 becomes GET`() async throws {
        let (provider, store, account) = try await signedIn()
        provider.answer("/a") { _ in HTTPResponse(status: 307, fields: ["Location": "/b"]) }
        provider.answer("/b") { _ in HTTPResponse(status: 303, fields: ["Location": "/c"]) }
        provider.answer("/c") { _ in HTTPResponse(status: 200) }
        #expect(try await store.send(try following("https://api.example/a"), for: account.id).status == 200)
        let sent = ["/a", "/b", "/c"].flatMap { provider.requests(to: $0) }
        let proofs = try sent.map { try #require(try $0.proof()) }
        #expect(sent.map { $0.request.method } == [.post, .post, .get])
        #expect(sent.map { $0.request.body } == [Data("x".utf8), Data("x".utf8), nil])
        #expect(proofs.map { $0["htm"] } == ["POST", "POST", "GET"])
        #expect(proofs.map { $0["htu"]?.string?.suffix(2) } == ["/a", "/b", "/c"])
        #expect(Set(proofs.compactMap { $0["jti"]?.string }).count == 3)
    }

    @Test(arguments: ["https://other.example/b", "https://api.example:444/b"])
    func `a redirect to another origin has no token and no proof`(_ target: String) async throws {
        let (provider, store, account) = try await signedIn()
        provider.answer("/a") { _ in HTTPResponse(status: 307, fields: ["Location": target]) }
        provider.answer("/b") { _ in HTTPResponse(status: 401, fields: ["DPoP-Nonce": "foreign"]) }
        #expect(try await store.send(try following("https://api.example/a"), for: account.id).status == 401)
        let sent = provider.requests(to: "/b")
        try #require(sent.count == 1)
        #expect(sent[0].request.fields["Authorization"] == nil && sent[0].request.fields["DPoP"] == nil)
    }

    @Test func `endless redirects are an error`() async throws {
        let (provider, store, account) = try await signedIn()
        provider.answer("/a") { _ in HTTPResponse(status: 302, fields: ["Location": "/a"]) }
        await #expect(throws: HTTPTransportError.self) {
            try await store.send(try following("https://api.example/a"), for: account.id)
        }
        #expect(provider.requests(to: "/a").count == 4)
    }
}
