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

/// A failed refresh does not change an account, unless the provider rejects the refresh token.
@Suite(.timeLimit(.scaled(minutes: 5)))
struct FailureTests {
    struct Trouble: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: FakeProvider.Answer
    }

    private static func status(_ status: Int, _ body: String = "", type: String = "text/html") -> FakeProvider.Answer {
        { _ in HTTPResponse(status: status, fields: ["Content-Type": type], body: Data(body.utf8)) }
    }
    private static func fails(_ kind: HTTPTransportError.Kind) -> FakeProvider.Answer {
        { _ in throw HTTPTransportError(kind, host: "op.example.com", reason: "no") }
    }

    static let passing: [Trouble] = [
        .init(testDescription: "offline", answer: fails(.cannotResolveHost)),
        .init(testDescription: "refused", answer: fails(.cannotConnect)),
        .init(testDescription: "lost", answer: fails(.connectionLost)),
        .init(testDescription: "stalled", answer: fails(.timedOut)),
        .init(testDescription: "TLS", answer: fails(.tls)),
        .init(testDescription: "proxy", answer: fails(.proxy)),
        .init(testDescription: "10 GB", answer: fails(.responseTooLarge)),
        .init(testDescription: "408", answer: status(408)), .init(testDescription: "429", answer: status(429)),
        .init(testDescription: "500", answer: status(500)),
        .init(testDescription: "502", answer: status(502, "<html>")),
        .init(testDescription: "503", answer: status(503)), .init(testDescription: "504", answer: status(504)),
        .init(testDescription: "captive portal", answer: status(200, "<html>Sign in to the hotel</html>")),
        .init(testDescription: "portal as JSON", answer: status(200, "<html>", type: "application/json")),
        .init(testDescription: "half a JSON", answer: status(200, #"{"access_token":"a"#, type: "application/json")),
        .init(testDescription: "no token", answer: status(200, "{}", type: "application/json")),
        .init(testDescription: "empty", answer: status(200, "", type: "application/json")),
        .init(testDescription: "server_error", answer: { _ in .refusal("server_error") }),
        .init(testDescription: "temporarily_unavailable", answer: { _ in .refusal("temporarily_unavailable") }),
        .init(testDescription: "slow_down", answer: { _ in .refusal("slow_down") }),
        .init(
            testDescription: "invalid_grant of a broken server", answer: { _ in .refusal("invalid_grant", status: 503) }
        ),
    ]

    @Test(arguments: passing)
    func `a transient error keeps the tokens and does not require a sign-in`(trouble: Trouble) async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        let before = test.store.storage as? MemoryStorage
        let record = await before?.record(ada.id.rawValue)
        test.clock.advance(3600)
        test.provider.next(trouble.answer)
        let error = try #require(await failure { try await test.token(ada.id) })
        guard case .retryLater = error.remedy else {
            Issue.record("\(error.kind) \(error.remedy)")
            return
        }
        #expect(await before?.record(ada.id.rawValue) == record)
        #expect(try await test.store.account(ada.id)?.signInNeeded == nil)
        test.clock.advance(5)
        #expect(try await test.token(ada.id) == "AT-3")
    }

    @Test(arguments: ["invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope"])
    func `an error in the settings keeps the tokens`(code: String) async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3600)
        test.provider.next { _ in .refusal(code, status: code == "invalid_client" ? 401 : 400) }
        let error = try await failure { try await test.token(ada.id) }
        #expect(error?.kind == .settings && error?.remedy == .changeSettings)
        #expect(try await test.savedTokens(ada.id)?.refreshToken == Secret("RT-2"))
        #expect(try await test.token(ada.id) == "AT-3")
    }

    @Test func `the delay from Retry-After is in the error`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3600)
        test.provider.next { _ in HTTPResponse(status: 429, fields: ["Retry-After": "17"]) }
        #expect(try await failure { try await test.token(ada.id) }?.remedy == .retryLater(after: .seconds(17)))
        test.clock.advance(17)
        test.provider.next { _ in
            var answer = HTTPResponse.refusal("temporarily_unavailable", status: 503)
            answer.fields["Retry-After"] = "5"
            return answer
        }
        #expect(try await failure { try await test.token(ada.id) }?.remedy == .retryLater(after: .seconds(5)))
    }

    @Test(arguments: [("invalid_grant", Account.SignInReason.grantGone), ("consent_required", .interactionRequired)])
    func `a rejected refresh token marks the account but keeps it`(
        code: String, reason: Account.SignInReason
    ) async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        try await test.store.setUserData("kept", for: ada.id)
        test.clock.advance(3600)
        test.provider.next { _ in .refusal(code, "AADSTS70008: expired") }
        let error = try await failure { try await test.token(ada.id) }
        #expect(error?.kind == .signInNeeded(reason) && error?.remedy == .signInAgain)
        #expect(error?.provider?.explanation == "AADSTS70008: expired")
        let marked = try #require(await test.store.account(ada.id))
        #expect(marked.signInNeeded == reason)
        #expect(marked.subject == "ada")
        #expect(try marked.userData(as: String.self) == "kept")
        // No request follows, not even from another store.
        #expect(try await failure { try await test.token(ada.id) }?.kind == .signInNeeded(reason))
        let other = try await TestStore(storage: test.store.storage, provider: test.provider)
        #expect(try await failure { try await other.token(ada.id) }?.kind == .signInNeeded(reason))
        #expect(test.provider.refreshes == 1)
        // The new sign-in restores the same account.
        let healed = try await test.signIn()
        #expect(healed.id == ada.id && healed.signInNeeded == nil)
        #expect(try healed.userData(as: String.self) == "kept")
        #expect(try await other.token(ada.id) == (try await test.token(ada.id)))
    }

    @Test func `after invalid_grant a newer refresh token in the storage is used`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3600)
        test.provider.next { request in
            // Another program has rotated the token without the lock, so the provider rejects the old one.
            let rotated = try TokenResponse.read(
                .json(["access_token": "stale", "token_type": "bearer", "refresh_token": "RT-new", "expires_in": 5]))
            test.provider.change { $0.grants = ["RT-new": "ada"] }
            _ = try await test.store.repository.update(ada.id, .tokens) {
                $0.refresh(
                    with: TokenSet(
                        rotated, requested: $0.tokens.scope, received: test.clock.now.addingTimeInterval(-100)))
            }
            return .refusal("invalid_grant")
        }
        #expect(try await test.token(ada.id) == "AT-3")
        #expect(test.provider.refreshes == 2)
        #expect(try await test.store.account(ada.id)?.signInNeeded == nil)
        #expect(try await test.savedTokens(ada.id)?.refreshToken == Secret("RT-3"))
    }

    @Test func `if an early refresh fails, the valid token is returned, but not after it was rejected`()
        async throws
    {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3570)
        let down: FakeProvider.Answer = { _ in HTTPResponse(status: 503) }
        test.provider.next(down, down, down, down)
        #expect(try await test.token(ada.id) == "AT-2")
        #expect(test.provider.refreshes == 1)
        #expect(try await failure { try await test.token(ada.id, rejected: "AT-2") }?.kind == .unavailable)
        let longer = try await failure {
            try await test.store.accessToken(for: ada.id, minimumValidity: .seconds(300))
        }
        #expect(longer?.kind == .unavailable)
        test.clock.advance(31)
        #expect(try await failure { try await test.token(ada.id) }?.kind == .unavailable)
    }

    @Test func `each caller that joins a failed refresh gets the result for its own requirement`() async throws {
        let test = try await TestStore()
        let ada = try await test.signIn()
        test.clock.advance(3570)
        let gate = Gate()
        test.provider.next(
            { _ in
                try await gate.pass()
                return HTTPResponse(status: 503)
            }, { _ in HTTPResponse(status: 503) })
        let patient = Task { try await test.token(ada.id) }
        try await gate.arrival()
        let refused = Task { try await failure { try await test.token(ada.id, rejected: "AT-2") } }
        for _ in 0..<100 { await Task.yield() }
        gate.open()
        #expect(try await patient.value == "AT-2")
        #expect(try await refused.value?.kind == .unavailable)
    }

    @Test func `a refresh token is not sent to another issuer, client or token endpoint`() async throws {
        let clock = FakeClock()
        let real = try FakeProvider(clock: clock)
        let evil = try FakeProvider(issuer: "https://evil.example.com", clock: clock)
        let storage = MemoryStorage()
        let ada = try await TestStore(storage: storage, provider: real).signIn()
        clock.advance(3600)
        var otherClient = try TestStore.type()
        otherClient.clientID = "other"
        for type in [try TestStore.type(issuer: evil.issuer), otherClient] {
            let test = try await TestStore(
                types: [type], storage: storage, provider: real, transport: Providers(all: [real, evil]))
            let error = try await failure { try await test.token(ada.id) }
            #expect(error?.kind == .settings)
        }
        #expect(evil.refreshes == 0 && real.refreshes == 0)
        let test = try await TestStore(storage: storage, provider: real)
        #expect(try await test.token(ada.id) == "AT-3")
    }

    @Test func `without an issuer a refresh token is sent only to the token endpoint that issued it`() async throws {
        let provider = try FakeProvider(clock: FakeClock())
        provider.change { $0.sendsIDToken = false }
        let storage = MemoryStorage()
        func type(_ host: String) throws -> AccountType {
            var type = try TestStore.type()
            type.provider = .endpoints
            type.scope = ["read"]
            type.endpoints = .init(
                authorization: URL(string: "https://\(host)/authorize"), token: URL(string: "https://\(host)/token"))
            return type
        }
        let ada = try await TestStore(types: [try type("op.example.com")], storage: storage, provider: provider)
            .signIn()
        provider.clock.advance(3600)
        let moved = try await TestStore(types: [try type("evil.example.com")], storage: storage, provider: provider)
        #expect(try await failure { try await moved.token(ada.id) }?.kind == .settings)
        #expect(provider.refreshes == 0)
    }
}
