import LodgePlatform
import HTTPExchange
import OAuth2Protocol

/// A way to sign in.
public struct SignInMethod: Sendable {
    /// The functions of the program for a sign-in with the browser.
    struct BrowserSignIn: Sendable {
        var show: (@Sendable (PreparedSignIn) async throws -> Void)?
        var reject: @Sendable (AccountStoreError) async -> Void = { _ in }
    }

    enum Kind: Sendable {
        case configured
        case browser(BrowserSignIn)
        case webSession(@Sendable (PreparedSignIn) async throws -> URL)
        case device(@Sendable (DeviceCodePrompt) async throws -> Void)
        case paste(@Sendable (URL) async throws -> String)
        case clientCredentials
        case password(String, Secret)
        case assertion(TokenRequest.Grant)
    }
    let kind: Kind

    /// The grant in the settings of the type: a user signs in with the ``browser``, or the application signs in itself.
    public static let configured = SignInMethod(kind: .configured)

    /// The user's browser, which redirects to a loopback URL on this machine (RFC 8252).
    public static let browser = SignInMethod(kind: .browser(BrowserSignIn()))

    /// Signs in with the browser, like ``browser``, but passes the URL to a function of the program.
    ///
    /// - Parameter open: Opens or shows the URL. The sign-in does not wait for its return.
    public static func browser(opening open: @escaping @Sendable (URL) async throws -> Void) -> SignInMethod {
        .browser(showing: { try await open($0.url) })
    }

    /// Signs in with the browser, like ``browser``, but passes the prepared sign-in with its URL and its redirect URI
    /// to a function of the program.
    ///
    /// - Parameters:
    ///   - show: Opens or shows the URL. The sign-in does not wait for its return.
    ///   - reject: Called with the reason for each redirect that the store rejects while the sign-in continues to wait,
    ///     such as a redirect with a different state.
    public static func browser(
        showing show: @escaping @Sendable (PreparedSignIn) async throws -> Void,
        rejecting reject: @escaping @Sendable (AccountStoreError) async -> Void = { _ in }
    ) -> SignInMethod {
        SignInMethod(kind: .browser(BrowserSignIn(show: show, reject: reject)))
    }
}

extension SignInMethod {
    /// Signs in with a web authentication session or a web view, such as `ASWebAuthenticationSession` or `WKWebView`.
    ///
    /// The function shows the URL of the sign-in and returns the URL of the redirect. With SwiftUI's web authentication
    /// session:
    ///
    /// ```swift
    /// let account = try await store.signIn(to: "work", by: .webAuthenticationSession { signIn in
    ///     try await webAuthenticationSession.authenticate(
    ///         using: signIn.url, callbackURLScheme: signIn.redirectURI.scheme)
    /// })
    /// ```
    ///
    /// A web view returns the first URL for which ``PreparedSignIn/isRedirect(_:)`` is true, and does not load it.
    /// Prefer a web authentication session: many providers reject web views (RFC 8252 section 8.12).
    ///
    /// The redirect URI of the settings has a scheme of the app, such as `com.example.app:/callback` or
    /// `msauth.com.example.app://auth`, or is an HTTPS URL that the system associates with the app. The time limit is
    /// ``SignInOptions/timeout``.
    ///
    /// If the user closes the window, the function throws `CancellationError` or the error of
    /// `ASWebAuthenticationSession`. The sign-in then throws `cancelled`. For any other error it throws `callback` with
    /// ``AccountStoreError/underlyingError``.
    ///
    /// - Parameter present: Shows the URL and returns the complete URL of the redirect. It can be a function of the
    ///   main actor.
    public static func webAuthenticationSession(
        presenting present: @escaping @Sendable (PreparedSignIn) async throws -> URL
    ) -> SignInMethod {
        SignInMethod(kind: .webSession(present))
    }
}

/// The options of a sign-in.
public struct SignInOptions: Sendable, Equatable {
    /// A value of OpenID Connect's `prompt` parameter. Providers can define additional values.
    public struct Prompt: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
        /// The value in the request.
        public let rawValue: String
        /// Creates a prompt from its value in the request.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Creates a prompt from its value in the request.
        public init(stringLiteral value: String) { rawValue = value }

        /// The user chooses an account, even if there is only one.
        public static let selectAccount = Prompt(rawValue: "select_account")
        /// The user enters the credentials again, even with a session at the provider.
        public static let login = Prompt(rawValue: "login")
        /// The user consents again, even if the consent was already given.
        public static let consent = Prompt(rawValue: "consent")
        /// The user creates an account (Initiating User Registration via OpenID Connect 1.0).
        public static let create = Prompt(rawValue: "create")
        /// The provider shows no page. If it requires the user, the sign-in throws `signInNeeded`. Cannot be combined
        /// with other values.
        public static let none = Prompt(rawValue: "none")
    }

    /// The requested scope. The default is the scope of the type.
    public var scope: Scope?
    /// Additional scope for the user's consent, for later requests with
    /// ``AccountStore/accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)``. It can belong to
    /// other resources.
    ///
    /// The authorization request contains it, but the access token of this sign-in need not cover it. It has an effect
    /// only with the browser and on another device.
    public var extraScopesToConsent: Scope = []
    /// The prompts that the provider shows. By default it shows only the necessary pages, and none to a user who has a
    /// session and has consented.
    public var prompt: [Prompt] = []
    /// The policy of Azure AD B2C, by its name in the `policies` of the settings. The default is the default policy of
    /// the authority.
    ///
    /// For a user who has an account, a named policy, such as a policy for editing the profile, changes only the claims
    /// and the names. The account keeps its policy, its home account and its tokens. A sign-in at the default policy
    /// replaces them.
    public var policy: String?
    /// The user name that the provider suggests (`login_hint`).
    public var loginHint: String?
    /// The domain of the user, for providers that support `domain_hint`.
    public var domainHint: String?
    /// The `claims` parameter, a JSON object, such as ``Account/requiredClaims``. Each of its claims replaces the same
    /// claim of the type.
    public var claims: String?
    /// The maximum time since the user's last authentication, in whole seconds. Zero requires a new one. The store
    /// checks the ID token for it.
    public var maximumAge: Duration?
    /// The requested authentication context classes, in order of preference. The ID token must have one of them.
    public var contextClasses: [String] = []
    /// Additional parameters of the authorization request.
    public var parameters: [String: String] = [:]
    /// The time limit. The default is five minutes with the browser, and the lifetime of the code on another device.
    public var timeout: Duration?

    /// Creates the default options.
    public init() {}
}

/// A sign-in that waits for the redirect of the user's browser.
public struct PreparedSignIn: Sendable, Identifiable {
    /// The URL to open in the user's browser.
    public let url: URL
    /// The identifier of this sign-in, for ``AccountStore/handleRedirect(_:for:)``. A server saves it in the session of
    /// the visitor and keeps it secret.
    public let id: String
    /// The URI at which the redirect arrives.
    public let redirectURI: RedirectURI

    /// Returns whether a URL is the redirect URI of this sign-in with additional parameters. A web view stops at this
    /// URL and passes it to the store.
    public func isRedirect(_ url: URL) -> Bool { redirectURI.matches(url.absoluteString) }
}

extension PreparedSignIn: Redacted {
    /// The URL without its query, because anyone who knows the state could finish the sign-in.
    public var description: String { "sign-in at \(url.addressWithoutQuery)" }
}

/// The values of a sign-in until its redirect arrives.
struct PendingSignIn: Sendable {
    let connection: ProviderClient
    let authorization: PendingAuthorization
    /// The key to which the tokens will be bound.
    let senderKey: SigningKey?
    /// The authentication context classes, of which the ID token must have one.
    let contextClasses: [String]
    /// The scope of the first access token. The user can have consented to more.
    let scope: Scope
    let expires: Date
}
