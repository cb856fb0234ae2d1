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
    /// - Throws: ``AccountStoreError``: `cancelled` if the user closes the window or the task is cancelled, `callback` if a function of the
    ///   method throws, `denied`, `timedOut`, and the errors of settings, provider and network.
    public func signIn(
        to type: String, by method: SignInMethod = .browser, options: SignInOptions = .init()
    ) async throws -> Account {
        try await signIns.signIn(to: type, by: method, options: options)
    }

    /// Prepares a sign-in with a browser or a web view: open the URL, and pass the redirect to ``handleRedirect(_:)``. The library shows no
    /// user interface.
    ///
    /// Any number of sign-ins up to ``maximumPendingSignIns`` can wait, also of one type. Each waits for its time limit
    /// (``SignInOptions/timeout``), five minutes by default.
    ///
    /// - Parameters:
    ///   - type: The name of the account type.
    ///   - options: The options of the request.
    ///   - redirectURI: The URI at which the redirect arrives, if its port differs from the port in the settings.
    /// - Throws: ``AccountStoreError``: `tooManySignIns` if the maximum number of sign-ins waits. The others continue to wait.
    public func prepareSignIn(
        to type: String, options: SignInOptions = .init(), redirectURI: RedirectURI? = nil
    ) async throws -> PreparedSignIn {
        try await signIns.prepareSignIn(to: type, options: options, redirectURI: redirectURI)
    }

    /// Ends a prepared sign-in. The store refuses its redirect from now on.
    public nonisolated func cancel(_ signIn: PreparedSignIn) { signIns.cancel(signIn) }

    /// Returns whether a URL is the redirect URI of a waiting sign-in. Takes no time and changes nothing.
    public nonisolated func isRedirect(_ url: URL) -> Bool { signIns.isRedirect(url) }

    /// Finishes the sign-in that a redirect belongs to: redeems the code, checks the ID token and saves the account. If the user has an
    /// account, the sign-in updates it.
    ///
    /// This is for a program with one user. A server, where each visitor can start a sign-in, calls ``handleRedirect(_:for:)``: otherwise
    /// a visitor could be signed in to the account of another one, who sent a link.
    ///
    /// - Throws: ``AccountStoreError``. After `redirectRefused` the sign-in continues to wait; after any other error it is over.
    public func handleRedirect(_ url: URL) async throws -> Account {
        try await signIns.handleRedirect(url)
    }

    /// Finishes this sign-in, and refuses the redirect of any other one.
    ///
    /// A server saves the identifier in the visitor's session when it sends the visitor to the provider:
    ///
    /// ```swift
    /// let signIn = try await store.prepareSignIn(to: "work")
    /// session.signIn = signIn.id  // then redirect the visitor to signIn.url
    ///
    /// let account = try await store.handleRedirect(requestURL, for: session.signIn)
    /// ```
    ///
    /// - Parameters:
    ///   - url: The URL of the redirect.
    ///   - id: The ``PreparedSignIn/id`` of the visitor's sign-in.
    /// - Throws: ``AccountStoreError``: `redirectRefused` if the redirect belongs to another sign-in. Both continue to wait then.
    public func handleRedirect(_ url: URL, for id: PreparedSignIn.ID) async throws -> Account {
        try await signIns.handleRedirect(url, for: id)
    }

    /// Returns a prepared sign-in as sealed text, which replaces it: this store no longer waits for its redirect.
    ///
    /// The text is for a cookie of the visitor. Any store with the same storage, key and settings finishes the sign-in, in this process
    /// or another one, and no store needs memory for visitors who do not return:
    ///
    /// ```swift
    /// let signIn = try await store.prepareSignIn(to: "work")
    /// let cookie = try store.seal(signIn)
    /// // Set-Cookie: __Host-sign-in=\(cookie); Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=300
    ///
    /// let account = try await store.handleRedirect(requestURL, sealed: cookie)
    /// ```
    ///
    /// - Returns: At most 3,800 characters of base64url. The text is encrypted and authenticated (AES-256-GCM), expires with the sign-in,
    ///   and is valid once.
    /// - Throws: ``AccountStoreError``: `settings` if the text is longer, because of many scopes; `redirectRefused` if the sign-in no longer
    ///   waits.
    public nonisolated func seal(_ signIn: PreparedSignIn) throws -> String { try signIns.seal(signIn) }

    /// Finishes a sealed sign-in, and refuses the redirect of any other one.
    ///
    /// - Parameters:
    ///   - url: The URL of the redirect.
    ///   - text: The result of ``seal(_:)``, from the visitor's cookie.
    /// - Throws: ``AccountStoreError``: `redirectRefused` if the redirect belongs to another sign-in, the sign-in is already finished, or the
    ///   text is not from a store with this key; `timedOut` if it has expired; `settings` if this process has other settings.
    public func handleRedirect(_ url: URL, sealed text: String) async throws -> Account {
        try await signIns.handleRedirect(url.absoluteString, sealed: text)
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
    package func offersDeviceSignIn(type: String) async throws -> Bool {
        try await AccountStoreError.wrappingErrors("cannot find the provider's endpoints") {
            try await context.providers.server(for: context.type(type), offering: "device_authorization_endpoint")
                .deviceAuthorizationEndpoint != nil
        }
    }
}
