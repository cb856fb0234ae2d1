import OAuth2Protocol
import Platform
import ProviderSettings

extension AccountStore {
    /// Signs a person, or the client itself, in and gives the account.
    ///
    /// With the browser, it is sent to the provider and comes back to a listener on this machine: on the port of the type's
    /// redirect URI, or on a free one when it names none. The listener is closed on every way out.
    ///
    /// The same person signing in again updates their account in its place. A sign-in that fails changes nothing.
    ///
    /// - Throws: ``AccountStoreError``: `denied`, `timedOut`, `settings` and what the provider or the network bring.
    ///   `CancellationError` when the task is cancelled.
    public func signIn(
        to type: String, by method: SignInMethod = .browser, options: SignInOptions = .init()
    ) async throws -> Account {
        try await signIns.signIn(to: type, by: method, options: options)
    }

    /// Prepares a sign-in: send the person to the address, and give the redirect to ``handleRedirect(_:)``. No user interface
    /// takes part. Many sign-ins may wait at a time, of one type too.
    ///
    /// - Parameters:
    ///   - type: the name of the account type.
    ///   - options: what to ask for, and how.
    ///   - redirectURI: where the redirect arrives, when it differs from the type's in its port.
    /// - Throws: ``AccountStoreError``
    public func prepareSignIn(
        to type: String, options: SignInOptions = .init(), redirectURI: RedirectURI? = nil
    ) async throws -> PreparedSignIn {
        try await signIns.prepareSignIn(to: type, options: options, redirectURI: redirectURI)
    }

    /// Forgets a prepared sign-in. Its redirect is refused from now on.
    public nonisolated func cancel(_ signIn: PreparedSignIn) { signIns.cancel(signIn) }

    /// Whether an address is the redirect of a sign-in that waits. Quick, and takes nothing.
    public nonisolated func isRedirect(_ url: URL) -> Bool { signIns.isRedirect(url) }

    /// Takes the redirect of a prepared sign-in: finds it by its state, redeems the code, checks the ID token and saves the
    /// account. The same person signing in again updates their account in its place.
    ///
    /// - Throws: ``AccountStoreError``. After `redirectRefused` the sign-in goes on waiting; after anything else it is over.
    public func handleRedirect(_ url: URL) async throws -> Account {
        try await signIns.handleRedirect(url.absoluteString)
    }

    /// Adds an account from a token response.
    ///
    /// A type without a provider, `AccountType.Provider.staticToken`, has one account; the token replaces its previous one. The store
    /// does not save a refresh token of such a type.
    ///
    /// - Throws: ``AccountStoreError``, also if the response has an ID token of another provider or for another client.
    public func add(_ response: TokenResponse, toType type: String) async throws -> Account {
        try await signIns.add(response, toType: type)
    }

    /// Whether the provider of a type offers signing in on another device. Asks it, unless that was done a while ago.
    ///
    /// - Throws: ``AccountStoreError``
    public func offersDeviceSignIn(type: String) async throws -> Bool {
        try await AccountStoreError.wrappingErrors("cannot find the provider's endpoints") {
            try await context.providers.server(for: context.type(type), offering: "device_authorization_endpoint")
                .deviceAuthorizationEndpoint != nil
        }
    }
}
