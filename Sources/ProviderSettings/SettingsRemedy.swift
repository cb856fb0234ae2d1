import LodgePlatform

/// An action that solves a problem of the settings.
package enum SettingsRemedy: SuggestedAction {
    /// Use another settings file.
    case chooseFile
    /// List the presets.
    case listPresets
    /// Show the preset with this name.
    case showPreset(String)
    /// Remove the account type with this name from the settings.
    case removeType(String)

    /// The name of the action.
    package var description: String {
        switch self {
        case .chooseFile: "choose another settings file"
        case .listPresets: "list the presets"
        case .showPreset(let name): "see the preset \(name)"
        case .removeType(let name): "remove the type \(name)"
        }
    }
}
