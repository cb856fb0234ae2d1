import OAuth2
import OAuth2AccountStore

extension CommandContext {
    /// A fresh access token of the account to act for, as `--scope` and `--refresh` want it.
    func freshToken(_ store: AccountStore, of account: Account) async throws -> AccessToken {
        let text = invocation.strings("scope").joined(separator: " ")
        let scopes = text.isEmpty ? nil : Scope(parsing: text)
        do {
            let token = try await store.accessToken(for: account.id, scopes: scopes)
            guard invocation.flag("refresh") else { return token }
            return try await store.accessToken(for: account.id, scopes: scopes, rejected: token.secret)
        } catch var error as AccountStoreError {
            error.hint = error.hint ?? Self.hint(error, account, scopes)
            throw error
        }
    }

    /// The sign-in that asks for what is missing, and for what there was before.
    private static func hint(_ error: AccountStoreError, _ account: Account, _ scopes: Scope?) -> String? {
        guard error.kind == .signInNeeded(.scopeNotGranted), error.provider?.claims == nil, let scopes,
            scopes.firstInvalidToken == nil, !scopes.text.contains("'"), !account.scope.text.contains("'")
        else { return nil }
        return "directory sign-in \(account.type) --scope '\(account.scope.union(scopes).text)'"
    }
}
