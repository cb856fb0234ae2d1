import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// A decoder of one dictionary of the settings. Its errors name the key.
protocol DictionaryDecoder {
    var file: String { get }
    /// The path of the dictionary in the file, either empty or with a dot at its end.
    var path: String { get }
    var object: JSONObject { get }
    /// The spellings of keys in the file, if they differ. Errors contain these spellings.
    var writtenKeys: [String: String] { get }
}

extension DictionaryDecoder {
    func error(_ key: String, _ expected: String, _ found: String, hint: Hint? = nil) -> SettingsError {
        SettingsError(file: file, key: path + (writtenKeys[key] ?? key), expected: expected, found: found, hint: hint)
    }

    func missing(_ key: String, _ expected: String, neededBy name: String) -> SettingsError {
        error(key, "\(expected), which \(name) needs", "nothing")
    }

    /// Returns the hint for an unknown key.
    func unknownKeyHint(_ key: String, _ known: [String]) -> Hint? {
        // NXOAuth2Client's keys for the keychain.
        if ["keyChainGroup", "keyChainAccessGroup"].contains(key) {
            return "remove it; the location of the key belongs to the store, not to an account type"
        }
        return SpellingSuggestion.hint(for: key, in: known)
    }

    /// Returns the first unknown key.
    func unknownKey(_ known: [String]) -> String? { object.members.first { !known.contains($0.name) }?.name }

    /// Returns the value of a key, or `nil` if the key is missing.
    func value<Value>(
        _ key: String, _ expected: String, _ convert: (JSONValue) -> Value?
    ) throws(SettingsError) -> Value? {
        guard let value = object[key] else { return nil }
        guard let converted = convert(value) else { throw error(key, expected, value.shown) }
        return converted
    }

    func choice<Choice: RawRepresentable<String>>(
        _ key: String, _ expected: String
    ) throws(SettingsError) -> Choice? {
        try value(key, expected) { $0.string.flatMap(Choice.init) }
    }

    func flag(_ key: String) throws(SettingsError) -> Bool? { try value(key, "true or false", \.bool) }

    func text(_ key: String) throws(SettingsError) -> String {
        guard let text = try optionalText(key) else { throw error(key, "a string", "nothing") }
        return text
    }

    func optionalText(_ key: String) throws(SettingsError) -> String? {
        let text = try value(key, "a string", \.string)
        if text?.isEmpty == true { throw error(key, "a string", "an empty string") }
        return text
    }

    /// Returns the URL of a key, both verbatim and parsed.
    func address(_ key: String) throws(SettingsError) -> (text: String, url: URL)? {
        guard let text = try optionalText(key) else { return nil }
        do throws(OAuth2Error) {
            return (text, try EndpointURL.check(text, name: key, allowsLoopbackHTTP: true))
        } catch {
            throw self.error(
                key, "an https URL (plain http only on this machine)", JSONValue.string(withoutPassword(text)).shown
            )
        }
    }

    private func withoutPassword(_ url: String) -> String {
        guard let at = url.lastIndex(of: "@"), let slashes = url.firstRange(of: "//"), slashes.upperBound < at
        else { return url }
        return "\(url[..<slashes.upperBound])…\(url[at...])"
    }

    func strings(_ key: String) throws(SettingsError) -> [String] {
        try value(key, "a list of strings") { value in
            value.array.flatMap { elements in
                let texts = elements.compactMap(\.string)
                return texts.count == elements.count ? texts : nil
            }
        } ?? []
    }

    /// Reads the source of a secret outside the settings file. Errors never show the value, which may be the secret.
    func source(
        _ value: JSONValue, _ key: String, _ expected: String
    ) throws(SettingsError) -> AccountType.SecretSource {
        guard let source = value.object else { throw error(key, expected, value.kind) }
        guard source.members.count == 1, let name = source.members[0].value.string, !name.isEmpty else {
            throw error(key, expected, "another dictionary")
        }
        switch source.members[0].name {
        case "environment": return .environment(name)
        case "file": return .file(name)
        default: throw error(key, expected, "a dictionary with another key")
        }
    }

    /// Returns a dictionary of strings. Errors do not show its values: parameters and header fields may be secrets.
    func dictionary(_ key: String) throws(SettingsError) -> [String: String] {
        guard let value = object[key] else { return [:] }
        guard let members = value.object?.members else { throw error(key, "a dictionary of strings", value.kind) }
        var result: [String: String] = [:]
        for member in members {
            guard let text = member.value.string else {
                throw error("\(key).\(member.name)", "a string", member.value.kind)
            }
            result[member.name] = text
        }
        return result
    }
}

extension JSONValue {
    /// The value in an error: a short string, a number or a Boolean itself, or otherwise the type.
    var shown: String {
        switch self {
        case .string(let text): String(text.prefix(200)).debugDescription
        case .number, .bool: text()
        default: kind
        }
    }
}

extension SpellingSuggestion {
    /// Returns the hint with the nearest of `candidates`, or `nil` if no candidate is near.
    static func hint(for word: String, in candidates: [String]) -> Hint? {
        nearest(to: word, in: candidates).map { "did you mean \($0)?" }
    }
}
