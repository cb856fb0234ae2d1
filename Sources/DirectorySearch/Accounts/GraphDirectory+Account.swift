import LodgePlatform
import HTTPExchange
import OAuth2Protocol
import OAuth2AccountStore

extension GraphDirectory {
    /// Creates the directory of an account at the URL in the settings of its type.
    ///
    /// The store provides the tokens, and refreshes a token once if the service rejects it. The first request throws
    /// the errors of the settings.
    ///
    /// - Parameters:
    ///   - retry: The conditions for retries of a request.
    ///   - budget: The shared time budget for all retry delays. If `nil`, each operation has its own.
    public init(
        account: Account, in store: AccountStore, retry: HTTPRetryPolicy = .directory, budget: RetryBudget? = nil
    ) {
        let client = AccountClient(
            kind: .graph, account: account, store: store, rateLimiter: RateLimiter(), retry: retry, budget: budget)
        self.init(makeClient: client.make)
    }
}

/// A factory for the client of an account's directory, with the URL in the settings of its type.
struct AccountClient: Sendable {
    let kind: AccountType.Directory
    let account: Account
    let store: AccountStore
    let rateLimiter: RateLimiter
    let retry: HTTPRetryPolicy
    let budget: RetryBudget?

    @Sendable func make() async throws -> DirectoryClient {
        guard let type = try store.settings.type(named: account.type) else {
            throw SettingsError(
                file: store.settings.source, key: "types.\(account.type)", expected: "the type of the account",
                found: "nothing")
        }
        // The token of one service must not go to another.
        guard type.directory == kind else {
            throw SettingsError(
                file: store.settings.source, key: "types.\(type.name).directory",
                expected: "\"\(kind.rawValue)\", because only that directory can do this",
                found: "\"\(type.directory.rawValue)\"")
        }
        guard let url = type.graphAPI else { throw Self.missingURL(type, store.settings) }
        var client = try DirectoryClient(
            graphAPI: url, apiVersion: type.directory == .graph ? type.graphVersion : "",
            // Tokens that are bound to a key need a proof for each request, which the store creates.
            transport: type.dpop ? store.transport(for: account.id) : store.transport(for: type), retry: retry,
            budget: budget
        ) { requirement in
            let token = try await token(requirement)
            guard token.type.lowercased() == "bearer" || type.dpop else {
                throw SettingsError(
                    file: store.settings.source, key: "types.\(type.name).dpop",
                    expected: "true, because the account's tokens are bound to a key", found: "false")
            }
            return token.secret.value
        }
        client.isApplication = account.isClient
        client.hasUser = account.hasUser
        client.discard = { try await store.discardToken(Secret($0), of: account.id, claims: $1) }
        client.rateLimiter = rateLimiter
        client.sleep = store.dependencies.sleep
        client.now = store.dependencies.now
        let report = store.dependencies.report
        if let report { client.willWait = { await report(.waitsBeforeRetry($0)) } }
        return client
    }

    private func token(_ requirement: TokenRequirement) async throws -> AccessToken {
        switch requirement {
        case .current: return try await store.accessToken(for: account.id)
        case .refreshed(let rejected): return try await store.accessToken(for: account.id, rejected: Secret(rejected))
        case .claims(let claims, let rejected):
            do {
                return try await store.accessToken(for: account.id, claims: claims, rejected: Secret(rejected))
            } catch let error as AccountStoreError {
                guard case .signInNeeded = error.kind else { throw error }
                // Only the user can satisfy them, so the program needs them for the next sign-in.
                throw DirectoryError(.signInNeeded(claims: claims))
            }
        }
    }

    /// Returns the error of a type without a URL.
    ///
    /// It suggests Microsoft's URL only for Microsoft's own types: the token of another provider must not go there.
    private static func missingURL(_ type: AccountType, _ settings: Settings) -> SettingsError {
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
