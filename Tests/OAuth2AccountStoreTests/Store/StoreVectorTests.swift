import Foundation
import HTTPExchange
import JOSE
import OAuth2Protocol
import StorageSuite
import StoreTestSupport
import StrictJSON
import TestSupport
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// The published cases that belong to the store and not to the protocol. Each test reads the input of its case from the
/// file.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct StoreVectorTests {
    private func vector(_ file: String, _ id: String, deep: Set<String> = []) throws -> VectorCase {
        try #require(VectorFile(file, deep: deep).cases.first { $0.id == id }, "\(file) has no \(id)")
    }

    private func url(_ text: String?) throws -> URL { try #require(text.flatMap { URL(string: $0) }) }

    // MARK: Sign-in

    /// Returns the redirect of the case with the state of the pending sign-in.
    private func redirect(_ vector: VectorCase, _ prepared: PreparedSignIn) throws -> URL {
        let text = try #require(vector.input["url"]?.string)
        let state = try #require(text.firstRange(of: "state="))
        return try url(text[..<state.upperBound] + prepared.id)
    }

    @Test func `AR-070: a repeated redirect is rejected, and its code is not sent again`() async throws {
        let vector = try vector("authorization-responses", "AR-070")
        let test = try await TestStore(types: [try TestStore.type(redirect: "http://127.0.0.1:51004/callback")])
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let redirect = try redirect(vector, prepared)
        let nonce = GrantProvider.query(prepared.url)["nonce"]
        test.provider.change { $0.codes["SplxlOBeZQQYbYS6WxSbIA"] = ("ada", nonce) }
        _ = try await test.store.handleRedirect(redirect)
        let error = try await failure { try await test.store.handleRedirect(redirect) }
        #expect(vector.outcome == "reject" && vector.reason == "no_pending_request")
        #expect(error?.kind == .redirectRefused)
        #expect(test.store.signIns.pending.withLock { !$0.isEmpty } == vector.expect["keeps_waiting"]?.bool)
        #expect(test.provider.count("/token") == 1)
        #expect(!test.store.isRedirect(redirect))
    }

    @Test func `RB-054: a code whose response was lost is not sent again`() async throws {
        let vector = try vector("request-building", "RB-054")
        let test = try await TestStore()
        let prepared = try await test.store.prepareSignIn(to: "graph")
        #expect(vector.input["first_attempt"] == "timeout")
        test.provider.next { _ in throw HTTPTransportError(.timedOut, host: "op.example.com", reason: "no") }
        let redirect = FakeProvider.redirect(prepared, "code=c&state=\(prepared.id)")
        let error = try await failure { try await test.store.handleRedirect(redirect) }
        #expect(vector.outcome == "http_error")
        #expect(error?.kind == .network)
        #expect(try await failure { try await test.store.handleRedirect(redirect) }?.kind == .redirectRefused)
        #expect(test.provider.count("/token") == vector.expect.int("requests"))
    }

    @Test func `PK-030: the verifier is removed when the sign-in ends or expires`() async throws {
        let vector = try vector("pkce", "PK-030")
        #expect(vector.expect["verifier_retained"] == false)
        let test = try await TestStore()
        let prepared = try await test.store.prepareSignIn(to: "graph")
        #expect(test.store.signIns.pending.withLock { $0.count } == 1)
        _ = try await test.store.handleRedirect(test.provider.approve(prepared))
        #expect(test.store.signIns.pending.withLock { $0.isEmpty })
        // An expired sign-in is removed by the next sign-in or by its late redirect.
        let left = try await test.store.prepareSignIn(to: "graph")
        test.clock.advance(1000)
        let next = try await test.store.prepareSignIn(to: "graph")
        #expect(test.store.signIns.pending.withLock { Array($0.keys) } == [next.id])
        test.clock.advance(1000)
        _ = try await failure { try await test.store.handleRedirect(test.provider.approve(next)) }
        #expect(test.store.signIns.pending.withLock { $0.isEmpty })
        #expect(try await failure { try await test.store.handleRedirect(test.provider.approve(left)) } != nil)
    }

    @Test func `RB-041: each sign-in pushes a separate request and accepts one redirect`() async throws {
        let vector = try vector("request-building", "RB-041")
        #expect(vector.input["second_use"] == true)
        let first = try #require(vector.input["request_uri"]?.string)
        let provider = try GrantProvider()
        func pushed(_ uri: String) -> HTTPResponse {
            .grant(["request_uri": .string(uri), "expires_in": 60], status: 201)
        }
        provider.answer("/par", inTurn: pushed(first), pushed(first + "2"))
        let store = try await provider.store(["pushedAuthorizationRequests": true, "scopes": ["read"]])
        provider.answer("/token", inTurn: .grant(["access_token": "a", "token_type": "Bearer"]))
        let prepared = [try await store.prepareSignIn(to: "t"), try await store.prepareSignIn(to: "t")]
        #expect(prepared.map { GrantProvider.query($0.url)["request_uri"] } == [first, first + "2"])
        let redirect = try url("\(prepared[0].redirectURI.text)?code=c&state=\(prepared[0].id)")
        _ = try await store.handleRedirect(redirect)
        let again = try await grantFailure { try await store.handleRedirect(redirect) }
        #expect(vector.outcome == "usage_error")
        #expect(again?.kind == .redirectRefused)
        #expect(provider.requests(to: "/token").count == 1)
    }

    @Test func `OE-032: a pushed request with dpop_jkt has no proof and is not retried with a nonce`() async throws {
        // A deviation: the case repeats the request with the nonce. RFC 9449 section 10.1 permits either a proof or
        // dpop_jkt. The store sends dpop_jkt, so the request has no proof that could contain the nonce.
        let vector = try vector("other-endpoints", "OE-032")
        #expect(vector.outcome == "retry_once_with_nonce")
        #expect(vector.expect["nonce"]?.string == vector.input.response.fields["DPoP-Nonce"])
        let provider = try GrantProvider()
        provider.answer("/par", inTurn: vector.input.response)
        let store = try await provider.store(["dpop": true, "scopes": ["read"], "pushedAuthorizationRequests": true])
        let error = try await grantFailure { try await store.prepareSignIn(to: "t") }
        #expect(error?.provider?.code.rawValue == "use_dpop_nonce")
        let requests = provider.requests(to: "/par")
        #expect(requests.count == 1)
        #expect(requests.first?.form["dpop_jkt"]?.isEmpty == false)
        #expect(requests.first?.request.fields["DPoP"] == nil)
    }

    @Test func `CA-017: a rejected client does not try another authentication method`() async throws {
        let vector = try vector("client-auth", "CA-017")
        var type = try TestStore.type()
        type.clientID = try #require(vector.input["client_id"]?.string)
        type.clientSecret = .inline(Secret(try #require(vector.input["client_secret"]?.string)))
        type.clientAuthentication = AccountType.AuthenticationMethod(
            rawValue: try #require(vector.input["method"]?.string))
        let test = try await TestStore(types: [type])
        let answer = try #require(vector.input["response"]?.object).response
        test.provider.next { _ in answer }
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let error = try await failure { try await test.store.handleRedirect(test.provider.approve(prepared)) }
        #expect(error?.kind == .settings)
        #expect(test.provider.count("/token") == vector.expect.int("requests"))
        let request = try #require(test.provider.requests.last { $0.url.path() == "/token" })
        #expect(request.fields["Authorization"] == "Basic YWFhOmJiYg==")
        #expect(FakeProvider.form(request)["client_secret"] == nil)
    }

    // MARK: Token requests. Their cases of transport.json: the requests that the store sends.

    @Test func `TP-042, TP-043: a token request accepts JSON and is a form, with any header of the settings`()
        async throws
    {
        let vectors = try ["TP-042", "TP-043"].map { try vector("transport", $0) }
        var type = try TestStore.type()
        let added = try #require(vectors[1].input["caller_headers"]?.object?.members)
        type.tokenHeaders = Dictionary(uniqueKeysWithValues: added.map { ($0.name, $0.value.string ?? "") })
        let test = try await TestStore(types: [type])
        let ada = try await test.signIn()
        _ = try await test.token(ada.id, rejected: "AT-2")
        let requests = test.provider.requests.filter { $0.url.path() == "/token" }
        #expect(requests.count == 2)
        for request in requests {
            for vector in vectors {
                for header in try #require(vector.expect["request_headers"]?.object?.members) {
                    #expect(request.fields.values(for: header.name) == [header.value.string])
                }
            }
            #expect(request.fields.values(for: "Content-Type").count == vectors[1].expect.int("content_type_count"))
        }
    }

    @Test func `TP-018: a redirect of a resource is the response, and the next request has a new proof`()
        async throws
    {
        let vector = try vector("transport", "TP-018")
        let location = try #require(vector.input["location"]?.string)
        let status = try #require(vector.input.int("status"))
        let provider = try GrantProvider()
        let store = try await provider.store(
            ["dpop": true, "scopes": ["read"], "resourceHosts": ["rs.example.com"]])
        let account = try await provider.signIn(store, answer: ["token_type": "DPoP", "id_token": .null])
        provider.answer("/r") { _ in
            HTTPResponse(status: status, fields: ["Location": location])
        }
        provider.answer("/r2") { _ in HTTPResponse(status: 200) }
        let answer = try await store.send(HTTPRequest(.get, try url("https://rs.example.com/r")), for: account.id)
        #expect(answer.status == status)
        let target = try url(answer.fields["Location"])
        #expect(try await store.send(HTTPRequest(.get, target), for: account.id).status == 200)
        let proofs = try ["/r", "/r2"].map { try #require(try provider.requests(to: $0).first?.proof()) }
        #expect(proofs[0]["htu"] == "https://rs.example.com/r")
        #expect(proofs[1]["htu"] == vector.expect["dpop_htu"])
        #expect(proofs[0]["jti"] != nil && (proofs[0]["jti"] != proofs[1]["jti"]) == vector.expect["new_jti"]?.bool)
    }

    // MARK: Authorized requests

    /// Sends a request for an account whose token has the age of the case, and returns the requested paths.
    private func ask(_ vector: VectorCase) async throws -> (paths: [String], error: AccountStoreError?) {
        let token = try #require(vector.input["token"]?.object)
        let provider = try GrantProvider()
        let store = try await provider.store(["scopes": ["read"], "resourceHosts": ["rs.example.com"]])
        let account = try await provider.signIn(
            store,
            answer: [
                "access_token": try #require(token["access_token"]), "refresh_token": token["refresh_token"] ?? .null,
                "id_token": .null,
            ])
        provider.advance(3600 - Double(try #require(token.int("expires_at_offset"))))
        let paths = Log<String>()
        provider.answer("/token") { received in
            paths.append("\(received.request.method) token_endpoint")
            return .grant(["access_token": "new", "token_type": "Bearer", "expires_in": 3600])
        }
        provider.answer("/r") { received in
            paths.append("\(received.request.method) \(received.request.url.absoluteString)")
            return HTTPResponse(status: received.request.fields["Authorization"] == "Bearer new" ? 200 : 500)
        }
        let request = HTTPRequest(.get, try url(vector.input["url"]?.string))
        let error = try await grantFailure {
            let status = try await store.send(request, for: account.id).status
            #expect(status == 200)
        }
        return (paths.all, error)
    }

    @Test func `RB-060: an expired token is refreshed before the request`() async throws {
        let vector = try vector("request-building", "RB-060")
        let (paths, error) = try await ask(vector)
        #expect(error == nil)
        #expect(paths == vector.expect.texts("sequence"))
    }

    @Test func `RB-061: with an expired token and no refresh token no request is sent`() async throws {
        let vector = try vector("request-building", "RB-061")
        let (paths, error) = try await ask(vector)
        #expect(vector.outcome == "reauthentication_required")
        #expect(error?.kind == .signInNeeded(.noRefreshToken))
        #expect(paths.count == vector.expect.int("requests"))
    }

    @Test(arguments: ["RB-062", "RB-064"])
    func `a one-hour token is stale if less than the margin of ten seconds is left`(id: String) async throws {
        let vector = try vector("request-building", id)
        let left = try #require(vector.input["expires_in_seconds"]?.number?.double)
        let margin = try #require(vector.input.int("margin_seconds"))
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3600 - left)
        _ = try await test.store.accessToken(for: ada.id, minimumValidity: .seconds(margin))
        #expect(test.provider.refreshes == (vector.expect["stale"] == true ? 1 : 0))
    }

    // MARK: Sign-out

    @Test func `RB-074: a sign-out without the network removes the tokens and reports the failed revocation`()
        async throws
    {
        let vector = try vector("request-building", "RB-074")
        let provider = try GrantProvider([
            "end_session_endpoint": try #require(vector.input["end_session_endpoint"]),
            "revocation_endpoint": "https://id.example/revoke",
        ])
        let store = try await provider.store()
        let account = try await provider.signIn(store)
        #expect(vector.input["network"] == "down")
        provider.answer("/revoke") { _ in throw HTTPTransportError(.cannotConnect, host: "id.example", reason: "no") }
        let report = try await store.signOut(account.id)
        guard case .failed = report.revocation else {
            Issue.record("\(report)")
            return
        }
        #expect(vector.outcome == "partial" && vector.expect["local_tokens"] == "deleted")
        #expect(try await store.storage.record(account.id.rawValue) == nil)
        #expect(try await store.accounts().isEmpty)
        let address = try #require(report.endSessionURL?.absoluteString)
        #expect(address.hasPrefix(try #require(vector.input["end_session_endpoint"]?.string) + "?"))
    }

    // MARK: Files

    /// Returns the files below a folder that contain a secret in clear text or base64.
    private func leaks(_ secrets: [String], below folder: String) throws -> [String] {
        var found: [String] = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            // Folders and files that were removed have no content.
            guard let bytes = try? Data(contentsOf: URL(filePath: folder + "/" + name)) else { continue }
            for secret in secrets {
                for form in [secret, String(secret.prefix(8)), Data(secret.utf8).base64EncodedString()]
                where bytes.range(of: Data(form.utf8)) != nil {
                    found.append("\(name): \(secret)")
                }
            }
        }
        return found
    }

    @Test func `RD-020: no file contains a secret in clear text during and after sign-in and refresh`()
        async throws
    {
        let file = VectorFile("redaction")
        #expect(file.cases.first { $0.id == "RD-020" }?.expect["contains_no_secret"] == true)
        let known = try #require(file.defaults["secrets"]?.object)
        let access = try #require(known["access_token"]), refresh = try #require(known["refresh_token"])
        let code = try #require(known["code"]?.string)
        let directory = try TemporaryDirectory()
        let test = try await TestStore(
            storage: SQLiteStorage(directory: directory.store), custody: KeyFile(directory: directory.store))
        let prepared = try await test.store.prepareSignIn(to: "graph")
        let verifier = try #require(
            test.store.signIns.pending.withLock { $0[prepared.id]?.authorization.verifier.secret.value })
        let nonce = GrantProvider.query(prepared.url)["nonce"]
        let secrets = [access.string, refresh.string, code, verifier].compactMap { $0 }
        #expect(secrets.count == 4)
        let seen = Log<String>()
        let answer: FakeProvider.Answer = { _ in
            for leak in try leaks(secrets, below: directory.path) { seen.append(leak) }
            return .json([
                "access_token": access, "refresh_token": refresh, "token_type": "bearer", "expires_in": 60,
                "id_token": .string(try test.provider.idToken("ada", nonce: nonce)),
            ])
        }
        test.provider.next(answer, answer)
        let ada = try await test.store.handleRedirect(
            FakeProvider.redirect(prepared, "code=\(code)&state=\(prepared.id)"))
        test.clock.advance(60)
        _ = try await test.token(ada.id)
        #expect(try leaks(secrets, below: directory.path) == [])
        _ = try await test.store.signOut(ada.id)
        #expect(try leaks(secrets, below: directory.path) == [])
        #expect(seen.all.isEmpty && test.provider.count("/token") == 2)
        // Check that the search finds a secret.
        try Data("x\(refresh.string ?? "")".utf8).write(to: URL(filePath: directory.path + "/planted"))
        #expect(try !leaks(secrets, below: directory.path).isEmpty)
    }
}
