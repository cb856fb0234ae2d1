import Platform
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore

extension GraphDirectory {
    /// The directory that an account may look into, at the address that its type's settings name.
    ///
    /// Tokens are fetched from the store when they are needed, and renewed once when the service refuses one. What is wrong with
    /// the settings is thrown by the first request.
    ///
    /// - Parameters:
    ///   - retry: when a request is sent again.
    ///   - budget: one budget for all waits; nil gives each operation its own.
    public init(
        account: Account, in store: AccountStore, retry: RetryPolicy = RetryPolicy(), budget: RetryBudget? = nil
    ) {
        self.init(connecting: GraphConnection.connecting(.graph, account, store, RateLimiter(), retry, budget))
    }
}

extension GraphConnection {
    /// Gives the connection to the directory of an account, with the address that its type's settings name.
    static func connecting(
        _ kind: AccountType.Directory, _ account: Account, _ store: AccountStore, _ pace: RateLimiter,
        _ retry: RetryPolicy, _ budget: RetryBudget?
    ) -> @Sendable () async throws -> GraphConnection {
        return {
            guard let type = store.settings[account.type] else {
                throw SettingsError(
                    file: store.settings.source, key: "types.\(account.type)", expected: "the type of the account",
                    found: "nothing")
            }
            // The token of one service is nothing for another.
            guard type.directory == kind else {
                throw SettingsError(
                    file: store.settings.source, key: "types.\(type.name).directory",
                    expected: "\"\(kind.rawValue)\", because only that directory can do this",
                    found: "\"\(type.directory.rawValue)\"")
            }
            guard let address = type.graphAPI else {
                throw noAddress(type, store.settings)
            }
            var connection = try GraphConnection(
                graphAPI: address, apiVersion: type.directory == .graph ? type.graphVersion : "",
                // Tokens that are bound to a key need a proof for each request, which the store makes.
                transport: type.dpop ? store.transport(for: account.id) : store.transport(for: type), retry: retry
            ) { demand in
                let token: AccessToken
                switch demand {
                case .current: token = try await store.accessToken(for: account.id)
                case .renewed(let rejected):
                    token = try await store.accessToken(for: account.id, rejected: Secret(rejected))
                case .claims(let claims, let rejected):
                    do {
                        token = try await store.accessToken(
                            for: account.id, claims: claims, rejected: Secret(rejected))
                    } catch let error as AccountStoreError {
                        guard case .signInNeeded = error.kind else { throw error }
                        // Only the person can meet them: whoever shows the sign-in needs them.
                        throw DirectoryError(.signInNeeded(claims: claims))
                    }
                }
                guard token.type.lowercased() == "bearer" || type.dpop else {
                    throw SettingsError(
                        file: store.settings.source, key: "types.\(type.name).dpop",
                        expected: "true, because the account's tokens are bound to a key", found: "false")
                }
                return token.secret.value
            }
            connection.budget = budget
            connection.pace = pace
            connection.sleep = store.dependencies.sleep
            connection.now = store.dependencies.now
            return connection
        }
    }

    /// That nothing says where the type's directory is. Microsoft's is proposed to Microsoft's own types only: the token of another provider
    /// is nothing for it, and must not go there.
    private static func noAddress(_ type: AccountType, _ settings: Settings) -> SettingsError {
        let hint: Hint =
            switch (type.directory, type.isMicrosoft) {
            case (.graph, true): "add \"graphAPI\": \"https://graph.microsoft.com/\""
            case (.graph, false):
                "this type has no directory yet: add \"graphAPI\", or \"directory\": \"scim\" with \"directoryBase\""
            default: "add \"directoryBase\""
            }
        return SettingsError(
            file: settings.source, key: type.directory == .graph ? "graphAPI" : "directoryBase",
            expected: "the address of the directory of \(type.name)", found: "nothing", hint: hint)
    }
}
