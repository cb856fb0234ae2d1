import Platform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// The configuration of one kind of account: a provider, a client registered with it, and what to ask for.
public struct AccountType: Sendable, Equatable, Identifiable {
    /// Where the provider's endpoints come from.
    public enum Provider: Sendable, Equatable {
        /// Discovery from this issuer.
        case issuer(String)
        /// Discovery from this Microsoft authority.
        case authority(String)
        /// Only the endpoints that the settings name.
        case endpoints
    }

    /// Where the client secret comes from.
    public enum SecretSource: Sendable, Equatable {
        /// The settings themselves.
        case inline(Secret)
        /// An environment variable, read when it is needed.
        case environment(String)
        /// A file, read when it is needed; white space around the secret does not count.
        case file(String)
    }

    /// How a confidential client authenticates.
    public enum AuthenticationMethod: String, Sendable, Equatable, CaseIterable {
        /// Not at all.
        case none
        /// HTTP Basic, form-encoded (RFC 6749 section 2.3.1).
        case clientSecretBasic = "client_secret_basic"
        /// HTTP Basic with the secret as it is.
        case clientSecretBasicRaw = "client_secret_basic_raw"
        /// In the body.
        case clientSecretPost = "client_secret_post"
        /// A JWT signed with the secret, new for every request (OpenID Connect Core 1.0 section 9).
        case clientSecretJWT = "client_secret_jwt"
        /// A JWT signed with the client's own key, new for every request (RFC 7523 section 2.2).
        case privateKeyJWT = "private_key_jwt"
        /// The certificate of the TLS connection, signed by an authority (RFC 8705 section 2.1).
        case tlsClientAuth = "tls_client_auth"
        /// The certificate of the TLS connection, registered as it is (RFC 8705 section 2.2).
        case selfSignedTLSClientAuth = "self_signed_tls_client_auth"

        /// Whether it needs the client secret.
        package var needsSecret: Bool {
            ![.none, .privateKeyJWT, .tlsClientAuth, .selfSignedTLSClientAuth].contains(self)
        }
        /// Whether it needs a certificate.
        var needsCertificate: Bool { self == .tlsClientAuth || self == .selfSignedTLSClientAuth }
    }

    /// What the directory of the type speaks.
    public enum Directory: String, Sendable, Equatable, CaseIterable {
        /// Microsoft Graph.
        case graph
        /// SCIM 2.0 (RFC 7644).
        case scim
        /// The Directory API of Google's Admin SDK.
        case google
    }

    /// The name in the settings: `graph`.
    public var name: String
    /// Where the endpoints come from.
    public var provider: Provider
    /// The endpoints that the settings name, by the metadata's names. They win over discovery.
    public var endpoints: [String: URL] = [:]
    /// The client identifier.
    public var clientID: String
    /// The client secret, for confidential clients.
    public var clientSecret: SecretSource?
    /// How the client authenticates; nil: chosen from what the provider announces.
    public var clientAuthentication: AuthenticationMethod?
    /// The client's private key, a JWK: for private_key_jwt and signed authorization requests.
    public var clientKey: SecretSource?
    /// The certificate for connections to the provider and to resources (RFC 8705).
    public var clientCertificate: ClientCertificate?
    /// Whom client assertions are addressed to; nil: the issuer. Some older providers want the address of their token endpoint.
    public var clientAssertionAudience: String?
    /// Where the browser comes back to.
    public var redirectURI: RedirectURI
    /// What to ask for.
    public var scope: Scope
    /// How token requests are sent.
    public var tokenRequestMethod: TokenRequest.Method = .post
    /// Further parameters of the authorization request.
    public var authorizationParameters: [String: String] = [:]
    /// Further parameters of the code's exchange.
    public var tokenParameters: [String: String] = [:]
    /// Further parameters of a refresh.
    public var refreshParameters: [String: String] = [:]
    /// Further header fields of token requests.
    public var tokenHeaders: [String: String] = [:]
    /// The services that the tokens are for: absolute addresses without fragment (RFC 8707).
    public var resources: [String] = []
    /// What is asked for beyond a scope: objects with a `type` (RFC 9396).
    public var authorizationDetails: [JSONObject] = []
    /// The `claims` parameter of every sign-in, a JSON object (OpenID Connect Core 1.0 section 5.5).
    public var claims: JSONObject?
    /// Which departures from the specifications are read in the provider's token answers.
    public var tolerance = TokenResponse.ResponseQuirks.providers
    /// Whether authorization requests are pushed (RFC 9126); nil: when the provider requires it.
    public var pushedAuthorizationRequests: Bool?
    /// Whether authorization requests are signed with ``clientKey`` (RFC 9101).
    public var requestObjectSigning = false
    /// Whether tokens must be bound to a key of the account (RFC 9449). A Bearer token is then refused.
    public var dpop = false
    /// The algorithm that the client registered for its ID tokens; nil: those that the provider announces. Only with HS256,
    /// HS384 or HS512 here is the client secret used to verify them.
    public var idTokenSigningAlgorithm: String?
    /// The algorithm that the client registered for userinfo answers, which are refused unsigned then.
    public var userinfoSigningAlgorithm: String?
    /// Whether `SignInMethod/password(_:_:)` may be used. Current practice forbids it (RFC 9700 section 2.4).
    public var allowsPasswordGrant = false
    /// The hosts that may be issuers for an authority beside its own.
    public var knownAuthorities: [String] = []
    /// The policies of Azure AD B2C beside the authority's own, by the names that programs call them: `["editProfile": "B2C_1_edit"]`.
    /// A policy is another authority of the same type.
    public var policies: [String: String] = [:]
    /// The name of the policy that this value is for; nil: the authority's own.
    public internal(set) var policy: String?
    /// What the directory speaks.
    public var directory = Directory.graph
    /// The base address of the directory. Of Microsoft Graph it is without the version, of others it is whole.
    public var graphAPI: URL?
    /// The version of Microsoft Graph.
    public var graphVersion = "v1.0"
    /// The hosts that may be sent this type's tokens, beside that of ``graphAPI``.
    public var resourceHosts: [String] = []
    /// A file with certificates of authorities to trust beside the system's.
    public var caFile: String?
    /// The public keys of which every server of this type must have one, besides a trusted certificate: the provider's and those of the
    /// resources. Empty: any key.
    public var pinnedKeys: Set<PublicKeyPin> = []

    /// The preset that the settings are built on; nil for a type that names everything itself.
    public var preset: String?
    /// Where a userinfo answer that is not OpenID Connect's has the claims, by claim: `["sub": "id"]`. GitHub, Facebook, Spotify.
    public var userinfoClaims: [String: String] = [:]
    /// Where the token answer has claims, by claim; a point leads into a nested object. Dropbox, Slack.
    public var tokenClaims: [String: String] = [:]
    /// Whether a new access token is exchanged for a long-lived one at once. Facebook.
    public var exchangesForLongLivedTokens = false

    /// The name.
    public var id: String { name }

    /// A type of this name.
    public init(name: String, provider: Provider, clientID: String, redirectURI: RedirectURI, scope: Scope) {
        self.name = name
        self.provider = provider
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.scope = scope
    }
}

extension AccountType: Redacted {
    /// Name, provider and client. Parameters and fields are left out: their values may be secrets.
    public var description: String { "account type \(name), client \(clientID) at \(provider)" }
}
