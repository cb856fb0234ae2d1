import CommandLineKit
import OAuth2AccountStore
import LodgePlatform

/// The account that provides the token for a host.
struct HostAccount {
    let store: AccountStore
    let account: Account

    /// Returns the account for a host.
    ///
    /// Returns `nil` if no account type contains the host in its settings, or if the user name or `--account` names an
    /// account for another host.
    ///
    /// - Parameters:
    ///   - host: The server that receives the token.
    ///   - name: The host in the spelling of the calling program, such as git. Messages quote it.
    ///   - userName: The user name from the calling program: the name of an account, or a placeholder such as `oauth2`.
    /// - Throws: `CommandError` with a hint if an account type contains the host but no account matches, or if the name
    ///   is ambiguous; the settings error of the type if only an unusable type contains the host.
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
            try await context.select(account, store)
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
        /// The account types for the host have no account of this user, or no current account if `user` is `nil`.
        case missing(user: String?)
        /// The name belongs to an account of another host.
        case elsewhere
    }

    /// Returns whether a user name is missing or is a placeholder, which selects no account.
    ///
    /// GitHub, GitLab, Bitbucket and git document these placeholders for requests with a token. In URLs of Azure
    /// DevOps, the user name is the organization.
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
            // If no account or several accounts for this host match, search the accounts for all hosts. The search
            // throws unless exactly one account has the name.
            let account = found.count == 1 ? found[0] : try await context.account(store, named: name)
            return types.contains { $0.name == account.type } ? .account(account) : .elsewhere
        }
        if let name = userName {
            for type in types {
                let named = CommandContext.accounts(named: name, among: own.filter { $0.type == type.name })
                if named.count == 1 { return .account(named[0]) }
                // If several accounts have the name, use the current account if it is one of them. Otherwise throw.
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
            // Do not use the current account instead: git would get the token of another user.
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
