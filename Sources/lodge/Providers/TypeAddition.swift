import CommandLineKit
import OAuth2Protocol
import OAuth2AccountStore
import LodgePlatform
import StrictJSON

/// Adds an account type and its registered client to the settings file.
@MainActor struct TypeAddition {
    let context: CommandContext
    /// The name of the new type.
    let name: String
    /// The path of the settings file.
    let path: String

    private var console: Console { context.console }

    /// Returns the file to write. Throws for a file that would hide another settings file.
    static func settingsPath(_ context: CommandContext) throws(CommandError) -> String {
        let (path, isNamed) = try context.neededSettingsFile()
        guard !isNamed, path.hasSuffix(".plist") else { return path }
        throw CommandError(
            .settings, "lodge cannot edit property lists", reason: "your settings are in \(path)",
            hint: "add the type to this file yourself, or use a JSON file with --settings")
    }

    func edited(
        _ keys: JSONObject, _ old: [UInt8]?
    ) throws -> (bytes: [UInt8], type: AccountType, settings: Settings) {
        let bytes = try SettingsEdit.adding(name, keys, to: old, file: path)
        // The variables of a workload can be missing on this machine.
        let environment = WorkloadEnvironment.sample.merging(context.world.environment) { $1 }
        let settings = try Settings(bytes: bytes, source: path, environment: environment)
        guard let type = try settings.type(named: name) else {
            throw SettingsError(file: path, key: "types.\(name)", expected: "the new type", found: "nothing")
        }
        return (bytes, type, settings)
    }

    /// Adds the type, and its registered client, to the current content of the file.
    func save(_ keys: JSONObject, _ client: RegisteredClient? = nil) async throws {
        let dependencies = context.dependencies()
        try await SettingsEdit.change(path, suffix: try dependencies.randomLetters(), sleep: dependencies.sleep) {
            @MainActor old in
            let (bytes, type, settings) = try edited(keys, old)
            // Save the token that can undo the registration before the type.
            if let client { try await context.store(settings, makesStore: true).keepRegistration(client, ofType: name) }
            var holdsSecret = false
            if case .inline = type.clientSecret { holdsSecret = true }
            return .text(bytes, holdsSecret: holdsSecret)
        }
    }

    /// Registers a client for the type, and adds both.
    ///
    /// - Parameters:
    ///   - type: The type, with any client.
    ///   - known: The keys of the type without the client.
    ///   - metadata: The additional members of the registration.
    ///   - required: The scope that the user or a resource named.
    ///   - server: The server; by default the provider of the type.
    func register(
        _ type: AccountType, _ known: JSONObject, _ metadata: JSONObject, required: Scope,
        initialAccessToken: Secret? = nil, at server: AuthorizationServer? = nil
    ) async throws {
        let registration = ProviderRegistration(type: type, dependencies: context.dependencies())
        let made = try await registration.register(
            metadata, required: required, initialAccessToken: initialAccessToken, at: server)
        do {
            var keys = known
            for member in made.keys.members { keys[member.name] = member.value }
            do {
                try await save(keys, made.client)
            } catch {
                await forget(made.client, keys)
                throw error
            }
        } catch {
            let isGone = await registration.undo(made.client)
            console.note(
                isGone
                    ? "The client that was registered has been deleted again."
                    : "The client \(made.client.clientID) was registered and is not used; the provider keeps it.")
            throw error
        }
        console.note("Registered the client \(made.client.clientID) at \(made.client.issuer).")
        for note in made.notes { console.note(note) }
    }

    /// Removes the token of an unused client, unless another process registered a client for this type.
    private func forget(_ client: RegisteredClient, _ keys: JSONObject) async {
        let settings = (try? edited(keys, SettingsEdit.read(path)).settings) ?? (try? context.settings())
        guard let settings, let store = try? await context.store(settings),
            (try? await store.registration(ofType: name))?.clientID == client.clientID
        else { return }
        try? await store.keepRegistration(nil, ofType: name)
    }
}
