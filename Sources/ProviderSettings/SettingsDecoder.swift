import Platform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// The decoder of a settings file.
struct SettingsDecoder: DictionaryDecoder {
    let file: String
    let object: JSONObject
    let path = ""
    let writtenKeys: [String: String] = [:]

    /// The keys of the flat form of Microsoft's QuickStart.
    private static let flatKeys = SettingsKey.names(in: .flat)
    private static let nestedKeys = SettingsKey.names(in: .file)

    func settings() throws(SettingsError) -> Settings {
        if object["types"] != nil { return try nested() }
        let known = Self.flatKeys
        if let unknown = unknownKey(known) {
            throw error(
                unknown, "one of \(known.joined(separator: ", ")), or a dictionary types", "an unknown key",
                hint: Self.nestedKeys.contains(unknown)
                    ? "add the dictionary types"
                    : SpellingSuggestion.hint(for: unknown, in: known + Self.nestedKeys))
        }
        let read = Self.reading(Settings.flatTypeName, object) { () throws(SettingsError) in try flat() }
        return try Settings(
            types: [read.type].compactMap { $0 }, unusableTypes: [read.unusable].compactMap { $0 }, defaultType: nil,
            source: file, deviceMode: .private)
    }

    /// Reads a type. An error of one type must not disable the others.
    private static func reading(
        _ name: String, _ object: JSONObject?, by read: () throws(SettingsError) -> AccountType
    ) -> (type: AccountType?, unusable: Settings.UnusableType?) {
        do throws(SettingsError) {
            return (try read(), nil)
        } catch {
            let client = object?["clientId"]?.string
            return (
                nil,
                Settings.UnusableType(
                    name: name, error: error, clientID: client, hosts: hosts(object ?? JSONObject()))
            )
        }
    }

    private static func hosts(_ object: JSONObject) -> [String] {
        var texts = object.members.compactMap { member in member.value.string.map { (member.name, $0) } }
        if let preset = object["provider"]?.string.flatMap({ ProviderPreset(named: $0) }) {
            let values = Dictionary(texts) { first, _ in first }
            texts += preset.type.members.compactMap { member in
                member.value.string.map { (member.name, preset.filled($0, with: values)) }
            }
        }
        let urls = texts.filter { $0.0 != "redirectUri" }.compactMap { URL(string: $0.1) }
        return urls.compactMap(TokenHost.init).map(\.description)
            + (object["resourceHosts"]?.array ?? []).compactMap(\.string)
    }

    private func flat() throws(SettingsError) -> AccountType {
        var members = object.members
        if object["authority"] == nil, object["tenant"] != nil {
            // The older QuickStart names the tenant and leaves the authority to the program.
            let authority = "https://login.microsoftonline.com/" + (try text("tenant"))
            members.append(.init(name: "authority", value: .string(authority)))
        }
        if object["graphAPI"] == nil, let resource = object["resourceString"] {
            members.append(.init(name: "graphAPI", value: resource))
        }
        if let secret = object["secret"], secret != "" { members.append(.init(name: "clientSecret", value: secret)) }
        members.removeAll { ["tenant", "resourceString", "secret"].contains($0.name) }
        for name in ["authority", "scopes"] where !members.contains(where: { $0.name == name }) {
            throw error(name, "a string", "nothing")
        }
        var decoder = AccountTypeDecoder(file: file, path: "", object: JSONObject(members))
        if object["secret"] != nil { decoder.writtenKeys["clientSecret"] = "secret" }
        if object["authority"] == nil { decoder.writtenKeys["authority"] = "tenant" }
        if object["graphAPI"] == nil { decoder.writtenKeys["graphAPI"] = "resourceString" }
        return try decoder.type(named: Settings.flatTypeName)
    }

    /// Reads the types, without the requirement that there is one.
    func types() throws(SettingsError) -> (usable: [AccountType], unusable: [Settings.UnusableType], names: [String]) {
        if let unknown = unknownKey(Self.nestedKeys) {
            throw error(
                unknown, "one of \(Self.nestedKeys.joined(separator: ", "))", "an unknown key",
                hint: SpellingSuggestion.hint(for: unknown, in: Self.nestedKeys))
        }
        guard let dictionary = object["types"]?.object else {
            throw error("types", "a dictionary of account types", (object["types"] ?? .null).kind)
        }
        var types: [AccountType] = []
        var unusable: [Settings.UnusableType] = []
        for member in dictionary.members {
            let read = Self.reading(member.name, member.value.object) { () throws(SettingsError) in
                guard let type = member.value.object else {
                    throw error("types.\(member.name)", "a dictionary", member.value.kind)
                }
                let own = AccountTypeDecoder(file: file, path: "types.\(member.name).", object: type)
                return try ProviderPreset.expand(own).type(named: member.name)
            }
            if let type = read.type { types.append(type) }
            if let type = read.unusable { unusable.append(type) }
        }
        return (types, unusable, dictionary.members.map(\.name))
    }

    private func nested() throws(SettingsError) -> Settings {
        let deviceMode: DeviceMode? = try choice("deviceMode", "\"private\" or \"shared\"")
        _ = try clientMetadataDocument()
        let types = try types()
        // The first type of the file stays the default, usable or not: a sign-in must not go to another provider.
        return try Settings(
            types: types.usable, unusableTypes: types.unusable,
            defaultType: value("defaultType", "a string", \.string) ?? types.names.first, source: file,
            deviceMode: deviceMode ?? .private)
    }
}

extension SettingsDecoder {
    /// Returns the URL of the client's metadata document, which is its client identifier at servers that support this.
    ///
    /// OAuth Client ID Metadata Document section 3: https, with a path, without dot segments, user and fragment.
    func clientMetadataDocument() throws(SettingsError) -> String? {
        let key = "clientMetadataDocument"
        guard let (text, url) = try address(key) else { return nil }
        let path = url.path(percentEncoded: true)
        guard url.scheme?.lowercased() == "https", !path.isEmpty, path != "/",
            !ProtectedResource.hasDotSegments(path)
        else { throw error(key, "an https address with a path, without . and ..", JSONValue.string(text).shown) }
        return text
    }
}

/// The decoder of the dictionary of an account type.
struct AccountTypeDecoder: DictionaryDecoder {
    let file: String
    let path: String
    let object: JSONObject
    var writtenKeys: [String: String] = [:]

    /// The names of the endpoints in the settings and in the metadata.
    static let endpointKeys: [(key: String, name: String)] = [
        ("authorizationEndpoint", "authorization_endpoint"), ("tokenEndpoint", "token_endpoint"),
        ("deviceAuthorizationEndpoint", "device_authorization_endpoint"),
        ("revocationEndpoint", "revocation_endpoint"), ("endSessionEndpoint", "end_session_endpoint"),
        ("userinfoEndpoint", "userinfo_endpoint"), ("introspectionEndpoint", "introspection_endpoint"),
        ("registrationEndpoint", "registration_endpoint"),
        ("pushedAuthorizationRequestEndpoint", "pushed_authorization_request_endpoint"), ("jwksURI", "jwks_uri"),
    ]

    static let keys = SettingsKey.names(in: .type)

    func type(named name: String) throws(SettingsError) -> AccountType {
        if let unknown = unknownKey(Self.keys) {
            throw error(
                unknown, "a key of an account type", "an unknown key",
                hint: SpellingSuggestion.hint(for: unknown, in: Self.keys))
        }
        guard name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), !name.isEmpty else {
            throw SettingsError(
                file: file, key: "types", expected: "names without spaces", found: name.debugDescription)
        }
        let provider = try provider()
        let hasProvider = provider != .staticToken
        let redirect: RedirectURI
        let redirectText = hasProvider ? try text("redirectUri") : "http://127.0.0.1/callback"
        do throws(OAuth2Error) {
            redirect = try RedirectURI(redirectText)
        } catch {
            throw self.error("redirectUri", "an address such as http://127.0.0.1/callback", error.description)
        }
        var type = AccountType(
            name: name, provider: provider, clientID: hasProvider ? try text("clientId") : "", redirectURI: redirect,
            scope: try scope())
        for (key, name) in Self.endpointKeys { type.endpoints[name] = try address(key)?.url }
        type.expectedIssuer = try address("expectedIssuer")?.text
        if type.expectedIssuer != nil, provider != .endpoints {
            throw error(
                "expectedIssuer", "only endpoints",
                "an issuer or an authority, which already names the issuer")
        }
        if provider == .endpoints, type.endpoints["token_endpoint"] == nil {
            throw error("issuer", "an issuer, an authority or a tokenEndpoint", "none of the three")
        }
        try readClient(into: &type)
        try readRequests(into: &type)
        try readProtocol(into: &type)
        try readResource(into: &type)
        try readPresetKeys(into: &type)
        return type
    }

    private func provider() throws(SettingsError) -> AccountType.Provider {
        if object["issuer"] != nil, object["authority"] != nil {
            throw error("issuer", "either an issuer or an authority", "both")
        }
        if let issuer = try address("issuer") { return .issuer(issuer.text) }
        if let authority = try address("authority") { return .authority(authority.text) }
        return isStaticToken ? .staticToken : .endpoints
    }

    /// The keys of a type without a provider: the service, and how to connect to it. One of the first three names the service.
    private static let serviceKeys = [
        "directoryBase", "graphAPI", "resourceHosts", "directory", "api-version", "tokenType", "clientCertificate",
        "caFile", "pinnedKeys",
    ]

    private var isStaticToken: Bool {
        object.members.allSatisfy { Self.serviceKeys.contains($0.name) }
            && Self.serviceKeys.prefix(3).contains { object[$0] != nil }
    }

    private func readClient(into type: inout AccountType) throws(SettingsError) {
        type.clientSecret = try secret()
        type.clientKey = try key()
        type.clientCertificate = try certificate()
        let known = AccountType.AuthenticationMethod.allCases.map(\.rawValue)
        type.clientAuthentication = try choice("clientAuthentication", "one of \(known.joined(separator: ", "))")
        guard let method = type.clientAuthentication else { return }
        if method.needsSecret, type.clientSecret == nil {
            throw missing("clientSecret", "a secret", neededBy: method.rawValue)
        }
        if method.needsCertificate, type.clientCertificate == nil {
            throw missing("clientCertificate", "a certificate", neededBy: method.rawValue)
        }
        if method == .privateKeyJWT, type.clientKey == nil {
            throw missing("clientKey", "a private key", neededBy: method.rawValue)
        }
    }

    private func readRequests(into type: inout AccountType) throws(SettingsError) {
        _ = try value("tokenType", "\"Bearer\", the only type of this version") {
            $0.string?.lowercased() == "bearer" ? true : nil
        }
        type.tokenRequestMethod = try choice("tokenRequestMethod", "\"POST\" or \"GET\"") ?? .post
        for (key, member) in [
            ("authorizationParameters", \AccountType.authorizationParameters),
            ("tokenParameters", \.tokenParameters), ("refreshParameters", \.refreshParameters),
        ] {
            type[keyPath: member] = try dictionary(key)
            for name in type[keyPath: member].keys where AuthorizationRequest.protocolParameters.contains(name) {
                throw error(
                    "\(key).\(name)", "a parameter that the protocol does not set itself", "a protocol parameter")
            }
        }
        type.tokenHeaders = try dictionary("tokenHeaders")
        for (name, value) in type.tokenHeaders
        where name.isEmpty || !(name + value).utf8.allSatisfy({ (0x20...0x7E).contains($0) }) || name.contains(" ") {
            throw error("tokenHeaders", "field names and values of printable ASCII", name.debugDescription)
        }
    }

    private func readResource(into type: inout AccountType) throws(SettingsError) {
        type.graphVersion = try optionalText("api-version") ?? type.graphVersion
        type.directory = try choice("directory", "\"graph\", \"scim\" or \"google\"") ?? .graph
        let graph = try address("graphAPI")?.url
        let base = try address("directoryBase")?.url
        type.graphAPI = base ?? graph
        switch type.directory {
        case .scim where base == nil:
            throw error(
                "directoryBase", "the address below which Users is", "nothing",
                hint: "add \"directoryBase\": \"https://id.example/scim/v2\"")
        case .google where base == nil:
            type.graphAPI = URL(string: "https://admin.googleapis.com/admin/directory/v1")
        case .graph, .scim, .google: break
        }
        type.resourceHosts = try strings("resourceHosts")
        type.knownAuthorities = try knownAuthorities()
        type.policies = try policies(of: type)
        type.caFile = try optionalText("caFile")
        for text in try strings("pinnedKeys") {
            guard let pin = PublicKeyPin(text) else {
                throw error(
                    "pinnedKeys", "SHA-256 digests of public keys, such as \"sha256/\" and 44 characters of base64",
                    JSONValue.string(text).shown)
            }
            type.pinnedKeys.insert(pin)
        }
    }

    private func scope() throws(SettingsError) -> Scope {
        let scope: Scope
        switch object["scopes"] {
        case nil: scope = []
        case .string(let text): scope = Scope(parsing: text)
        case .array: scope = Scope(try strings("scopes").flatMap { $0.split(separator: " ").map(String.init) })
        case let value?: throw error("scopes", "a list of strings, or a string with spaces between", value.shown)
        }
        if let token = scope.firstInvalidToken {
            throw error("scopes", "scopes of printable ASCII without quotes and backslashes", token.debugDescription)
        }
        return scope
    }

    private func secret() throws(SettingsError) -> AccountType.SecretSource? {
        switch object["clientSecret"] {
        case nil, .string(""): return nil
        case .string(let text): return .inline(Secret(text))
        case let value?:
            return try source(value, "clientSecret", "a string, {\"environment\": NAME} or {\"file\": PATH}")
        }
    }

    /// Reads a secret that is not in the settings file itself. Errors never show the value, which may be the secret.
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
}
