import JOSE

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a client keeps while the person signs in. One-shot: when its redirect has been taken, it is gone.
public struct PendingAuthorization: Sendable, Equatable {
    /// The value that comes back with the redirect and finds this.
    public let state: String
    /// The value that comes back in the ID token, when `openid` was asked for.
    public let nonce: String?
    /// Proves at the token endpoint that the code is used by the one who asked for it.
    public let verifier: CodeVerifier
    /// Where the redirect must arrive.
    public let redirectURI: RedirectURI
    /// The issuer that was asked.
    public let issuer: String?
    /// Whether the redirect must name the issuer.
    public let expectsIssuer: Bool
    /// The scope that was asked for.
    public let scope: Scope
    /// The age of the person's log-in that was asked for, in seconds.
    public let maximumAge: Int?

    /// What is kept for one sign-in.
    public init(
        state: String, nonce: String?, verifier: CodeVerifier, redirectURI: RedirectURI, issuer: String?,
        expectsIssuer: Bool, scope: Scope, maximumAge: Int? = nil
    ) {
        self.state = state
        self.nonce = nonce
        self.verifier = verifier
        self.redirectURI = redirectURI
        self.issuer = issuer
        self.expectsIssuer = expectsIssuer
        self.scope = scope
        self.maximumAge = maximumAge
    }
}

extension PendingAuthorization: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The issuer and the scope; no secrets.
    public var description: String { "sign-in pending at \(issuer ?? "a provider") for \(scope.text)" }
    /// The same as ``description``.
    public var debugDescription: String { description }
    /// The issuer and the scope; no secrets.
    public var customMirror: Mirror { Mirror(self, children: ["pending": description]) }
}

/// The request that begins the authorization code grant, as an address for the browser. Always with PKCE S256 and a state,
/// and with a nonce when `openid` is asked for.
///
/// [RFC 6749 section 4.1.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1),
/// [RFC 7636 section 4.3](https://www.rfc-editor.org/rfc/rfc7636#section-4.3), OpenID Connect Core 1.0 section 3.1.2.1
public struct AuthorizationRequest: Sendable {
    /// The parameters that a person or a program may add to the request.
    public struct Options: Sendable, Equatable {
        /// Words of OpenID Connect's `prompt`: `none`, `login`, `consent`, `select_account`, `create`.
        public var prompt: [String] = []
        /// Who is expected to sign in.
        public var loginHint: String?
        /// The greatest age of the person's log-in, in seconds.
        public var maximumAge: Int?
        /// The `claims` parameter, a JSON object.
        public var claims: String?
        /// Further parameters of the provider; protocol parameters are refused.
        public var parameters: [String: String] = [:]

        /// No options.
        public init() {}
    }

    /// Where to send the browser.
    public let url: URL
    /// What to keep until it comes back.
    public let pending: PendingAuthorization

    /// Parameters that belong to the protocol; settings and callers cannot set them as extras.
    public static let protocolParameters: Set<String> = [
        "response_type", "client_id", "client_secret", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "code", "code_verifier", "grant_type", "refresh_token", "request", "request_uri",
        "client_assertion", "client_assertion_type", "response_mode",
    ]

    /// Builds the request.
    ///
    /// - Parameter random: gives that many unpredictable bytes.
    /// - Throws: ``OAuth2Error/configuration(_:)`` when the provider has no authorization endpoint, or a scope, an extra
    ///   parameter or the redirect URI may not be sent; what `random` throws.
    public init(
        server: AuthorizationServer, client: Client, redirectURI: RedirectURI, scope: Scope, options: Options = .init(),
        random: (Int) throws -> [UInt8] = SecureRandom.bytes
    ) throws {
        guard let endpoint = server.authorizationEndpoint else {
            throw OAuth2Error.configuration(
                server.unusable["authorization_endpoint"] ?? "the provider has no authorization endpoint")
        }
        if let token = scope.firstInvalidToken {
            throw OAuth2Error.configuration(
                "the scope token \(token.debugDescription) has characters that may not be sent; expected printable ASCII "
                    + "without space, quotation mark and backslash")
        }
        if options.prompt.contains("none"), options.prompt.count > 1 {
            throw OAuth2Error.configuration("prompt=none goes with no other prompt")
        }
        let isOpenID = scope.contains("openid")
        let verifier = CodeVerifier(random: try random(32))
        let pending = PendingAuthorization(
            state: Base64URL.encode(try random(32)), nonce: isOpenID ? Base64URL.encode(try random(32)) : nil,
            verifier: verifier, redirectURI: redirectURI, issuer: server.issuer,
            expectsIssuer: server.sendsIssuerInRedirect, scope: scope, maximumAge: options.maximumAge)

        var pairs: [FormEncoding.Pair] = [
            ("response_type", "code"), ("client_id", client.id), ("redirect_uri", redirectURI.text),
        ]
        if !scope.isEmpty { pairs.append(("scope", scope.text)) }
        pairs.append(("state", pending.state))
        if let nonce = pending.nonce { pairs.append(("nonce", nonce)) }
        pairs += [("code_challenge", verifier.challenge), ("code_challenge_method", "S256")]
        if !options.prompt.isEmpty { pairs.append(("prompt", options.prompt.joined(separator: " "))) }
        if let hint = options.loginHint, !hint.isEmpty { pairs.append(("login_hint", hint)) }
        if let age = options.maximumAge { pairs.append(("max_age", String(age))) }
        if let claims = options.claims, !claims.isEmpty { pairs.append(("claims", claims)) }
        pairs += try ExtraParameters.checked(options.parameters, besides: Set(pairs.map(\.name)))

        url = try Self.adding(pairs, to: endpoint)
        self.pending = pending
    }

    /// Adds a query to an endpoint, keeping the endpoint's own and never naming a parameter twice (section 3.1).
    private static func adding(_ pairs: [FormEncoding.Pair], to endpoint: URL) throws(OAuth2Error) -> URL {
        let text = endpoint.absoluteString
        let own = text.firstIndex(of: "?").map { text[text.index(after: $0)...] } ?? ""
        guard let existing = FormEncoding.decode(own) else {
            throw .configuration("the authorization endpoint has a query that is not well-formed")
        }
        let names = Set(pairs.map(\.name))
        if let twice = existing.first(where: { names.contains($0.name) }) {
            throw .configuration("the authorization endpoint's own query has the protocol parameter \(twice.name)")
        }
        let separator = text.contains("?") ? (own.isEmpty ? "" : "&") : "?"
        guard let url = URL(string: text + separator + FormEncoding.encode(pairs), encodingInvalidCharacters: false)
        else {
            throw .configuration("the authorization request is no valid address")
        }
        return url
    }
}

/// Parameters that settings or callers add to a request.
enum ExtraParameters {
    /// The parameters in a stable order.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` for one that the protocol sets itself.
    static func checked(
        _ parameters: [String: String], besides used: Set<String>
    ) throws(OAuth2Error) -> [FormEncoding.Pair] {
        for name in parameters.keys where used.contains(name) || AuthorizationRequest.protocolParameters.contains(name)
        {
            throw .configuration("the parameter \(name.debugDescription) is set by the protocol and cannot be added")
        }
        return parameters.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }
}
