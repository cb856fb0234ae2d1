import Platform
import OAuth2Protocol
import StrictJSON

extension ProviderPreset {
    /// A type's keys over those of the preset that it names with `provider`; without that key, as they are.
    ///
    /// - Throws: ``SettingsError`` for a name that no preset has, and for a placeholder that is missing or is no part of an address.
    static func expand(_ own: JSONObject, file: String, path: String) throws(SettingsError) -> JSONObject {
        guard let value = own["provider"] else { return own }
        guard let name = value.string, let preset = ProviderPreset(named: name) else {
            let near = value.string.flatMap { SpellingSuggestion.nearest(to: $0, in: names) }
            throw SettingsError(
                file: file, key: path + "provider", expected: "the name of a preset",
                found: AccountTypeDecoder.shown(value),
                hint: near.map { "did you mean \($0)?" } ?? "\(SettingsRemedy.listPresets)")
        }
        return try preset.over(own, file: file, path: path)
    }

    private func over(_ own: JSONObject, file: String, path: String) throws(SettingsError) -> JSONObject {
        var own = own
        var values: [String: String] = [:]
        for placeholder in placeholders {
            let key = path + placeholder.name
            guard let value = own[placeholder.name] else {
                // A type that brings its own address needs nothing for the preset's.
                guard placeholder.standard == nil, own["issuer"] == nil, own["authority"] == nil else { continue }
                throw SettingsError(
                    file: file, key: key, expected: placeholder.meaning, found: "nothing",
                    hint: "the preset \(name) needs it; \(SettingsRemedy.showPreset(name))")
            }
            guard let text = value.string, Self.isAddressPart(text) else {
                throw SettingsError(
                    file: file, key: key, expected: placeholder.meaning, found: AccountTypeDecoder.shown(value))
            }
            values[placeholder.name] = text
            own[placeholder.name] = nil
        }
        if let clientID = own["clientId"]?.string { values["clientId"] = clientID }
        for key in needs where own[key] == nil {
            // Clients without a secret: public ones, and those with a key.
            if key == "clientSecret", let method = own["clientAuthentication"]?.string,
                ["none", "private_key_jwt"].contains(method)
            {
                continue
            }
            throw SettingsError(
                file: file, key: path + key, expected: Self.meaning(key, title), found: "nothing",
                hint: "the preset \(name) needs it; \(SettingsRemedy.showPreset(name))")
        }
        var whole: [JSONObject.Member] = own.members
        let replacesIssuer = own["issuer"] != nil || own["authority"] != nil
        for member in type.members where own[member.name] == nil {
            if replacesIssuer, member.name == "issuer" || member.name == "authority" { continue }
            // What a later version's preset knows is no fault of this one's settings.
            guard AccountTypeDecoder.keys.contains(member.name) else { continue }
            whole.append(.init(name: member.name, value: filled(member.value, with: values)))
        }
        return JSONObject(whole)
    }

    private func filled(_ value: JSONValue, with values: [String: String]) -> JSONValue {
        switch value {
        case .string(let text): .string(filled(text, with: values))
        case .array(let elements): .array(elements.map { filled($0, with: values) })
        case .object(let object):
            .object(JSONObject(object.members.map { .init(name: $0.name, value: filled($0.value, with: values)) }))
        default: value
        }
    }

    private static func meaning(_ key: String, _ title: String) -> String {
        switch key {
        case "clientId": "the client identifier of your application at \(title)"
        case "clientSecret":
            "the client secret of your application at \(title): {\"environment\": NAME} or {\"file\": PATH}"
        case "issuer": "the provider's issuer, an https address"
        default: "a value"
        }
    }

    /// Letters, digits and what hosts, ports and paths are made of: nothing that ends an address's part and begins another kind.
    private static func isAddressPart(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 255 && !text.contains("..")
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "-._~:/".utf8.contains(byte)
            }
    }
}

extension AccountTypeDecoder {
    /// The keys that presets brought.
    static let presetKeys = ["provider", "userinfoClaims", "tokenClaims", "longLivedTokens"]

    func readPresetKeys(into type: inout AccountType) throws(SettingsError) {
        if object["provider"] != nil { type.preset = try text("provider") }
        type.userinfoClaims = try dictionary("userinfoClaims")
        type.tokenClaims = try dictionary("tokenClaims")
        if let value = object["longLivedTokens"] {
            guard let flag = value.bool else { throw fault("longLivedTokens", "true or false", Self.shown(value)) }
            type.exchangesForLongLivedTokens = flag
        }
    }
}
