import AppleSignIn
import AuthenticationServices
import Foundation
import LocalProvider
import OAuth2AccountStore
import OAuth2AccountStoreTesting
import Testing

/// Tests the sign-in with the web authentication session.
@Suite(.serialized) @MainActor struct WebSessionTests {
    private let provider: LoopbackProvider
    private var store: AccountStore

    init() async throws {
        var configuration = LoopbackProvider.Configuration()
        configuration.clients.append(
            LocalClient(id: "app", name: "App", redirectURIs: ["com.example.app:/callback"]))
        provider = try await LoopbackProvider(configuration: configuration)
        store = try await Self.store(provider, "com.example.app:/callback")
    }

    private static func store(_ provider: LoopbackProvider, _ redirectURI: String) async throws -> AccountStore {
        let type: JSONObject = [
            "issuer": .string(provider.issuer.absoluteString), "clientId": "app",
            "redirectUri": .string(redirectURI), "scopes": ["openid", "profile", "offline_access"],
        ]
        let settings = JSONValue.object(["types": .object(["local": .object(type)])])
        return try await InMemoryStore.open(
            settings: try Settings(bytes: settings.serialized(), source: "the test"),
            dependencies: .testing(transport: URLSessionTransport(), clock: TestClock()))
    }

    private func failure(_ method: SignInMethod, _ store: AccountStore? = nil) async -> AccountStoreError.Kind? {
        do {
            _ = try await (store ?? self.store).signIn(to: "local", by: method)
            return nil
        } catch {
            return (error as? AccountStoreError)?.kind
        }
    }

    @Test(arguments: [true, false]) func `a sign-in ends with the redirect of the session`(isEphemeral: Bool)
        async throws
    {
        let window = StandInWindow()
        ASWebAuthenticationSession.onStart = { session in
            #expect(session.callback.text == "com.example.app:")
            #expect(session.prefersEphemeralWebBrowserSession == isEphemeral)
            #expect(session.presentationContextProvider?.presentationAnchor(for: session) === window)
            Task {
                do {
                    let redirect = try await Approval(as: "ada@contoso.example").redirect(
                        approving: session.url, transport: URLSessionTransport())
                    session.complete(redirect, nil)
                } catch {
                    session.complete(nil, error)
                }
            }
            return true
        }
        let account = try await store.signIn(to: "local", by: .webSession(anchor: window, isEphemeral: isEphemeral))
        #expect(account.userName == "ada@contoso.example")
        provider.close()
    }

    @Test func `a closed window, a session that does not start and an error end the sign-in`() async throws {
        ASWebAuthenticationSession.onStart = { session in
            session.cancel()
            return true
        }
        #expect(await failure(.webSession(anchor: StandInWindow())) == .cancelled)
        ASWebAuthenticationSession.onStart = { _ in false }
        #expect(await failure(.webSession(anchor: StandInWindow())) == .callback)
        ASWebAuthenticationSession.onStart = { session in
            session.complete(nil, ASWebAuthenticationSessionError(.presentationContextInvalid))
            return true
        }
        #expect(await failure(.webSession(anchor: StandInWindow())) == .callback)
        provider.close()
    }

    @Test func `a cancelled task closes the window`() async throws {
        let (started, continuation) = AsyncStream.makeStream(of: Void.self)
        var shown: ASWebAuthenticationSession?
        ASWebAuthenticationSession.onStart = { session in
            shown = session
            continuation.yield()
            return true
        }
        let task = Task { await failure(.webSession(anchor: StandInWindow())) }
        for await _ in started { break }
        task.cancel()
        #expect(await task.value == .cancelled)
        #expect(shown?.isCancelled == true)
        provider.close()
    }

    @Test func `an https redirect has a host and a path, and a redirect to this machine is refused`() async throws {
        ASWebAuthenticationSession.onStart = { session in
            #expect(session.callback.text == "https://app.example/callback")
            session.cancel()
            return true
        }
        let https = try await Self.store(provider, "https://app.example/callback")
        #expect(await failure(.webSession(anchor: StandInWindow()), https) == .cancelled)
        let loopback = try await Self.store(provider, "http://127.0.0.1:1/callback")
        #expect(await failure(.webSession(anchor: StandInWindow()), loopback) == .settings)
        provider.close()
    }
}
