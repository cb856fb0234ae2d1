import Diagnostics
import CommandLineKit
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

/// An account type of the settings in `providers`, without secrets.
struct ProviderRecord: OutputRecord {
    let type: AccountType
    let isDefault: Bool

    static let listColumns = [
        TableColumn("NAME", .keep), TableColumn("PROVIDER"), TableColumn("FROM"),
        TableColumn("MISSING OR WRONG", .wrap),
    ]

    static let shape = JSONShape.object([
        "name": "", "provider": "issuer or authority", "from": "settings", "default": "Boolean",
        "preset": "or null", "grant": "or null", "clientId": "or null", "hasClientSecret": "Boolean",
        "redirectUri": "or null", "scopes": "array",
        "endpoints": "object", "toFillIn": "array of keys",
        "directory": "URL, or null",
    ])

    /// The shape of types and presets. Presets have only some members.
    static let shapeWithPresets = shape.adding([
        "title": "of a preset", "registrationSteps": "array, of a preset", "notes": "array, of a preset",
        "tests": "array, of a preset", "documentation": "array, of a preset",
        "error": "of a type that cannot be used", "remedy": "of a type that cannot be used",
    ])

    var address: String {
        switch type.provider {
        case .issuer(let text), .authority(let text): text
        case .endpoints:
            type.endpoints.authorization?.absoluteString ?? type.endpoints.token?.absoluteString
                ?? ""
        case .staticToken: ""
        }
    }

    private var isStaticToken: Bool { type.provider == .staticToken }

    /// Whether a client is registered at the provider.
    private var hasClient: Bool { !isStaticToken && !type.grant.usesTokenSource }
    private var hasRedirect: Bool { !isStaticToken && !type.grant.isOfApplication }

    /// The source of the tokens of an application without a registered client.
    private var source: String? {
        switch type.grant {
        case .managedIdentity: type.managedIdentity?.source?.rawValue ?? "detected"
        case .serviceAccount, .externalAccount: type.googleAccount?.file
        case .authorizationCode, .clientCredentials: nil
        }
    }

    private var assertions: String? {
        switch type.clientAssertion {
        case .certificate(let credential)?:
            switch credential.files {
            case .pem(let path, _), .pkcs12(let path): path
            }
        case .federated(let credential)?: "\(credential)"
        case nil: nil
        }
    }

    var cells: [String] {
        [
            type.name,
            isStaticToken ? "(you supply the token)" : hasClient ? address : "(\(type.grant.rawValue))",
            isDefault ? "settings, default" : "settings",
            "",
        ]
    }

    var detail: Detail {
        var detail = Detail()
        detail.add("Name", type.name)
        detail.add("Default", isDefault ? "yes" : "no")
        detail.add("Preset", type.preset)
        if type.grant.isOfApplication { detail.add("Grant", type.grant.rawValue) }
        detail.add("Source", source)
        detail.add("Identity", type.managedIdentity?.identity?.text)
        detail.add("Subject", type.googleAccount?.subject)
        if isStaticToken || hasClient { detail.add("Provider", isStaticToken ? "none: you supply the token" : address) }
        for (name, _) in AuthorizationServer.endpointNames { detail.add(name, type.endpoints[name]?.absoluteString) }
        if hasClient { detail.add("Client", type.clientID) }
        detail.add("Client secret", secret)
        detail.add("Client assertion", assertions)
        detail.add("Client authentication", type.clientAuthentication?.rawValue)
        if hasRedirect { detail.add("Redirect URI", type.redirectURI.text) }
        detail.add("Scope", type.scope.text)
        detail.add("Directory", type.graphAPI?.absoluteString)
        detail.add("Resource hosts", type.resourceHosts)
        detail.add("Pinned keys", type.pinnedKeys.map(\.description).sorted())
        detail.add("Certificates", type.caFile)
        return detail
    }

    private var secret: String? {
        switch type.clientSecret {
        case nil: nil
        case .inline: "in the settings"
        case .environment(let name): "in the environment variable \(name)"
        case .file(let path): "in the file \(path)"
        }
    }

    var json: JSONValue {
        var object: JSONObject = [
            "name": .string(type.name), "provider": .string(type.grant.usesTokenSource ? "" : address),
            "from": "settings",
        ]
        object.append("default", .bool(isDefault))
        object.append("preset", type.preset.map { .string($0) } ?? .null)
        object.append("grant", isStaticToken ? .null : .string(type.grant.rawValue))
        object.append("clientId", hasClient ? .string(type.clientID) : .null)
        object.append("hasClientSecret", .bool(type.clientSecret != nil))
        object.append("redirectUri", hasRedirect ? .string(type.redirectURI.text) : .null)
        object.append("directory", type.graphAPI.map { .string($0.absoluteString) } ?? .null)
        object.append("scopes", .array(type.scope.tokens.map { .string($0) }))
        let endpoints = AuthorizationServer.endpointNames.compactMap { name, _ in
            type.endpoints[name].map { JSONObject.Member(name: name, value: .string($0.absoluteString)) }
        }
        object.append("endpoints", .object(JSONObject(endpoints)))
        object.append("toFillIn", .array([]))
        return .object(object)
    }
}

/// An invalid account type of the settings, with its error.
struct UnusableTypeRecord: OutputRecord {
    let type: Settings.UnusableType
    let isDefault: Bool
    let remedyText: RemedyText

    private var remedy: String { remedyText.hint(CommandError(reporting: type.error).hint ?? "").description }

    var cells: [String] {
        [type.name, "(cannot be used)", isDefault ? "settings, default" : "settings", "\(type.error); \(remedy)"]
    }

    var detail: Detail {
        var detail = Detail()
        detail.add("Name", type.name)
        detail.add("Default", isDefault ? "yes" : "no")
        detail.add("State", "cannot be used")
        detail.add("Error", type.error.description)
        detail.add("Remedy", remedy)
        return detail
    }

    var json: JSONValue {
        [
            "name": .string(type.name), "from": "settings", "default": .bool(isDefault),
            "error": .string(type.error.description), "remedy": .string(remedy),
        ]
    }
}

struct PresetRecord: OutputRecord {
    let preset: ProviderPreset

    var cells: [String] { [preset.name, preset.address, "preset", preset.requiredKeys.joined(separator: ", ")] }

    var detail: Detail {
        var detail = Detail()
        detail.add("Preset", preset.name)
        detail.add("Provider", preset.title)
        detail.add("Address", preset.address)
        detail.add(
            "Required keys",
            preset.requiredKeys.map { key in
                preset.placeholders.first { $0.name == key }.map { "\(key): \($0.meaning)" } ?? key
            })
        detail.add(
            "Optional keys",
            preset.placeholders.compactMap { one in one.defaultValue.map { "\(one.name): \(one.meaning) (\($0))" } })
        detail.add(
            "To register a client", preset.registrationSteps.enumerated().map { "\($0.offset + 1). \($0.element)" })
        detail.add("Note", preset.notes)
        detail.add("Tested", preset.tests)
        detail.add("Documentation", preset.documentation)
        detail.add(
            "To set it up",
            preset.isComplete ? "lodge sign-in \(preset.name)" : CommandError.addCommand(preset).description)
        return detail
    }

    var json: JSONValue {
        func list(_ words: [String]) -> JSONValue { .array(words.map { .string($0) }) }
        return [
            "name": .string(preset.name), "provider": .string(preset.address), "from": "preset",
            "title": .string(preset.title), "toFillIn": list(preset.requiredKeys),
            "registrationSteps": list(preset.registrationSteps), "notes": list(preset.notes),
            "tests": list(preset.tests), "documentation": list(preset.documentation),
        ]
    }
}

struct FindingRecord: OutputRecord {
    let finding: ProviderReport.Finding

    static let listColumns = [
        TableColumn("WHAT", .keep), TableColumn("STATE", .keep), TableColumn("DETAIL", .wrap),
    ]

    var cells: [String] { [finding.subject, finding.state.rawValue, finding.detail] }

    var json: JSONValue {
        ["what": .string(finding.subject), "state": .string(finding.state.rawValue), "detail": .string(finding.detail)]
    }
}
