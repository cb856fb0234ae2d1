import OAuth2Protocol
import Platform
import StrictJSON

/// A client in the configuration of another program, which has no tokens.
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

    /// The keys that the file lacks.
    var missingKeys: [String] = []

    /// Returns the account type for the settings, as a member of `types`. A secret is left to the user: a message must not have it.
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

// The programs that get tokens for mail programs.
extension AccountFileReader {
    /// The hosts of the providers by the names that these programs have for them.
    static let mailProviders = ["microsoft": "login.microsoftonline.com", "google": "accounts.google.com"]

    // MARK: mutt_oauth2.py

    /// Reads a token file of mutt_oauth2.py. Its expiry is a local time without a time zone: the access token counts as expired.
    func muttToken(_ file: AccountFileObject) throws(AccountFileError) -> Contents {
        let mail = try file.text("email")
        guard let refreshToken = try file.secret("refresh_token") else {
            return Contents(left: [
                ("refresh_token", mail, "it is empty: mutt_oauth2.py did not finish a sign-in; sign in here")
            ])
        }
        let client = try file.requiredText("client_id", "the client of the tokens")
        var entry = AccountFile.Entry(location: "the token file", clientID: client, tokens: Self.expired(refreshToken))
        entry.hasClientSecret = try file.text("client_secret") != nil
        entry.host = try file.text("registration").flatMap { Self.mailProviders[$0] }
        entry.userName = mail
        entry.key = mail.map { "mutt_oauth2:\($0):\(client)" }
        return Contents(entries: [entry])
    }

    private static func expired(_ refreshToken: Secret, scope: Scope = []) -> TokenSet {
        TokenSet(
            access: nil, refresh: refreshToken, idToken: nil, scope: scope, type: nil, received: nil, lifetime: nil)
    }

    // MARK: oama

    /// Reads the credentials that oama saves for a mail address. Its configuration has the client.
    func oamaCredentials(_ file: AccountFileObject) throws(AccountFileError) -> Contents {
        let mail = try file["email"]?.object == nil ? file.text("email") : file.object("email").text("unEmailAddress")
        let service = try file.text("service")
        guard let refreshToken = try file.secret("refresh_token") else {
            return Contents(left: [("refresh_token", mail, "it is empty: oama did not finish a sign-in; sign in here")])
        }
        var entry = AccountFile.Entry(
            location: "the credentials", tokens: Self.expired(refreshToken, scope: try file.scope("scope")))
        entry.host = service.flatMap { Self.mailProviders[$0] }
        entry.userName = mail
        entry.key = mail.map { "oama:\($0):\(service ?? "")" }
        return Contents(entries: [entry])
    }

    /// Reads the services of oama's configuration: the part of YAML that its template uses.
    static func oamaConfiguration(_ text: String) -> [ConfiguredClient] {
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
                // After the mark of a block, the value is on the next lines.
                services[services.count - 1].values[String(pair.1)] =
                    [">", ">-", "|", "|-"].contains(value) ? "" : value
            } else if isInServices, !services.isEmpty, let lastKey {
                // A value continues on the next line. In place: a file can have many such lines.
                services[services.count - 1].values[lastKey, default: ""] += " " + Self.scalar(content)
            }
        }
        return services.map { line, name, values in
            func value(_ key: String) -> String? {
                values[key].flatMap { $0.trimmingPrefix(" ").isEmpty ? nil : String($0.trimmingPrefix(" ")) }
            }
            var client = ConfiguredClient(
                location: "line \(line)", name: name, clientID: value("client_id"),
                hasSecret: value("client_secret") != nil, host: mailProviders[name],
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

    /// Returns a plain or quoted scalar of YAML without its comment.
    private static func scalar(_ text: some StringProtocol) -> String {
        let text = String(text)
        if let quoted = text.prefixMatch(of: /"([^"]*)"|'([^']*)'/) { return String(quoted.1 ?? quoted.2 ?? "") }
        let end = text.firstRange(of: " #")?.lowerBound ?? text.endIndex
        return String(text[..<end].reversed().drop { $0 == " " }.reversed())
    }

    // MARK: pizauth

    /// Reads the accounts of pizauth.conf. Returns `nil` for another kind of file.
    static func pizauthConfiguration(_ text: String) -> [ConfiguredClient]? {
        var words = PizauthWords(text)
        var clients: [ConfiguredClient] = []
        while let word = words.next() {
            guard word.text == "account", !word.isString else {
                // A setting of the program.
                guard words.next()?.text == "=" else { return nil }
                words.skipValue()
                continue
            }
            guard let name = words.next(), name.isString, words.next()?.text == "{" else { return nil }
            var values: [String: [String]] = [:]
            while let key = words.next(), key.text != "}" || key.isString {
                guard words.next()?.text == "=" else { return nil }
                values[key.text] = words.skipValue()
            }
            func value(_ key: String) -> String? { values[key]?.first.flatMap { $0.isEmpty ? nil : $0 } }
            let endpoint = value("token_uri")
            var client = ConfiguredClient(
                location: "line \(word.line)", name: name.text, clientID: value("client_id"),
                hasSecret: value("client_secret") != nil, authorizationEndpoint: value("auth_uri"),
                tokenEndpoint: endpoint,
                redirectURI: value("redirect_uri") ?? "http://localhost/", scopes: values["scopes"] ?? [],
                reason: "pizauth keeps tokens only in memory, and only pizauth reads its dump")
            client.missingKeys = ["auth_uri", "client_id", "scopes", "token_uri"].filter { value($0) == nil }
            clients.append(client)
        }
        return clients.isEmpty ? nil : clients
    }
}

/// The words of pizauth.conf: strings, names, numbers and punctuation. Comments begin with `//`.
private struct PizauthWords {
    struct Word {
        var text: String
        var isString = false
        var line: Int
    }

    private var rest: Substring
    private var line = 1

    init(_ text: String) { rest = Substring(text) }

    mutating func next() -> Word? {
        while let first = rest.first {
            switch first {
            case "\n", "\r\n":
                line += 1
                rest.removeFirst()
            case " ", "\t", "\r": rest.removeFirst()
            case "/" where rest.hasPrefix("//"): rest = rest.drop { !$0.isNewline }
            case "\"":
                rest.removeFirst()
                return string()
            case _ where first.isLetter || first.isNumber || first == "_":
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                rest = rest[word.endIndex...]
                return Word(text: String(word), line: line)
            default:
                rest.removeFirst()
                return Word(text: String(first), line: line)
            }
        }
        return nil
    }

    /// Reads the rest of a string, with `\"` and `\\`.
    private mutating func string() -> Word {
        let start = line
        var text = ""
        while let character = rest.popFirst(), character != "\"" {
            if character.isNewline { line += 1 }
            if character == "\\", let next = rest.first, next == "\"" || next == "\\" {
                text.append(rest.removeFirst())
            } else {
                text.append(character)
            }
        }
        return Word(text: text, isString: true, line: start)
    }

    /// Reads a value up to its semicolon, and returns its strings and numbers.
    @discardableResult
    mutating func skipValue() -> [String] {
        var values: [String] = []
        while let word = next(), word.isString || word.text != ";" {
            if word.isString || word.text.first?.isNumber == true { values.append(word.text) }
        }
        return values
    }
}
