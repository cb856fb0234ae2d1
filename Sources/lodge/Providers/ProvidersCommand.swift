import Diagnostics
import CommandLineKit
import LodgePlatform
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

@MainActor struct ProvidersCommand: CommandHandler {
    enum Input {
        static let name = Argument.required("NAME", "account type or preset", completion: .type)
        static let type = Argument.optional("TYPE", "account type or preset", completion: .type)
        static let issuer = Option.text("issuer", "URL", "issuer to check instead of a type")
        static let set = Option.texts("set", "KEY=VALUE", "value that the preset requires, such as tenant=contoso.com")
    }

    nonisolated static let listCommand = Command(
        "list", "List the account types of the settings, and the presets.", examples: ["lodge providers"],
        json: ProviderRecord.shapeWithPresets.list
    ) { try ProvidersCommand(context: $0).list() }

    nonisolated static let showCommand = Command(
        "show", "Show an account type, or how to register a client for a preset.",
        examples: ["lodge providers show github"], arguments: [Input.name],
        json: ProviderRecord.shapeWithPresets
    ) { try ProvidersCommand(context: $0).show() }

    nonisolated static let checkCommand = Command(
        "check", "Check a provider and its client.",
        discussion: """
            check lists what the provider supports. For an account type it also sends an authorization request with prompt=none, which \
            no user sees: the response of most providers shows whether the client ID and the redirect URI are registered. Only a sign-in \
            checks the client secret. The exit status is 1 if something is missing or wrong.
            """,
        examples: ["lodge providers check google", "lodge providers check --issuer https://id.example"],
        arguments: [Input.type], options: [Input.issuer, Input.set],
        json: .array(of: [
            "what": "capability or endpoint", "state": "ok, warning, not offered or problem", "detail": "",
        ])
    ) { try await ProvidersCommand(context: $0).check() }

    nonisolated static let group = Command(
        "providers", "List, check, add and remove account types.",
        discussion: """
            An account type has the provider, the client and the scopes of a sign-in. The settings file has your types. A preset has \
            the values of a known provider, except those in the last column of the list. To use a preset, register a client with the \
            provider, and add a type; lodge providers show PRESET lists the steps.
            """, examples: ["lodge providers", "lodge providers show google", "lodge providers check google"],
        subcommands: [listCommand, showCommand, checkCommand, ProviderAddition.command, ProviderRemoval.command],
        defaultSubcommand: "list")

    let context: CommandContext

    func list() throws -> ExitStatus {
        let settings = try context.settingsOfFile()
        var records: [any OutputRecord] = (settings?.types ?? []).map {
            ProviderRecord(type: $0, isDefault: $0.name == settings?.defaultType)
        }
        let unusable = settings?.unusableTypes ?? []
        records += unusable.map {
            UnusableTypeRecord(
                type: $0, isDefault: $0.name == settings?.defaultType, remedyText: invocation.remedyText)
        }
        let names = settings?.typeNames ?? []
        records += ProviderPreset.all.filter { !names.contains($0.name) }.map(PresetRecord.init)
        try list(records, ProviderRecord.listColumns)
        return .done
    }

    func show() throws -> ExitStatus {
        let name = invocation[Input.name]
        let settings = try context.settingsOfFile()
        if let type = settings?[name] {
            try show(ProviderRecord(type: type, isDefault: name == settings?.defaultType))
        } else if let type = settings?.unusableTypes.first(where: { $0.name == name }) {
            try show(
                UnusableTypeRecord(
                    type: type, isDefault: name == settings?.defaultType, remedyText: invocation.remedyText))
        } else if let preset = ProviderPreset(named: name) {
            try show(PresetRecord(preset: preset))
        } else {
            throw unknown(name, settings)
        }
        return .done
    }

    func check() async throws -> ExitStatus {
        let type: AccountType
        do {
            type = try typeToCheck()
        } catch let error as SettingsError {
            let finding = ProviderReport.Finding(subject: "settings", state: .problem, detail: error.description)
            try list([FindingRecord(finding: finding)], FindingRecord.listColumns)
            throw error
        }
        let report = try await ProviderReport.check(
            type, dependencies: context.dependencies(), checksClient: type.clientID != Self.unknownClient)
        try list(report.findings.map(FindingRecord.init), FindingRecord.listColumns)
        if let failure = report.failure {
            var error = CommandError(reporting: failure)
            // The certificate of the client cannot be used, and there was no request.
            if failure.kind == .settings { throw error }
            if failure.hint == nil { error.hint = "check the URL and the network, and try again" }
            if let issuer = try await ProviderReport.workingIssuer(for: type, dependencies: context.dependencies()) {
                error.hint =
                    invocation[Input.issuer] == nil
                    ? "set issuer to \(issuer) in \(try context.neededSettingsFile().path)"
                    : "\(run: "providers check") --issuer \(issuer.shellWord)"
            } else if invocation[Input.issuer] != nil {
                error.hint = Self.issuerHint(failure)
            }
            throw error
        }
        if let failure = report.sourceFailure { throw CommandError(reporting: failure) }
        guard let first = report.problems.first else { return .done }
        let count = report.problems.count
        throw CommandError(
            .failed, "\(count) \(count == 1 ? "thing is" : "things are") wrong with \(type.name)",
            reason: first.detail.isEmpty ? first.subject : "\(first.subject): \(first.detail)",
            hint: first.remedy ?? "report it to the provider's administrator, or set the endpoints in the settings")
    }

    /// The client of a provider that is checked without an account type.
    private static let unknownClient = "unknown"

    /// Returns how to find the issuer of a provider, if no valid issuer is known.
    static func issuerHint(_ failure: AccountStoreError) -> Hint {
        switch failure.kind {
        case .network where failure.hint?.actions.first is AccountRemedy:
            // An untrusted certificate, a timeout, or a web page, which a network with a login page also causes.
            if case .checkProvider? = failure.hint?.actions.first as? AccountRemedy {
                "if this network has a sign-in page, open it in a browser; otherwise, use the issuer that the provider "
                    + "documents: <issuer>/.well-known/openid-configuration must exist"
            } else {
                failure.hint ?? "check the network"
            }
        case .network, .unavailable: "check the spelling of the issuer, and the network"
        default: "use the issuer that the provider documents; <issuer>/.well-known/openid-configuration must exist"
        }
    }

    private func typeToCheck() throws -> AccountType {
        let name = invocation[Input.type]
        if let issuer = invocation[Input.issuer] {
            guard name == nil else {
                throw CommandError(
                    .usage, "--issuer cannot be combined with an account type", reason: "\(name ?? "") is given too",
                    hint: "lodge help providers check")
            }
            var own: JSONObject = ["issuer": .string(issuer), "clientId": .string(Self.unknownClient)]
            own["scopes"] = ["openid"]
            guard let preset = ProviderPreset(named: "openid") else { throw unknown("openid", nil) }
            do throws(SettingsError) {
                var type = try preset.accountType(filling: own)
                type.name = issuer
                return type
            } catch {
                throw CommandError(
                    .usage, "wrong value of --issuer", reason: "expected \(error.expected), found \(error.found)",
                    hint: "lodge help providers check")
            }
        }
        let settings = try context.settingsOfFile()
        let chosen = name ?? invocation[GlobalOptions.type] ?? settings?.defaultType ?? ""
        if let type = try settings?.type(named: chosen) { return type }
        guard let name = name ?? invocation[GlobalOptions.type] else { return try unnamed() }
        guard let preset = ProviderPreset(named: name) else { throw unknown(name, settings) }
        return try type(of: preset)
    }

    /// Returns a preset as an account type to check, which needs no client.
    private func type(of preset: ProviderPreset) throws -> AccountType {
        var own = try Self.typeKeys(invocation[Input.set], command: "providers check")
        if own["clientId"] == nil { own["clientId"] = .string(Self.unknownClient) }
        if preset.needs.contains("clientSecret"), own["clientSecret"] == nil {
            own["clientSecret"] = ["environment": "NONE"]
        }
        do throws(SettingsError) {
            return try preset.accountType(filling: own)
        } catch {
            let key = error.key ?? ""
            guard preset.requiredKeys.contains(key), own[key] == nil else { throw error }
            throw CommandError(
                .usage, "cannot check \(preset.name) without \(key)", reason: error.expected,
                hint: key == "issuer"
                    ? "\(run: "providers check") --issuer URL"
                    : "\(run: "providers check") \(preset.name) --set \(key)=…")
        }
    }

    private func unnamed() throws -> AccountType {
        // Reports the same error as other commands.
        let settings = try context.settings()
        guard let type = try settings.type(named: context.typeName(settings)) else {
            throw unknown(context.typeName(settings), settings)
        }
        return type
    }

    private func unknown(_ name: String, _ settings: Settings?) -> CommandError {
        let names = (settings?.typeNames ?? []) + ProviderPreset.names
        return CommandError(
            .notFound, "no account type or preset \(name)",
            hint: SpellingSuggestion.nearest(to: name, in: names).map { "did you mean \($0)?" } ?? "\(run: "providers")"
        )
    }

    /// Parses `KEY=VALUE` arguments into keys of a type.
    static func typeKeys(_ words: [String], command: String) throws(CommandError) -> JSONObject {
        var object = JSONObject()
        for word in words {
            guard let equals = word.firstIndex(of: "="), equals != word.startIndex, word.last != "=" else {
                throw CommandError(
                    .usage, "wrong value of --set", reason: "expected KEY=VALUE, found \(word.debugDescription)",
                    hint: "lodge help \(command)")
            }
            object[String(word[..<equals])] = .string(String(word[word.index(after: equals)...]))
        }
        return object
    }
}
