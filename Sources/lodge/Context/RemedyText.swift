import CommandLineKit
import DirectorySearch
import OAuth2AccountStore
import LodgePlatform

struct ProgramCommand: SuggestedAction {
    var words: String
    /// The options of the command line to repeat, each after a space.
    var options = ""

    var description: String { "\(Program.name) \(words)\(options)" }
}

extension Hint.StringInterpolation {
    /// Appends a command of this program without its arguments.
    mutating func appendInterpolation(run words: String) { appendInterpolation(ProgramCommand(words: words)) }
}

/// Converts the remedies of hints into commands and options of this program.
///
/// A command repeats `--store` and `--settings` of the command line; otherwise it would change another store.
struct RemedyText: Sendable {
    var store: String?
    var settings: String?
    /// The account type of the command line, for a sign-in without a type.
    var type: String?

    /// Returns a hint whose remedies are commands of this program.
    func hint(_ hint: Hint) -> Hint { hint.replacingActions(replacement) }

    private func replacement(_ action: any SuggestedAction) -> Hint {
        switch action {
        case let action as ProgramCommand: command(action.words)
        case let action as StorageRemedy: replacement(action)
        case let action as KeyRemedy: replacement(action)
        case let action as SettingsRemedy: replacement(action)
        case let action as AccountRemedy: replacement(action)
        case let action as DirectoryRemedy: replacement(action)
        default: "\(action)"
        }
    }

    private func replacement(_ remedy: StorageRemedy) -> Hint {
        switch remedy {
        case .chooseStore(.any): "choose a folder with --store or LODGE_STORE"
        case .chooseStore(let folder): "choose \(folder.rawValue) with --store"
        case .salvage: command("accounts salvage")
        }
    }

    private func replacement(_ remedy: KeyRemedy) -> Hint {
        switch remedy {
        case .moveKey(let choice): command("config set") + " key-custody \(choice)"
        case .nameDescriptor: "set LODGE_KEY_CUSTODY=fd:3"
        case .namePassphraseFile: "set LODGE_PASSPHRASE_FILE to a file that contains it"
        }
    }

    private func replacement(_ remedy: SettingsRemedy) -> Hint {
        switch remedy {
        case .chooseFile: "use another file with --settings"
        case .listPresets: "to list the presets, run: " + command("providers list")
        case .showPreset(let name): "for all required values, run: " + command("providers show") + " \(name)"
        case .removeType(let name): "remove the type: " + command("providers remove") + " \(name)"
        }
    }

    private func replacement(_ remedy: AccountRemedy) -> Hint {
        switch remedy {
        case .signIn(let named, let parameters):
            command("sign-in") + Hint((named ?? type).map { " \($0)" } ?? "")
                + Hint(parameters.map { " --param \("\($0.name)=\($0.value)".shellWord)" }.joined())
        case .supplyToken(let type): command("sign-in") + " \(type) --with-token"
        case .removeAccount(let id): command("accounts remove") + " \(id)"
        case .checkProvider(let type): command("providers check") + Hint(type.map { " \($0)" } ?? "")
        case .nameCertificateFile: "pass its certificate file with --ca-file"
        case .extendTimeLimit: "allow more time with --timeout"
        }
    }

    /// Returns a command with the repeated options of the command line.
    func command(_ words: String) -> Hint {
        var options = ""
        if let store, !words.hasPrefix("providers") { options += " --store=" + store.shellWord }
        if let settings { options += " --settings=" + settings.shellWord }
        return "\(ProgramCommand(words: words, options: options))"
    }
}

extension Invocation {
    /// The text of remedies for this command line.
    ///
    /// It omits values of environment variables, which also apply to the next command.
    var remedyText: RemedyText {
        func typed(_ option: Option<String?>) -> String? { source(of: option) == .option ? self[option] : nil }
        return RemedyText(store: typed(GlobalOptions.store), settings: typed(GlobalOptions.settings))
    }
}
