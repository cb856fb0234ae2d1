import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import StrictJSON

/// The decoder of a settings file.
struct SettingsDecoder: DictionaryDecoder {
    let file: String
    let object: JSONObject
    var environment: [String: String] = [:]
    let path = ""
    let writtenKeys: [String: String] = [:]

    private static let flatKeys = SettingsKey.names(in: .type) + SettingsKey.names(in: .flat)
    private static let nestedKeys = SettingsKey.names(in: .file)

    func settings() throws(SettingsError) -> Settings {
        if object["types"] != nil { return try nested() }
        let known = Self.flatKeys
        let unknown = object.members.first { !known.contains(SettingsKey.name(ofSpelling: $0.name)) }?.name
        // A preset has additional keys.
        if let unknown, !object.members.contains(where: { SettingsKey.name(ofSpelling: $0.name) == "provider" }) {
            throw error(
                unknown, "a key of an account type, or a dictionary types", "an unknown key",
                hint: Self.nestedKeys.contains(unknown)
                    ? "add the dictionary types" : unknownKeyHint(unknown, known + Self.nestedKeys))
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
            let client = object?.members.first { SettingsKey.name(ofSpelling: $0.name) == "clientId" }?.value.string
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
        let urls = texts.filter { SettingsKey.name(ofSpelling: $0.0) != "redirectUri" }.compactMap { URL(string: $0.1) }
        return urls.compactMap(TokenHost.init).map(\.description)
            + (object["resourceHosts"]?.array ?? []).compactMap(\.string)
    }

    private func flat() throws(SettingsError) -> AccountType {
        var type = try AccountTypeDecoder(file: file, path: "", reading: object, environment: environment)
        // A preset has its own key of this name.
        if type.object["provider"] == nil, type.object["tenant"] != nil {
            // The older QuickStart has the tenant but no authority.
            let authority = "https://login.microsoftonline.com/" + (try type.text("tenant"))
            type.replace("tenant", by: "authority", .string(authority))
        }
        if let resource = type.object["resourceString"] { type.replace("resourceString", by: "graphAPI", resource) }
        type = try ProviderPreset.expand(type)
        guard type.hasProvider else { throw error("authority", "a string", "nothing") }
        return try type.type(named: Settings.flatTypeName)
    }

    /// Reads the types; there can be no types.
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
                let own = try AccountTypeDecoder(
                    file: file, path: "types.\(member.name).", reading: type, environment: environment)
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
        // The first type of the file is the default even if it is unusable: a sign-in must not go to another provider.
        var settings = try Settings(
            types: types.usable, unusableTypes: types.unusable,
            defaultType: value("defaultType", "a string", \.string) ?? types.names.first, source: file,
            deviceMode: deviceMode ?? .private)
        settings.agent = try agentSettings(types: types.names)
        return settings
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
        else { throw error(key, "an https URL with a path, without . and ..", JSONValue.string(text).shown) }
        return text
    }
}

/// The decoder of the dictionary of an account type.
struct AccountTypeDecoder: DictionaryDecoder {
    let file: String
    let path: String
    private(set) var object: JSONObject
    /// The environment variables, which supply keys of some presets.
    let environment: [String: String]
    private(set) var writtenKeys: [String: String] = [:]

    /// Creates the decoder of a dictionary in which each key has one of its spellings.
    ///
    /// - Throws: ``SettingsError`` that names both spellings if a key occurs twice.
    init(
        file: String, path: String, reading object: JSONObject, environment: [String: String] = [:]
    ) throws(SettingsError) {
        self.file = file
        self.path = path
        self.environment = environment
        var members: [JSONObject.Member] = []
        var spellings: [String: String] = [:]
        for member in object.members {
            let name = SettingsKey.name(ofSpelling: member.name)
            if let other = spellings.updateValue(member.name, forKey: name) {
                throw SettingsError(
                    file: file, key: path + member.name, expected: "one spelling of the key \(name)",
                    found: "both \(other) and \(member.name)", hint: "remove one of the two")
            }
            members.append(.init(name: name, value: member.value))
        }
        self.object = JSONObject(members)
        writtenKeys = spellings.filter { $0.key != $0.value }
    }

    /// Returns the decoder with other keys, which a preset completed.
    func completed(_ object: JSONObject) -> AccountTypeDecoder {
        var decoder = self
        decoder.object = object
        return decoder
    }

    /// Replaces an older key, unless the dictionary has the new one too. Errors name the key that the dictionary has.
    mutating func replace(_ older: String, by name: String, _ value: JSONValue) {
        if object[name] == nil {
            object[name] = value
            writtenKeys[name] = older
        }
        object[older] = nil
    }

    static let keys = SettingsKey.names(in: .type)

    func type(named name: String) throws(SettingsError) -> AccountType {
        if let unknown = unknownKey(Self.keys) {
            throw error(
                unknown, "a key of an account type", "an unknown key", hint: unknownKeyHint(unknown, Self.keys))
        }
        guard name.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }), !name.isEmpty else {
            throw SettingsError(
                file: file, key: "types", expected: "names without spaces", found: name.debugDescription)
        }
        let provider = try provider()
        let hasProvider = provider != .staticToken
        let grant = try grant()
        let redirect: RedirectURI
        let redirectText =
            hasProvider && !grant.isOfApplication
            ? try text("redirectUri") : try optionalText("redirectUri") ?? "http://127.0.0.1/callback"
        do throws(OAuth2Error) {
            redirect = try RedirectURI(redirectText)
        } catch {
            throw self.error("redirectUri", "a URI such as http://127.0.0.1/callback", error.description)
        }
        var type = AccountType(
            name: name, provider: provider,
            clientID: hasProvider && !grant.usesTokenSource ? try clientID() : "", redirectURI: redirect, scope: [])
        type.grant = grant
        type.scopeSeparator = try choice("scopeSeparator", "\" \" or \",\"") ?? .space
        type.scope = try scope(separator: type.scopeSeparator)
        for endpoint in AccountType.Endpoints.all {
            type.endpoints[keyPath: endpoint.path] = try address(endpoint.key)?.url
        }
        type.expectedIssuer = try address("expectedIssuer")?.text
        if type.expectedIssuer != nil, provider != .endpoints {
            throw error(
                "expectedIssuer", "only endpoints",
                "an issuer or an authority, which already names the issuer")
        }
        if provider == .endpoints, type.endpoints.token == nil, !grant.usesTokenSource {
            throw error("issuer", "an issuer, an authority or a tokenEndpoint", "none of the three")
        }
        try readClient(into: &type)
        try readRequests(into: &type)
        try readProtocol(into: &type)
        try readResource(into: &type)
        try readGrant(into: &type)
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

    /// The keys of a type without a provider: the service, and how to connect to it. One of the first three is
    /// required.
    private static let serviceKeys = [
        "directoryBase", "graphAPI", "resourceHosts", "directory", "api-version", "tokenType", "clientCertificate",
        "caFile", "pinnedKeys", "requestsPerOrigin", "agentConfirm",
    ]

    /// Whether the dictionary has a provider, or a service that needs no provider.
    var hasProvider: Bool {
        ["authority", "issuer", "tokenEndpoint"].contains { object[$0] != nil } || isStaticToken
            || Self.grant(object).usesTokenSource
    }

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
        if method == .privateKeyJWT, type.clientKey == nil, object["clientAssertion"] == nil {
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
            try checkParameters(type[keyPath: member], key)
        }
        try readSharedParameters(into: &type)
        type.tokenHeaders = try dictionary("tokenHeaders")
        for (name, value) in type.tokenHeaders
        where name.isEmpty || !(name + value).utf8.allSatisfy({ (0x20...0x7E).contains($0) }) || name.contains(" ") {
            throw error("tokenHeaders", "header fields of printable ASCII", name.debugDescription)
        }
    }

    /// Reads the parameters that NXOAuth2Client sends with both requests.
    private func readSharedParameters(into type: inout AccountType) throws(SettingsError) {
        let key = "additionalAuthenticationParameters"
        guard object[key] != nil else { return }
        for own in ["authorizationParameters", "tokenParameters"] where object[own] != nil {
            throw error(key, "either \(key) or \(own)", "both")
        }
        let parameters = try dictionary(key)
        try checkParameters(parameters, key)
        (type.authorizationParameters, type.tokenParameters) = (parameters, parameters)
    }

    private func checkParameters(_ parameters: [String: String], _ key: String) throws(SettingsError) {
        for name in parameters.keys.sorted() where AuthorizationRequest.protocolParameters.contains(name) {
            throw error("\(key).\(name)", "a parameter that the protocol does not set itself", "a protocol parameter")
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
                "directoryBase", "the URL that is the parent of /Users", "nothing",
                hint: "add \"directoryBase\": \"https://id.example/scim/v2\"")
        case .google where base == nil:
            type.graphAPI = URL(string: "https://admin.googleapis.com/admin/directory/v1")
        case .graph, .scim, .google: break
        }
        type.resourceHosts = try strings("resourceHosts")
        for entry in type.resourceHosts where !TokenHost.isEntry(entry) {
            throw error(
                "resourceHosts", "hosts such as api.example or api.example:8443, without scheme, path and *",
                entry.debugDescription)
        }
        type.knownAuthorities = try knownAuthorities()
        type.policies = try policies(of: type)
        type.agentConfirm = try flag("agentConfirm") ?? false
        type.requestsPerOrigin = try value("requestsPerOrigin", "an integer from 1 to 1000") { value in
            value.number?.int64.flatMap { (1...1000).contains($0) ? Int($0) : nil }
        }
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

    /// Returns the client identifier, which is printable ASCII (RFC 6749 appendix A.1). A line break or a space around
    /// it was copied with it.
    private func clientID() throws(SettingsError) -> String {
        let text = try text("clientId")
        guard text.utf8.allSatisfy({ (0x20...0x7E).contains($0) }), text.first != " ", text.last != " " else {
            throw error("clientId", "printable ASCII without spaces around it", text.debugDescription)
        }
        return text
    }

    private func scope(separator: AccountType.ScopeSeparator) throws(SettingsError) -> Scope {
        let texts: [String]
        switch object["scopes"] {
        case nil: texts = []
        case .string(let text): texts = [text]
        case .array: texts = try strings("scopes")
        case let value?: throw error("scopes", "a list of strings, or a string with spaces as separators", value.shown)
        }
        let scope = Scope(
            texts.flatMap { $0.split { $0 == " " || String($0) == separator.rawValue }.map(String.init) })
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
}
