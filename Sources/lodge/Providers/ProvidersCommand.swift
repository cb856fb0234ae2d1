import CommandLineKit
import Diagnostics
import Platform
import OAuth2Protocol
import OAuth2AccountStore
import StrictJSON

/// `providers list`, `providers show` and `providers check`
@MainActor
struct ProvidersCommand {
    private let context: CommandContext

    init(_ context: CommandContext) { self.context = context }

    func list() throws -> ExitStatus {
        let settings = try context.settingsOfFile()
        let writer = OutputFormat(context.invocation).list(ProviderRecord.listColumns, context.console)
        for type in settings?.types ?? [] {
            try writer.write(ProviderRecord(type: type, isDefault: type.name == settings?.defaultType))
        }
        for preset in ProviderPreset.all where settings?[preset.name] == nil {
            try writer.write(PresetRecord(preset: preset))
        }
        try writer.finish()
        return .done
    }

    func show() throws -> ExitStatus {
        let name = context.invocation.argument("NAME") ?? ""
        let settings = try context.settingsOfFile()
        if let type = settings?[name] {
            try OutputFormat(context.invocation).show(
                ProviderRecord(type: type, isDefault: name == settings?.defaultType), context.console)
        } else if let preset = ProviderPreset(named: name) {
            try OutputFormat(context.invocation).show(PresetRecord(preset: preset), context.console)
        } else {
            throw unknown(name, settings)
        }
        return .done
    }

    func check() async throws -> ExitStatus {
        let type = try typeToCheck()
        let report = try await ProviderReport.check(type, dependencies: context.dependencies())
        let writer = OutputFormat(context.invocation).list(FindingRecord.listColumns, context.console)
        for finding in report.findings { try writer.write(FindingRecord(finding: finding)) }
        try writer.finish()
        if let failure = report.failure {
            var error = CommandError(reporting: failure)
            if failure.hint == nil { error.hint = "check the address and the network, and try again" }
            throw error
        }
        guard let first = report.problems.first else { return .done }
        let count = report.problems.count
        throw CommandError(
            .failed, "\(count) \(count == 1 ? "thing is" : "things are") wrong with \(type.name)",
            reason: first.detail.isEmpty ? first.subject : "\(first.subject): \(first.detail)",
            hint: "tell the provider's administrator, or name the endpoints in the settings")
    }

    private func typeToCheck() throws -> AccountType {
        let invocation = context.invocation
        let name = invocation.argument("TYPE")
        if let issuer = invocation.string("issuer") {
            guard name == nil else {
                throw CommandError(
                    .usage, "--issuer goes with no account type", reason: "\(name ?? "") was named too",
                    hint: "lodge help providers check")
            }
            var own: JSONObject = ["issuer": .string(issuer), "clientId": "unknown"]
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
        if let type = settings?[name ?? invocation.string("type") ?? settings?.defaultType ?? ""] { return type }
        guard let name = name ?? invocation.string("type") else { return try unnamed() }
        guard let preset = ProviderPreset(named: name) else { throw unknown(name, settings) }
        return try type(of: preset)
    }

    /// A preset as a type to look at: a client is not needed for that.
    private func type(of preset: ProviderPreset) throws -> AccountType {
        var own = try KeyValues(context.invocation.strings("set"), command: "providers check").object
        if own["clientId"] == nil { own["clientId"] = "unknown" }
        if preset.needs.contains("clientSecret"), own["clientSecret"] == nil {
            own["clientSecret"] = ["environment": "NONE"]
        }
        do throws(SettingsError) {
            return try preset.accountType(filling: own)
        } catch {
            let key = error.key ?? ""
            guard preset.requiredKeys.contains(key), own[key] == nil else { throw error }
            throw CommandError(
                .usage, "\(preset.name) cannot be checked without \(key)", reason: error.expected,
                hint: key == "issuer"
                    ? "\(run: "providers check") --issuer URL"
                    : "\(run: "providers check") \(preset.name) --set \(key)=…")
        }
    }

    private func unnamed() throws -> AccountType {
        // The same error as everywhere else.
        let settings = try context.settings()
        guard let type = settings[context.typeName(settings)] else {
            throw unknown(context.typeName(settings), settings)
        }
        return type
    }

    private func unknown(_ name: String, _ settings: Settings?) -> CommandError {
        let names = (settings?.types.map(\.name) ?? []) + ProviderPreset.names
        return CommandError(
            .notFound, "no account type or preset \(name)",
            hint: SpellingSuggestion.nearest(to: name, in: names).map { "did you mean \($0)?" } ?? "\(run: "providers")"
        )
    }
}

/// `KEY=VALUE` words as keys of a type.
struct KeyValues {
    let object: JSONObject

    init(_ words: [String], command: String) throws(CommandError) {
        var object = JSONObject()
        for word in words {
            guard let equals = word.firstIndex(of: "="), equals != word.startIndex, word.last != "=" else {
                throw CommandError(
                    .usage, "wrong value of --set", reason: "expected KEY=VALUE, found \(word.debugDescription)",
                    hint: "lodge help \(command)")
            }
            object[String(word[..<equals])] = .string(String(word[word.index(after: equals)...]))
        }
        self.object = object
    }
}
