import LodgePlatform
import HTTPExchange
import LoopbackHTTP
import Synchronization

/// Receives the redirect of the browser and responds with a page.
final class RedirectReceiver: Sendable {
    private let handle: @Sendable (_ redirect: String, PreparedSignIn.ID) async throws -> Account
    private let path: String
    private let result: Promise<Account>
    private let reject: @Sendable (AccountStoreError) async -> Void
    private let address = Mutex("")
    private let expected = Mutex("")

    /// Creates a receiver for redirects to a path.
    ///
    /// - Parameter reject: Called with the reason for each redirect after which the sign-in continues to wait.
    init(
        path: String, result: Promise<Account>, reject: @escaping @Sendable (AccountStoreError) async -> Void,
        handle: @escaping @Sendable (_ redirect: String, PreparedSignIn.ID) async throws -> Account
    ) {
        self.handle = handle
        self.path = path
        self.result = result
        self.reject = reject
    }

    /// The scheme, host and port of the listener. Set when it listens.
    var origin: String {
        get { address.withLock { $0 } }
        set { address.withLock { $0 = newValue } }
    }

    /// The sign-in whose redirects it accepts. Until it is set, no redirect matches.
    var signIn: PreparedSignIn.ID {
        get { expected.withLock { $0 } }
        set { expected.withLock { $0 = newValue } }
    }

    @Sendable func respond(_ request: LoopbackRequest) async -> LoopbackResponse {
        guard request.path == path else { return SignInPage.notFound.response }
        guard request.method == .get else {
            var response = SignInPage.wrongMethod.response
            response.fields["Allow"] = "GET"
            return response
        }
        do {
            let account = try await handle(origin + request.target, signIn)
            result.finish(.success(account))
            return SignInPage.signedIn(account).response
        } catch let error as AccountStoreError where error.kind == .redirectRefused {
            // The redirect of a different sign-in: this one continues to wait.
            await reject(error)
            return SignInPage.refused.response
        } catch {
            result.finish(.failure(error))
            return SignInPage.failed(error).response
        }
    }
}
