/// The declaration of a key of the settings file. The decoder, the help, the manual page and the suggestions use it.
package struct SettingsKey: Sendable, Equatable {
    /// The dictionary that has the key.
    package enum Location: String, Sendable, CaseIterable {
        /// The file itself.
        case file = "the file"
        /// An account type, a member of `types`.
        case type = "an account type"
        /// The flat form of Microsoft's QuickStart: a file with the keys of one account type, and these keys.
        case flat = "the QuickStart's flat form, with the keys of a type"
    }

    /// The preferred name.
    package var name: String
    /// Other accepted names: the spelling in code, and the keys of NXOAuth2Client.
    package var aliases: [String]
    package var location: Location
    /// The type of the value: `string`.
    package var type: String
    /// The default value; `nil` if the key is required or has no default.
    package var defaultValue: String?
    /// A value in JSON.
    package var example: String
    /// A phrase without a full stop.
    package var meaning: String

    private init(
        _ name: String, also aliases: [String] = [], in location: Location = .type, _ type: String,
        default defaultValue: String? = nil, _ example: String, _ meaning: String
    ) {
        self.name = name
        self.aliases = aliases
        self.location = location
        self.type = type
        self.defaultValue = defaultValue
        self.example = example
        self.meaning = meaning
    }

    /// Returns the names of the keys of a dictionary.
    package static func names(in location: Location) -> [String] { all.filter { $0.location == location }.map(\.name) }

    /// Returns the name of the key of an account type with this spelling. An unknown spelling is its own name.
    package static func name(ofSpelling spelling: String) -> String { namesByAlias[spelling] ?? spelling }

    private static let namesByAlias = Dictionary(
        uniqueKeysWithValues: all.flatMap { key in key.aliases.map { ($0, key.name) } })

    private static let secretType = #"string, {"environment": NAME} or {"file": PATH}"#

    /// All keys, grouped by their dictionary and in the order of the help.
    package static let all: [SettingsKey] = fileKeys + typeKeys + endpoints + flatKeys

    private static let fileKeys = [
        SettingsKey("types", in: .file, "object", #"{"work": {…}}"#, "the account types by name"),
        SettingsKey(
            "defaultType", in: .file, "string", default: "the first type", #""work""#,
            "the type for a sign-in without a type, and while there is no account"),
        SettingsKey(
            "deviceMode", in: .file, "private or shared", default: "private", #""shared""#,
            "with shared, one user at a time is signed in to each type"),
        SettingsKey(
            "clientMetadataDocument", in: .file, "https URL", #""https://app.example/client.json""#,
            "the client's metadata document, its identifier at providers that support it"),
        SettingsKey(
            "agent", in: .file, "off or auto", default: "off", #""auto""#,
            "with auto, the first command that can use the agent starts it"),
        SettingsKey(
            "agentLockAfter", in: .file, "integer from 1 to 10080", "60",
            "the minutes without a command after which the agent locks itself"),
        SettingsKey(
            "agentLockOnSleep", in: .file, "Boolean", default: "false", "true", "whether a suspend locks the agent"),
        SettingsKey(
            "oidcAgentSocket", in: .file, "Boolean", default: "false", "true",
            "whether the agent listens on a socket for programs that use oidc-agent"),
        SettingsKey(
            "tokenFiles", in: .file, "array of objects", default: "[]",
            ##"[{"path": "$XDG_RUNTIME_DIR/bt_u1000", "type": "work"}]"##,
            "the files that the agent fills with tokens; each has path and type, and can have account, token (access or id) and "
                + "allowsAnyFolder"),
    ]

    private static let typeKeys = [
        SettingsKey(
            "authority", "URL", #""https://login.microsoftonline.com/common""#,
            "a Microsoft authority; one of authority, issuer and tokenEndpoint is required"),
        SettingsKey("issuer", "URL", #""https://id.example/realms/a""#, "the issuer, for discovery (OpenID Connect)"),
        SettingsKey(
            "expectedIssuer", "URL", #""https://id.example""#,
            "the issuer in redirects and ID tokens, with endpoints but without discovery"),
        SettingsKey("provider", also: ["preset"], "string", #""github""#, "a preset with the values of all other keys"),
        SettingsKey(
            "clientId", also: ["clientID"], "string", #""00000000-0000-0000-0000-000000000000""#,
            "the client that is registered with the provider; required for a sign-in of a user and for clientCredentials"
        ),
        SettingsKey(
            "grant", "grant", default: "authorizationCode", #""clientCredentials""#,
            "authorizationCode signs in a user; clientCredentials, managedIdentity, serviceAccount and externalAccount sign in "
                + "the application"),
        SettingsKey(
            "managedIdentity", "object", default: "{}", #"{"source": "imds", "clientId": "…"}"#,
            "the source (imds, appService, azureArc, cloudShell, machineLearning or google) and the clientId, objectId or "
                + "resourceId of the identity that the platform manages"),
        SettingsKey(
            "serviceAccount", #"{"file": PATH, "subject": MAIL}"#,
            #"{"file": "key.json", "subject": "admin@example.com"}"#,
            "the key file of a Google service account, and the user that it represents"),
        SettingsKey(
            "externalAccount", #"{"file": PATH, "subject": MAIL, "allowsCommand": Boolean}"#,
            #"{"file": "external.json"}"#,
            "the file of Google's workload identity federation; allowsCommand lets it run its command"),
        SettingsKey(
            "clientSecret", also: ["secret"], secretType, #"{"environment": "OTHER_SECRET"}"#,
            "the secret of a confidential client, unless it is empty"),
        SettingsKey(
            "clientAuthentication", "method", default: "from the provider's metadata", #""client_secret_basic""#,
            "none, client_secret_basic, client_secret_basic_raw, client_secret_post, client_secret_jwt, "
                + "private_key_jwt, tls_client_auth or self_signed_tls_client_auth"),
        SettingsKey(
            "clientKey", #"{"environment": NAME} or {"file": PATH}"#, #"{"file": "/etc/company/client.jwk"}"#,
            "the private JWK for private_key_jwt and signed requests"),
        SettingsKey(
            "clientAssertion", "object with one member",
            #"{"certificate": {"pkcs12": "app.pfx", "password": {"environment": "APP_PFX_PASSWORD"}}}"#,
            "the source of the assertions of a client without a secret; certificate has certificate and key (PEM files; key can be "
                + "handle:… in a TPM or pkcs11:… on a token) or pkcs12, and can have password, chain (Boolean) and algorithm (PS256 or "
                + "RS256); file, environment, command (array) and url name the source of a JWT of another issuer, also githubActions and azurePipelines; url can have method, query, headers, bearer "
                + "and member"),
        SettingsKey(
            "clientCertificate", #"{"certificate": PATH, "key": PATH}"#,
            #"{"certificate": "client.pem", "key": "client.key"}"#, "PEM files of the TLS client (RFC 8705)"),
        SettingsKey(
            "clientAssertionAudience", "URL", default: "the issuer", #""https://id.example/token""#,
            "the audience of client assertions"),
        SettingsKey(
            "redirectUri", also: ["redirectURI", "redirectURL"], "URI", #""http://127.0.0.1/callback""#,
            "the redirect URI, required for a sign-in of a user; on 127.0.0.1 or [::1] without a port, a free port"),
        SettingsKey(
            "scopes", also: ["scope"], "array, or string with spaces", default: "[]",
            #"["openid", "profile", "offline_access"]"#, "the scopes of a sign-in"),
        SettingsKey(
            "scopeSeparator", "space or comma", default: #"" ""#, #"",""#,
            "the character between the scopes in requests, responses and strings; RFC 6749 requires a space"),
        SettingsKey("tokenType", "Bearer", default: "Bearer", #""Bearer""#, "the type of the access tokens"),
        SettingsKey(
            "tokenRequestMethod", also: ["tokenRequestHTTPMethod"], "POST or GET", default: "POST", #""POST""#,
            "the HTTP method of token requests"),
        SettingsKey(
            "authorizationParameters", "object of strings", default: "{}", #"{"access_type": "offline"}"#,
            "additional parameters of authorization requests"),
        SettingsKey(
            "tokenParameters", "object of strings", default: "{}", #"{"audience": "api"}"#,
            "additional parameters of token requests for a code"),
        SettingsKey(
            "refreshParameters", "object of strings", default: "{}", #"{"audience": "api"}"#,
            "additional parameters of refreshes"),
        SettingsKey(
            "additionalAuthenticationParameters", "object of strings", default: "{}", #"{"audience": "api"}"#,
            "in place of authorizationParameters and tokenParameters: the same parameters for both"),
        SettingsKey(
            "tokenHeaders", also: ["customHeaderFields"], "object of strings", default: "{}",
            #"{"Accept": "application/json"}"#,
            "additional header fields of token requests"),
        SettingsKey(
            "resources", "array of URIs, or one", default: "[]", #"["https://api.example"]"#,
            "the resources of the tokens (RFC 8707)"),
        SettingsKey(
            "authorizationDetails", "array of objects", default: "[]", #"[{"type": "payment"}]"#,
            "the authorization details of a sign-in (RFC 9396)"),
        SettingsKey(
            "claims", "object", #"{"id_token": {"email": null}}"#, "the claims parameter of each sign-in"),
        SettingsKey(
            "clientCapabilities", "array of names", default: "[]", #"["cp1"]"#,
            "what the client declares to Microsoft Entra; cp1: it handles claims challenges"),
        SettingsKey(
            "quirks", "array of names", default: "the quirks of known providers", #"["strict"]"#,
            "accepted deviations of token responses; strict accepts none"),
        SettingsKey(
            "pushedAuthorizationRequests", "Boolean", default: "if the provider offers it", "true",
            "whether to push authorization requests (RFC 9126)"),
        SettingsKey(
            "requestObjectSigning", "Boolean", default: "false", "true",
            "whether to sign authorization requests with clientKey (RFC 9101)"),
        SettingsKey(
            "dpop", "Boolean", default: "false", "true", "whether tokens must be bound to a key (RFC 9449)"),
        SettingsKey(
            "idTokenSigningAlgorithm", "JWS algorithm", default: "from the metadata", #""ES256""#,
            "the registered algorithm of ID tokens"),
        SettingsKey(
            "userinfoSigningAlgorithm", "JWS algorithm", #""RS256""#,
            "the registered algorithm of userinfo responses, which must then be signed"),
        SettingsKey(
            "allowsPasswordGrant", "Boolean", default: "false", "true",
            "whether the deprecated password grant may be used"),
        SettingsKey(
            "directory", "graph, scim or google", default: "graph", #""scim""#, "the protocol of the directory"),
        SettingsKey(
            "graphAPI", "URL", #""https://graph.microsoft.com/""#, "the URL of Microsoft Graph without the version"),
        SettingsKey(
            "api-version", also: ["graphVersion"], "string", default: "v1.0", #""beta""#,
            "the version of Microsoft Graph"),
        SettingsKey("directoryBase", "URL", #""https://id.example/scim/v2""#, "the URL of a SCIM or Google directory"),
        SettingsKey(
            "resourceHosts", "array of hosts", default: "[]", #"["api.example"]"#,
            "the hosts that may get the tokens, in addition to the directory"),
        SettingsKey(
            "knownAuthorities", "array of hosts", default: "[]", #"["login.contoso.com"]"#,
            "additional hosts that may be issuers of an authority"),
        SettingsKey(
            "policies", "object of strings", default: "{}", #"{"editProfile": "B2C_1_edit"}"#,
            "additional policies of Azure AD B2C by name"),
        SettingsKey(
            "requestsPerOrigin", "integer from 1 to 1000", default: "8", "64",
            "the maximum number of concurrent requests to each server"),
        SettingsKey(
            "agentConfirm", "Boolean", default: "false", "true",
            "whether you must allow each use of the tokens through the agent"),
        SettingsKey(
            "caFile", "path", #""/etc/ssl/company.pem""#, "a PEM file with additional certificate authorities"),
        SettingsKey(
            "pinnedKeys", "array of digests", default: "[]", #"["sha256/…"]"#,
            "the public keys of the servers, of which each must have one"),
        SettingsKey(
            "userinfoClaims", "object of strings", default: "{}", #"{"sub": "id"}"#,
            "the members of a userinfo response that is not OpenID Connect, by claim"),
        SettingsKey(
            "tokenClaims", "object of strings", default: "{}", #"{"sub": "account_id"}"#,
            "the members of the token response, by claim"),
        SettingsKey(
            "longLivedTokens", also: ["exchangesForLongLivedTokens"], "Boolean", default: "false", "true",
            "whether to exchange a new token for a long-lived one"),
    ]

    private static let endpoints = AccountType.Endpoints.all.map { endpoint in
        SettingsKey(
            endpoint.key, also: endpointAliases[endpoint.key] ?? [], "URL", default: "from discovery",
            "\"https://id.example/\(endpoint.name)\"", "overrides \(endpoint.name) of discovery")
    }

    /// The names of NXOAuth2Client: the parameters of its method, and its configuration keys.
    private static let endpointAliases = [
        "authorizationEndpoint": ["authorizationURL", "authorizeURL"], "tokenEndpoint": ["tokenURL"],
        "jwksURI": ["jwksUri"],
    ]

    private static let flatKeys = [
        SettingsKey(
            "tenant", in: .flat, "string", #""contoso.onmicrosoft.com""#,
            "the tenant of the authority, without authority"),
        SettingsKey(
            "resourceString", in: .flat, "URL", #""https://graph.microsoft.com""#,
            "the URL of Microsoft Graph, without graphAPI"),
    ]
}
