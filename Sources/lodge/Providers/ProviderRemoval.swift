import CommandLineKit
import OAuth2AccountStore
import StrictJSON

@MainActor struct ProviderRemoval: CommandHandler {
    enum Input {
        static let name = Argument.required("NAME", "account type", completion: .type)
        static let local = Option.flag("local", "only remove it here, without the network")
    }

    nonisolated static let command = Command(
        "remove", "Remove an account type from the settings file.",
        discussion: "A client that was registered with --register is deleted at the provider (RFC 7592).",
        examples: ["lodge providers remove company"], arguments: [Input.name], options: [Input.local],
        formats: OutputFormat.ofSentences,
        json: .object(["removed": "true", "name": "", "file": "path of the settings"])
    ) { try await ProviderRemoval(context: $0).run() }

    let context: CommandContext

    func run() async throws -> ExitStatus {
        let name = invocation[Input.name]
        let path = try context.neededSettingsFile().path
        guard let settings = try context.settingsOfFile(), let type = settings[name],
            let old = try SettingsEdit.read(path)
        else {
            let isPreset = ProviderPreset(named: name) != nil
            throw CommandError(
                .notFound, "no account type \(name)",
                reason: isPreset ? "\(name) is a preset and stays" : "\(path) does not have it",
                hint: "\(run: "providers")")
        }
        // Whatever is wrong with the file is found before anything is deleted at the provider.
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
            if let other = settings.types.first(where: { $0.name != name && $0.usesClient(of: type) }) {
                // `sign-in URL` uses the client of a type for other resources of its provider.
                try await store.keepRegistration(client, ofType: other.name)
                console.note("The client \(client.clientID) remains registered: the type \(other.name) uses it.")
            } else {
                try await delete(client, type)
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

    private func delete(_ client: RegisteredClient, _ type: AccountType) async throws {
        if invocation[Input.local] {
            console.note("The client \(client.clientID) stays registered at \(client.issuer).")
            return
        }
        let registration = ProviderRegistration(type: type, dependencies: context.dependencies())
        if try await registration.delete(client) {
            console.note("Deleted the client \(client.clientID) at \(client.issuer).")
        } else {
            console.note("\(client.issuer) offers no deletion: the client \(client.clientID) stays registered there.")
        }
    }
}

extension AccountType {
    fileprivate func usesClient(of other: AccountType) -> Bool {
        provider == other.provider && clientID == other.clientID
    }
}
