import LodgePlatform

extension ConfiguredClient {
    /// Returns the services of oama's configuration. Parses only the subset of YAML that oama's template uses.
    static func oamaServices(in text: String) -> [ConfiguredClient] {
        var services: [(line: Int, name: String, values: [String: String])] = []
        var isInServices = false
        var serviceIndent: Int?
        var lastKey: String?
        for (number, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let content = line.drop { $0 == " " }
            guard let first = content.first, first != "#" else { continue }
            let indent = line.count - content.count
            let pair = content.wholeMatch(of: /([A-Za-z0-9_.-]+):(?: +(.*))?/)
            let value = pair?.2.map { Self.scalar($0) } ?? ""
            if indent == 0 {
                isInServices = pair?.1 == "services"
                serviceIndent = nil
            } else if isInServices, let pair, value.isEmpty, indent <= serviceIndent ?? indent {
                serviceIndent = indent
                services.append((number + 1, String(pair.1), [:]))
                lastKey = nil
            } else if isInServices, !services.isEmpty, let pair {
                lastKey = String(pair.1)
                // After a block indicator, the value is on the next lines.
                services[services.count - 1].values[String(pair.1)] =
                    [">", ">-", "|", "|-"].contains(value) ? "" : value
            } else if isInServices, !services.isEmpty, let lastKey {
                // The value continues on this line. Append in place, because a file can have many such lines.
                services[services.count - 1].values[lastKey, default: ""] += " " + Self.scalar(content)
            }
        }
        return services.map { line, name, values in
            func value(_ key: String) -> String? {
                values[key].flatMap { $0.trimmingPrefix(" ").isEmpty ? nil : String($0.trimmingPrefix(" ")) }
            }
            var client = ConfiguredClient(
                location: "line \(line)", name: name, clientID: value("client_id"),
                hasSecret: value("client_secret") != nil, host: AccountFileReader.mailProviders[name],
                authorizationEndpoint: value("auth_endpoint"), tokenEndpoint: value("token_endpoint"),
                redirectURI: value("redirect_uri"),
                reason: "oama keeps the tokens of each address in another file or in the keyring")
            client.scopes = (value("auth_scope") ?? defaultScopes[name] ?? "").split(separator: " ").map { String($0) }
            let required = client.host == nil ? ["client_id", "auth_endpoint", "token_endpoint"] : ["client_id"]
            client.missingKeys = required.filter { value($0) == nil }
            return client
        }
    }

    private static let defaultScopes = [
        "google": "https://mail.google.com/",
        "microsoft":
            "https://outlook.office.com/IMAP.AccessAsUser.All https://outlook.office.com/SMTP.Send offline_access",
    ]

    /// Returns the value of a plain or quoted YAML scalar, without its comment.
    private static func scalar(_ text: some StringProtocol) -> String {
        let text = String(text)
        if let quoted = text.prefixMatch(of: /"([^"]*)"|'([^']*)'/) { return String(quoted.1 ?? quoted.2 ?? "") }
        let end = text.firstRange(of: " #")?.lowerBound ?? text.endIndex
        return String(text[..<end].reversed().drop { $0 == " " }.reversed())
    }
}
