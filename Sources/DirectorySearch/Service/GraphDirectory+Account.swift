import HTTPTransport
import OAuth2
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
        let pace = RequestPace()
        self.init(connecting: {
            guard let type = store.settings[account.type] else {
                throw SettingsError(
                    file: store.settings.source, key: "types.\(account.type)", expected: "the type of the account",
                    found: "nothing")
            }
            guard let address = type.graphAPI else {
                throw SettingsError(
                    file: store.settings.source, key: "graphAPI",
                    expected: "the address of the directory of \(type.name)",
                    found: "nothing", hint: "add \"graphAPI\": \"https://graph.microsoft.com/\"")
            }
            var connection = try GraphConnection(
                graphAPI: address, apiVersion: type.graphVersion, transport: store.transport(for: type), retry: retry
            ) { demand in
                var rejected: Secret?
                switch demand {
                case .current: break
                case .renewed(let token): rejected = Secret(token)
                case .claims(let claims, _): throw DirectoryError(.signInNeeded(claims: claims))
                }
                let token = try await store.accessToken(for: account.id, rejected: rejected)
                guard token.type.lowercased() == "bearer" else {
                    throw SettingsError(
                        file: store.settings.source, key: "types.\(type.name).dpop",
                        expected: "false, because this directory takes bearer tokens", found: "true")
                }
                return token.secret.value
            }
            connection.budget = budget
            connection.pace = pace
            connection.sleep = store.surroundings.sleep
            connection.now = store.surroundings.now
            return connection
        })
    }
}
