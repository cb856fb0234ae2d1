import LocalProvider
import StrictJSON

/// The values that a client of the local provider needs.
struct ServeReport {
    let issuer: String
    private let provider: LoopbackProvider
    private let configuration: LoopbackProvider.Configuration
    private let authorityFile: String?

    init(_ provider: LoopbackProvider, _ configuration: LoopbackProvider.Configuration, authorityFile: String?) {
        issuer = provider.issuer.absoluteString
        self.provider = provider
        self.configuration = configuration
        self.authorityFile = authorityFile
    }

    private var graph: String { provider.graphBase.absoluteString + "v1.0" }
    private var scim: String { provider.scimBase.absoluteString }
    private var user: String { provider.user(at: 0)?.userPrincipalName ?? "" }

    /// The redirect URIs of clients, without the default loopback ones.
    private var ownRedirectURIs: [String] {
        (configuration.clients.first?.redirectURIs ?? []).filter { !LocalClient.loopbackRedirectURIs.contains($0) }
    }

    // MARK: Text

    /// The lines for the user, at most 80 columns if the values permit. The settings of lodge come last.
    var lines: [String] {
        var lines = ["A provider with a directory of \(provider.userCount) sample users. Press Ctrl-C to stop.", ""]
        func add(_ label: String, _ values: [String]) {
            for (index, value) in values.enumerated() {
                let label = index == 0 ? label : ""
                lines.append(label + String(repeating: " ", count: max(1, 15 - label.count)) + value)
            }
        }
        add("Metadata", [issuer + "/.well-known/openid-configuration"])
        if let authorityFile {
            add("CA file", [authorityFile])
            add("", ["for REQUESTS_CA_BUNDLE, SSL_CERT_FILE and --ca-file"])
        }
        add(
            "Clients",
            configuration.clients.map { client in
                client.secret.map { "\(client.id), with the secret \($0)" }
                    ?? client.id + (client.certificates.isEmpty ? ", public: without a secret" : ", with a certificate")
            })
        add("", ["or any client registered at \(issuer)/register"])
        add(
            "Redirect URIs",
            ["http://127.0.0.1, http://[::1] and http://localhost, on any port,", "with the path /callback, / or none"]
                + ownRedirectURIs)
        add(
            "Users",
            [
                configuration.approvesRequests
                    ? "the user of login_hint, or \(user), is signed in without a page"
                    : "\(user) or any other, without a password"
            ])
        add("MSAL", authorityFile == nil ? ["needs HTTPS: lodge serve --tls"] : msal)
        add("Graph", [graph])
        add("SCIM", [scim])
        add(
            "Scopes",
            ["User.Read, User.ReadBasic.All, User.Read.All and others; or .default"] + configuration.additionalScopes)
        return lines + ["", "Settings for lodge:", settings.text()]
    }

    private var msal: [String] {
        ["authority=\"\(provider.tenantAuthority.absoluteString)\",", "instance_discovery=False"]
    }

    // MARK: JSON

    var json: JSONObject {
        var object: JSONObject = [
            "issuer": .string(issuer), "authority": .string(provider.tenantAuthority.absoluteString),
            "tenant": .string(LoopbackProvider.Configuration.tenantID), "graph": .string(graph),
            "scim": .string(scim), "user": .string(user),
            "clients": .array(
                configuration.clients.map { client in
                    var object: JSONObject = ["id": .string(client.id)]
                    if let secret = client.secret { object.append("secret", .string(secret)) }
                    object.append("redirectUris", .array(client.redirectURIs.map { .string($0) }))
                    return .object(object)
                }),
        ]
        if let authorityFile { object.append("caFile", .string(authorityFile)) }
        object.append("settings", settings)
        return object
    }

    /// The settings of lodge for the first client.
    private var settings: JSONValue {
        let client = configuration.clients.first
        var type: JSONObject = [
            "issuer": .string(issuer), "clientId": .string(client?.id ?? ""),
            "redirectUri": "http://127.0.0.1/callback",
            "scopes": ["openid", "profile", "offline_access", "User.Read", "User.ReadBasic.All"],
            "graphAPI": .string(provider.graphBase.absoluteString),
        ]
        if let secret = client?.secret { type.append("clientSecret", .string(secret)) }
        if let authorityFile { type.append("caFile", .string(authorityFile)) }
        return ["types": ["local": .object(type)]]
    }
}
