import HTTPExchange

/// An activity of a call of the store or of a directory, reported before its result.
package enum StoreActivity: Sendable, Equatable {
    /// A request will be sent again after a wait.
    case waitsBeforeRetry(HTTPRetryWait)
    /// For a second, another process has held the lock of the account to refresh its tokens.
    case waitsForOtherProcess(Account.ID)
    /// The provider issued new tokens for the account, and they are saved.
    case refreshedTokens(Account.ID)
}
