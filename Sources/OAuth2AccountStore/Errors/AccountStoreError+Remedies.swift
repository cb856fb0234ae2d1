import LodgePlatform
import HTTPExchange
import JOSE
import OAuth2Protocol

extension AccountStoreError {
    /// Returns the error of the store for any error.
    package static func wrapping(_ error: any Error, what: String) -> AccountStoreError {
        switch error {
        case let error as AccountStoreError: error
        case is CancellationError: cancelled(what)
        case let error as SettingsError:
            AccountStoreError(
                .settings, what: what, reason: error.description, remedy: .changeSettings, hint: error.hint)
        case let error as StorageError:
            AccountStoreError(
                .storage(error.kind), what: what, reason: error.description,
                remedy: error.kind == .busy ? .retryLater(after: nil) : .repairStore, hint: error.hint)
        case let error as KeyCustodyError:
            AccountStoreError(.key, what: what, reason: error.description, remedy: .repairStore, hint: error.hint)
        case let error as HTTPTransportError: transport(error, what)
        case let error as OAuth2Error: step(error, what)
        case let error as IDTokenError: step(.idToken(error), what)
        case let error as RedirectError: step(.redirect(error), what)
        case let error as BrowserError:
            AccountStoreError(
                .settings, what: "cannot open the browser", reason: error.description, remedy: .changeSettings,
                hint: "set BROWSER to a program that opens URLs, or open the URL yourself")
        case let error as JOSEError:
            AccountStoreError(.invalidAnswer, what: what, reason: error.description, remedy: .nothing)
        // The description of an unknown error can contain secrets, such as a URL with a token.
        default:
            AccountStoreError(
                .invalidAnswer, what: what, reason: "\(type(of: error))", remedy: .retryLater(after: nil),
                underlyingError: error)
        }
    }

    private static func transport(_ error: HTTPTransportError, _ what: String) -> AccountStoreError {
        switch error.kind {
        case .invalidRequest, .plainHTTPRefused:
            AccountStoreError(.settings, what: what, reason: error.description, remedy: .changeSettings)
        case .responseTooLarge:
            AccountStoreError(
                .invalidAnswer, what: what, reason: error.description, remedy: .retryLater(after: nil), hint: portal)
        default:
            AccountStoreError(
                .network, what: what, reason: error.description, remedy: .retryLater(after: nil), hint: hint(error))
        }
    }

    private static func hint(_ error: HTTPTransportError) -> Hint? {
        switch error.kind {
        case .tls: tlsHint(error.reason.lowercased())
        case .proxy: "check https_proxy, ALL_PROXY and NO_PROXY in the environment; no account was changed"
        case .cannotResolveHost: "check the network, and the URL in the settings; no account was changed"
        case .redirectRefused, .intercepted: portal
        case .timedOut:
            // The provider can have rotated the refresh token.
            "try again; if the network is slow, \(AccountRemedy.extendTimeLimit)"
        default: nil
        }
    }

    /// Returns the hint for a TLS error. The reason is the only information: the transport has no kinds for certificate
    /// errors.
    private static func tlsHint(_ reason: String) -> Hint {
        if reason.contains("pinned") {
            return "if the provider changed its key, correct pinnedKeys in the settings; otherwise do not sign in here"
        }
        if reason.contains("expired") || reason.contains("not yet valid") || reason.contains("not valid yet") {
            return "check this machine's date; if it is correct, report the problem to the server's operator"
        }
        if reason.contains("another host") || reason.contains("does not match") {
            return
                "check the URL in the settings; in a hotel or on a train, open a browser to sign in to the network"
        }
        return
            "for a private certificate authority, or a proxy that decrypts, \(AccountRemedy.nameCertificateFile)"
    }

    private static let check = AccountRemedy.checkProvider(type: nil)
    private static let portal: Hint =
        "if this network has a sign-in page, open a browser to get past it; otherwise: \(check)"

    private static func invalidResponseHint(_ member: String) -> Hint? {
        switch member {
        case "content_type", "not_json", "not_object": portal
        // Often the only difference is a slash at the end.
        case "issuer": "if this is the right provider, correct its issuer in the settings"
        default: nil
        }
    }

    private static func step(_ error: OAuth2Error, _ what: String) -> AccountStoreError {
        switch error {
        case .provider(let provider): return rejection(provider, what)
        case .http(let status, let retryAfter): return http(status, retryAfter, error, what)
        case .invalidResponse(let member, _):
            // A captive portal can cause this error too, so it is transient.
            return AccountStoreError(
                .invalidAnswer, what: what, reason: error.description, remedy: .retryLater(after: nil),
                hint: invalidResponseHint(member))
        case .unsupportedTokenType:
            return AccountStoreError(
                .invalidAnswer, what: what, reason: error.description, remedy: .retryLater(after: nil))
        case .redirect(let redirect):
            if let provider = redirect.provider {
                var failure = rejection(provider, what)
                failure.reason += "; \(redirect.explanation)"
                return failure
            }
            if redirect.endsSignIn {
                return AccountStoreError(
                    .refused, what: what, reason: redirect.explanation, remedy: .nothing,
                    hint: "no code was sent; if the settings name the right provider, tell its operator: \(check)")
            }
            return AccountStoreError(
                .redirectRefused, what: what, reason: error.description, remedy: .nothing,
                hint: "the sign-in still waits for its redirect")
        case .idToken(let token):
            let hint = idTokenHint(token)
            return AccountStoreError(
                .invalidAnswer, what: what, reason: error.description, remedy: hint == nil ? .nothing : .changeSettings,
                hint: hint)
        case .configuration:
            return AccountStoreError(.settings, what: what, reason: error.description, remedy: .changeSettings)
        }
    }

    /// Returns the setting to change if the provider and the settings do not agree about the signature of ID tokens.
    private static func idTokenHint(_ error: IDTokenError) -> Hint? {
        switch error.kind {
        case .algorithmNotAllowed:
            "set idTokenSigningAlgorithm to the algorithm that this client is registered for at the provider"
        case .weakKey:
            "HS256 needs a client secret of 32 bytes, HS384 of 48, HS512 of 64: get a longer one, or register for a shorter algorithm "
                + "and set idTokenSigningAlgorithm"
        default: nil
        }
    }

    /// Returns the error for a response that is not an OAuth error: from the server, a proxy or another gateway.
    private static func http(
        _ status: Int, _ retryAfter: Duration?, _ error: OAuth2Error, _ what: String
    ) -> AccountStoreError {
        func failure(_ kind: Kind, _ remedy: Remedy, _ hint: Hint?) -> AccountStoreError {
            AccountStoreError(kind, what: what, reason: error.description, remedy: remedy, hint: hint)
        }
        switch status {
        // The network requires a sign-in (RFC 6585 section 6).
        case 511, 300..<400: return failure(.network, .retryLater(after: nil), portal)
        case _ where error.isTransient: return failure(.unavailable, .retryLater(after: retryAfter), nil)
        case 407:
            return failure(
                .network, .retryLater(after: nil), "put the proxy's user name and password into https_proxy")
        case 401, 403:
            // Glewlwyd responds like this, with an empty body, to a wrong client secret.
            return failure(
                .settings, .changeSettings, "check clientId, clientSecret and clientAuthentication in the settings")
        case 404, 405, 410:
            return failure(
                .refused, .changeSettings, "check issuer, authority and the endpoints: \(check)")
        default: return failure(.refused, .nothing, "to list what the provider supports: \(check)")
        }
    }

    private static func rejection(_ provider: ProviderError, _ what: String) -> AccountStoreError {
        let said = provider.explanation.map { "\(provider.code.rawValue) (\($0))" } ?? provider.code.rawValue
        var reason = provider.entraError.map { "\($0.meaning): \(said)" } ?? said
        if let credential = provider.clientCredential, [.settings, .clock].contains(provider.disposition) {
            reason += "; the client sent \(credential)"
        }
        func error(_ kind: Kind, _ remedy: Remedy, _ hint: Hint? = nil) -> AccountStoreError {
            AccountStoreError(
                kind, what: what, reason: reason, remedy: remedy,
                hint: provider.entraError?.advice.map(Hint.init(_:)) ?? hint,
                provider: provider)
        }
        switch provider.disposition {
        case .later: return error(.unavailable, .retryLater(after: provider.retryAfter ?? provider.interval))
        case .signIn(let reason): return error(.signInNeeded(reason), .signInAgain)
        case .settings: return error(.settings, .changeSettings, settingsHint(provider))
        case .clock: return error(.refused, .retryLater(after: nil), clock)
        case .administrator: return error(.denied, .askAdministrator, "ask the administrator of your organization")
        case .declined: return error(.denied, .nothing)
        case .unknown: return error(.refused, .nothing)
        }
    }

    private static let clock: Hint =
        "set this machine's clock, and try again: the next attempt uses the provider's clock"

    private static func settingsHint(_ provider: ProviderError) -> Hint? {
        if provider.code == .invalidClient, isAboutAudience(provider.explanation ?? "") {
            return "set clientAssertionAudience to the audience that the provider expects in the client's assertion"
        }
        return switch provider.code.rawValue {
        case "invalid_client", "incorrect_client_credentials", "invalid_client_id", "invalid_client_credentials",
            "bad_client_secret", "deleted_client", "disabled_client":
            "check clientId, clientSecret and clientAuthentication in the settings"
        case "invalid_redirect_uri", "redirect_uri_mismatch", "bad_redirect_uri":
            "register redirectUri with the provider, or set redirectUri to a registered URI"
        case "invalid_scope": "correct scopes in the settings: \(check)"
        default: nil
        }
    }

    /// Returns whether a provider's message is about the audience of a JWT.
    private static func isAboutAudience(_ text: String) -> Bool {
        text.lowercased().split { !$0.isLetter }.contains { $0 == "aud" || $0 == "audience" }
    }
}

extension AccountStoreError {
    /// Creates the error of a call that requires the user to sign in.
    static func signInNeeded(_ reason: Account.SignInReason, _ provider: ProviderError?) -> AccountStoreError {
        AccountStoreError(
            .signInNeeded(reason), what: "sign-in needed",
            reason: provider?.meaning.map { "\(reason.explanation): \($0)" } ?? reason.explanation,
            remedy: .signInAgain, provider: provider)
    }
}
