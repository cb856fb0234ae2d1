import OAuth2Protocol
import LodgePlatform
import ProviderSettings
import SealedStorage

/// The values that the collaborators of a store share. A class, because they use it in every call, and it has many parts to copy.
final class StoreContext: Sendable {
    let settings: Settings
    let dependencies: Dependencies
    let repository: AccountRepository
    let providers: ProviderCache

    init(settings: Settings, dependencies: Dependencies, repository: AccountRepository, providers: ProviderCache) {
        self.settings = settings
        self.dependencies = dependencies
        self.repository = repository
        self.providers = providers
    }
}

/// A collaborator of the store, without a reference to the store.
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

    /// Returns the type with the given name.
    func type(_ name: String) throws -> AccountType { try context.type(name) }

    /// Returns the type of an account, at the policy of the account.
    func type(of record: AccountRecord) throws -> AccountType { try context.type(record.type, policy: record.policy) }

    /// Returns the client of a type at its provider, after discovery if necessary.
    func client(
        of type: AccountType, offering endpoint: String? = nil
    ) async throws -> ProviderClient { try await context.client(of: type, offering: endpoint) }

    /// Returns the current time for computing the age of an account's tokens.
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

    /// Returns a type at one of its policies. Without a policy, returns it at the default policy of the authority.
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

    /// Returns the client of a type at its provider, after discovery if necessary.
    ///
    /// - Parameter endpoint: The metadata name of an endpoint that the caller needs. If the first metadata document
    ///   lacks it, the second one is loaded too.
    /// - Throws: The errors of discovery; `SettingsError` and `OAuth2Error` if the client cannot authenticate.
    func client(
        of type: AccountType, offering endpoint: String? = nil
    ) async throws -> ProviderClient {
        // An unusable certificate is an error before the first request.
        let assertions = try await type.clientAssertion?.source(for: type, dependencies) { [self] audience in
            dependencies.now().timeIntervalSince1970 + (URL(string: audience).map(providers.hints.offset) ?? 0)
        }
        let server: AuthorizationServer
        if let endpoint {
            server = try await providers.server(for: type, offering: endpoint)
        } else {
            server = try await providers.server(for: type)
        }
        return ProviderClient(
            type: type, server: server,
            client: try ClientCredentials(type: type, environment: dependencies.environment).client(for: server),
            transport: providers.transport(for: type), hints: providers.hints, dependencies: dependencies,
            assertions: assertions)
    }

    /// Returns the time of the wall clock, or a later time if the wall clock was set back since these tokens were first
    /// seen.
    func now(forAgeOf tokens: TokenSet, account id: Account.ID) -> Date {
        providers.hints.ages.now(
            forAgeOf: tokens, account: id, wall: dependencies.now(), uptime: dependencies.uptimeSeconds)
    }

    /// Returns the difference between this machine's clock and the clock of a type's provider, from its last response.
    /// Returns `nil` if the provider has not responded or does not send the time. Sends no request.
    func clockSkew(ofType name: String) async -> ClockSkew? {
        guard let type = settings[name] else { return nil }
        // A policy has its own token endpoint, which can be the only endpoint with a response.
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
