import Foundation
import HTTPExchange
import OAuth2Protocol
import StrictJSON
import Synchronization
import Testing

@testable import OAuth2AccountStore
@testable import AccountKeys
@testable import ProviderSettings
@testable import SealedStorage
import LodgePlatform

/// Responds by URL without the query. Several responses for one URL are sent in turn; the last one repeats.
private final class ProviderScript: HTTPTransport {
    private let state: Mutex<(answers: [String: [String]], requests: [HTTPRequest])>

    init(_ answers: [String: [String]]) { state = Mutex((answers, [])) }

    var requests: [HTTPRequest] { state.withLock { $0.requests } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        state.withLock { state in
            state.requests.append(request)
            let key = request.url.addressWithoutQuery
            guard let answer = state.answers[key]?.first else { return HTTPResponse(status: 404) }
            if state.answers[key]?.count ?? 0 > 1 { state.answers[key]?.removeFirst() }
            return HTTPResponse(
                status: answer.hasPrefix("!") ? 400 : 200, fields: ["Content-Type": "application/json"],
                body: Data(answer.drop { $0 == "!" }.utf8))
        }
    }
}

/// Tests the presets in a store: their requests and the resulting accounts.
@Suite struct PresetSignInTests {
    private func store(_ name: String, _ script: ProviderScript) async throws -> AccountStore {
        let preset = try #require(ProviderPreset(named: name))
        let type = try preset.accountType(filling: ["clientId": "c1", "clientSecret": "s3cret"])
        return try await AccountStore(
            settings: Settings(types: [type]), storage: MemoryStorage(), custody: MemoryKey(),
            dependencies: Dependencies(transport: script, environment: [:]))
    }

    private func signIn(_ store: AccountStore) async throws -> (account: Account, url: URL) {
        let prepared = try await store.prepareSignIn(to: store.settings.defaultType)
        let state = URLComponents(url: prepared.url, resolvingAgainstBaseURL: false)?.queryItems?
            .first { $0.name == "state" }?.value
        let redirect = prepared.redirectURI.text + "?code=code-1&state=" + (state ?? "")
        return (try await store.handleRedirect(try #require(URL(string: redirect))), prepared.url)
    }

    private func form(_ request: HTTPRequest) -> [String: String] {
        let pairs = FormEncoding.decode(String(decoding: request.body ?? Data(), as: UTF8.self)) ?? []
        return pairs.reduce(into: [:]) { $0[$1.name] = $1.value }
    }

    @Test func `two GitHub users are two accounts, and a second sign-in updates the account`() async throws {
        let script = ProviderScript([
            "https://github.com/login/oauth/access_token": [
                #"{"access_token": "gho_1", "scope": "read:user,user:email", "token_type": "bearer"}"#
            ],
            "https://api.github.com/user": [
                #"{"login": "ada", "id": 1, "name": "Ada"}"#, #"{"login": "li", "id": 2, "name": null}"#,
                #"{"login": "ada-2", "id": 1, "name": "Ada"}"#,
            ],
        ])
        let store = try await store("github", script)
        let first = try await signIn(store).account
        #expect(first.subject == "1" && first.userName == "ada" && first.displayName == "Ada")
        #expect(
            first.scope.tokens == ["read:user", "user:email"] && !first.canRefresh && first.accessTokenExpiry == nil)
        #expect(try await signIn(store).account.id != first.id)
        let again = try await signIn(store).account
        #expect(again.id == first.id && again.userName == "ada-2")
        #expect(try await store.accounts().count == 2)
        let token = try #require(script.requests.first)
        #expect(form(token)["client_secret"] == "s3cret" && form(token)["code_verifier"] != nil)
        #expect(token.fields["Authorization"] == nil)
    }

    @Test func `a sign-in fails if the provider does not identify the user`() async throws {
        let script = ProviderScript([
            "https://github.com/login/oauth/access_token": [#"{"access_token": "gho_1", "token_type": "bearer"}"#],
            "https://api.github.com/user": [#"!{"message": "Server Error"}"#],
        ])
        let store = try await store("github", script)
        let error = await #expect(throws: AccountStoreError.self) { try await signIn(store) }
        #expect(error?.kind == .invalidAnswer && error?.reason.contains("did not identify the user") == true)
        #expect(try await store.accounts().isEmpty)
    }

    @Test func `a Slack user's token comes from authed_user`() async throws {
        let script = ProviderScript([
            "https://slack.com/api/oauth.v2.access": [
                #"{"ok": true, "app_id": "A0", "authed_user": {"id": "U1", "scope": "users:read,chat:write", "access_token": "xoxp-2", "token_type": "user"}, "team": {"id": "T9"}}"#
            ],
            "https://slack.com/api/auth.test": [#"{"ok": true, "user_id": "U1", "user": "ada", "team_id": "T9"}"#],
        ])
        let store = try await store("slack", script)
        let (account, url) = try await signIn(store)
        #expect(account.subject == "U1" && account.userName == "ada")
        #expect(url.query()?.contains("user_scope=users%3Aread") == true)
        #expect(script.requests.last?.fields["Authorization"] == "Bearer xoxp-2")
    }

    @Test func `Dropbox issues a refresh token, and its token response identifies the account`() async throws {
        let script = ProviderScript([
            "https://api.dropboxapi.com/oauth2/token": [
                #"{"access_token": "sl", "token_type": "bearer", "expires_in": 14399, "refresh_token": "r", "uid": "12345", "account_id": "dbid:x"}"#
            ]
        ])
        let store = try await store("dropbox", script)
        let (account, url) = try await signIn(store)
        #expect(account.subject == "dbid:x" && account.canRefresh)
        #expect(url.query()?.contains("token_access_type=offline") == true)
    }

    @Test(arguments: [
        (#"{"access_token": "long", "token_type": "bearer", "expires_in": 5183944}"#, 5_000_000.0),
        ("!{\"error\": {\"message\": \"no\"}}", 0.0),
    ])
    func `Facebook's token is exchanged immediately, and the first one is used if the exchange fails`(
        answer: String, atLeast: Double
    ) async throws {
        let script = ProviderScript([
            "https://graph.facebook.com/v23.0/oauth/access_token": [
                #"{"access_token": "short", "token_type": "bearer", "expires_in": 5000}"#, answer,
            ],
            "https://graph.facebook.com/v23.0/me": [#"{"id": "10", "name": "Ada"}"#],
        ])
        let store = try await store("facebook", script)
        let account = try await signIn(store).account
        #expect(account.subject == "10" && account.displayName == "Ada")
        #expect(script.requests.count == 3)
        #expect(form(script.requests[1])["fb_exchange_token"] == "short")
        let expiry = try #require(account.accessTokenExpiry)
        #expect(expiry.timeIntervalSinceNow > atLeast)
        #expect(script.requests[2].fields["Authorization"] == (atLeast > 0 ? "Bearer long" : "Bearer short"))
    }

    @Test func `Facebook's token is exchanged for a long-lived one`() throws {
        var server = AuthorizationServer()
        server.tokenEndpoint = URL(string: "https://graph.facebook.com/v23.0/oauth/access_token")
        let client = Client(id: "app", authentication: .secretPost(Secret("s&cret")))
        let step = try #require(try FacebookLongLivedToken(Secret("short"), server: server, client: client))
        #expect(step.request.method == .post && step.request.url == server.tokenEndpoint)
        let body = String(decoding: step.request.body ?? Data(), as: UTF8.self)
        let form = (FormEncoding.decode(body) ?? []).reduce(into: [:]) { $0[$1.name] = $1.value }
        #expect(
            form == [
                "grant_type": "fb_exchange_token", "client_id": "app", "client_secret": "s&cret",
                "fb_exchange_token": "short",
            ])
        let first = try TokenResponse.read(
            Self.answer(#"{"access_token": "short", "token_type": "bearer", "expires_in": 5183}"#))
        let long = try FacebookLongLivedToken.read(
            Self.answer(#"{"access_token": "long", "token_type": "bearer", "expires_in": 5183944}"#), replacing: first)
        #expect(long.accessToken == Secret("long") && long.expiresIn == .seconds(5_183_944) && long.refreshToken == nil)
        #expect(throws: OAuth2Error.self) {
            try FacebookLongLivedToken.read(
                Self.answer(#"{"error": {"message": "Invalid OAuth access token."}}"#, status: 400), replacing: first)
        }
        #expect(try FacebookLongLivedToken(Secret("short"), server: server, client: Client(id: "app")) == nil)
    }

    private static func answer(_ text: String, status: Int = 200) -> HTTPResponse {
        HTTPResponse(status: status, fields: ["Content-Type": "application/json"], body: Data(text.utf8))
    }
}
