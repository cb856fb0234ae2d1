import Platform
import HTTPExchange
import OAuth2Protocol

/// How an account is signed in.
public struct SignInMethod: Sendable {
    /// What a program does during a sign-in with the browser.
    struct BrowserSignIn: Sendable {
        var show: (@Sendable (PreparedSignIn) async throws -> Void)?
        var reject: @Sendable (AccountStoreError) async -> Void = { _ in }
    }

    enum Kind: Sendable {
        case browser(BrowserSignIn)
        case webSession(@Sendable (PreparedSignIn) async throws -> URL)
        case device(@Sendable (DeviceCodePrompt) async throws -> Void)
        case paste(@Sendable (URL) async throws -> String)
        case clientCredentials
        case password(String, Secret)
        case assertion(TokenRequest.Grant)
    }
    let kind: Kind

    /// The user's browser, which comes back to this machine on a loopback address (RFC 8252).
    public static let browser = SignInMethod(kind: .browser(BrowserSignIn()))

    /// The same, but the address is given to `open`, which shows it in its own way. It may take as long as it likes.
    public static func browser(opening open: @escaping @Sendable (URL) async throws -> Void) -> SignInMethod {
        .browser(showing: { try await open($0.url) })
    }

    /// Opens the browser with a function that receives the prepared sign-in: its URL, and its redirect URI on this machine.
    ///
    /// - Parameters:
    ///   - show: opens or shows the URL. It can take as long as it likes.
    ///   - reject: is called with the reason for each redirect that the store rejects while the sign-in continues to wait, such as one
    ///     with another state.
    public static func browser(
        showing show: @escaping @Sendable (PreparedSignIn) async throws -> Void,
        rejecting reject: @escaping @Sendable (AccountStoreError) async -> Void = { _ in }
    ) -> SignInMethod {
        SignInMethod(kind: .browser(BrowserSignIn(show: show, reject: reject)))
    }
}

extension SignInMethod {
    /// Signs in with a web authentication session or a web view of an app with a window, such as `ASWebAuthenticationSession` or
    /// `WKWebView`.
    ///
    /// The function shows the URL of the sign-in and returns the URL of the redirect. With SwiftUI's web authentication session:
    ///
    /// ```swift
    /// let account = try await store.signIn(to: "work", by: .webAuthenticationSession { signIn in
    ///     try await webAuthenticationSession.authenticate(
    ///         using: signIn.url, callbackURLScheme: signIn.redirectURI.scheme)
    /// })
    /// ```
    ///
    /// A web view returns the first URL for which ``PreparedSignIn/isRedirect(_:)`` is true, and does not load it. Prefer a session of the
    /// system's browser: many providers reject web views (RFC 8252 section 8.12).
    ///
    /// The redirect URI of the settings has a scheme of the app, such as `com.example.app:/callback` or `msauth.com.example.app://auth`, or
    /// is an https URL that the system associates with the app. The sign-in has the time limit of ``SignInOptions/timeout``.
    ///
    /// If the user closes the window, the function throws `CancellationError`, or the error of `ASWebAuthenticationSession`: then the
    /// sign-in throws `cancelled`. For any other error it throws `callback` with ``AccountStoreError/underlyingError``.
    ///
    /// - Parameter present: Shows the URL and returns the complete URL of the redirect. It may be a function of the main actor.
    public static func webAuthenticationSession(
        presenting present: @escaping @Sendable (PreparedSignIn) async throws -> URL
    ) -> SignInMethod {
        SignInMethod(kind: .webSession(present))
    }
}

/// What may be said about a sign-in.
public struct SignInOptions: Sendable, Equatable {
    /// What the provider shows to the person: a word of OpenID Connect's `prompt`. The set is open.
    public struct Prompt: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral {
        /// The word on the wire.
        public let rawValue: String
        /// A word.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A word.
        public init(stringLiteral value: String) { rawValue = value }

        /// The person chooses an account, even when there is only one.
        public static let selectAccount = Prompt(rawValue: "select_account")
        /// The person logs in, even when they are logged in.
        public static let login = Prompt(rawValue: "login")
        /// The person is asked for consent, even when they have given it.
        public static let consent = Prompt(rawValue: "consent")
        /// The person makes a new account (Initiating User Registration via OpenID Connect 1.0).
        public static let create = Prompt(rawValue: "create")
        /// Nothing is shown: when the person would have to be asked, the sign-in ends with `signInNeeded`. It goes with no other.
        public static let none = Prompt(rawValue: "none")
    }

    /// What to ask for; nil: the type's scope.
    public var scope: Scope?
    /// Scope tokens to which the person consents now and which are asked for later, with
    /// ``AccountStore/accessToken(for:minimumValidity:scopes:resource:claims:policy:rejected:)``: they may be of other resources. They are
    /// in the authorization request, and the access token of this sign-in need not have them. Only where a person is asked: with
    /// the browser and on another device.
    public var extraScopesToConsent: Scope = []
    /// What the provider shows. Empty: it asks only what it must, and nothing when the person is logged in and has consented.
    public var prompt: [Prompt] = []
    /// The policy of Azure AD B2C to sign in with, by its name in the settings' `policies`; nil: the authority's own.
    ///
    /// For a user who has an account, a named policy such as one that edits the profile changes only the claims and the names: the
    /// account keeps its policy, its home account and its tokens. The authority's own policy replaces them.
    public var policy: String?
    /// Who is expected to sign in.
    public var loginHint: String?
    /// In whose directory they are, at providers that ask for that (`domain_hint`).
    public var domainHint: String?
    /// The `claims` parameter, a JSON object; nil: the type's.
    public var claims: String?
    /// The maximum time since the user's sign-in at the provider, in whole seconds; zero requires a new one. The ID token is checked for
    /// it.
    public var maximumAge: Duration?
    /// The authentication context classes that are wanted, the best first. The ID token must have one of them.
    public var contextClasses: [String] = []
    /// Further parameters of the authorization request.
    public var parameters: [String: String] = [:]
    /// How long the person has; nil: five minutes with the browser, as long as the codes live with another device.
    public var timeout: Duration?

    /// No options.
    public init() {}
}

/// A sign-in that waits for the redirect of the user's browser.
public struct PreparedSignIn: Sendable, Identifiable {
    /// The URL to open in the user's browser.
    public let url: URL
    /// The identifier of this sign-in, for ``AccountStore/handleRedirect(_:for:)``. A server saves it in the session of the visitor, and
    /// shows it to no one else.
    public let id: String
    /// The URI at which the redirect arrives.
    public let redirectURI: RedirectURI

    /// Returns whether a URL is the redirect URI of this sign-in with additional parameters. A web view stops there and passes the URL
    /// to the store.
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
    /// The key that the tokens will be bound to.
    let senderKey: SigningKey?
    /// The authentication context classes of which the ID token must have one.
    let contextClasses: [String]
    /// The scope of the first access token. The user can have consented to more.
    let scope: Scope
    let expires: Date
}
