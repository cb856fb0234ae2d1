import CommandLineKit
import LodgePlatform
import OAuth2AccountStore
import StrictJSON

@MainActor struct ConfigCommand: CommandHandler {
    enum Input {
        static let name = Argument.required(
            "NAME", ConfigCommand.names.joined(separator: ", "), completion: .words(ConfigCommand.names))
        static let changeableName = Argument.required(
            "NAME", ConfigCommand.changeable.joined(separator: ", "), completion: .words(ConfigCommand.changeable))
        static let value = Argument.required("VALUE", "the new value")
    }

    nonisolated static let listCommand = Command(
        "list", "List every value with its source.", examples: ["lodge config list"],
        json: ConfigValue.shape.list
    ) { try await ConfigCommand(context: $0).list() }

    nonisolated static let getCommand = Command(
        "get", "Print one value.", examples: ["lodge config get key-custody"], arguments: [Input.name],
        formats: OutputFormat.ofSentences, json: ConfigValue.shape
    ) { try await ConfigCommand(context: $0).get() }

    nonisolated static let setCommand = Command(
        "set", "Change a value.",
        discussion: """
            key-custody is the location of the key that seals the accounts: key-file (a file of mode 0600 in their folder), \
            secret-service (the desktop's keyring), keychain (macOS), passphrase (entered in the terminal, or in the file of \
            LODGE_PASSPHRASE_FILE), or fd:N (passed in file descriptor N each time; LODGE_KEY_CUSTODY=fd:N). You can interrupt the \
            change at any time. agent is off, or auto: then the first command that can use the agent starts it.
            """, examples: ["lodge config set key-custody secret-service", "lodge config set agent auto"],
        arguments: [Input.changeableName, Input.value], formats: OutputFormat.ofSentences, json: ConfigValue.shape
    ) { try await ConfigCommand(context: $0).set() }

    nonisolated static let pathCommand = Command(
        "path", "Print the path of the settings file.", examples: ["lodge config path"],
        formats: OutputFormat.ofSentences, json: .object(["path": ""])
    ) { try ConfigCommand(context: $0).path() }

    nonisolated static let group = Command(
        "config", "Show and change configuration.",
        discussion: """
            Each value is from an option, a variable, the settings file, the store or a default: list shows which. To change account \
            types, use lodge providers or edit the settings file.
            """,
        examples: ["lodge config", "lodge config set key-custody secret-service"],
        subcommands: [listCommand, getCommand, setCommand, pathCommand], defaultSubcommand: "list")

    let context: CommandContext

    nonisolated static let names = ["settings", "store", "key-custody", "default-type", "device-mode", "agent"]
    /// The values that `set` can change.
    nonisolated static let changeable = ["key-custody", "agent"]

    func list() async throws -> ExitStatus {
        var values: [ConfigValue] = []
        for name in Self.names { values.append(try await value(name)) }
        try list(values, ConfigValue.columns)
        return .done
    }

    func get() async throws -> ExitStatus {
        let value = try await value(try name(Input.name, of: Self.names))
        if console.options.reportsJSON {
            try console.write(value.json)
        } else {
            try console.writeLine(value.value.visible)
        }
        return .done
    }

    func path() throws -> ExitStatus {
        let path = try context.neededSettingsFile().path
        if format == .json { try console.write(["path": .string(path)]) } else { try console.writeLine(path.visible) }
        return .done
    }

    func set() async throws -> ExitStatus {
        if try name(Input.changeableName, of: Self.changeable) == "agent" { return try await setAgent() }
        let word = invocation[Input.value]
        let choice = try context.keyChoice(word, "wrong value of key-custody")
        let move = try await AccountStore.moveKey(
            to: choice, storage: try context.storage(),
            locations: try context.keyLocations(target: choice))
        for leftover in move.leftovers { console.note("Warning: \(context.text(leftover))") }
        console.note(
            move.isMoved
                ? "Moved the key of the accounts to \(move.location)." : "The key is already in \(move.location).")
        if format == .json { try console.write(try await custody().json) }
        return .done
    }

    private func setAgent() async throws -> ExitStatus {
        let word = invocation[Input.value]
        guard ["off", "auto"].contains(word) else {
            throw CommandError(
                .usage, "wrong value of agent", reason: "expected off or auto, found \(UsageError.quoted(word))",
                hint: "\(run: "config set") agent auto")
        }
        let path = try context.neededSettingsFile().path
        let dependencies = context.dependencies()
        try await SettingsEdit.change(path, suffix: try dependencies.randomLetters(), sleep: dependencies.sleep) {
            old in
            guard let old else {
                throw CommandError(
                    .settings, "there are no settings", reason: "\(path) does not exist",
                    hint: "\(run: "providers add") entra --client-id ID")
            }
            let bytes = try SettingsEdit.setting("agent", to: .string(word), in: old, file: path)
            return .text(bytes, holdsSecret: false)
        }
        console.note(
            word == "auto"
                ? "The next command that can use the agent starts it."
                : "Commands do not start the agent. To stop a running one: lodge agent stop")
        if format == .json { try console.write(try await value("agent").json) }
        return .done
    }

    private func name(_ argument: Argument<String>, of names: [String]) throws -> String {
        let name = invocation[argument]
        guard !names.contains(name) else { return name }
        let isKnown = Self.names.contains(name)
        throw CommandError(
            .usage, isKnown ? "\(name) cannot be changed with config set" : "unknown value \(name.debugDescription)",
            reason: "expected \(names.joined(separator: ", "))",
            hint: isKnown
                ? "edit \(context.settingsFile?.path ?? "a settings file, and pass it with --settings")"
                : SpellingSuggestion.nearest(to: name, in: names).map { "did you mean \($0)?" }
                    ?? "\(run: "config list")")
    }

    private func value(_ name: String) async throws -> ConfigValue {
        switch name {
        case "settings":
            guard let (path, isNamed) = context.settingsFile else {
                return ConfigValue(name: name, value: "", from: StoreLocation.homeless)
            }
            let isThere = FileManager.default.fileExists(atPath: path)
            return ConfigValue(
                name: name, value: path,
                from: isNamed ? source(GlobalOptions.settings) : isThere ? "default" : "default, no such file")
        case "store":
            return ConfigValue(name: name, value: try context.storeLocation, from: source(GlobalOptions.store))
        case "key-custody": return try await custody()
        case "default-type":
            let settings = try context.settingsOfFile()
            return ConfigValue(
                name: name, value: invocation[GlobalOptions.type] ?? settings?.defaultType ?? "",
                from: invocation[GlobalOptions.type] == nil
                    ? settings == nil ? "not set" : "settings" : source(GlobalOptions.type))
        case "agent":
            let isAutomatic = try context.settingsOfFile()?.agent.startsAutomatically ?? false
            return ConfigValue(
                name: name, value: isAutomatic ? "auto" : "off", from: isAutomatic ? "settings" : "default")
        default:
            let mode = try context.settingsOfFile()?.deviceMode ?? .private
            return ConfigValue(name: name, value: mode.rawValue, from: mode == .private ? "default" : "settings")
        }
    }

    private func source(_ option: some DeclaredOption) -> String {
        switch invocation.source(of: option) {
        case .option: "--\(option.spec.name)"
        case .environment(let name): name
        case nil: "default"
        }
    }

    /// Returns the key location. Does not create a store.
    private func custody() async throws -> ConfigValue {
        let storage = try context.storage()
        let choice = try context.keyChoice()
        guard try await !storage.isMissing() else {
            return ConfigValue(
                name: "key-custody", value: (choice ?? .keyFile).word,
                from: choice == nil ? "default" : "LODGE_KEY_CUSTODY")
        }
        return ConfigValue(
            name: "key-custody", value: try await AccountStore.keyCustody(of: storage).word, from: "store")
    }
}

struct ConfigValue: OutputRecord {
    let name: String
    let value: String
    let from: String

    static let columns = [TableColumn("NAME", .keep), TableColumn("VALUE", .keep), TableColumn("FROM")]

    static let shape = JSONShape.object([
        "name": "", "value": "", "from": "option, variable, settings, store or default",
    ])

    var cells: [String] { [name, value, from] }
    var json: JSONValue { ["name": .string(name), "value": .string(value), "from": .string(from)] }
}
