import CommandLineKit
import Diagnostics
import LodgePlatform
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

@MainActor struct ProviderAddition: CommandHandler {
    enum Input {
        static let name = Argument.required(
            "NAME", "name of the new type, or of a preset to use", completion: .preset)
        static let provider = Option.text("provider", "PRESET", "preset that has the other values", completion: .preset)
        static let set = Option.texts("set", "KEY=VALUE", "value of the preset: tenant=contoso.com")
        static let issuer = Option.text("issuer", "URL", "the provider's issuer")
        static let directory = Option.text(
            "directory", "KIND", "protocol of the directory: graph, scim or google",
            completion: .words(AccountType.Directory.allCases.map(\.rawValue)))
        static let directoryBase = Option.text("directory-base", "URL", "URL of the directory")
        static let clientID = Option.text("client-id", "ID", "client identifier")
        static let clientSecretFile = Option.text(
            "client-secret-file", "FILE", "file with the client secret", completion: .file)
        static let clientSecretEnv = Option.text(
            "client-secret-env", "NAME", "environment variable with the client secret")
        static let federated = Option.text(
            "federated", "SOURCE[=VALUE]",
            "JWTs of github[=AUDIENCE], gitlab[=VARIABLE], kubernetes[=FILE], azure-pipelines=CONNECTION, file=FILE "
                + "or environment=VARIABLE",
            completion: .words(FederatedSource.allCases.map(\.rawValue)))
        static let scope = Option.texts("scope", "SCOPE", "scope to request")
        static let redirectURI = Option.text("redirect-uri", "URI", "redirect URI that the client has registered")
        static let managedIdentity = Option.flag(
            "managed-identity", "sign in with the identity of this machine")
        static let register = Option.flag("register", "register a client at the provider")
        static let registrationTokenFile = Option.text(
            "registration-token-file", "FILE", "file with the provider's initial access token", completion: .file)
        static let registerWith = Option.text("register-with", "JSON", "additional members of the registration")
        static let offline = Option.flag("offline", "add the type without a request to the issuer")
    }

    nonisolated static let command = Command(
        "add", "Add an account type to the settings file.",
        discussion: """
            lodge keeps the comments and the layout of the file. It reads the metadata of --issuer first, and adds no type if it cannot \
            use them. --register registers a client (RFC 7591); lodge saves its registration token encrypted in the store. Only \
            you can read a file with a client secret. With only --directory-base, the type has no provider: sign-in reads the token \
            from standard input. For a client without a secret: lodge providers show entra-workload.
            """,
        examples: [
            "lodge providers add entra --client-id ID",
            "lodge providers add github --client-id ID --client-secret-file FILE",
            "lodge providers add company --issuer https://id.example --client-id ID",
            "lodge providers add hr --directory scim --directory-base URL",
            "lodge providers add entra-workload --managed-identity",
        ], arguments: [Input.name],
        options: [
            Input.provider, Input.set, Input.issuer, Input.directory, Input.directoryBase, Input.clientID,
            Input.clientSecretFile, Input.clientSecretEnv, CertificateOptions.Input.certificate,
            CertificateOptions.Input.key, CertificateOptions.Input.password, CertificateOptions.Input.chain,
            Input.federated,
            Input.scope, Input.redirectURI, Input.managedIdentity, Input.register,
            Input.registrationTokenFile, Input.registerWith,
            Input.offline,
        ], formats: OutputFormat.ofSentences, json: ProviderRecord.shape
    ) { try await ProviderAddition(context: $0).run() }

    let context: CommandContext
    private var name: String { invocation[Input.name] }

    func run() async throws -> ExitStatus {
        let path = try TypeAddition.settingsPath(context)
        let addition = TypeAddition(context: context, name: name, path: path)
        let old = try SettingsEdit.read(path)
        let keys = try keys()
        // Find other errors before registering a client or creating a folder.
        var trial = keys
        if invocation[Input.register] { trial["clientId"] = "unknown" }
        let type = try type(addition, trial, old)
        let certificate = try await CertificateOptions(context: context).note(type)
        let server = try await server(of: type)
        if invocation[Input.register] {
            var metadata = ProviderPreset(named: type.preset ?? "")?.registration ?? JSONObject()
            for member in try furtherMembers().members { metadata[member.name] = member.value }
            try await addition.register(
                type, keys, metadata, required: try invocation.scope(Input.scope) ?? [],
                initialAccessToken: try initialAccessToken(), at: server)
        } else {
            try await addition.save(keys)
        }
        if let certificate { console.note(certificate) }
        console.note(
            "Added \(name) to \(path). To sign in: " + context.text("\(run: "sign-in") \(name)"))
        if console.options.reportsJSON {
            let type = try SettingsEdit.read(path).flatMap { try Settings(bytes: $0, source: path)[name] }
            if let type { try show(ProviderRecord(type: type, isDefault: false)) }
        }
        return .done
    }

    // MARK: Command-line values

    /// Returns the new type. Its errors name the option, because the file does not contain the type yet.
    private func type(_ addition: TypeAddition, _ keys: JSONObject, _ old: [UInt8]?) throws -> AccountType {
        do {
            return try addition.edited(keys, old).type
        } catch let error as SettingsError {
            throw explained(error, preset: keys["provider"]?.string.flatMap { ProviderPreset(named: $0) }) ?? error
        }
    }

    /// The options that set the keys.
    private static let options: [String: any DeclaredOption] = [
        "issuer": Input.issuer, "clientId": Input.clientID, "clientSecret": Input.clientSecretFile,
        "redirectUri": Input.redirectURI, "scopes": Input.scope, "directory": Input.directory,
        "directoryBase": Input.directoryBase, "clientAssertion": Input.federated,
    ]

    /// Returns the error with its option, or `nil` if it is not about the new type.
    private func explained(_ error: SettingsError, preset: ProviderPreset?) -> CommandError? {
        let path = "types.\(name)."
        guard let key = error.key else { return nil }
        guard key.hasPrefix(path) else {
            guard key == "types", error.found == name.debugDescription else { return nil }
            return usage("wrong name", "expected a name without spaces, found \(error.found)", nil)
        }
        let member = String(key.dropFirst(path.count))
        let option = Self.options[member].map { "--\($0.spec.name)" } ?? "--set \(member)"
        let expected = "expected \(error.expected), found \(error.found)"
        if error.found == "nothing" {
            guard let preset, preset.requiredKeys.contains(member) else {
                return usage("\(option) is missing", "expected \(error.expected)", error.hint)
            }
            let meaning =
                preset.placeholders.first { $0.name == member }?.meaning
                ?? ["clientId": "a client identifier", "clientSecret": "a client secret", "issuer": "an issuer"][member]
            return usage(
                "\(option) is missing", "\(preset.title) requires \(meaning ?? member)",
                CommandError.addCommand(preset, as: name))
        }
        if error.found == "an unknown key" {
            return usage(
                "unknown key \(member)", "\(error.expected) is required", error.hint ?? "lodge help settings")
        }
        if member == "issuer", let text = invocation[Input.issuer], !text.contains("://"), text.contains(".") {
            return usage("wrong value of --issuer", expected, "write --issuer \("https://\(text)".shellWord)")
        }
        return usage("wrong value of \(option)", expected, error.hint)
    }

    /// Returns the metadata of `--issuer`, or `nil` with `--offline` or without `--issuer`.
    ///
    /// - Throws: ``CommandError`` with the reason why the issuer cannot be used, and a valid issuer if the provider
    ///   names one.
    private func server(of type: AccountType) async throws -> AuthorizationServer? {
        guard let issuer = invocation[Input.issuer], !invocation[Input.offline], case .issuer = type.provider else {
            return nil
        }
        let dependencies = context.dependencies()
        do {
            return try await ProviderReport.server(of: type, dependencies: dependencies)
        } catch let failure as AccountStoreError {
            var error = CommandError(reporting: failure)
            error.message = "cannot use the issuer \(issuer)"
            if let other = try await ProviderReport.workingIssuer(for: type, dependencies: dependencies) {
                error.hint = "this issuer works: --issuer \(other.shellWord)"
            } else {
                error.hint = ProvidersCommand.issuerHint(failure)
                if error.status == .network, !invocation[Input.register] {
                    error.hint = (error.hint ?? "") + "; to add the type without a request, use --offline"
                }
            }
            throw error
        }
    }

    // MARK: Type

    /// Adds the URL of the directory. Microsoft's documentation and `serve` name Graph's URL with its version, which is another key.
    private func addDirectory(_ base: String, to keys: inout JSONObject) {
        guard keys["directory"]?.string ?? "graph" == "graph",
            let match = base.firstMatch(of: /\/(v1\.0|beta)\/?$/)
        else { return keys["directoryBase"] = .string(base) }
        keys["directoryBase"] = .string(String(base[..<match.range.lowerBound]) + "/")
        keys["api-version"] = .string(String(match.1))
    }

    private func keys() throws -> JSONObject {
        let issuer = invocation[Input.issuer]
        let preset = try preset(issuer: issuer)
        var keys = JSONObject()
        if let preset { keys.append("provider", .string(preset.name)) }
        for member in try ProvidersCommand.typeKeys(invocation[Input.set], command: "providers add").members {
            keys[member.name] = member.value
        }
        if let issuer { keys["issuer"] = .string(issuer) }
        if let directory = invocation[Input.directory] { keys["directory"] = .string(directory) }
        if let base = invocation[Input.directoryBase] { addDirectory(base, to: &keys) }
        if invocation[Input.managedIdentity] {
            try addManagedIdentity(to: &keys)
            return keys
        }
        if preset == nil, issuer == nil {
            guard keys["directoryBase"] != nil else {
                throw usage(
                    "the provider is missing", "neither --issuer nor --provider was given",
                    "use --issuer, or --provider with a preset; to list the presets, run: \(run: "providers")")
            }
            try checkNoClient()
            return keys
        }
        if let id = invocation[Input.clientID] { keys["clientId"] = .string(id) }
        if let secret = try secret() { keys["clientSecret"] = secret }
        if let assertion = try clientAssertion() { keys["clientAssertion"] = assertion }
        if let assertion = try CertificateOptions(context: context).clientAssertion() {
            guard keys["clientAssertion"] == nil else {
                throw usage(
                    "--certificate cannot be combined with --federated", "the client has one kind of assertion", nil)
            }
            keys["clientAssertion"] = assertion
        }
        if let uri = invocation[Input.redirectURI] {
            keys["redirectUri"] = .string(uri)
        } else if preset == nil {
            keys["redirectUri"] = "http://127.0.0.1/callback"
        }
        let scope = invocation[Input.scope].flatMap { $0.split(separator: " ").map { JSONValue.string(String($0)) } }
        if !scope.isEmpty {
            keys["scopes"] = .array(scope)
        } else if preset == nil {
            keys["scopes"] = ["openid", "profile", "offline_access"]
        }
        try checkClient(preset)
        return keys
    }

    /// Adds the identity that the platform manages. It has no secret, and signs in no user.
    private func addManagedIdentity(to keys: inout JSONObject) throws(CommandError) {
        let options: [any DeclaredOption] = [
            Input.issuer, Input.clientSecretFile, Input.clientSecretEnv, Input.redirectURI, Input.register,
            Input.registrationTokenFile, Input.registerWith, Input.federated,
        ]
        if let option = (options + CertificateOptions.all).first(where: { invocation.source(of: $0) == .option }) {
            throw usage(
                "--managed-identity cannot be combined with --\(option.spec.name)",
                "the platform signs in the application", nil)
        }
        keys["grant"] = "managedIdentity"
        if let id = invocation[Input.clientID] { keys["managedIdentity"] = ["clientId": .string(id)] }
        let scope = invocation[Input.scope].flatMap { $0.split(separator: " ").map { JSONValue.string(String($0)) } }
        if !scope.isEmpty { keys["scopes"] = .array(scope) }
    }

    private func preset(issuer: String?) throws(CommandError) -> ProviderPreset? {
        guard let presetName = invocation[Input.provider] else {
            return issuer == nil || ProviderPreset(named: name)?.needs.contains("issuer") == true
                ? ProviderPreset(named: name) : nil
        }
        guard let preset = ProviderPreset(named: presetName) else {
            throw CommandError(
                .usage, "wrong value of --provider", reason: "there is no preset \(presetName)",
                hint: SpellingSuggestion.nearest(to: presetName, in: ProviderPreset.names).map { "did you mean \($0)?" }
                    ?? "\(run: "providers")")
        }
        return preset
    }

    /// Throws if client options are given without a provider.
    private func checkNoClient() throws(CommandError) {
        let options: [any DeclaredOption] =
            [
                Input.clientID, Input.clientSecretFile, Input.clientSecretEnv, Input.federated, Input.scope,
                Input.redirectURI,
                Input.register, Input.registrationTokenFile, Input.registerWith,
            ] + CertificateOptions.all
        guard let option = options.first(where: { invocation.source(of: $0) == .option }) else { return }
        throw usage(
            "--\(option.spec.name) requires a provider", "neither --issuer nor --provider was given",
            "specify the issuer with --issuer; for a token that you supply, omit --\(option.spec.name)")
    }

    private func checkClient(_ preset: ProviderPreset?) throws(CommandError) {
        let registers = invocation[Input.register]
        let hasClient = invocation[Input.clientID] != nil
        if registers, hasClient || invocation[Input.clientSecretFile] != nil || invocation[Input.clientSecretEnv] != nil
        {
            throw usage(
                "--register cannot be combined with a client", "the provider assigns the client identifier", nil)
        }
        if registers, invocation[Input.offline] {
            throw usage(
                "--register cannot be combined with --offline", "the provider must register the client", nil)
        }
        // The environment of a workload has its client.
        let needsClient = preset.map { $0.needs.contains("clientId") && !$0.readsEnvironment } ?? true
        if !registers, !hasClient, needsClient {
            throw usage(
                "the client is missing", "--client-id was not given",
                "register an application at the provider and pass its identifier with --client-id, or use --register")
        }
        for option in [Input.registrationTokenFile, Input.registerWith] where !registers && invocation[option] != nil {
            throw usage("--\(option.spec.name) requires --register", "--register was not given", nil)
        }
    }

    /// The sources of `--federated`.
    enum FederatedSource: String, CaseIterable {
        case github, gitlab, kubernetes, file, environment
        case azurePipelines = "azure-pipelines"
    }

    private func clientAssertion() throws(CommandError) -> JSONValue? {
        guard let text = invocation[Input.federated] else { return nil }
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let source = FederatedSource(rawValue: parts[0]) else {
            let names = FederatedSource.allCases.map(\.rawValue)
            throw usage(
                "wrong value of --federated", "there is no source \(parts[0])",
                SpellingSuggestion.nearest(to: parts[0], in: names).map { "did you mean \($0)?" }
                    ?? "use \(names.joined(separator: ", "))")
        }
        let value = parts.count == 2 && !parts[1].isEmpty ? parts[1] : nil
        func required(_ meaning: String) throws(CommandError) -> String {
            guard let value else {
                throw usage(
                    "wrong value of --federated", "\(source.rawValue) requires \(meaning)",
                    "--federated \(source.rawValue)=…")
            }
            return value
        }
        switch source {
        case .github: return ["githubActions": value.map { ["audience": .string($0)] } ?? [:]]
        case .gitlab: return ["environment": .string(value ?? "GITLAB_OIDC_TOKEN")]
        case .kubernetes:
            return ["file": value.map { .string(absolute($0)) } ?? ["environment": "AZURE_FEDERATED_TOKEN_FILE"]]
        case .azurePipelines:
            return [
                "azurePipelines": ["serviceConnection": .string(try required("the identifier of a service connection"))]
            ]
        case .file: return ["file": .string(absolute(try required("a file")))]
        case .environment: return ["environment": .string(try required("the name of a variable"))]
        }
    }

    private func secret() throws(CommandError) -> JSONValue? {
        switch (invocation[Input.clientSecretFile], invocation[Input.clientSecretEnv]) {
        case (nil, nil): return nil
        case (let path?, nil): return ["file": .string(absolute(path))]
        case (nil, let name?): return ["environment": .string(name)]
        default: throw usage("the client secret is given twice", "both a file and a variable are given", nil)
        }
    }

    /// Returns an absolute path, because commands read the settings from any folder.
    private func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    private func usage(_ message: String, _ reason: String, _ hint: Hint?) -> CommandError {
        CommandError(.usage, message, reason: reason, hint: hint ?? "lodge help providers add")
    }

    // MARK: Registration

    private func furtherMembers() throws(CommandError) -> JSONObject {
        guard let text = invocation[Input.registerWith] else { return [:] }
        guard let object = (try? JSONValue(parsing: text, options: .init(rejectsDuplicates: true)))?.object else {
            throw usage("wrong value of --register-with", "expected a JSON object", nil)
        }
        return object
    }

    private func initialAccessToken() throws(CommandError) -> Secret? {
        guard let path = invocation[Input.registrationTokenFile] else { return nil }
        let found: String
        switch OwnerOnlyFile.read(path, maximumSize: 64 * 1024) {
        case .failure(let failure): found = failure.explanation
        case .success(let bytes):
            let text = String(decoding: bytes.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }, as: UTF8.self)
            if !text.isEmpty, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) { return Secret(text) }
            found = text.isEmpty ? "an empty file" : "characters that a token cannot contain"
        }
        throw usage("wrong value of --registration-token-file", "\(path): \(found)", nil)
    }
}
