import CommandLineKit
import Platform
import OAuth2AccountStore
import StrictJSON

/// `config`
let configSpec = CommandSpec(
    "config", "Show the values in use, and where each came from.",
    examples: ["lodge config", "lodge config set key-custody secret-service"],
    subcommands: [
        CommandSpec("list", "List every value with where it came from.", examples: ["lodge config list"]),
        CommandSpec(
            "get", "Print one value.", examples: ["lodge config get key-custody"],
            arguments: [
                ArgumentSpec(
                    "NAME", ConfigCommand.names.joined(separator: ", "), completion: .words(ConfigCommand.names))
            ], formats: OutputFormat.ofSentences),
        CommandSpec(
            "set", "Change a value. Moving the key can be interrupted at any time.",
            discussion: """
                key-custody is where the key is kept that seals the accounts: key-file (a file of mode 0600 beside them), \
                secret-service (the desktop's keyring), keychain (macOS), passphrase (asked for in the terminal, or in the file of \
                LODGE_PASSPHRASE_FILE), or fd:N (handed over in file descriptor N each time; LODGE_KEY_CUSTODY=fd:N).
                """,
            examples: ["lodge config set key-custody secret-service"],
            arguments: [
                ArgumentSpec(
                    "NAME", ConfigCommand.changeable.joined(separator: ", "),
                    completion: .words(ConfigCommand.changeable)),
                ArgumentSpec("VALUE", "the new value"),
            ], formats: OutputFormat.ofSentences),
        CommandSpec(
            "path", "Print the path of the settings file.", examples: ["lodge config path"],
            formats: OutputFormat.ofSentences),
    ], defaultSubcommand: "list")

/// `config`
@MainActor
struct ConfigCommand {
    private let context: CommandContext

    /// The values that there are.
    nonisolated static let names = ["settings", "store", "key-custody", "default-type", "device-mode"]
    /// Those that `set` changes.
    nonisolated static let changeable = ["key-custody"]

    init(_ context: CommandContext) { self.context = context }

    func list() async throws -> ExitStatus {
        let writer = OutputFormat(context.invocation).list(ConfigValue.columns, context.console)
        for name in Self.names { try writer.write(try await value(name)) }
        try writer.finish()
        return .done
    }

    func get() async throws -> ExitStatus {
        let value = try await value(try name(of: Self.names))
        if context.console.options.reportsJSON {
            try context.console.write(value.json)
        } else {
            try context.console.writeLine(TerminalText.visible(value.value))
        }
        return .done
    }

    func path() throws -> ExitStatus {
        try context.console.writeLine(TerminalText.visible(try context.neededSettingsFile().path))
        return .done
    }

    func set() async throws -> ExitStatus {
        _ = try name(of: Self.changeable)
        let word = context.invocation.argument("VALUE") ?? ""
        let choice = try context.keyChoice(word, "wrong value of key-custody")
        let move = try await AccountStore.moveKey(
            to: choice, storage: SQLiteStorage(directory: context.storeDirectory),
            places: try context.keyLocations(target: choice))
        for leftover in move.leftovers { context.console.note("Warning: \(context.text(leftover))") }
        context.console.note(
            move.isMoved ? "The key of the accounts is now here: \(move.place)." : "It is there already: \(move.place)."
        )
        return .done
    }

    private func name(of names: [String]) throws -> String {
        let name = context.invocation.argument("NAME") ?? ""
        guard !names.contains(name) else { return name }
        let isKnown = Self.names.contains(name)
        throw CommandError(
            .usage, isKnown ? "\(name) is not changed here" : "no value \(name.debugDescription)",
            reason: "expected \(names.joined(separator: ", "))",
            hint: isKnown
                ? "edit \(context.settingsFile?.path ?? "a file, and name it with --settings")"
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
                from: isNamed ? source("settings") : isThere ? "default" : "default, no such file")
        case "store": return ConfigValue(name: name, value: context.storeDirectory.path, from: source("store"))
        case "key-custody": return try await custody()
        case "default-type":
            let settings = try context.settingsOfFile()
            return ConfigValue(
                name: name, value: context.invocation.string("type") ?? settings?.defaultType ?? "",
                from: context.invocation.string("type") == nil
                    ? settings == nil ? "not set" : "settings" : source("type"))
        default:
            let mode = try context.settingsOfFile()?.deviceMode ?? .private
            return ConfigValue(name: name, value: mode.rawValue, from: mode == .private ? "default" : "settings")
        }
    }

    private func source(_ option: String) -> String {
        switch context.invocation.source(of: option) {
        case .option: "--\(option)"
        case .environment(let name): name
        case nil: "default"
        }
    }

    /// Looks without making a store where none is.
    private func custody() async throws -> ConfigValue {
        let storage = SQLiteStorage(directory: context.storeDirectory)
        let asked = try context.keyChoice()
        guard FileManager.default.fileExists(atPath: storage.place) else {
            return ConfigValue(
                name: "key-custody", value: (asked ?? .keyFile).word,
                from: asked == nil ? "default" : "LODGE_KEY_CUSTODY")
        }
        return ConfigValue(
            name: "key-custody", value: try await AccountStore.keyCustody(of: storage).word, from: "store")
    }
}

/// A value and where it came from.
struct ConfigValue: OutputRecord {
    let name: String
    let value: String
    let from: String

    static let columns = [
        TableColumn("NAME", keptWhole: true), TableColumn("VALUE", keptWhole: true), TableColumn("FROM"),
    ]

    var cells: [String] { [name, value, from] }
    var json: JSONValue { ["name": .string(name), "value": .string(value), "from": .string(from)] }
}
