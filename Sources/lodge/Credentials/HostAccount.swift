import CommandLineKit
import OAuth2AccountStore
import Platform

/// The account that provides the token for a host.
struct HostAccount {
    let store: AccountStore
    let account: Account

    /// Returns the account for a host.
    ///
    /// Returns `nil` if no account type has the host or if the user name belongs to another host's account.
    ///
    /// - Parameters:
    ///   - host: The server that gets the token.
    ///   - name: The host as the other program names it, for messages.
    ///   - userName: The user name from the other program: the name of an account, or the host's placeholder for a token.
    /// - Throws: `CommandError` with the sign-in if the host has an account type but no account; the error of the type if that cannot
    ///   be used.
    @MainActor static func find(
        _ host: TokenHost, named name: String, userName: String?, _ context: CommandContext
    ) async throws -> HostAccount? {
        let settings = try context.settings()
        let chosen = context.invocation[GlobalOptions.type]
        let types = settings.types.filter { type in
            (chosen == nil || type.name == chosen) && hosts(of: type).contains(where: host.isAllowed)
        }
        guard let first = types.first(where: { $0.name == settings.defaultType }) ?? types.first else {
            let unusable = settings.unusableTypes.first { type in
                (chosen == nil || type.name == chosen) && type.hosts.contains(where: host.isAllowed)
            }
            if let unusable { throw unusable.error }
            return nil
        }
        let store = try await context.store(settings)
        let found = try await account(
            of: types, userName: isPlaceholder(userName, name) ? nil : userName, store, context)
        switch found {
        case .account(let account):
            context.world.stores.usedType = account.type
            context.reportSelection(account)
            return HostAccount(store: store, account: account)
        case .elsewhere: return nil
        case .missing(let user):
            let whose = user.map { " of \($0)" } ?? ""
            let hint: Hint =
                first.provider == .staticToken
                ? "\(AccountRemedy.supplyToken(type: first.name))"
                : "\(run: "sign-in") \(first.name)" + Hint(user.map { " --login-hint \($0.shellWord)" } ?? "")
            throw CommandError(
                .signInNeeded, "no credential for \(name)", reason: "there is no account\(whose) of type \(first.name)",
                hint: hint)
        }
    }

    private enum Choice {
        case account(Account)
        /// The host's types have no account, or no account of this user.
        case missing(user: String?)
        /// The name belongs to an account of another host.
        case elsewhere
    }

    /// Returns whether a user name stands for a token, not for a user.
    ///
    /// The names are from the documentation of GitHub, GitLab, Bitbucket and git; in URLs of Azure DevOps it is the organization.
    private static func isPlaceholder(_ name: String?, _ host: String) -> Bool {
        guard let name = name?.lowercased() else { return true }
        return host.lowercased() == "dev.azure.com"
            || [
                "", "oauth2", "oauth", "git", "token", "bearer", "x-access-token", "x-token-auth", "x-oauth-basic",
                "gitlab-ci-token", "personalaccesstoken",
            ].contains(name)
    }

    @MainActor private static func account(
        of types: [AccountType], userName: String?, _ store: AccountStore, _ context: CommandContext
    ) async throws -> Choice {
        let accounts = try await store.accounts(ofType: nil)
        let own = accounts.filter { account in types.contains { $0.name == account.type } }
        if let name = context.invocation[GlobalOptions.account] {
            let found = CommandContext.accounts(named: name, among: own)
            // If no account or several accounts match, report the usual error, unless it is an account of another host.
            let account = found.count == 1 ? found[0] : try await context.account(store, named: name)
            return types.contains { $0.name == account.type } ? .account(account) : .elsewhere
        }
        if let name = userName {
            for type in types {
                let named = CommandContext.accounts(named: name, among: own.filter { $0.type == type.name })
                if named.count == 1 { return .account(named[0]) }
                // If several users have the name, use the current account or report an error.
                guard !named.isEmpty else { continue }
                let current = try await store.currentAccount(ofType: type.name)
                guard let current, named.contains(where: { $0.id == current.id }) else {
                    throw CommandError(
                        several: named, named: name,
                        hint: "to choose one, set credential.username in git or pass --account")
                }
                return .account(current)
            }
            guard CommandContext.accounts(named: name, among: accounts).isEmpty else { return .elsewhere }
            // The token of another user must not be returned.
            return .missing(user: name)
        }
        // Without a name, or with the host's placeholder such as "oauth2", every account matches.
        for type in types {
            if let current = try await store.currentAccount(ofType: type.name) { return .account(current) }
        }
        try await context.reportDamage(store)
        return .missing(user: nil)
    }

    private static func hosts(of type: AccountType) -> [String] {
        var urls = type.endpoints.urls
        switch type.provider {
        case .issuer(let text), .authority(let text): urls += [URL(string: text)].compactMap { $0 }
        case .endpoints, .staticToken: break
        }
        return urls.compactMap(TokenHost.init).map(\.description) + type.resourceHosts
    }
}
