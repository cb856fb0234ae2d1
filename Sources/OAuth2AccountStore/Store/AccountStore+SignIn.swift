import OAuth2Protocol
import LodgePlatform
import ProviderSettings

extension AccountStore {
    /// Signs in a user, or the client itself, and returns the account. If the user has an account of this type, the
    /// sign-in updates it.
    ///
    /// By default it opens the browser and waits for the redirect on loopback: on the port of the type's redirect URI,
    /// or on a free port if the URI has no port. A sign-in that fails changes nothing.
    ///
    /// - Parameters:
    ///   - type: The name of the account type.
    ///   - method: The sign-in method. The default is the grant of the type, which is the browser if the settings have
    ///     none.
    ///   - options: The options of the request.
    /// - Throws: ``AccountStoreError``: `cancelled` if the user closes the window or the task is cancelled; `callback`
    ///   if a function of the method throws; `denied`; `timedOut`; the errors of settings, provider and network.
    public func signIn(
        to type: String, by method: SignInMethod = .configured, options: SignInOptions = .init()
    ) async throws -> Account {
        try await signIns.signIn(to: type, by: method, options: options)
    }

    /// Returns the current account of a type if it needs no sign-in; otherwise signs a user in.
    ///
    /// This is the start of a program with one user: only the first start opens the browser. The call sends no request
    /// for an account that is signed in. An account needs a sign-in if ``Account/signInNeeded`` has a reason, or if its
    /// access token has expired and it has no refresh token. Its user is the login hint then, unless the options name
    /// another one.
    ///
    /// - Throws: ``AccountStoreError`` as ``currentAccount(ofType:)`` and ``signIn(to:by:options:)``.
    public func signInIfNeeded(
        to type: String, by method: SignInMethod = .configured, options: SignInOptions = .init()
    ) async throws -> Account {
        let current = try await currentAccount(ofType: type)
        if let current, current.signInReason(at: dependencies.now()) == nil { return current }
        var options = options
        if options.loginHint == nil { options.loginHint = current?.userName }
        return try await signIn(to: type, by: method, options: options)
    }

    /// Prepares a sign-in with a browser or a web view: open the URL, and pass the redirect to ``handleRedirect(_:)``.
    /// The library shows no user interface.
    ///
    /// Up to ``maximumPendingSignIns`` sign-ins can wait, including several of one type. Each waits for its time limit
    /// (``SignInOptions/timeout``), five minutes by default.
    ///
    /// - Parameters:
    ///   - type: The name of the account type.
    ///   - options: The options of the request.
    ///   - redirectURI: The URI at which the redirect arrives, if its port differs from the port in the settings.
    /// - Throws: ``AccountStoreError``: `tooManySignIns` if the maximum number of sign-ins waits. The others continue
    ///   to wait.
    public func prepareSignIn(
        to type: String, options: SignInOptions = .init(), redirectURI: RedirectURI? = nil
    ) async throws -> PreparedSignIn {
        try await signIns.prepareSignIn(to: type, options: options, redirectURI: redirectURI)
    }

    /// Cancels a prepared sign-in. The store rejects its redirect from now on.
    public nonisolated func cancel(_ signIn: PreparedSignIn) { signIns.cancel(signIn) }

    /// Returns whether a URL is the redirect URI of a waiting sign-in. Does not block, and changes nothing.
    public nonisolated func isRedirect(_ url: URL) -> Bool { signIns.isRedirect(url) }

    /// Finishes the sign-in that a redirect belongs to: redeems the code, validates the ID token and saves the account.
    /// If the user has an account, the sign-in updates it.
    ///
    /// Use this in a program with one user. A server, where each visitor can start a sign-in, must call
    /// ``handleRedirect(_:for:)``. Otherwise an attacker could sign a visitor in to the attacker's account with a link.
    ///
    /// - Throws: ``AccountStoreError``. After `redirectRefused` the sign-in continues to wait; after any other error it
    ///   is over.
    public func handleRedirect(_ url: URL) async throws -> Account {
        try await signIns.handleRedirect(url)
    }

    /// Finishes the given sign-in, and rejects the redirect of any other sign-in.
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
    /// - Throws: ``AccountStoreError``: `redirectRefused` if the redirect belongs to another sign-in. Both continue to
    ///   wait then.
    public func handleRedirect(_ url: URL, for id: PreparedSignIn.ID) async throws -> Account {
        try await signIns.handleRedirect(url, for: id)
    }

    /// Returns a prepared sign-in as sealed text, and removes it from memory: this store no longer waits for its
    /// redirect.
    ///
    /// Send the text to the visitor as a cookie. Any store with the same storage, key and settings can finish the
    /// sign-in, in this process or another one. No store needs memory for visitors who do not return:
    ///
    /// ```swift
    /// let signIn = try await store.prepareSignIn(to: "work")
    /// let cookie = try store.seal(signIn)
    /// // Set-Cookie: __Host-sign-in=\(cookie); Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=300
    ///
    /// let account = try await store.handleRedirect(requestURL, sealed: cookie)
    /// ```
    ///
    /// - Returns: At most 3,800 characters of base64url. The text is encrypted and authenticated (AES-256-GCM), expires
    ///   with the sign-in, and is valid once.
    /// - Throws: ``AccountStoreError``: `settings` if the text would be longer, for example because of many scopes;
    ///   `redirectRefused` if the sign-in no longer waits.
    public nonisolated func seal(_ signIn: PreparedSignIn) throws -> String { try signIns.seal(signIn) }

    /// Finishes a sealed sign-in, and rejects the redirect of any other sign-in.
    ///
    /// - Parameters:
    ///   - url: The URL of the redirect.
    ///   - text: The result of ``seal(_:)``, from the visitor's cookie.
    /// - Throws: ``AccountStoreError``: `redirectRefused` if the redirect belongs to another sign-in, the sign-in is
    ///   already finished, or the text is not from a store with this key; `timedOut` if it has expired; `settings` if
    ///   this process has other settings.
    public func handleRedirect(_ url: URL, sealed text: String) async throws -> Account {
        try await signIns.handleRedirect(url.absoluteString, sealed: text)
    }

    /// Adds an account from a token response, and returns it.
    ///
    /// An account type with `AccountType.Provider.staticToken` has only one account: the token replaces the previous
    /// one. For such a type, the store saves no refresh token.
    ///
    /// - Parameters:
    ///   - response: The token response.
    ///   - type: The name of the account type.
    /// - Throws: ``AccountStoreError``, including if the response has an ID token of another provider or for another
    ///   client.
    public func add(_ response: TokenResponse, toType type: String) async throws -> Account {
        try await signIns.add(response, toType: type)
    }

    /// Returns whether the provider of a type supports the device authorization grant (RFC 8628). Loads the provider's
    /// metadata unless it is cached.
    ///
    /// - Throws: ``AccountStoreError``
    package func offersDeviceSignIn(type: String) async throws -> Bool {
        try await AccountStoreError.wrappingErrors("cannot find the provider's endpoints") {
            try await context.providers.server(for: context.type(type), offering: "device_authorization_endpoint")
                .deviceAuthorizationEndpoint != nil
        }
    }
}
