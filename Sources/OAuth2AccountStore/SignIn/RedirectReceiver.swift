import Platform
import HTTPExchange
import LoopbackHTTP
import Synchronization

/// Responds to the redirects of the browser.
final class RedirectReceiver: Sendable {
    private let handle: @Sendable (_ redirect: String, PreparedSignIn.ID) async throws -> Account
    private let path: String
    private let result: Promise<Account>
    private let reject: @Sendable (AccountStoreError) async -> Void
    private let address = Mutex("")
    private let expected = Mutex("")

    /// - Parameter reject: is called with the reason for each redirect after which the sign-in continues to wait.
    init(
        path: String, result: Promise<Account>, reject: @escaping @Sendable (AccountStoreError) async -> Void,
        handle: @escaping @Sendable (_ redirect: String, PreparedSignIn.ID) async throws -> Account
    ) {
        self.handle = handle
        self.path = path
        self.result = result
        self.reject = reject
    }

    /// Scheme, host and port of the listener, known when it listens.
    var origin: String {
        get { address.withLock { $0 } }
        set { address.withLock { $0 = newValue } }
    }

    /// The sign-in whose redirects it accepts. Until it is prepared, no redirect belongs to it.
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
            // Another redirect: this sign-in continues to wait.
            await reject(error)
            return SignInPage.refused.response
        } catch {
            result.finish(.failure(error))
            return SignInPage.failed(error).response
        }
    }
}
