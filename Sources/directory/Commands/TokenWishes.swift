import OAuth2
import OAuth2AccountStore

extension CommandContext {
    /// A fresh access token of the account to act for, as `--scope` and `--refresh` want it.
    func freshToken(_ store: AccountStore, of account: Account) async throws -> AccessToken {
        let scopes = invocation.strings("scope").joined(separator: " ")
        let token = try await store.accessToken(
            for: account.id, scopes: scopes.isEmpty ? nil : Scope(parsing: scopes))
        guard invocation.flag("refresh") else { return token }
        return try await store.accessToken(for: account.id, rejected: token.secret)
    }
}
