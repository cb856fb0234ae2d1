import CommandLineKit
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

// A type that the settings lack can be a built-in preset.
extension CommandContext {
    /// The path of the settings file: the named one, otherwise the user's own.
    ///
    /// The file may not exist. `nil` without a home folder.
    var settingsFile: (path: String, isNamed: Bool)? {
        if let path = invocation[GlobalOptions.settings] { return (path, true) }
        guard let settingsDirectory else { return nil }
        let json = settingsDirectory + "/settings.json"
        let plist = settingsDirectory + "/settings.plist"
        let files = FileManager.default
        return (!files.fileExists(atPath: json) && files.fileExists(atPath: plist) ? plist : json, false)
    }

    func neededSettingsFile() throws(CommandError) -> (path: String, isNamed: Bool) {
        guard let settingsFile else { throw .homeless }
        return settingsFile
    }

    /// Returns the settings of the file, or `nil` if it does not exist and was not named.
    func settingsOfFile() throws -> Settings? {
        guard let (path, isNamed) = settingsFile else { return nil }
        guard isNamed || FileManager.default.fileExists(atPath: path) else { return nil }
        return try Settings(contentsOf: URL(filePath: path), environment: world.environment)
    }

    /// Whether the settings start the agent after a command. The command has ended, so an error does not matter.
    var startsAgentAutomatically: Bool {
        // The command has read a pipe already; a second read would find nothing, or wait.
        var state = stat()
        guard let path = settingsFile?.path, stat(path, &state) == 0, state.st_mode & S_IFMT == S_IFREG else {
            return false
        }
        return (try? settingsOfFile())?.agent.startsAutomatically == true
    }

    /// Adds the type of the command line if only a preset has it.
    ///
    /// The preset never replaces an invalid type of the settings.
    ///
    /// - Throws: an error if the preset lacks values.
    func addingPreset(_ type: String?, to settings: Settings?) throws -> Settings? {
        guard let name = type ?? invocation[GlobalOptions.type], settings?.typeNames.contains(name) != true,
            let preset = ProviderPreset(named: name)
        else { return settings }
        guard preset.isComplete || preset.readsEnvironment else {
            throw CommandError(incomplete: preset, file: try neededSettingsFile().path)
        }
        return try Settings(
            types: (settings?.types ?? []) + [try preset.accountType(environment: world.environment)],
            unusableTypes: settings?.unusableTypes ?? [],
            defaultType: settings?.defaultType ?? name, source: settings?.source ?? "the presets built in",
            deviceMode: settings?.deviceMode ?? .private)
    }

    /// Returns the complete presets for commands that need no settings, if a store exists.
    func settingsOfPresets() throws -> Settings? {
        guard command.needsNoSettings, try hasStore else {
            return nil
        }
        let types = try ProviderPreset.all.filter(\.isComplete).map { try $0.accountType() }
        return types.isEmpty ? nil : try Settings(types: types, source: "the presets built in")
    }
}

extension CommandError {
    static var homeless: CommandError {
        CommandError(
            .settings, "no settings", reason: StoreLocation.homeless,
            hint: "set HOME or XDG_CONFIG_HOME, or use --settings FILE")
    }

    init(incomplete preset: ProviderPreset, file: String) {
        self.init(
            .settings, "the account type \(preset.name) is not set up",
            reason: "\(file) does not contain it, and the preset requires "
                + preset.requiredKeys.joined(separator: ", "),
            hint: Self.addCommand(preset))
    }

    static func addCommand(_ preset: ProviderPreset, as name: String? = nil) -> Hint {
        var words = name.map { $0 == preset.name ? [] : ["--provider \(preset.name)"] } ?? []
        for key in preset.requiredKeys {
            switch key {
            case "clientId": words.append("--client-id ID")
            case "clientSecret": words.append("--client-secret-file FILE")
            case "issuer": words.append("--issuer URL")
            default: words.append("--set \(key)=…")
            }
        }
        return "\(run: "providers add") \(([name ?? preset.name] + words).joined(separator: " "))"
    }
}
