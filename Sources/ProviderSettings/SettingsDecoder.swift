import Platform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// From a dictionary to checked settings. Every fault names the key.
struct SettingsDecoder {
    let file: String
    let object: JSONObject

    /// The keys of the flat form: the QuickStart's.
    private static let flatKeys = [
        "scopes", "authority", "clientId", "redirectUri", "graphAPI", "api-version", "secret", "tenant",
        "resourceString",
    ]
    private static let nestedKeys = ["defaultType", "deviceMode", "types"]

    mutating func settings() throws(SettingsError) -> Settings {
        if object["types"] != nil { return try nested() }
        let known = Self.flatKeys
        if let unknown = object.members.first(where: { !known.contains($0.name) })?.name {
            let isNested = Self.nestedKeys.contains(unknown)
            throw SettingsError(
                file: file, key: unknown, expected: "one of \(known.joined(separator: ", ")), or a dictionary types",
                found: "an unknown key",
                hint: isNested
                    ? "add the dictionary types beside it"
                    : SpellingSuggestion.nearest(to: unknown, in: known + Self.nestedKeys).map {
                        "did you mean \($0)?" as Hint
                    }
            )
        }
        return try Settings(types: [flat()], source: file)
    }

    private func flat() throws(SettingsError) -> AccountType {
        var members = object.members
        if object["authority"] == nil, object["tenant"] != nil {
            // The older QuickStart names the tenant and leaves the authority to the program.
            let tenant = try AccountTypeDecoder(file: file, path: "", object: object).text("tenant")
            members.append(.init(name: "authority", value: .string("https://login.microsoftonline.com/" + tenant)))
        }
        if object["graphAPI"] == nil, let resource = object["resourceString"] {
            members.append(.init(name: "graphAPI", value: resource))
        }
        if let secret = object["secret"], secret != "" { members.append(.init(name: "clientSecret", value: secret)) }
        members.removeAll { ["tenant", "resourceString", "secret"].contains($0.name) }
        for name in ["authority", "scopes"] where !members.contains(where: { $0.name == name }) {
            throw SettingsError(file: file, key: name, expected: "a string", found: "nothing")
        }
        var reader = AccountTypeDecoder(file: file, path: "", object: JSONObject(members))
        if object["secret"] != nil { reader.writtenKeys["clientSecret"] = "secret" }
        if object["authority"] == nil { reader.writtenKeys["authority"] = "tenant" }
        if object["graphAPI"] == nil { reader.writtenKeys["graphAPI"] = "resourceString" }
        return try reader.type(named: Settings.flatTypeName)
    }

    private func nested() throws(SettingsError) -> Settings {
        if let unknown = object.members.first(where: { !Self.nestedKeys.contains($0.name) })?.name {
            throw SettingsError(
                file: file, key: unknown, expected: "one of \(Self.nestedKeys.joined(separator: ", "))",
                found: "an unknown key",
                hint: SpellingSuggestion.nearest(to: unknown, in: Self.nestedKeys).map { "did you mean \($0)?" })
        }
        let value = object["types"] ?? .null
        guard let dictionary = value.object else {
            throw SettingsError(file: file, key: "types", expected: "a dictionary of account types", found: value.kind)
        }
        var deviceMode = DeviceMode.private
        if let value = object["deviceMode"] {
            guard let mode = value.string.flatMap(DeviceMode.init) else {
                throw SettingsError(
                    file: file, key: "deviceMode", expected: "\"private\" or \"shared\"",
                    found: AccountTypeDecoder.shown(value))
            }
            deviceMode = mode
        }
        var types: [AccountType] = []
        for member in dictionary.members {
            guard let type = member.value.object else {
                throw SettingsError(
                    file: file, key: "types.\(member.name)", expected: "a dictionary", found: member.value.kind)
            }
            let path = "types.\(member.name)."
            let whole = try ProviderPreset.expand(type, file: file, path: path)
            types.append(try AccountTypeDecoder(file: file, path: path, object: whole).type(named: member.name))
        }
        var defaultType: String?
        if let value = object["defaultType"] {
            guard let name = value.string else {
                throw SettingsError(file: file, key: "defaultType", expected: "a string", found: value.kind)
            }
            defaultType = name
        }
        return try Settings(types: types, defaultType: defaultType, source: file, deviceMode: deviceMode)
    }
}

/// From the dictionary of one account type to its value.
struct AccountTypeDecoder {
    let file: String
    let path: String
    let object: JSONObject
    /// The keys as they stand in the file, where they differ: faults name those.
    var writtenKeys: [String: String] = [:]

    init(file: String, path: String, object: JSONObject) {
        self.file = file
        self.path = path
        self.object = object
    }

    /// The settings' names of the endpoints and the metadata's.
    static let endpointKeys: [(key: String, name: String)] = [
        ("authorizationEndpoint", "authorization_endpoint"), ("tokenEndpoint", "token_endpoint"),
        ("deviceAuthorizationEndpoint", "device_authorization_endpoint"),
        ("revocationEndpoint", "revocation_endpoint"), ("endSessionEndpoint", "end_session_endpoint"),
        ("userinfoEndpoint", "userinfo_endpoint"), ("introspectionEndpoint", "introspection_endpoint"),
        ("registrationEndpoint", "registration_endpoint"),
        ("pushedAuthorizationRequestEndpoint", "pushed_authorization_request_endpoint"), ("jwksURI", "jwks_uri"),
    ]

    static let keys =
        [
            "authority", "issuer", "clientId", "clientSecret", "clientAuthentication", "redirectUri", "scopes",
            "tokenType",
            "tokenRequestMethod", "authorizationParameters", "tokenParameters", "refreshParameters", "tokenHeaders",
            "graphAPI", "api-version", "directory", "directoryBase", "resourceHosts", "knownAuthorities", "caFile",
            "policies", "pinnedKeys",
        ] + protocolKeys + endpointKeys.map(\.key) + presetKeys

    static func shown(_ value: JSONValue) -> String {
        switch value {
        case .string(let text): String(text.prefix(200)).debugDescription
        case .number, .bool: value.text()
        default: value.kind
        }
    }

    /// An address as it may be shown: a password in it is not.
    private static func shown(address: String) -> String {
        guard let at = address.lastIndex(of: "@"), let slashes = address.firstRange(of: "//"), slashes.upperBound < at
        else { return shown(.string(address)) }
        return shown(.string("\(address[..<slashes.upperBound])…\(address[at...])"))
    }

    func fault(_ key: String, _ expected: String, _ found: String, hint: Hint? = nil) -> SettingsError {
        SettingsError(file: file, key: path + (writtenKeys[key] ?? key), expected: expected, found: found, hint: hint)
    }

    func type(named name: String) throws(SettingsError) -> AccountType {
        for member in object.members where !Self.keys.contains(member.name) {
            let hint = SpellingSuggestion.nearest(to: member.name, in: Self.keys).map { "did you mean \($0)?" as Hint }
            throw fault(member.name, "a key of an account type", "an unknown key", hint: hint)
        }
        guard name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), !name.isEmpty else {
            throw SettingsError(
                file: file, key: "types", expected: "names without spaces", found: name.debugDescription)
        }
        let provider = try provider()
        let redirect: RedirectURI
        let redirectText = try text("redirectUri")
        do throws(OAuth2Error) {
            redirect = try RedirectURI(redirectText)
        } catch {
            throw fault("redirectUri", "an address such as http://127.0.0.1/callback", error.description)
        }
        var type = AccountType(
            name: name, provider: provider, clientID: try text("clientId"), redirectURI: redirect, scope: try scope())
        type.endpoints = try endpoints()
        if provider == .endpoints, type.endpoints["token_endpoint"] == nil {
            throw fault("issuer", "an issuer, an authority or a tokenEndpoint", "none of the three")
        }
        try readClient(into: &type)
        try readRequests(into: &type)
        try readProtocol(into: &type)
        try readResource(into: &type)
        try readPresetKeys(into: &type)
        return type
    }

    private func provider() throws(SettingsError) -> AccountType.Provider {
        switch (object["issuer"], object["authority"]) {
        case (nil, nil): return .endpoints
        case (.some, .some): throw fault("issuer", "either an issuer or an authority", "both")
        case (.some, nil): return .issuer(try address("issuer").text)
        case (nil, .some): return .authority(try address("authority").text)
        }
    }

    private func readClient(into type: inout AccountType) throws(SettingsError) {
        type.clientSecret = try secret()
        type.clientKey = try key()
        type.clientCertificate = try certificate()
        if let value = object["clientAuthentication"] {
            let known = AccountType.AuthenticationMethod.allCases.map(\.rawValue)
            guard let method = value.string.flatMap(AccountType.AuthenticationMethod.init) else {
                throw fault("clientAuthentication", "one of \(known.joined(separator: ", "))", Self.shown(value))
            }
            if method.needsSecret, type.clientSecret == nil {
                throw fault("clientSecret", "a secret, which \(method.rawValue) needs", "nothing")
            }
            if method.needsCertificate, type.clientCertificate == nil {
                throw fault("clientCertificate", "a certificate, which \(method.rawValue) needs", "nothing")
            }
            if method == .privateKeyJWT, type.clientKey == nil {
                throw fault("clientKey", "a private key, which \(method.rawValue) needs", "nothing")
            }
            type.clientAuthentication = method
        }
    }

    private func readRequests(into type: inout AccountType) throws(SettingsError) {
        if let value = object["tokenType"], value.string?.lowercased() != "bearer" {
            throw fault("tokenType", "\"Bearer\", the only type of this version", Self.shown(value))
        }
        if let value = object["tokenRequestMethod"] {
            guard let method = value.string.flatMap(TokenRequest.Method.init) else {
                throw fault("tokenRequestMethod", "\"POST\" or \"GET\"", Self.shown(value))
            }
            type.tokenRequestMethod = method
        }
        type.authorizationParameters = try parameters("authorizationParameters")
        type.tokenParameters = try parameters("tokenParameters")
        type.refreshParameters = try parameters("refreshParameters")
        type.tokenHeaders = try dictionary("tokenHeaders")
        for (name, value) in type.tokenHeaders
        where name.isEmpty || !(name + value).utf8.allSatisfy({ (0x20...0x7E).contains($0) }) || name.contains(" ") {
            throw fault("tokenHeaders", "field names and values of printable ASCII", name.debugDescription)
        }
    }

    private func readResource(into type: inout AccountType) throws(SettingsError) {
        if object["graphAPI"] != nil { type.graphAPI = try address("graphAPI").url }
        if object["api-version"] != nil { type.graphVersion = try text("api-version") }
        if let value = object["directory"] {
            guard let directory = value.string.flatMap(AccountType.Directory.init) else {
                throw fault("directory", "\"graph\", \"scim\" or \"google\"", Self.shown(value))
            }
            type.directory = directory
        }
        if object["directoryBase"] != nil { type.graphAPI = try address("directoryBase").url }
        switch type.directory {
        case .graph: break
        case .scim where object["directoryBase"] == nil:
            throw fault(
                "directoryBase", "the address below which Users is", "nothing",
                hint: "add \"directoryBase\": \"https://id.example/scim/v2\"")
        case .google where object["directoryBase"] == nil:
            type.graphAPI = URL(string: "https://admin.googleapis.com/admin/directory/v1")
        case .scim, .google: break
        }
        type.resourceHosts = try strings("resourceHosts")
        type.knownAuthorities = try knownAuthorities()
        type.policies = try policies(of: type)
        if object["caFile"] != nil { type.caFile = try text("caFile") }
        for text in try strings("pinnedKeys") {
            guard let pin = PublicKeyPin(text) else {
                throw fault(
                    "pinnedKeys", "SHA-256 digests of public keys, such as \"sha256/\" and 44 characters of base64",
                    Self.shown(.string(text)))
            }
            type.pinnedKeys.insert(pin)
        }
    }

    func text(_ key: String) throws(SettingsError) -> String {
        guard let value = object[key] else { throw fault(key, "a string", "nothing") }
        guard let text = value.string else { throw fault(key, "a string", Self.shown(value)) }
        guard !text.isEmpty else { throw fault(key, "a string", "an empty string") }
        return text
    }

    func address(_ key: String) throws(SettingsError) -> (text: String, url: URL) {
        let text = try text(key)
        do throws(OAuth2Error) {
            return (text, try EndpointURL.check(text, name: key, allowsLoopbackHTTP: true))
        } catch {
            throw fault(key, "an https address (plain http only on this machine)", Self.shown(address: text))
        }
    }

    private func endpoints() throws(SettingsError) -> [String: URL] {
        var endpoints: [String: URL] = [:]
        for (key, name) in Self.endpointKeys where object[key] != nil { endpoints[name] = try address(key).url }
        return endpoints
    }

    private func scope() throws(SettingsError) -> Scope {
        let scope: Scope
        switch object["scopes"] {
        case nil: scope = []
        case .string(let text): scope = Scope(parsing: text)
        case .array: scope = Scope(try strings("scopes").flatMap { $0.split(separator: " ").map(String.init) })
        case let value?: throw fault("scopes", "a list of strings, or a string with spaces between", Self.shown(value))
        }
        if let token = scope.firstInvalidToken {
            throw fault("scopes", "scopes of printable ASCII without quotes and backslashes", token.debugDescription)
        }
        return scope
    }

    private func secret() throws(SettingsError) -> AccountType.SecretSource? {
        let expected = "a string, {\"environment\": NAME} or {\"file\": PATH}"
        switch object["clientSecret"] {
        case nil, .string(""): return nil
        case .string(let text): return .inline(Secret(text))
        case .object(let source):
            guard source.members.count == 1, let name = source.members[0].value.string, !name.isEmpty else {
                throw fault("clientSecret", expected, "another dictionary")
            }
            switch source.members[0].name {
            case "environment": return .environment(name)
            case "file": return .file(name)
            default: throw fault("clientSecret", expected, "a dictionary with another key")
            }
        case let value?: throw fault("clientSecret", expected, value.kind)
        }
    }

    func strings(_ key: String) throws(SettingsError) -> [String] {
        guard let value = object[key] else { return [] }
        guard let elements = value.array, case let texts = elements.compactMap(\.string), texts.count == elements.count
        else { throw fault(key, "a list of strings", Self.shown(value)) }
        return texts
    }

    func dictionary(_ key: String) throws(SettingsError) -> [String: String] {
        guard let value = object[key] else { return [:] }
        guard let members = value.object?.members else {
            // Not shown: parameters and fields may be secrets.
            throw fault(key, "a dictionary of strings", value.kind)
        }
        var result: [String: String] = [:]
        for member in members {
            guard let text = member.value.string else {
                throw fault("\(key).\(member.name)", "a string", member.value.kind)
            }
            result[member.name] = text
        }
        return result
    }

    private func parameters(_ key: String) throws(SettingsError) -> [String: String] {
        let parameters = try dictionary(key)
        for name in parameters.keys where AuthorizationRequest.protocolParameters.contains(name) {
            throw fault("\(key).\(name)", "a parameter that the protocol does not set itself", "a protocol parameter")
        }
        return parameters
    }
}
