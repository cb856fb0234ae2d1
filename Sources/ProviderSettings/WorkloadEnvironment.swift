import LodgePlatform
import StrictJSON

/// The variables that the webhook of Azure AD Workload Identity sets in a pod, for the preset `entra-workload`.
package enum WorkloadEnvironment {
    static let preset = "entra-workload"
    private static let client = "AZURE_CLIENT_ID"
    private static let tenant = "AZURE_TENANT_ID"
    private static let host = "AZURE_AUTHORITY_HOST"
    private static let file = "AZURE_FEDERATED_TOKEN_FILE"

    /// Values that are valid, for a type that is added on a machine without the variables.
    package static let sample = [
        client: "00000000-0000-0000-0000-000000000000", tenant: "contoso.com", file: "/var/run/secrets/token",
    ]

    /// The clouds of Microsoft: the hosts of their authorities, and their Microsoft Graph.
    private static let clouds = [
        "login.microsoftonline.com": "https://graph.microsoft.com/",
        "login.microsoftonline.us": "https://graph.microsoft.us/",
        "login.chinacloudapi.cn": "https://microsoftgraph.chinacloudapi.cn/",
        "login.partner.microsoftonline.cn": "https://microsoftgraph.chinacloudapi.cn/",
    ]

    /// Returns the keys of a type with the preset, with the missing keys from the variables.
    ///
    /// - Throws: ``SettingsError`` that names all missing variables, or an authority that is not Microsoft's.
    static func completed(_ type: AccountTypeDecoder) throws(SettingsError) -> JSONObject {
        var own = type.object
        let environment = type.environment
        func value(_ variable: String) -> String? { environment[variable].flatMap { $0.isEmpty ? nil : $0 } }
        var missing: [String] = []
        if own["clientId"] == nil {
            if let id = value(client) { own["clientId"] = .string(id) } else { missing.append(client) }
        }
        if own["authority"] == nil, own["issuer"] == nil {
            if let name = own["tenant"]?.string ?? value(tenant) {
                own["authority"] = .string(try address(type, value(host)) + name)
            } else {
                missing.append(tenant)
            }
        }
        if own["clientAssertion"] == nil {
            own["clientAssertion"] = ["file": ["environment": .string(file)]]
            if !missing.isEmpty, value(file) == nil { missing.append(file) }
        }
        guard missing.isEmpty else {
            throw SettingsError(
                variable: missing[0], expected: "a value for \(type.path)provider \(preset)",
                found: "nothing"
                    + (missing.count == 1 ? "" : "; also missing: \(missing.dropFirst().joined(separator: ", "))"),
                hint:
                    "in AKS, label the pod with azure.workload.identity/use: \"true\" and annotate its service account; elsewhere, "
                    + "set clientId, tenant and clientAssertion in the settings")
        }
        own["tenant"] = nil
        let cloud = own["authority"]?.string.flatMap { URL(string: $0)?.host(percentEncoded: false)?.lowercased() }
        if own["graphAPI"] == nil, let graph = cloud.flatMap({ clouds[$0] }) { own["graphAPI"] = .string(graph) }
        if own["scopes"] == nil, let graph = own["graphAPI"]?.string {
            own["scopes"] = [.string((graph.hasSuffix("/") ? graph : graph + "/") + ".default")]
        }
        return own
    }

    /// Returns the URL before the tenant.
    private static func address(_ type: AccountTypeDecoder, _ text: String?) throws(SettingsError) -> String {
        guard let text else { return "https://login.microsoftonline.com/" }
        let known = (type.object["knownAuthorities"]?.array ?? []).compactMap { $0.string?.lowercased() }
        let url = URL(string: text, encodingInvalidCharacters: false)
        let name = url?.host(percentEncoded: false)?.lowercased() ?? ""
        let port = url?.port.map { "\(name):\($0)" } ?? name
        guard let url, url.scheme?.lowercased() == "https", url.user == nil, url.query() == nil,
            ["", "/"].contains(url.path()), clouds[name] != nil && url.port == nil || known.contains(port)
        else {
            throw SettingsError(
                variable: host, expected: "the https URL of a Microsoft cloud, or of a host in knownAuthorities",
                found: JSONValue.string(String(text.prefix(200))).shown,
                hint: "correct the variable \(host), or add its host to knownAuthorities in the settings")
        }
        return text.hasSuffix("/") ? text : text + "/"
    }
}
