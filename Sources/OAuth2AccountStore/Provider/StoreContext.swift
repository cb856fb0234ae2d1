import OAuth2Protocol
import Platform
import ProviderSettings
import SealedStorage

/// The parts of a store that its collaborators share.
struct StoreContext: Sendable {
    let settings: Settings
    let dependencies: Dependencies
    let repository: AccountRepository
    let providers: ProviderCache
}

/// A collaborator of the store. It does not know the store.
protocol StoreCollaborator: Sendable {
    var context: StoreContext { get }
}

extension StoreCollaborator {
    var settings: Settings { context.settings }
    var dependencies: Dependencies { context.dependencies }
    var repository: AccountRepository { context.repository }
    var providers: ProviderCache { context.providers }
    var storage: any AccountStorage { repository.storage }
    var seal: RecordSeal { repository.seal }

    /// Returns the type with this name.
    func type(_ name: String) throws -> AccountType { try context.type(name) }

    /// Returns the type of an account, at the policy that the account was signed in with.
    func type(of record: AccountRecord) throws -> AccountType { try context.type(record.type, policy: record.policy) }

    /// Discovers the provider of a type and creates its client.
    func client(
        of type: AccountType, offering endpoint: String? = nil
    ) async throws -> ProviderClient { try await context.client(of: type, offering: endpoint) }

    /// Returns the time to use for the age of an account's tokens.
    func now(forAgeOf tokens: TokenSet, account id: Account.ID) -> Date {
        context.now(forAgeOf: tokens, account: id)
    }
}

extension StoreContext {
    func type(_ name: String) throws -> AccountType {
        do throws(SettingsError) {
            if let type = try settings.type(named: name) { return type }
        } catch {
            throw AccountStoreError.wrapping(error, what: "cannot use the account type \(name)")
        }
        let names = settings.typeNames
        throw AccountStoreError(
            .unknownType, what: "no account type \(name.debugDescription)",
            reason: "\(settings.source) has \(names.joined(separator: ", "))", remedy: .changeSettings,
            hint: SpellingSuggestion.nearest(to: name, in: names).map { "did you mean \($0)?" })
    }

    /// Returns a type at one of its policies; `nil`: at the authority's own.
    func type(_ name: String, policy: String?) throws -> AccountType {
        let type = try type(name)
        guard let policy else { return type }
        if let found = type.at(policy: policy) { return found }
        let names = type.policies.keys.sorted()
        throw AccountStoreError(
            .settings, what: "no policy \(policy.debugDescription)",
            reason: names.isEmpty
                ? "the settings of \(name) do not have policies" : "\(name) has \(names.joined(separator: ", "))",
            remedy: .changeSettings,
            hint: SpellingSuggestion.nearest(to: policy, in: names).map { "did you mean \($0)?" })
    }

    /// Discovers the provider of a type and creates its client.
    ///
    /// - Parameter endpoint: The name in the metadata of an endpoint that the caller needs. Both metadata documents are searched for it.
    /// - Throws: The errors of discovery; `SettingsError` and `OAuth2Error` if the client cannot authenticate.
    func client(
        of type: AccountType, offering endpoint: String? = nil
    ) async throws -> ProviderClient {
        let server: AuthorizationServer
        if let endpoint {
            server = try await providers.server(for: type, offering: endpoint)
        } else {
            server = try await providers.server(for: type)
        }
        return ProviderClient(
            type: type, server: server,
            client: try ClientCredentials(type: type, environment: dependencies.environment).client(for: server),
            transport: providers.transport(for: type), hints: providers.hints, dependencies: dependencies)
    }

    /// Returns the wall clock's time, or a later time if the wall clock was set back since these tokens were first seen.
    func now(forAgeOf tokens: TokenSet, account id: Account.ID) -> Date {
        providers.hints.ages.now(
            forAgeOf: tokens, account: id, wall: dependencies.now(), uptime: dependencies.uptimeSeconds)
    }

    /// Returns the difference between this machine's clock and the clock of a type's provider, as its last response had it; `nil` if
    /// the provider has not responded or does not send the time. Sends no request.
    func clockSkew(ofType name: String) async -> ClockSkew? {
        guard let type = settings[name] else { return nil }
        // A policy has a token endpoint of its own, possibly the only one with a response.
        for type in [type] + type.policies.keys.sorted().compactMap(type.at(policy:)) {
            if let url = await providers.knownServer(for: type)?.tokenEndpoint,
                let offset = providers.hints.knownOffset(of: url)
            {
                return ClockSkew(seconds: offset)
            }
        }
        return nil
    }
}
