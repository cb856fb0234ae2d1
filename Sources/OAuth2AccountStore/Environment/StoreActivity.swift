import HTTPExchange

/// An activity of a call of the store or of a directory, reported before its result.
package enum StoreActivity: Sendable, Equatable {
    /// The transport waits before it sends a request again.
    case waitsBeforeRetry(HTTPRetryWait)
    /// Another process has held the lock of the account for more than a second, to refresh its tokens.
    case waitsForOtherProcess(Account.ID)
    /// The provider issued new tokens for the account, and the store has saved them.
    case refreshedTokens(Account.ID)
}
