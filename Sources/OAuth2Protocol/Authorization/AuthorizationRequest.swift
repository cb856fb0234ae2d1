import LodgePlatform
import HTTPExchange
import JOSE
import StrictJSON

/// The request that starts the authorization code grant, as a URL for the browser. It always has a PKCE S256 challenge
/// and a state, and a nonce if the scope contains `openid`.
///
/// [RFC 6749 section 4.1.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1),
/// [RFC 7636 section 4.3](https://www.rfc-editor.org/rfc/rfc7636#section-4.3), OpenID Connect Core 1.0 section 3.1.2.1
package struct AuthorizationRequest: Sendable {
    /// The parameters that a user or a program may add to the request.
    package struct Options: Sendable, Equatable {
        /// The values of OpenID Connect's `prompt`: `none`, `login`, `consent`, `select_account`, `create`.
        package var prompt: [String] = []
        /// The expected user.
        package var loginHint: String?
        /// The maximum age of the user's sign-in, in seconds: `max_age`.
        package var maximumAge: Int?
        /// The `claims` parameter, a JSON object (OpenID Connect Core 1.0 section 5.5).
        package var claims: String?
        /// The required authentication context classes, the preferred one first: `acr_values`.
        package var contextClasses: [String] = []
        /// The resources that the tokens are for: absolute URLs without fragment (RFC 8707).
        package var resources: [String] = []
        /// The requested authorization details: objects with a `type` (RFC 9396).
        package var authorizationDetails: [JSONObject] = []
        /// The thumbprint of the key that the tokens will be bound to: `dpop_jkt` (RFC 9449 section 10).
        package var dpopKeyThumbprint: String?
        /// Additional parameters of the provider; protocol parameters are rejected.
        package var parameters: [String: String] = [:]

        /// Creates empty options.
        package init() {}
    }

    /// The URL for the browser.
    package let url: URL
    /// The values to save until the redirect arrives.
    package let pending: PendingAuthorization

    /// The parameters of the protocol, which settings and callers cannot set.
    package static let protocolParameters = RequestParameters.reserved

    /// Creates the request.
    ///
    /// - Parameter random: Returns the given number of unpredictable bytes.
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider has no authorization endpoint, or a scope, an
    ///   additional parameter or the redirect URI is invalid; any error that `random` throws.
    package init(
        server: AuthorizationServer, client: Client, redirectURI: RedirectURI, scope: Scope, options: Options = .init(),
        random: (Int) throws -> [UInt8] = SecureRandom.bytes
    ) throws {
        let pending = try PendingAuthorization(
            server: server, redirectURI: redirectURI, scope: scope, maximumAge: options.maximumAge, random: random)
        try self.init(server: server, client: client, pending: pending, options: options)
    }

    /// Creates the request for a saved authorization.
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` as the other initializer does.
    package init(
        server: AuthorizationServer, client: Client, pending: PendingAuthorization, options: Options = .init()
    ) throws(OAuth2Error) {
        try Self.checkPushing(server)
        let pairs =
            [("client_id", client.id)] + (try Self.pairs(server: server, pending: pending, options: options))
        try self.init(pairs, server: server, pending: pending)
    }

    /// Creates the request for pushed parameters. The user can open it once (RFC 9126 section 4).
    ///
    /// - Throws: ``OAuth2Error/configuration(_:)`` if the provider has no authorization endpoint.
    package init(
        pushed: PushedAuthorizationResponse, server: AuthorizationServer, client: Client, pending: PendingAuthorization
    ) throws(OAuth2Error) {
        try self.init(
            [("client_id", client.id), ("request_uri", pushed.requestURI)], server: server, pending: pending)
    }

    init(
        _ pairs: [FormEncoding.Pair], server: AuthorizationServer, pending: PendingAuthorization
    ) throws(OAuth2Error) {
        let endpoint = try server.endpoint(
            "authorization_endpoint", missing: "the provider has no authorization endpoint")
        url = try Self.adding(pairs, to: endpoint)
        self.pending = pending
    }

    /// Throws an error if the provider accepts only pushed parameters (RFC 9126 section 5).
    static func checkPushing(_ server: AuthorizationServer) throws(OAuth2Error) {
        guard !server.requiresPushedAuthorizationRequests else {
            throw .configuration("the provider requires pushed authorization requests; push this one first")
        }
    }

    /// Returns the parameters except the client's, for a URL or a pushed request.
    static func pairs(
        server: AuthorizationServer, pending: PendingAuthorization, options: Options
    ) throws(OAuth2Error) -> [FormEncoding.Pair] {
        try pending.scope.check()
        if options.prompt.contains("none"), options.prompt.count > 1 {
            throw .configuration("prompt=none cannot be combined with another prompt")
        }
        // With "plain", PKCE would not protect the code (RFC 7636 section 7.2).
        if let methods = server.codeChallengeMethods, !methods.contains("S256") {
            throw .configuration("the metadata of the provider do not list the code challenge method S256")
        }
        var pairs: [FormEncoding.Pair] = [("response_type", "code"), ("redirect_uri", pending.redirectURI.text)]
        if !pending.scope.isEmpty { pairs.append(("scope", server.text(of: pending.scope))) }
        pairs.append(("state", pending.state))
        if let nonce = pending.nonce { pairs.append(("nonce", nonce)) }
        pairs += [("code_challenge", pending.verifier.challenge), ("code_challenge_method", "S256")]
        if !options.prompt.isEmpty { pairs.append(("prompt", options.prompt.joined(separator: " "))) }
        if let hint = options.loginHint, !hint.isEmpty { pairs.append(("login_hint", hint)) }
        if let age = pending.maximumAge { pairs.append(("max_age", String(age))) }
        if let claims = options.claims, !claims.isEmpty { pairs.append(("claims", claims)) }
        if !options.contextClasses.isEmpty {
            pairs.append(("acr_values", options.contextClasses.joined(separator: " ")))
        }
        if let thumbprint = options.dpopKeyThumbprint { pairs.append(("dpop_jkt", thumbprint)) }
        pairs += try RequestParameters.resources(options.resources)
        pairs += try RequestParameters.authorizationDetails(options.authorizationDetails)
        return pairs + (try RequestParameters.extra(options.parameters, besides: Set(pairs.map(\.name))))
    }

    /// Returns an endpoint with additional query parameters. The endpoint's own query stays, and no parameter appears
    /// twice (section 3.1).
    private static func adding(_ pairs: [FormEncoding.Pair], to endpoint: URL) throws(OAuth2Error) -> URL {
        let text = endpoint.absoluteString
        let own = text.firstIndex(of: "?").map { text[text.index(after: $0)...] } ?? ""
        guard let existing = FormEncoding.decode(own) else {
            throw .configuration("the authorization endpoint has a malformed query")
        }
        let names = Set(pairs.map(\.name))
        if let twice = existing.first(where: { names.contains($0.name) }) {
            throw .configuration("the authorization endpoint's own query has the protocol parameter \(twice.name)")
        }
        guard let url = endpoint.adding(pairs) else {
            throw .configuration("the authorization request is not a valid URL")
        }
        return url
    }
}
