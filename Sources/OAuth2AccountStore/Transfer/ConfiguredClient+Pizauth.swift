import LodgePlatform

extension ConfiguredClient {
    /// Returns the accounts of pizauth.conf, or `nil` if the file is not a pizauth configuration.
    static func pizauthAccounts(in text: String) -> [ConfiguredClient]? {
        var words = PizauthWords(text)
        var clients: [ConfiguredClient] = []
        while let word = words.next() {
            guard word.text == "account", !word.isString else {
                // This is a global setting, not an account.
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

/// The words of pizauth.conf: strings, names, numbers and punctuation. Comments start with `//`.
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

    /// Reads a string after its opening quotation mark. Supports the escape sequences `\"` and `\\`.
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

    /// Reads a value and its semicolon. Returns the strings and numbers in the value.
    @discardableResult
    mutating func skipValue() -> [String] {
        var values: [String] = []
        while let word = next(), word.isString || word.text != ";" {
            if word.isString || word.text.first?.isNumber == true { values.append(word.text) }
        }
        return values
    }
}
