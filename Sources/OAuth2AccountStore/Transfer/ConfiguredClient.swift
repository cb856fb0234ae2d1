import StrictJSON

/// A client in the configuration of another program. The configuration has no tokens.
struct ConfiguredClient: Sendable {
    var location: String
    /// The name of the account or of the service in the file.
    var name: String
    var clientID: String?
    var hasSecret = false
    /// The host of the provider, if it is Google or Microsoft.
    var host: String?
    var authorizationEndpoint: String?
    var tokenEndpoint: String?
    var redirectURI: String?
    var scopes: [String] = []
    /// The reason why the file has no tokens.
    var reason: String

    /// The required keys that the file lacks.
    var missingKeys: [String] = []

    /// The account type for the settings, as a member of `types`. It has no client secret, because messages must not
    /// contain secrets: the user adds it.
    var settings: String {
        var type = JSONObject()
        switch host {
        case "login.microsoftonline.com": type.append("provider", "entra")
        case "accounts.google.com": type.append("provider", "google")
        default:
            for (key, value) in [
                ("authorizationEndpoint", authorizationEndpoint), ("tokenEndpoint", tokenEndpoint),
                ("redirectUri", redirectURI),
            ] {
                if let value { type.append(key, .string(value)) }
            }
        }
        if let clientID { type.append("clientId", .string(clientID)) }
        if hasSecret { type.append("clientSecret", "…") }
        type.append("scopes", .array(scopes.map { .string($0) }))
        return "\(JSONValue.string(name).text()): \(JSONValue.object(type).text())"
    }
}
