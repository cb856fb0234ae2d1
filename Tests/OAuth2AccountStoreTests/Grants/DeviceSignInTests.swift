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

@Suite struct DeviceSignInTests {
    private static let codes: JSONObject = [
        "device_code": "secret-device-code", "user_code": "BCDF-GHJK", "verification_uri": "https://id.example/go",
        "verification_uri_complete": "https://id.example/go?user_code=BCDF-GHJK", "expires_in": 600, "interval": 5,
    ]
    private static let tokens: JSONObject = [
        "access_token": "at", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt",
    ]

    private struct Run {
        var account: Account?
        var error: (any Error)?
        var prompts: [DeviceCodePrompt] = []
        var failure: AccountStoreError? { error as? AccountStoreError }
    }

    private func run(
        _ provider: GrantProvider, _ keys: JSONObject = ["scopes": ["read"]], codes: JSONObject = Self.codes,
        timeout: Duration? = nil
    ) async throws -> Run {
        let store = try await provider.store(keys)
        provider.answer("/device", inTurn: .grant(codes))
        var options = SignInOptions()
        options.timeout = timeout
        let prompts = Mutex<[DeviceCodePrompt]>([])
        var run = Run()
        do {
            run.account = try await store.signIn(
                to: "t", by: .device { prompt in prompts.withLock { $0.append(prompt) } }, options: options)
        } catch {
            run.error = error
        }
        run.prompts = prompts.withLock { $0 }
        let isKept = try await !store.accounts().isEmpty
        #expect(isKept == (run.account != nil))
        return run
    }

    @Test func `a device sign-in shows the user code and the URL once, then adds the account`() async throws {
        let provider = try GrantProvider()
        provider.answer(
            "/token", inTurn: .grantError("authorization_pending"), .grantError("authorization_pending"),
            .grant(Self.tokens))
        let run = try await run(provider)
        #expect(run.account?.scope == ["read"] && run.account?.canRefresh == true)
        let prompt = try #require(run.prompts.first)
        #expect(run.prompts.count == 1 && prompt.userCode == "BCDF-GHJK" && prompt.expiresIn == .seconds(600))
        #expect(prompt.verificationURIComplete?.query() == "user_code=BCDF-GHJK")
        #expect(!String(reflecting: prompt).contains("secret-device-code"))
        #expect(provider.waits == [5, 5, 5])
        let form = try #require(provider.requests(to: "/token").first).form
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code")
        #expect(form["device_code"] == "secret-device-code" && form["client_id"] == "client")
    }

    @Test func `slow_down permanently increases the polling interval`() async throws {
        let provider = try GrantProvider()
        provider.answer(
            "/token", inTurn: .grantError("slow_down"), .grantError("authorization_pending"),
            .grantError("slow_down"), .grant(Self.tokens))
        #expect(try await run(provider).account != nil)
        #expect(provider.waits == [5, 10, 10, 15])
    }

    @Test func `a missing or invalid polling interval is five seconds`() async throws {
        for interval in [nil, 0, -3] as [JSONValue?] {
            let provider = try GrantProvider()
            provider.answer("/token", inTurn: .grantError("authorization_pending"), .grant(Self.tokens))
            var codes = Self.codes
            codes["interval"] = interval
            #expect(try await run(provider, codes: codes).account != nil)
            #expect(provider.waits == [5, 5])
        }
    }

    @Test func `without an ID token userinfo names the user`() async throws {
        let provider = try GrantProvider(["userinfo_endpoint": "https://id.example/me"])
        provider.answer("/token", inTurn: .grant(Self.tokens))
        provider.answer("/me", inTurn: .grant(["sub": "ada", "email": "ada@contoso.example"]))
        let account = try await run(provider, [:]).account
        #expect(account?.subject == "ada" && account?.userName == "ada@contoso.example")
    }

    @Test func `a device sign-in validates the ID token; without one the account is unverified`() async throws {
        let provider = try GrantProvider(["revocation_endpoint": "https://id.example/revoke"])
        var tokens = Self.tokens
        tokens["id_token"] = try provider.idToken()
        provider.answer("/token", inTurn: .grant(tokens))
        #expect(try await run(provider, [:]).account?.userName == "ada@contoso.example")
        provider.answer("/token", inTurn: .grant(Self.tokens))
        let unverified = try await run(provider, [:]).account
        #expect(unverified != nil && unverified?.subject == nil)
        tokens["id_token"] = try provider.idToken(["aud": "another"])
        provider.answer("/token", inTurn: .grant(tokens))
        provider.answer("/revoke", inTurn: HTTPResponse(status: 200), HTTPResponse(status: 200))
        #expect(try await run(provider, [:]).failure?.reason.contains("another client") == true)
        // No account has these tokens, so the store revokes them.
        #expect(provider.requests(to: "/revoke").map { $0.form["token"] } == ["rt", "at"])
    }

    @Test func `access_denied ends the device sign-in`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token", inTurn: .grantError("access_denied"))
        let run = try await run(provider)
        #expect(run.failure?.kind == .denied && run.failure?.provider?.code == .accessDenied)
        #expect(provider.requests(to: "/token").count == 1)
    }

    @Test(arguments: ["expired_token", "authorization_pending"])
    func `an expired device code ends the sign-in without a request for a new code`(code: String) async throws {
        let provider = try GrantProvider()
        provider.answer("/token", inTurn: .grantError(code))
        let run = try await run(provider)
        #expect(run.failure?.kind == .timedOut, "\(String(describing: run.error))")
        #expect(run.prompts.count == 1 && provider.requests(to: "/device").count == 1)
        #expect(provider.waits.reduce(0, +) <= 600)
    }

    @Test func `transient errors while polling are retried with a growing delay`() async throws {
        let provider = try GrantProvider()
        let count = Mutex(0)
        provider.answer("/token") { _ in
            switch count.withLock({ value in
                value += 1; return value
            }) {
            case 1: throw HTTPTransportError(.connectionLost, host: "id.example", reason: "lost")
            case 2: return HTTPResponse(status: 503)
            case 3: throw HTTPTransportError(.timedOut, host: "id.example", reason: "slow")
            default: return .grant(Self.tokens)
            }
        }
        #expect(try await run(provider).account != nil)
        #expect(provider.waits.count == 4 && provider.waits == provider.waits.sorted() && provider.waits[3] > 5)
    }

    @Test func `polling that always fails reports the network error, not an expired code`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token") { _ in
            throw HTTPTransportError(.cannotResolveHost, host: "id.example", reason: "no such host")
        }
        let run = try await run(provider)
        #expect(run.failure?.kind == .network, "\(String(describing: run.error))")
    }

    @Test func `the timeout limits a device sign-in`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token", inTurn: .grantError("authorization_pending"))
        let run = try await run(provider, timeout: .seconds(12))
        #expect(run.failure?.kind == .timedOut)
        #expect(provider.waits == [5, 5, 2] && provider.requests(to: "/token").count == 2)
    }

    @Test func `cancelling a device sign-in stops the polling immediately`() async throws {
        let provider = try GrantProvider()
        provider.answer("/token") { _ in
            provider.refuseWaits()
            return .grantError("authorization_pending")
        }
        let run = try await run(provider)
        #expect(run.failure?.kind == .cancelled)
        #expect(provider.requests(to: "/token").count == 1)
    }

    @Test func `an error of the program's function that shows the code is the underlying error`() async throws {
        struct NoScreen: Error {}
        let provider = try GrantProvider()
        provider.answer("/device", inTurn: .grant(Self.codes))
        let store = try await provider.store(["scopes": ["read"]])
        let error = try await grantFailure {
            try await store.signIn(to: "t", by: .device { _ in throw NoScreen() })
        }
        #expect(error?.kind == .callback && error?.underlyingError is NoScreen)
        #expect(provider.requests(to: "/token").isEmpty)
    }

    @Test func `device sign-in without a device authorization endpoint is a settings error`() async throws {
        let provider = try GrantProvider(["device_authorization_endpoint": .null])
        let run = try await run(provider)
        #expect(run.failure?.kind == .settings && run.prompts.isEmpty)
        let store = try await provider.store()
        #expect(try await store.offersDeviceSignIn(type: "t") == false)
        #expect(try await GrantProvider().store().offersDeviceSignIn(type: "t"))
    }

    @Test func `a failed device sign-in is published without the device code`() async throws {
        let provider = try GrantProvider()
        let store = try await provider.store(["scopes": ["read"]])
        provider.answer("/device", inTurn: .grant(Self.codes))
        provider.answer("/token", inTurn: .grantError("access_denied"))
        var events = store.events().makeAsyncIterator()
        let error = try await grantFailure { try await store.signIn(to: "t", by: .device { _ in }) }
        guard case .signInFailed("t", let told)? = await events.next() else {
            Issue.record("no event")
            return
        }
        #expect((told as? AccountStoreError) == error)
        #expect(!"\(told)".contains("secret-device-code"))
    }
}
