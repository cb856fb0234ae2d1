import LodgePlatform
import OAuth2Protocol
import StrictJSON

extension ProviderPreset {
    /// Returns the keys of a type, with the missing keys from the preset in its key `provider`.
    ///
    /// - Throws: ``SettingsError`` if the preset is unknown, or a placeholder is missing or not part of a URL.
    static func expand(_ type: AccountTypeDecoder) throws(SettingsError) -> AccountTypeDecoder {
        guard let value = type.object["provider"] else { return type }
        guard let name = value.string, let preset = ProviderPreset(named: name) else {
            let near = value.string.flatMap { SpellingSuggestion.hint(for: $0, in: names) }
            throw type.error(
                "provider", "the name of a preset", value.shown, hint: near ?? "\(SettingsRemedy.listPresets)")
        }
        return type.completed(try preset.completed(type))
    }

    private func completed(_ type: AccountTypeDecoder) throws(SettingsError) -> JSONObject {
        // A source of tokens has no client and no tenant.
        let usesTokenSource = AccountTypeDecoder.grant(type.object).usesTokenSource
        var own =
            name == WorkloadEnvironment.preset && !usesTokenSource
            ? try WorkloadEnvironment.completed(type) : type.object
        func missing(_ key: String, _ expected: String) -> SettingsError {
            type.error(
                key, expected, "nothing", hint: "the preset \(name) needs it; \(SettingsRemedy.showPreset(name))")
        }
        let replacesIssuer = own["issuer"] != nil || own["authority"] != nil
        var values: [String: String] = [:]
        for placeholder in placeholders {
            guard let value = own[placeholder.name] else {
                // The placeholder is part of the preset's issuer.
                guard placeholder.defaultValue == nil, !replacesIssuer, !usesTokenSource else { continue }
                throw missing(placeholder.name, placeholder.meaning)
            }
            guard let text = value.string, Self.isAddressPart(text) else {
                throw type.error(placeholder.name, placeholder.meaning, value.shown)
            }
            values[placeholder.name] = text
            own[placeholder.name] = nil
        }
        if let clientID = own["clientId"]?.string { values["clientId"] = clientID }
        // Public clients and clients with a key have no secret.
        let needsSecret = !["none", "private_key_jwt"].contains(own["clientAuthentication"]?.string)
        let grant = AccountTypeDecoder.grant(own)
        let presetGrant = AccountTypeDecoder.grant(self.type)
        for key in needs where own[key] == nil && (key != "clientSecret" || needsSecret) {
            if usesTokenSource, ["clientId", "clientSecret"].contains(key) { continue }
            throw missing(key, Self.meaning(key, title))
        }
        for member in self.type.members where own[member.name] == nil {
            guard
                own["grant"] == nil
                    || AccountTypeDecoder.inherits(member.name, grant: grant, fromGrant: presetGrant)
            else { continue }
            if replacesIssuer, member.name == "issuer" || member.name == "authority" { continue }
            if usesTokenSource, member.name == "issuer" || member.name == "authority",
                placeholders.contains(where: { $0.defaultValue == nil && values[$0.name] == nil })
            {
                continue
            }
            // A preset of a later version may have keys that this version does not know.
            guard AccountTypeDecoder.keys.contains(member.name) else { continue }
            own.append(member.name, filled(member.value, with: values))
        }
        return own
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
        case "issuer": "the provider's issuer, an https URL"
        default: "a value"
        }
    }

    /// Returns whether the text has only characters and parts of hosts, ports and paths, so that it cannot start another part of a URL.
    private static func isAddressPart(_ text: String) -> Bool {
        text.utf8.count <= 255 && !text.contains("..")
            && text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { !$0.isEmpty }
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte | 0x20) || "-._~:/".utf8.contains(byte)
            }
    }
}

extension AccountTypeDecoder {

    func readPresetKeys(into type: inout AccountType) throws(SettingsError) {
        type.preset = try optionalText("provider")
        type.userinfoClaims = try dictionary("userinfoClaims")
        type.tokenClaims = try dictionary("tokenClaims")
        type.exchangesForLongLivedTokens = try flag("longLivedTokens") ?? false
    }
}
