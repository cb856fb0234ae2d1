import CommandLineKit
import OAuth2AccountStore
import StrictJSON

@MainActor struct ProviderRemoval: CommandHandler {
    enum Input {
        static let name = Argument.required("NAME", "account type", completion: .type)
        static let local = Option.flag("local", "remove only the type, without the network")
    }

    nonisolated static let command = Command(
        "remove", "Remove an account type from the settings file.",
        discussion: "If --register registered the client, lodge deletes it at the provider (RFC 7592).",
        examples: ["lodge providers remove company"], arguments: [Input.name], options: [Input.local],
        formats: OutputFormat.ofSentences,
        json: .object(["removed": "true", "name": "", "file": "path of the settings"])
    ) { try await ProviderRemoval(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        let name = invocation[Input.name]
        let path = try context.neededSettingsFile().path
        guard let settings = try context.settingsOfFile(), settings.typeNames.contains(name),
            let old = try SettingsEdit.read(path)
        else {
            let isPreset = ProviderPreset(named: name) != nil
            throw CommandError(
                .notFound, "no account type \(name)",
                reason: isPreset ? "\(name) is a built-in preset" : "\(path) does not contain it",
                hint: "\(run: "providers")")
        }
        // Find errors of the file before deleting the client at the provider.
        _ = try SettingsEdit.removing(name, from: old, file: path)
        let store = try await context.store(settings)
        let accounts = try await store.accounts(ofType: name)
        guard accounts.isEmpty else {
            throw CommandError(
                .failed, "the type \(name) is in use",
                reason: "\(accounts.count) \(accounts.count == 1 ? "account is" : "accounts are") of this type",
                hint: "\(run: "sign-out") --all --type \(name)")
        }
        if let client = try await store.registration(ofType: name) {
            // `sign-in URL` uses the client of a type for other resources of its provider.
            if let other = settings.otherType(than: name, withClient: client.clientID) {
                try await store.keepRegistration(client, ofType: other)
                console.note("The client \(client.clientID) remains registered: the type \(other) uses it.")
            } else {
                try await delete(client, settings)
            }
            try await store.keepRegistration(nil, ofType: name)
        }
        let dependencies = context.dependencies()
        try await SettingsEdit.change(path, suffix: try dependencies.randomLetters(), sleep: dependencies.sleep) {
            old in
            let bytes = try SettingsEdit.removing(name, from: old ?? [], file: path)
            return SettingsEdit.isEmpty(bytes) ? .removed : .text(bytes, holdsSecret: false)
        }
        console.note("Removed \(name) from \(path).")
        if format == .json {
            try console.write(["removed": true, "name": .string(name), "file": .string(path)])
        }
        return .done
    }

    private func delete(_ client: RegisteredClient, _ settings: Settings) async throws {
        if invocation[Input.local] {
            console.note("The client \(client.clientID) remains registered at \(client.issuer).")
            return
        }
        let name = invocation[Input.name]
        let type: AccountType
        do throws(SettingsError) {
            guard let found = try settings.type(named: name) else { return }
            type = found
        } catch {
            throw CommandError(
                .settings, "cannot delete the client \(client.clientID) at \(client.issuer)", reason: "\(error)",
                hint: "correct the type, or leave the client there: \(run: "providers remove") --local \(name)")
        }
        let registration = ProviderRegistration(type: type, dependencies: context.dependencies())
        if try await registration.delete(client) {
            console.note("Deleted the client \(client.clientID) at \(client.issuer).")
        } else {
            console.note(
                "\(client.issuer) does not support deletion: the client \(client.clientID) remains registered.")
        }
    }
}

extension Settings {
    /// Returns the name of another type with the same provider and client. An invalid type matches by its client only.
    fileprivate func otherType(than name: String, withClient clientID: String) -> String? {
        let own = self[name]
        let usable = types.first {
            $0.name != name && $0.clientID == (own?.clientID ?? clientID)
                && (own == nil || $0.provider == own?.provider)
        }
        return usable?.name
            ?? unusableTypes.first { $0.name != name && $0.clientID == (own?.clientID ?? clientID) }?.name
    }
}
