import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// The configuration of a kind of account: a provider, a client registered with it, and the scope to request.
public struct AccountType: Sendable, Equatable, Identifiable {
    /// The source of the provider's endpoints.
    public enum Provider: Sendable, Equatable {
        /// Discovery from this issuer.
        case issuer(String)
        /// Discovery from this Microsoft authority.
        case authority(String)
        /// Only the endpoints in the settings.
        case endpoints
        /// No provider: the user supplies a bearer token of the directory or the API, which is never refreshed.
        case staticToken
    }

    /// The source of a client secret.
    public enum SecretSource: Sendable, Equatable {
        /// The settings themselves.
        case inline(Secret)
        /// An environment variable, which is read when the secret is needed.
        case environment(String)
        /// A file, which is read when the secret is needed. White space around the secret is ignored.
        case file(String)
    }

    /// A method of client authentication.
    public enum AuthenticationMethod: String, Sendable, Equatable, CaseIterable {
        /// No authentication.
        case none
        /// HTTP Basic, form-encoded (RFC 6749 section 2.3.1).
        case clientSecretBasic = "client_secret_basic"
        /// HTTP Basic with the unencoded secret.
        case clientSecretBasicRaw = "client_secret_basic_raw"
        /// The secret in the body.
        case clientSecretPost = "client_secret_post"
        /// A new JWT for every request, signed with the secret (OpenID Connect Core 1.0 section 9).
        case clientSecretJWT = "client_secret_jwt"
        /// A new JWT for every request, signed with the client's own key (RFC 7523 section 2.2).
        case privateKeyJWT = "private_key_jwt"
        /// The certificate of the TLS connection, signed by an authority (RFC 8705 section 2.1).
        case tlsClientAuth = "tls_client_auth"
        /// The certificate of the TLS connection, registered itself (RFC 8705 section 2.2).
        case selfSignedTLSClientAuth = "self_signed_tls_client_auth"

        package var needsSecret: Bool {
            ![.none, .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth].contains(self)
        }
        var needsCertificate: Bool { self == .tlsClientAuth || self == .selfSignedTLSClientAuth }
    }

    /// The protocol of a directory.
    public enum Directory: String, Sendable, Equatable, CaseIterable {
        /// Microsoft Graph.
        case graph
        /// SCIM 2.0 (RFC 7644).
        case scim
        /// The Directory API of Google's Admin SDK.
        case google
    }

    /// The character between scopes.
    public enum ScopeSeparator: String, Sendable, Equatable, CaseIterable {
        /// A space (RFC 6749 section 3.3).
        case space = " "
        /// A comma. Strava, Facebook, TikTok.
        case comma = ","
    }

    /// The name in the settings, such as `graph`.
    public var name: String
    /// The source of the endpoints.
    public var provider: Provider
    /// The required issuer of redirects and ID tokens, for a type without discovery.
    public var expectedIssuer: String?
    /// The endpoints in the settings. They have precedence over discovery.
    public var endpoints = Endpoints()
    /// The grant of a sign-in.
    public var grant = Grant.authorizationCode
    /// The managed identity, for the grant `managedIdentity`.
    package var managedIdentity: ManagedIdentity?
    /// The file of the grants `serviceAccount` and `externalAccount`.
    package var googleAccount: GoogleAccount?
    /// The client identifier. Empty for a grant without a registered client.
    public var clientID: String
    /// The client secret, for confidential clients.
    public var clientSecret: SecretSource?
    /// The authentication method, or `nil` to choose one from the provider's metadata.
    public var clientAuthentication: AuthenticationMethod?
    /// The client's private key, a JWK, for private_key_jwt and signed authorization requests.
    public var clientKey: SecretSource?
    /// The source of the assertions that authenticate the client in place of a secret.
    public var clientAssertion: ClientAssertion?
    /// The certificate for connections to the provider and to resources (RFC 8705).
    public var clientCertificate: ClientCertificate?
    /// The audience of client assertions, or `nil` for the issuer. Some older providers require the URL of their token endpoint.
    public var clientAssertionAudience: String?
    /// The redirect URI.
    public var redirectURI: RedirectURI
    /// The scope to request.
    public var scope: Scope
    /// The character between the scopes in requests and responses.
    public var scopeSeparator = ScopeSeparator.space
    /// The HTTP method of token requests.
    public var tokenRequestMethod: TokenRequestMethod = .post
    /// Additional parameters of the authorization request.
    public var authorizationParameters: [String: String] = [:]
    /// Additional parameters of the token request for a code.
    public var tokenParameters: [String: String] = [:]
    /// Additional parameters of a refresh.
    public var refreshParameters: [String: String] = [:]
    /// Additional header fields of token requests.
    public var tokenHeaders: [String: String] = [:]
    /// The resources of the tokens: absolute URIs without fragment (RFC 8707).
    public var resources: [String] = []
    /// The authorization details to request: objects with a `type` (RFC 9396).
    public var authorizationDetails: [JSONObject] = []
    /// The `claims` parameter of every sign-in, a JSON object (OpenID Connect Core 1.0 section 5.5).
    public var claims: JSONObject?
    /// The capabilities that the client declares in the `claims` parameter of every sign-in and token request, such as
    /// `cp1` for the claims challenges of Microsoft's services.
    public var clientCapabilities: [String] = []
    /// The accepted deviations of token responses from the specifications.
    public var quirks = TokenResponse.ResponseQuirks.providers
    /// Whether to push authorization requests (RFC 9126), or `nil` to push them if the provider offers it.
    public var pushedAuthorizationRequests: Bool?
    /// Whether to sign authorization requests with ``clientKey`` (RFC 9101).
    public var requestObjectSigning = false
    /// Whether tokens must be bound to a key of the account (RFC 9449). A Bearer token is then rejected.
    public var dpop = false
    /// The registered algorithm of ID tokens, or `nil` for the algorithms in the provider's metadata. The client secret
    /// verifies ID tokens only with HS256, HS384 or HS512 here.
    public var idTokenSigningAlgorithm: String?
    /// The registered algorithm of userinfo responses. With it, an unsigned response is rejected.
    public var userinfoSigningAlgorithm: String?
    /// Whether `SignInMethod/password(_:_:)` may be used. RFC 9700 section 2.4 forbids it.
    public var allowsPasswordGrant = false
    /// The additional hosts that may be issuers of an authority.
    public var knownAuthorities: [String] = []
    /// The additional policies of Azure AD B2C by their names in programs: `["editProfile": "B2C_1_edit"]`.
    /// A policy is another authority of the same type.
    public var policies: [String: String] = [:]
    /// The name of the policy of this value, or `nil` for the authority's own policy.
    public internal(set) var policy: String?
    /// The protocol of the directory.
    public var directory = Directory.graph
    /// The base URL of the directory, for Microsoft Graph without the version.
    public var graphAPI: URL?
    /// The version of Microsoft Graph.
    public var graphVersion = "v1.0"
    /// The hosts that may receive tokens of this type, in addition to the host of ``graphAPI``.
    public var resourceHosts: [String] = []
    /// The maximum number of concurrent requests of `CurlTransport` to each scheme, host and port, or `nil` for the limit of the
    /// transport, which is 8 by default. More requests wait within their own time limit.
    public var requestsPerOrigin: Int?
    /// Whether the user must allow each use of the tokens through the background process.
    package var agentConfirm = false
    /// The path of a file with certificates of additional authorities to trust.
    public var caFile: String?
    /// The public keys of the servers. If it is not empty, the provider and the resources must have one of these keys
    /// and a trusted certificate.
    public var pinnedKeys: Set<PublicKeyPin> = []

    /// The name of the preset, or `nil` for a type without a preset.
    public var preset: String?
    /// The members of a userinfo response in a format other than OpenID Connect, by claim: `["sub": "id"]`. GitHub,
    /// Facebook, Spotify.
    public var userinfoClaims: [String: String] = [:]
    /// The members of the token response, by claim; a dot separates the names of nested objects. Dropbox, Slack.
    public var tokenClaims: [String: String] = [:]
    /// Whether to exchange a new access token for a long-lived one. Facebook.
    public var exchangesForLongLivedTokens = false

    /// The name.
    public var id: String { name }

    /// Creates an account type.
    public init(name: String, provider: Provider, clientID: String, redirectURI: RedirectURI, scope: Scope) {
        self.name = name
        self.provider = provider
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.scope = scope
    }

    /// Creates an account type of a provider without discovery, such as one of plain OAuth 2.
    public init(name: String, endpoints: Endpoints, clientID: String, redirectURI: RedirectURI, scope: Scope) {
        self.init(name: name, provider: .endpoints, clientID: clientID, redirectURI: redirectURI, scope: scope)
        self.endpoints = endpoints
    }
}

extension AccountType {
    /// The URLs of a provider. In the settings file, `token` is `tokenEndpoint`, and so on.
    public struct Endpoints: Sendable, Equatable {
        /// The endpoint where the user signs in.
        public var authorization: URL?
        /// The endpoint that issues tokens.
        public var token: URL?
        /// The endpoint that starts the device grant (RFC 8628).
        public var deviceAuthorization: URL?
        /// The endpoint that starts a sign-in on the user's own device (CIBA 1.0).
        public var backchannelAuthentication: URL?
        /// The endpoint for pushed authorization requests (RFC 9126).
        public var pushedAuthorizationRequest: URL?
        /// The endpoint that revokes tokens (RFC 7009).
        public var revocation: URL?
        /// The endpoint that ends the browser session (RP-Initiated Logout).
        public var endSession: URL?
        /// The endpoint with the user's claims.
        public var userinfo: URL?
        /// The endpoint that inspects tokens (RFC 7662).
        public var introspection: URL?
        /// The endpoint that registers clients (RFC 7591).
        public var registration: URL?
        /// The provider's signing keys.
        public var jwks: URL?

        /// Creates endpoints. Set the others afterwards.
        public init(authorization: URL? = nil, token: URL? = nil) {
            self.authorization = authorization
            self.token = token
        }

        /// One of the endpoints: its key in the settings, its name in the metadata, and its property.
        package struct Endpoint: Sendable {
            package let key: String
            package let name: String
            package let path: WritableKeyPath<Endpoints, URL?> & Sendable
        }

        /// All endpoints, in the order of the help.
        package static let all: [Endpoint] = [
            Endpoint(key: "authorizationEndpoint", name: "authorization_endpoint", path: \.authorization),
            Endpoint(key: "tokenEndpoint", name: "token_endpoint", path: \.token),
            Endpoint(
                key: "deviceAuthorizationEndpoint", name: "device_authorization_endpoint", path: \.deviceAuthorization),
            Endpoint(
                key: "backchannelAuthenticationEndpoint", name: "backchannel_authentication_endpoint",
                path: \.backchannelAuthentication),
            Endpoint(key: "revocationEndpoint", name: "revocation_endpoint", path: \.revocation),
            Endpoint(key: "endSessionEndpoint", name: "end_session_endpoint", path: \.endSession),
            Endpoint(key: "userinfoEndpoint", name: "userinfo_endpoint", path: \.userinfo),
            Endpoint(key: "introspectionEndpoint", name: "introspection_endpoint", path: \.introspection),
            Endpoint(key: "registrationEndpoint", name: "registration_endpoint", path: \.registration),
            Endpoint(
                key: "pushedAuthorizationRequestEndpoint", name: "pushed_authorization_request_endpoint",
                path: \.pushedAuthorizationRequest),
            Endpoint(key: "jwksURI", name: "jwks_uri", path: \.jwks),
        ]

        /// Returns the endpoint with this name in the metadata.
        package subscript(name: String) -> URL? {
            Self.all.first { $0.name == name }.flatMap { self[keyPath: $0.path] }
        }

        /// The endpoints that are set.
        package var urls: [URL] { Self.all.compactMap { self[keyPath: $0.path] } }
    }

    /// The deviations of token responses, including the deviation that ``scopeSeparator`` implies.
    package var responseQuirks: TokenResponse.ResponseQuirks {
        scopeSeparator == .comma ? quirks.union(.commaSeparatedScope) : quirks
    }
}

extension AccountType: Redacted {
    /// The name, the provider and the client, without parameters and fields, whose values may be secrets.
    public var description: String { "account type \(name), client \(clientID) at \(provider)" }
}
