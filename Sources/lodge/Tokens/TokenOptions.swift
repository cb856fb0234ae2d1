import Platform
import CommandLineKit
import OAuth2Protocol
import OAuth2AccountStore

/// The options of the commands that get a token.
enum TokenOptions {
    static let scope = Option.texts("scope", "SCOPE", "what the token must be good for")
    static let refresh = Option.flag("refresh", "renew it even if it is still good")
}

extension Invocation {
    /// Returns the scope of `--scope`, or `nil` if it is not given.
    ///
    /// - Throws: ``CommandError`` of the status `usage` for characters that no scope may have (RFC 6749 section 3.3): they are the
    ///   command line's fault, not that of the settings.
    func scope(_ option: Option<[String]> = TokenOptions.scope) throws(CommandError) -> Scope? {
        let scope = Scope(parsing: self[option].joined(separator: " "))
        guard !scope.isEmpty else { return nil }
        if let token = scope.firstInvalidToken {
            throw CommandError(
                .usage, "wrong value of --scope",
                reason:
                    "\(UsageError.quoted(token)) has characters that may not be sent; expected printable ASCII without "
                    + "quotation mark and backslash",
                hint: "separate scopes with spaces, or give --scope once for each")
        }
        return scope
    }
}

extension CommandContext {
    /// A fresh access token of the account to act for, as `--scope` and `--refresh` want it.
    func freshToken(
        _ store: AccountStore, of account: Account, scope: Option<[String]> = TokenOptions.scope
    ) async throws -> AccessToken {
        let scopes = try invocation.scope(scope)
        do {
            let token = try await store.accessToken(for: account.id, scopes: scopes)
            guard invocation[TokenOptions.refresh] else { return token }
            // Nobody refused this one: it stays good where there is nothing to get another with.
            guard account.canRefresh else {
                throw AccountStoreError(
                    .signInNeeded(.noRefreshToken), what: "no other token",
                    reason: "the provider gave no refresh token; the one that is there stays", remedy: .signInAgain)
            }
            return try await store.accessToken(for: account.id, scopes: scopes, rejected: token.secret)
        } catch var error as AccountStoreError {
            error.hint = error.hint ?? Self.hint(error, account, scopes)
            throw error
        }
    }

    /// The sign-in that asks for what is missing, and for what there was before.
    private static func hint(_ error: AccountStoreError, _ account: Account, _ scopes: Scope?) -> Hint? {
        guard error.kind == .signInNeeded(.scopeNotGranted), error.provider?.claims == nil, let scopes,
            scopes.firstInvalidToken == nil, !scopes.text.contains("'"), !account.scope.text.contains("'")
        else { return nil }
        return "\(run: "sign-in") \(account.type) --scope '\(account.scope.union(scopes).text)'"
    }
}
