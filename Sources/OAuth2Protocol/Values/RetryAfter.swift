import HTTPExchange

extension HTTPResponse {
    /// The delay that the server requests, in whole seconds, rounded up, at most a day; `nil` if it does not request one.
    package var retryDelay: Duration? {
        retryAfter().map { .seconds($0.wholeSeconds) }
    }
}
