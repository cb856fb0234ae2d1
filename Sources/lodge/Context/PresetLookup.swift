import CommandLineKit
import Platform
import OAuth2AccountStore
import StrictJSON

// The presets built in are the last place where a type is looked for.
extension CommandContext {
    /// The settings file of this command line: the one it names, else the user's own, whether it exists or not. Nil when
    /// none is named and the user has no home.
    var settingsFile: (path: String, isNamed: Bool)? {
        if let path = invocation[GlobalOptions.settings] { return (path, true) }
        guard let settingsDirectory else { return nil }
        let json = settingsDirectory + "/settings.json"
        let plist = settingsDirectory + "/settings.plist"
        let files = FileManager.default
        return (!files.fileExists(atPath: json) && files.fileExists(atPath: plist) ? plist : json, false)
    }

    /// The same for a command that cannot do without.
    func neededSettingsFile() throws(CommandError) -> (path: String, isNamed: Bool) {
        guard let settingsFile else { throw .homeless }
        return settingsFile
    }

    /// The settings of the file; nil when none is named and there is none.
    func settingsOfFile() throws -> Settings? {
        guard let (path, isNamed) = settingsFile else { return nil }
        guard isNamed || FileManager.default.fileExists(atPath: path) else { return nil }
        return try Settings(contentsOf: URL(filePath: path))
    }

    /// The settings with the type that the command line names, when only a preset has it.
    ///
    /// - Parameter type: the type that an argument names.
    /// - Throws: ``CommandError`` naming what a preset lacks and the command that adds it.
    func addingPreset(_ type: String?, to settings: Settings?) throws -> Settings? {
        guard let name = type ?? invocation[GlobalOptions.type], settings?[name] == nil,
            let preset = ProviderPreset(named: name)
        else { return settings }
        guard preset.isComplete else {
            throw CommandError(incomplete: preset, file: try neededSettingsFile().path)
        }
        return try Settings(
            types: (settings?.types ?? []) + [try preset.accountType()], defaultType: settings?.defaultType ?? name,
            source: settings?.source ?? "the presets built in", deviceMode: settings?.deviceMode ?? .private)
    }

    /// The commands that are about the accounts there are, whatever the settings.
    private static let aboutAccounts = ["accounts", "status", "sign-out"]

    /// The presets that need nothing filled in, for a look at the accounts where there is no settings file; nil for other commands, and
    /// where nobody ever signed in.
    func settingsOfPresets() throws -> Settings? {
        guard let command = invocation.path.first, Self.aboutAccounts.contains(command),
            FileManager.default.fileExists(atPath: storeDirectory.path)
        else { return nil }
        let types = try ProviderPreset.all.filter(\.isComplete).map { try $0.accountType() }
        return types.isEmpty ? nil : try Settings(types: types, source: "the presets built in")
    }
}

extension CommandError {
    /// Nothing says where the user's own settings are.
    static var homeless: CommandError {
        CommandError(
            .settings, "no settings", reason: StoreLocation.homeless,
            hint: "set HOME or XDG_CONFIG_HOME, or name a file with --settings")
    }

    /// A preset that lacks what only the person knows.
    init(incomplete preset: ProviderPreset, file: String) {
        self.init(
            .settings, "the account type \(preset.name) is not set up",
            reason: "\(file) does not have it, and the preset needs \(preset.requiredKeys.joined(separator: ", "))",
            hint: Self.addCommand(preset))
    }

    /// The command line that sets a preset up.
    static func addCommand(_ preset: ProviderPreset) -> Hint {
        var words: [String] = []
        for key in preset.requiredKeys {
            switch key {
            case "clientId": words.append("--client-id ID")
            case "clientSecret": words.append("--client-secret-file FILE")
            case "issuer": words.append("--issuer URL")
            default: words.append("--set \(key)=…")
            }
        }
        return "\(run: "providers add") \(([preset.name] + words).joined(separator: " "))"
    }
}
