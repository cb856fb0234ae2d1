#if canImport(AuthenticationServices)
    public import AuthenticationServices
    import LodgePlatform
    public import OAuth2AccountStore

    extension SignInMethod {
        /// Signs in with the web authentication session of the system, `ASWebAuthenticationSession`.
        ///
        /// The redirect URI of the settings has a scheme of the app, such as `msauth.com.example.app://auth`, which needs
        /// no entry in Info.plist. Or it is an HTTPS URL, for which the app needs the entitlement Associated Domains with
        /// `webcredentials:`. A redirect URI of this machine is refused: an app cannot wait for it.
        ///
        /// If the user closes the window, or the task is cancelled, the sign-in throws `cancelled`.
        ///
        /// - Parameters:
        ///   - anchor: The window above which the session appears.
        ///   - isEphemeral: Whether the session shares no cookies with the browser: for a second account, and for devices of
        ///     several users. The default is `false`: a user who is signed in with the browser need not enter a password.
        @MainActor
        public static func webSession(anchor: ASPresentationAnchor, isEphemeral: Bool = false) -> SignInMethod {
            let session = WebSession(anchor: anchor, isEphemeral: isEphemeral)
            return .webAuthenticationSession { try await session.redirect(for: $0) }
        }
    }

    /// Shows one web authentication session at a time.
    @MainActor
    final class WebSession: NSObject, ASWebAuthenticationPresentationContextProviding {
        private let anchor: ASPresentationAnchor
        private let isEphemeral: Bool
        /// The session in progress: the system does not retain it.
        private var session: ASWebAuthenticationSession?

        init(anchor: ASPresentationAnchor, isEphemeral: Bool) {
            self.anchor = anchor
            self.isEphemeral = isEphemeral
        }

        func presentationAnchor(for session: ASWebAuthenticationSession) -> ASPresentationAnchor { anchor }

        /// Shows the page of the sign-in and returns the URL of its redirect.
        func redirect(for signIn: PreparedSignIn) async throws -> URL {
            let callback = try Self.callback(for: signIn.redirectURI)
            try Task.checkCancellation()
            let redirect = Promise<URL>()
            // Sendable, so that the closure does not belong to the main actor: the system may call it on another thread.
            let session = ASWebAuthenticationSession(url: signIn.url, callback: callback) { @Sendable url, error in
                redirect.finish(Self.result(url, error))
            }
            session.presentationContextProvider = self
            session.prefersEphemeralWebBrowserSession = isEphemeral
            self.session = session
            defer { self.session = nil }
            guard session.start() else {
                throw AccountStoreError(
                    .callback, what: "cannot show the sign-in page", reason: "the system did not start the session",
                    remedy: .nothing, hint: "call it while the app is active, with a window that is visible")
            }
            do {
                return try await redirect.value()
            } catch {
                // The task was cancelled, and the window is still open.
                if Task.isCancelled { session.cancel() }
                throw error
            }
        }

        private nonisolated static func result(_ url: URL?, _ error: (any Error)?) -> Result<URL, any Error> {
            if let url { return .success(url) }
            if let error = error as? ASWebAuthenticationSessionError, error.code == .canceledLogin {
                return .failure(CancellationError())
            }
            return .failure(
                AccountStoreError(
                    .callback, what: "cannot show the sign-in page",
                    reason: "the session of the system ended without a redirect", remedy: .nothing,
                    underlyingError: error))
        }

        private static func callback(for redirect: RedirectURI) throws -> ASWebAuthenticationSession.Callback {
            guard let url = URL(string: redirect.text), let scheme = url.scheme?.lowercased() else {
                throw refusal(redirect, "it is not a URL")
            }
            switch scheme {
            case "https":
                guard let host = url.host() else { throw refusal(redirect, "it has no host") }
                return .https(host: host, path: url.path().isEmpty ? "/" : url.path())
            case "http": throw refusal(redirect, "an app cannot wait for a redirect to this machine")
            default: return .customScheme(scheme)
            }
        }

        private static func refusal(_ redirect: RedirectURI, _ reason: String) -> AccountStoreError {
            AccountStoreError(
                .settings, what: "cannot sign in with the redirect URI \(redirect.text)", reason: reason,
                remedy: .changeSettings,
                hint:
                    "set redirectUri to a URI with a scheme of the app, such as com.example.app:/callback, or to an https URL"
            )
        }
    }
#endif
